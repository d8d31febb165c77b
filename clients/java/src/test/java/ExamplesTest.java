import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import antiphon.Client;
import antiphon.Exchange;
import antiphon.Options;
import antiphon.Request;
import antiphon.Suspend;
import antiphon.testing.Server;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The examples do what they say, as functions and as programs, and so does what the README shows. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class ExamplesTest {
    private static final String CONFIG =
            """
            default_profile = "canned"

            [profiles.canned]
            backend = "script"
            model = "canned-1"

            [profiles.mine]
            backend = "mine"
            model = "mine-1"

            [backends.mine]
            kind = "client"

            [backends.script]
            kind = "scripted"
            retry = { attempts = 1 }

            [[backends.script.rules]]
            when = "Analyse this"
            text = "The risk is water."

            [[backends.script.rules]]
            when = "Go on: cost?"
            text = "The risk is water, the cost is that of pumps."

            [[backends.script.rules]]
            when = "Draft"
            text = "The archive moves in spring."

            [[backends.script.rules]]
            when = "By when"
            fault = { kind = "status", status = 400, message = "no date" }

            [[backends.script.rules]]
            text = "{turn}: {last_user}"
            """;

    private static Server server;
    private static Client client;

    @TempDir
    Path folder;

    @BeforeAll
    static void begin() {
        server = Server.start(new Server.Config().config(CONFIG));
        client = Client.connect(server.address());
    }

    @AfterAll
    static void end() {
        client.close();
        server.close();
    }

    /** Runs a program, a class or a file of source, as a person would. */
    private String run(String program) throws IOException, InterruptedException {
        Path said = folder.resolve("said");
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        ProcessBuilder process = new ProcessBuilder(java, "-ea", "-cp", System.getProperty("java.class.path"), program);
        process.environment().put("ANTIPHON_SERVER", "http://" + server.address());
        process.redirectErrorStream(true).redirectOutput(said.toFile());
        int status = process.start().waitFor();
        String all = Files.readString(said);
        assertEquals(0, status, all);
        return all;
    }

    /** S4-48, S4-49: the analysis is refined until nothing is missing. */
    @Test
    void theAnalysisIsRefinedUntilNothingIsMissing() throws Exception {
        var found = AnalysisLoop.analyse(client, "The archive moves.", List.of("risk", "cost"), 3);
        assertEquals("The risk is water, the cost is that of pumps.", found.exchange().text());
        assertEquals(List.of(), found.missing());
        assertEquals(2, found.exchange().turn());
        var never = AnalysisLoop.analyse(client, "The archive moves.", List.of("risk", "joy"), 1);
        assertEquals(List.of("risk"), never.missing());
        assertEquals(2, never.exchange().turn());
        assertEquals("The risk is water, the cost is that of pumps.\n", run("AnalysisLoop"));
    }

    /** S4-41, S4-42, S4-T6: reviews are branches of one draft, and one that fails takes no other with it. */
    @Test
    void reviewsAreBranchesOfOneDraft() throws Exception {
        Exchange draft = client.capture("Draft a notice.");
        Map<String, List<String>> questions = new LinkedHashMap<>();
        questions.put("Ada", List.of("Who?", "By when?"));
        questions.put("Bo", List.of("Dry?", "Warm?"));
        var reviews = BranchingReview.reviewAll(client, draft, questions);
        assertEquals(List.of("2: Ada asks: Who?"), reviews.get(0).answers());
        assertEquals("PROVIDER_REFUSED_REQUEST", reviews.get(0).error().orElseThrow().reason());
        assertEquals(draft.exchangeId(), reviews.get(0).head().parentExchangeId());
        assertEquals(List.of("2: Bo asks: Dry?", "3: Bo asks: Warm?"), reviews.get(1).answers());
        assertTrue(reviews.get(1).error().isEmpty());
        String said = run("BranchingReview");
        assertTrue(said.startsWith("The archive moves in spring.\n\nAda:\n  2: Ada asks: Who carries the boxes?\n"), said);
        assertTrue(said.endsWith("\n\nBo:\n  2: Bo asks: Is the cellar dry?\n"), said);
    }

    @Test
    void whatTheReadmeShowsCompilesAndRuns() throws Exception {
        List<String> pieces = pieces(Path.of("README.md"));
        assertEquals(9, pieces.size());
        client.coordinate(Request.of("zero"), 3, decision -> new Suspend(), new Options().coordinationId("readme"));
        String given =
                """
                String coordinationId = "readme";
                NextAction<RuntimeException> nextAction = decision -> new Stop();
                """;
        List<String> said = program(given + String.join("\n", pieces));
        assertTrue(said.contains("STOPPED"), said::toString);
        assertTrue(said.contains("HELLO"), said::toString);
        assertTrue(said.contains("[plan]"), said::toString);
        assertTrue(said.contains("added plan --- plan"), said::toString);
        assertTrue(said.contains("graph TD") && said.contains("In French?"), said::toString);
    }

    /** S0-42: what the page on continuing and branching shows, and what its text says of heads and documents. */
    @Test
    void whatThePageOnContinuingAndBranchingShowsCompilesAndRuns() throws Exception {
        List<String> pieces = pieces(Path.of("../../docs/continuing-and-branching.md"));
        assertEquals(1, pieces.size());
        String shown =
                """
                System.out.println(second.turn() + " " + other.setting("model").orElseThrow() + " " + byShip.turn() + " " + weather.turn());
                System.out.println(client.thread(byTrain.threadId()).name() + " " + client.thread(byTrain.threadId()).turnCount());
                System.out.println(answer.turn() + " " + plan.trim());
                System.out.println(client.thread("trip").headExchangeId().equals(again.exchangeId()));
                """;
        assertEquals(List.of("2 a-larger-model 3 3", "by train 3", "2 By ship.", "true"), program(pieces.get(0) + shown));
        client.deleteThread("trip");
    }

    private static List<String> pieces(Path page) throws IOException {
        return Pattern.compile("```java\n(.*?)```", Pattern.DOTALL)
                .matcher(Files.readString(page))
                .results()
                .map(piece -> piece.group(1))
                .toList();
    }

    /** Runs pieces as one program, in which each sees the names of those before it, and gives its lines. */
    private List<String> program(String pieces) throws IOException, InterruptedException {
        String body = Pattern.compile("^import .*$", Pattern.MULTILINE).matcher(pieces).replaceAll("");
        String program =
                """
                import antiphon.*;
                import antiphon.testing.Server;
                import java.util.List;

                final class Shown {
                    public static void main(String[] arguments) {
                        %s
                        client.close();
                    }
                }
                """
                        .formatted(body.replace("127.0.0.1:7373", server.address()));
        return run(Files.writeString(folder.resolve("Shown.java"), program).toString()).lines().toList();
    }
}
