package antiphon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import antiphon.Fixture.Script;
import antiphon.testing.Server;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Single turns, conversations, forks and what is on record. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ClientTest {
    private static Server server;
    private static Client client;

    private final Tool weather = Tool.of("weather", "", Map.of("type", "object"), given -> "fine in " + given.get("city"));
    private final Tool tide = Tool.of("tide", "", Map.of("type", "object"), given -> "high");

    @BeforeAll
    static void begin() {
        server = Server.start(new Server.Config().config(Fixture.CONFIG));
        client = Client.connect(server.address());
    }

    @AfterAll
    static void end() {
        client.close();
        server.close();
    }

    private static List<String> names(List<OfferedTool> tools) {
        return tools.stream().map(OfferedTool::name).toList();
    }

    /** S0-2, S0-23: a conversation keeps its tools and hooks, and its forks have none. */
    @Test
    void aConversationKeepsItsToolsAndHooks() {
        List<String> seen = Collections.synchronizedList(new ArrayList<>());
        Options own = new Options().tools(weather, tide).afterCall((call, result) -> seen.add(call.name()));
        Conversation talk = client.conversation(new NewThread().name("talk"), own);
        assertEquals(1, talk.prompt("one").turn());
        assertEquals("Done.", talk.chain("the forecast").text());
        assertEquals(List.of("tide", "weather"), seen.stream().sorted().toList());
        Conversation other = talk.fork("aside", 1);
        Exchange there = other.prompt("two");
        assertEquals(2, there.turn());
        assertEquals(List.of("weather", "tide"), names(there.standingTools()));
        other.chain("the forecast", new Options().tools(weather, tide));
        assertEquals(2, seen.size());
        assertEquals("three", talk.forkOnce("three").text());
        assertEquals(2, client.thread(talk.threadId()).turnCount());
        String before = client.thread(talk.threadId()).headExchangeId();
        talk.prompt("four", new Options().expectedHead(before));
        Fixture.refused(Code.ABORTED, "HEAD_MOVED", () -> talk.prompt("five", new Options().expectedHead(before)));
        // On a thread that was there before, its tools are offered in each turn and stand for nobody else.
        String id = Words.fresh();
        client.createThread(new NewThread(id));
        Exchange first = client.conversation(new ThreadPoint(id), new Options().tools(tide)).prompt("six");
        assertEquals(List.of("tide"), names(first.tools()));
    }

    /** S0-10, S0-21: a reply may go to another model from memory; a fork of what is on no record says what to do. */
    @Test
    void whatWasNeverCapturedCanBeRepliedToAndNotForked() {
        Exchange said = client.prompt(Request.of("one").tools(weather));
        Exchange reply = client.reply(said, Request.of("two").model("other-1"));
        assertFalse(reply.captured());
        assertEquals(Optional.of("other-1"), reply.setting("model"));
        assertEquals("", reply.exchangeId());
        Exchange kept = client.reply(reply, "three", new Options().capture(true));
        assertEquals(3, kept.turn());
        assertEquals(List.of("weather"), names(kept.tools()));
        AntiphonException error = Fixture.refused(Code.FAILED_PRECONDITION, "NOT_CAPTURED", () -> client.fork(said, "four"));
        assertTrue(error.getMessage().contains("use reply"));
        Fixture.refused(Code.FAILED_PRECONDITION, "NOT_CAPTURED", () -> client.continueFrom(said, "four"));
        assertThrows(IllegalArgumentException.class, () -> client.reply(kept, "four", new Options().capture(false)));
    }

    @Test
    void severalBranchesRunAtOnceAndOneThatFailsTakesNoOtherAlong() {
        Exchange start = client.capture("zero");
        List<Input> asked = List.of(Request.of("left"), Request.of("down for good"));
        List<Branch> branches = client.forkAll(start, asked, List.of(new NewThread("l-1")), new Options());
        assertEquals("l-1", branches.get(0).threadId());
        assertEquals("left", branches.get(0).exchange().orElseThrow().text());
        assertEquals("PROVIDER_UNAVAILABLE", branches.get(1).error().orElseThrow().reason());
        Branch alone = client.forkAll(start, asked.subList(1, 2)).get(0);
        assertEquals("PROVIDER_UNAVAILABLE", alone.error().orElseThrow().reason());
        assertFalse(alone.threadId().isEmpty());
    }

    @Test
    void anAnswerIsHeardAsItComesWhicheverTurnItIsOf() {
        StringBuilder heard = new StringBuilder();
        Options hears = new Options().onDelta(delta -> heard.append(delta.text()));
        Exchange first = client.capture("one two three", hears);
        assertEquals("one two three", told(heard));
        client.continueFrom(first, "four five", hears);
        assertEquals("four five", told(heard));
        Exchange loose = client.prompt("six seven", hears);
        assertEquals("six seven", told(heard));
        assertFalse(loose.captured());
        assertEquals(client.reply(loose, "eight", hears).text(), told(heard));
        assertEquals(client.forkOnce(first, "nine", hears).text(), told(heard));
        try (Response<Exchange> response = client.stream("slow", new Options().after(first))) {
            response.iterator().next();
            assertEquals(Fixture.SLOW, response.result().text(), "what was left half read gives its result all the same");
        }
    }

    private static String told(StringBuilder heard) {
        String all = heard.toString();
        heard.setLength(0);
        return all;
    }

    @Test
    void aStreamThatIsCancelledOrLetGoOfEndsItsRun() {
        try (Response<Exchange> response = client.stream("slow")) {
            Fixture.refused(Code.CANCELLED, "RUN_CANCELLED", () -> response.forEach(delta -> response.cancel()));
        }
        String runId;
        try (Response<Exchange> left = client.stream("slow")) {
            runId = left.runId();
            left.iterator().next();
        }
        Fixture.until(() -> Fixture.runState(client, runId), "cancelled");
        client.stream("slow").cancel();
    }

    @Test
    void whatIsOnRecordIsListedFollowedAndChanged() {
        Map<String, String> labels = Map.of("story", Words.fresh());
        NewThread named = new NewThread(Words.fresh()).labels(labels);
        Exchange exchange = client.capture(Request.of("one").labels(labels), new Options().thread(named));
        try (Watch watch = client.watch(exchange.runId())) {
            List<RunEvent> events = new ArrayList<>();
            watch.forEach(events::add);
            assertEquals("completed", events.get(events.size() - 1).run().orElseThrow().state());
        }
        Which completed = new Which().labels(labels).states("completed");
        assertEquals(List.of(exchange.runId()), client.runs(completed).map(Run::runId).toList());
        NamedThread thread = client.threads(labels).findFirst().orElseThrow();
        BigInteger big = new BigInteger("9007199254740993");
        NamedThread changed = client.updateThread(thread, new ThreadChange().name("changed").metadata(Map.of("big", big)));
        assertEquals("changed", changed.name());
        assertEquals(Optional.of(Map.of("big", big)), changed.metadata());
        assertEquals(labels, changed.labels());
        Fixture.refused(Code.ABORTED, "ETAG_MISMATCH", () -> client.updateThread(thread, new ThreadChange().name("late")));
        assertEquals(List.of(exchange.exchangeId()), client.turns(thread.threadId()).map(Turn::exchangeId).toList());
        client.deleteThread(changed);
        Fixture.refused(Code.NOT_FOUND, "THREAD_NOT_FOUND", () -> client.thread(thread.threadId()));
        assertEquals("one", client.exchange(exchange.exchangeId()).text());
        assertThrows(IllegalArgumentException.class, () -> client.runs(new Which().states("sleeping")));
    }

    @Test
    void whatListsIsReadPageAfterPage() {
        Map<String, String> labels = Map.of("many", Words.fresh());
        for (int index = 0; index < 120; index++) {
            client.createThread(new NewThread().labels(labels));
        }
        assertEquals(120, client.threads(labels).map(NamedThread::threadId).distinct().count());
        assertEquals(3, client.threads(labels).limit(3).count());
    }

    @Test
    void whatTheCallerHeardElsewhereIsStoredOnce() {
        String said = Words.fresh();
        List<Message> transcript = List.of(Message.user(said), Message.assistant("one"), Message.user("more"), Message.assistant("two"));
        Facts facts = Facts.of(3).model("elsewhere-1").stopReason("stop").usage(Usage.of(5, 7));
        Recorded recorded = client.record(transcript, new Options().facts(facts).thread(new NewThread().name("stored")));
        assertEquals(2, recorded.stored());
        assertEquals(7, client.exchange(recorded.exchangeId()).usage().outputTokens().orElseThrow());
        assertEquals(2, client.thread(recorded.threadId()).turnCount());
        assertEquals(recorded.exchangeIds(), client.inspect(new ExchangeId(client.record(transcript).exchangeId())).path());
        Probe aside = client.forkOnce(new ExchangeId(recorded.exchangeId()), "aside");
        assertEquals("aside", client.exchange(client.record(aside).exchangeId()).text());
        ThreadPoint thread = new ThreadPoint(recorded.threadId());
        client.record(List.of(Message.user("last"), Message.assistant("three")), new Options().after(thread));
        assertEquals(3, client.thread(recorded.threadId()).turnCount());
    }

    @Test
    void whoeverIsOvertakenIsTold() {
        String id = Words.fresh();
        Exchange start = client.capture("zero");
        try (Client other = Client.connect(server.address())) {
            List<CompletableFuture<Outcome>> taken = new ArrayList<>();
            NextAction<RuntimeException> lets = decision -> {
                if (taken.isEmpty()) {
                    taken.add(other.async().attach(id, new Script(new Continue("one"))));
                    taken.get(0).join();
                }
                return new Suspend();
            };
            Options named = new Options().coordinationId(id);
            Fixture.refused(Code.ABORTED, "TAKEN_OVER", () -> client.coordinate(start, 1, lets, named));
            assertEquals(Outcome.State.STOPPED, taken.get(0).join().state());
        }
    }

    @Test
    void anErrorHasItsReasonFactsAndRequestId() {
        Request named = Request.of("one").runId("named");
        AntiphonException error =
                Fixture.refused(Code.NOT_FOUND, "THREAD_NOT_FOUND", () -> client.continueFrom(new ThreadPoint("nowhere"), named));
        assertEquals(Map.of("run_id", "named"), error.metadata());
        assertFalse(error.requestId().isEmpty());
        assertFalse(error.canRetry());
        assertTrue(error.toString().startsWith("NOT_FOUND THREAD_NOT_FOUND: "));
        assertThrows(IllegalArgumentException.class, () -> client.stream(Results.of(new ToolResult("1", ""))));
        Exception refused =
                assertThrows(IllegalArgumentException.class, () -> client.capture("one", new Options().chainLimit(1).capture(true)));
        assertEquals("capture does not take chainLimit, capture; it takes timeout, onDelta, thread", refused.getMessage());
        assertThrows(IllegalArgumentException.class, () -> new Fail(Code.OK, "", ""));
    }

    @Test
    void aCostThatIsNoneIsRefusedBeforeAnyCall() {
        List<String> none = List.of(
                "", "2.50", "USD 2.50", "2,50 USD", "1e3 USD", "0.00 USD", "-1 USD", "1 usd", "1  USD", "1 USD\n", "1.0000000001 USD");
        for (String cost : none) {
            Exception refused = assertThrows(IllegalArgumentException.class, () -> new Options().costLimit(cost), cost);
            assertTrue(refused.getMessage().endsWith("such as '2.50 USD'"), refused::getMessage);
        }
        assertThrows(IllegalArgumentException.class, () -> new Options().tokenLimit(0));
    }

    @Test
    void aTurnOfAConversationTakesTheLimitsOfSpending() {
        Conversation talk = client.conversation(new NewThread(), new Options());
        assertEquals("one", talk.chain("one", new Options().tokenLimit(1000)).text());
        // The model of these tests has no prices.
        Fixture.refused(Code.RESOURCE_EXHAUSTED, "SPEND_LIMIT", () -> talk.chain("two", new Options().costLimit("1 USD")));
    }

    @Test
    void anErrorOfTheCallbackKeepsItsCodeAndFacts() {
        Exchange start = client.capture("zero");
        Map<String, String> facts = Map.of("reviewer", "ada");
        Fail fail = new Fail(Code.UNAVAILABLE, "no reviewer", "REVIEWER_UNAVAILABLE", facts);
        AntiphonException error =
                Fixture.refused(Code.UNAVAILABLE, "REVIEWER_UNAVAILABLE", () -> client.coordinate(start, 1, decision -> fail));
        assertEquals("no reviewer", error.getMessage());
        assertEquals(facts, error.metadata());
    }
}
