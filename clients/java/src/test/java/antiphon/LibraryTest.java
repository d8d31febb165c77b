package antiphon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import antiphon.gen.SumUsageResponse;
import antiphon.testing.Server;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The graph, what is on record of tools, what is configured, and what would be sent. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class LibraryTest {
    private static final String CONFIGURED =
            """
            prompts_dir = "prompts"
            contracts_dir = "contracts"
            default_profile = "canned"

            [profiles.canned]
            backend = "script"
            model = "canned-1"
            parameters = { temperature = 0.5 }

            [backends.script]
            kind = "scripted"
            capacity = 3

            [[backends.script.rules]]
            text = "{last_user}"
            usage = { input_tokens = 10, output_tokens = 5 }
            """;
    private static final Map<String, String> FILES = Map.of(
            "prompts/greet.prompt",
            "---\ndescription: Greets\nvariables:\n  - { name: name }\n  - { name: tone, default: kind }\n---\nI am {{ name }}, {{ tone }}.",
            "contracts/verdict.json",
            "{\"description\": \"Yes or no\", \"type\": \"object\"}");

    private static Server server;
    private static Client client;

    private final Tool weather = Tool.of("weather", "", Map.of("type", "object"), given -> "fine");
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

    private static List<String> ids(Stream<Node> nodes) {
        return nodes.map(Node::exchangeId).toList();
    }

    @Test
    void theGraphIsWalked() {
        Exchange root = client.capture("one");
        Exchange left = client.reply(root, "left");
        Exchange right = client.reply(root, Request.of("right").model("canned-2"));
        Exchange deeper = client.reply(right, "deeper");
        List<Node> above = client.ancestors(deeper).toList();
        assertEquals(List.of(right.exchangeId(), root.exchangeId()), ids(above.stream()));
        Node node = above.get(0);
        assertEquals("right right canned-2 stop executed", String.join(
                " ", node.user(), node.assistant(), node.model(), node.stopReason(), node.origin()));
        assertEquals(List.of(2L, 2L, 1L), List.of(node.turn(), node.depth(), node.childCount()));
        assertEquals(root.exchangeId(), node.parentExchangeId());
        assertEquals(right.runId(), node.runId());
        assertTrue(node.endsTurn());
        assertEquals("more", client.reply(client.exchange(node.id().exchangeId()), "more").text());
        assertEquals(List.of(left.exchangeId(), right.exchangeId()), ids(client.children(root)));
        Node common = client.commonAncestor(left, new ExchangeId(deeper.exchangeId())).orElseThrow();
        assertEquals(root.exchangeId(), common.exchangeId());
        assertEquals(Optional.empty(), client.commonAncestor(left, client.capture("alone")));
        Exchange loose = client.prompt("kept by nobody");
        Fixture.refused(Code.FAILED_PRECONDITION, "NOT_CAPTURED", () -> client.ancestors(loose));
    }

    @Test
    void branchesAreComparedAndDrawn() {
        String trunk = Words.fresh();
        Exchange root = client.capture("one", new Options().thread(new NewThread(trunk)));
        Exchange left = client.continueFrom(new ThreadPoint(trunk), "left");
        Exchange right = client.reply(root, Request.of("right").model("canned-2"));
        Exchange deeper = client.reply(right, Request.of("deeper").tools(weather));
        Difference found = client.diff(left, new ExchangeId(deeper.exchangeId()));
        assertEquals(root.exchangeId(), found.commonAncestorExchangeId());
        assertEquals(List.of(1L, 2L), List.of(found.leftCount(), found.rightCount()));
        List<String> said = found.messages().stream()
                .map(change -> change.name() + " " + change.kind() + " " + change.left().map(Message::text).orElse("-") + " "
                        + change.right().map(Message::text).orElse("-"))
                .toList();
        assertEquals(List.of("0 changed left right", "1 changed left right", "2 added - deeper", "3 added - deeper"), said);
        Difference.Change<Object> model =
                found.settings().stream().filter(change -> change.name().equals("model")).findFirst().orElseThrow();
        assertEquals(Optional.of("canned-1"), model.left());
        assertEquals(Optional.of("canned-2"), model.right());
        assertEquals("weather added", found.tools().get(0).name() + " " + found.tools().get(0).kind());
        assertEquals(Optional.empty(), found.tools().get(0).left());
        String tree = client.graph(new ThreadTree(trunk), Drawing.mermaid().withPreviews());
        assertTrue(tree.contains("deeper") && tree.contains("left"), tree);
        String path = client.graph(new ThreadPath(trunk), Drawing.text().withPreviews());
        assertTrue(path.contains("left") && !path.contains("deeper"), path);
        String part = client.graph(new Subtree(right).maxSteps(1), Drawing.dot().detail(Drawing.Detail.EXCHANGES));
        assertTrue(part.contains("digraph"), part);
        assertFalse(client.graph(left).contains("left"), "nothing of what was said is shown unasked");
    }

    @Test
    void whatIsOnRecordIsFound() {
        Map<String, String> labels = Map.of("story", Words.fresh());
        Exchange root = client.capture(Request.of("A needle in the hay").labels(labels));
        Exchange hay = client.reply(root, Request.of("the forecast").labels(labels).tools(weather, tide));
        Hit hit = client.search(new SearchQuery().text("NEEDLE").scope(new Subtree(root))).findFirst().orElseThrow();
        assertEquals(root.runId() + " completed", hit.runId() + " " + hit.runState());
        assertTrue(hit.snippet().contains("needle"), hit.snippet());
        assertEquals(labels, hit.exchange().orElseThrow().labels());
        SearchQuery ours = new SearchQuery().labels(labels);
        assertEquals(List.of(hay.runId(), root.runId()), runs(ours));
        assertEquals(List.of(hay.runId()), runs(ours.calledTools("tide").states("pending_tools")));
        assertEquals(List.of(hay.runId()), runs(ours.offeredTools("weather").models("canned-1")));
        Instant hour = Instant.now().minus(Duration.ofHours(1));
        assertEquals(List.of(), runs(ours.before(hour)));
        assertEquals(List.of(root.runId()), runs(ours.since(hour).withRootsOnly()));
        String once = Words.fresh();
        client.capture(once);
        assertEquals(1, client.search(once).count());
        assertThrows(IllegalArgumentException.class, () -> client.search(ours.states("sleeping")));
    }

    private static List<String> runs(SearchQuery query) {
        return client.search(query).map(Hit::runId).toList();
    }

    /** S4-83. */
    @Test
    void sharedWorkIsCountedOnce() {
        try (Server own = configured();
                Client other = Client.connect(own.address())) {
            Map<String, String> labels = Map.of("story", "usage");
            Exchange root = other.capture(Request.of("one").labels(labels));
            Exchange left = other.reply(root, Request.of("left").labels(labels));
            Exchange right = other.reply(root, Request.of("right").labels(labels));
            UsageSum path = other.usage(left);
            assertEquals(2, path.runCount());
            assertEquals(OptionalLong.of(20), path.usage().inputTokens());
            UsageSum both = other.usage(left, new ExchangeId(right.exchangeId()));
            assertEquals(3, both.runCount());
            assertEquals(OptionalLong.of(15), both.usage().outputTokens());
            assertEquals(both.usage(), other.usage(new Subtree(root)).usage());
            assertEquals(both.usage(), other.usage(new UsageQuery().labels(labels)).usage());
            assertEquals(2, other.usage(new UsageQuery().runs(root.runId(), left.runId())).runCount());
            assertEquals(3, other.usage(new UsageQuery().runs(root.runId()).scopes(left, right)).runCount());
            ModelUsage model = both.models().get(0);
            assertEquals("script canned-1 3", model.backendId() + " " + model.model() + " " + model.calls());
            assertEquals(Map.of(), both.costs());
        }
    }

    @Test
    void whatItMayHaveCostIsExact() {
        SumUsageResponse.Builder raw = SumUsageResponse.newBuilder();
        raw.addCostEstimatesBuilder().setCurrency("USD").setAmount("0.10000000000000000001");
        assertEquals(Map.of("USD", new BigDecimal("0.10000000000000000001")), UsageSum.of(raw.build()).costs());
    }

    private static Server configured() {
        return Server.start(new Server.Config().config(CONFIGURED).files(FILES));
    }

    /** S0-32, S0-33, S0-36. */
    @Test
    void whichToolsCallsHadIsOnRecord() {
        record Before(String city) {}
        record After(String place) {}
        String name = "t" + Words.fresh().substring(0, 8);
        Tool old = Tool.of(name, "", Before.class, Before::city);
        Tool changed = Tool.of(name, "", After.class, After::place);
        Exchange first = client.capture(Request.of("one").tools(old, tide).toolChoice("none"));
        CallTools found = client.callTools(first);
        assertEquals(List.of(name, "tide"), names(found.offered()));
        assertEquals(List.of(name, "tide"), names(found.standing()));
        assertEquals(Optional.of("none"), found.toolChoice());
        assertTrue(found.called().isEmpty() && found.drifts().isEmpty());
        Exchange second = client.reply(first, Request.of("two").tools(changed));
        assertEquals(
                List.of(second.exchangeId(), first.exchangeId()),
                client.toolOccurrences(name).map(ToolOccurrence::exchangeId).toList());
        ToolQuery before = new ToolQuery().kind("offered").schemaHash(first.tools().get(0).schemaHash()).scope(second);
        List<ToolOccurrence> only = client.toolOccurrences(name, before).toList();
        assertEquals(List.of(first.runId()), only.stream().map(ToolOccurrence::runId).toList());
        assertTrue(only.get(0).offered() && only.get(0).callIds().isEmpty());
        Drift drift = client.toolDrifts(second, name).findFirst().orElseThrow();
        assertEquals(List.of(drift), client.toolDrifts(second).toList());
        assertEquals(List.of(name, first.exchangeId(), second.exchangeId()), List.of(
                drift.name(), drift.previousExchangeId(), drift.exchangeId()));
        assertTrue(drift.previous().schemaJson().contains("city") && drift.current().schemaJson().contains("place"));
        assertEquals(List.of(drift), client.callTools(second).drifts());
        Exchange called = client.capture(Request.of("the forecast").tools(weather, tide));
        assertEquals(List.of("weather", "tide"), client.callTools(called).called());
        ToolOccurrence call =
                client.toolOccurrences("tide", new ToolQuery().kind("called").scope(called)).findFirst().orElseThrow();
        assertEquals(List.of(called.toolCalls().get(1).callId()), call.callIds());
        assertThrows(IllegalArgumentException.class, () -> client.toolOccurrences("tide", new ToolQuery().kind("liked")));
    }

    @Test
    void whatIsConfiguredCanBeRead() {
        try (Server own = configured();
                Client other = Client.connect(own.address())) {
            ConfiguredPrompt listed = other.prompts().findFirst().orElseThrow();
            assertEquals("greet Greets", listed.promptId() + " " + listed.description());
            assertEquals(List.of("name", "tone"), listed.variables());
            assertEquals(List.of("name"), listed.required());
            assertEquals("", listed.template());
            assertTrue(other.inspectPrompt("greet").template().contains("{{ name }}"));
            ConfiguredProfile profile = other.profiles().findFirst().orElseThrow();
            assertEquals("canned script canned-1", profile.profileId() + " " + profile.backendId() + " " + profile.model());
            assertEquals(profile.raw(), other.inspectProfile("canned").raw());
            assertTrue(profile.isDefault());
            assertEquals(0.5, profile.parameters().raw().getTemperature());
            ConfiguredBackend backend = other.backends().findFirst().orElseThrow();
            assertEquals(List.of(3, 0, 0), List.of(backend.capacity(), backend.inUse(), backend.queued()));
            assertTrue(backend.capabilities().contains("tools"), backend.capabilities()::toString);
            assertEquals("scripted", other.inspectBackend("script").kind());
            ConfiguredContract contract = other.contracts().filter(one -> one.contractId().equals("verdict")).findFirst().orElseThrow();
            assertEquals(Optional.empty(), contract.schema());
            assertEquals("object", other.inspectContract("verdict").schema().orElseThrow().get("type"));
            assertEquals(Code.NOT_FOUND, assertThrows(AntiphonException.class, () -> other.inspectPrompt("nothing")).code());
        }
    }

    @Test
    void whatWouldBeSentIsShownBeforeAnybodyIsAsked() {
        Exchange start = client.capture(Request.of("one").system("Be brief."));
        Options after = new Options().after(start);
        Request two = Request.of("two").parameters(new Parameters().temperature(0.5)).tools(tide);
        Explanation shown = client.explain(two, after);
        assertEquals(List.of("Be brief.", "one", "one", "two"), shown.messages().stream().map(Message::text).toList());
        assertEquals(new Setting("canned-1", "profile"), shown.settings().get("model"));
        assertEquals(new Setting(new BigDecimal("0.5"), "request"), shown.settings().get("parameters.temperature"));
        assertEquals(List.of("tide"), names(shown.tools()));
        assertEquals(Optional.empty(), shown.matches());
        assertTrue(shown.bodyJson().contains("two"), shown.bodyJson());
        assertEquals(0, client.children(start).count(), "nobody was asked");
        Explanation sent = client.explainExchange(start);
        assertEquals(Optional.of(true), sent.matches());
        assertEquals("", sent.difference());
        assertEquals(1, client.explain("alone").messages().size());
        Exchange called = client.capture(Request.of("the forecast").tools(weather, tide));
        List<ToolResult> fine = called.toolCalls().stream().map(call -> new ToolResult(call.callId(), "fine")).toList();
        List<Message> messages = client.explain(new Results(fine), new Options().after(called)).messages();
        assertEquals("tool", messages.get(messages.size() - 1).role());
        assertThrows(IllegalArgumentException.class, () -> client.explain(new Results(fine)));
        assertThrows(IllegalArgumentException.class, () -> client.explain("two", after.thread(new NewThread())));
    }

    @Test
    void whatWasPreparedIsExecutedOnceAsItWasShown() {
        String thread = Words.fresh();
        client.capture("one", new Options().thread(new NewThread(thread)));
        Prepared prepared = client.prepare("two", new Options().after(new ThreadPoint(thread)).capture(true));
        assertEquals(List.of("one", "one", "two"), prepared.explanation().messages().stream().map(Message::text).toList());
        assertTrue(prepared.expires().isAfter(Instant.now()), prepared.expires()::toString);
        Exchange answer = client.execute(prepared);
        assertEquals(List.of("two", thread, prepared.runId()), List.of(answer.text(), answer.threadId(), answer.runId()));
        assertEquals(answer.exchangeId(), client.execute(prepared).exchangeId(), "the same answer, and nobody asked twice");
        assertEquals(1, client.run(answer.runId()).modelCalls());
        Instant soon = Instant.now().plus(Duration.ofMinutes(1));
        Prepared brief = client.prepare("three", new Options().expires(soon));
        assertFalse(brief.expires().isAfter(soon), brief.expires()::toString);
        Exchange loose = client.execute(brief);
        assertFalse(loose.captured());
        assertEquals(2, client.reply(loose, "four", new Options().capture(true)).turn());
    }
}
