package antiphon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import antiphon.Fixture.Heard;
import antiphon.Fixture.Script;
import antiphon.gen.AttemptKind;
import antiphon.gen.Progress;
import antiphon.testing.Server;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Answers that must have a form, histories that are narrowed, and pieces of answers that begin anew. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class FormsTest {
    private static final Request FORM = Request.of("in its form").contract("json").repair(1);

    private static Server server;
    private static Client client;

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

    /** A model that is asked again begins anew, and what was heard of it before is not part of the answer. */
    @Test
    void anAnswerThatMissedItsFormIsToldAnewHoweverItIsAskedFor() {
        record Verdict(boolean good) {}
        List<Heard> heard = Stream.generate(Heard::new).limit(5).toList();
        List<Options> hears = heard.stream().map(each -> new Options().onDelta(each)).toList();
        List<Exchange> answers = List.of(
                client.capture(FORM, hears.get(0)), client.prompt(FORM, hears.get(1)), client.chain(FORM, List.of(), hears.get(2)));
        Probe probe = client.forkOnce(client.capture("one"), FORM, hears.get(3));
        client.coordinate(FORM, 0, new Script(), hears.get(4));
        for (Exchange answer : answers) {
            assertEquals("valid", answer.validation());
            assertEquals(Map.of("good", true), answer.json());
            assertEquals(new Verdict(true), answer.as(Verdict.class));
            assertEquals(List.of(), answer.violations());
        }
        assertEquals(new Verdict(true), probe.as(Verdict.class));
        assertEquals(Map.of("good", true), probe.json());
        assertEquals(List.of(), probe.violations());
        for (Heard told : heard) {
            assertEquals(answers.get(0).text(), told.text());
            assertEquals(1, told.anew());
        }
        List<String> kinds = new ArrayList<>();
        try (Response<Exchange> response = client.stream(FORM)) {
            response.forEach(delta -> kinds.add(delta.kind()));
            assertEquals(answers.get(0).text(), response.result().text());
        }
        assertEquals(1, kinds.stream().filter("attempt"::equals).count());
    }

    @Test
    void anAnswerThatIsNotAskedForAgainSaysWhatIsWrong() {
        Map<String, Object> form = Map.of("type", "object", "properties", Map.of("good", Map.of("type", "integer")));
        Exchange found = client.capture(Request.of("{\"good\": true}").contract(form).repair(0));
        assertEquals("invalid", found.validation());
        assertEquals(1, found.violations().size());
        assertTrue(found.violations().get(0).startsWith("/good: "), found.violations()::toString);
        assertEquals(1, client.run(found.runId()).modelCalls());
        assertEquals(2, client.run(client.capture(FORM).runId()).modelCalls());
        Fixture.refused(Code.INVALID_ARGUMENT, "LIMIT_EXCEEDED", () -> client.capture(Request.of("x").contract("json").repair(100)));
    }

    @Test
    void aHistoryMayBeNarrowed() {
        Exchange second = client.reply(client.capture("one"), "two");
        List<HistoryView> views =
                List.of(HistoryView.lastTurns(1), HistoryView.fromExchange(second.exchangeId()), HistoryView.tokenBudget(1));
        for (HistoryView view : views) {
            Exchange third = client.reply(second, Request.of("three").historyView(view));
            assertEquals(3, third.turn());
            assertEquals(List.of("history_narrowed"), third.warnings().stream().map(Warning::code).toList());
            assertEquals(6, client.inspect(third).messages().size());
        }
        // The last one that is said counts.
        Request said = Request.of("three").historyView(HistoryView.tokenBudget(1)).historyView(HistoryView.lastTurns(2));
        assertEquals(List.of(), client.reply(second, said).warnings());
    }

    /** The calls to the model that were given up are told again, too, and their pieces are not taken for those of the last. */
    @Test
    void aConnectionThatIsMadeAgainTellsNothingTwice() {
        Pieces pieces = new Pieces();
        pieces.connected();
        Progress first = attempt(1, AttemptKind.ATTEMPT_KIND_FIRST);
        Progress again = attempt(2, AttemptKind.ATTEMPT_KIND_REPAIR);
        assertEquals(
                List.of(new Delta("text", "a long answer"), Delta.ANEW, new Delta("text", "sho")),
                told(pieces, first, text("a long answer"), again, text("sho")));
        pieces.connected();
        assertEquals(List.of(new Delta("text", "rt")), told(pieces, first, text("a long answer"), again, text("sho"), text("rt")));
        assertEquals(Optional.empty(), pieces.rest("short"));
        assertEquals(Optional.of(new Delta("text", ".")), pieces.rest("short."));
    }

    @Test
    void anotherAttemptOfARunCountsFromOneAgain() {
        Pieces pieces = new Pieces();
        pieces.connected();
        for (int number = 1; number <= 3; number++) {
            assertEquals(Optional.empty(), pieces.fresh(attempt(number, AttemptKind.ATTEMPT_KIND_RETRY)));
        }
        pieces.connected();
        assertEquals(
                List.of(new Delta("text", "here")), told(pieces, attempt(1, AttemptKind.ATTEMPT_KIND_FIRST), text("here")));
    }

    @Test
    void piecesOfAKindThatIsNotKnownArePassedOver() {
        Progress strange = Progress.newBuilder().setDelta(antiphon.gen.Delta.getDefaultInstance()).build();
        assertEquals(Optional.empty(), new Pieces().fresh(strange));
    }

    private static List<Delta> told(Pieces pieces, Progress... said) {
        return Stream.of(said).map(pieces::fresh).flatMap(Optional::stream).toList();
    }

    private static Progress attempt(int number, AttemptKind kind) {
        Progress.Builder made = Progress.newBuilder();
        made.getAttemptStartedBuilder().setNumber(number).setKind(kind);
        return made.build();
    }

    private static Progress text(String text) {
        Progress.Builder made = Progress.newBuilder();
        made.getDeltaBuilder().getTextBuilder().setText(text);
        return made.build();
    }
}
