import antiphon.Client;
import antiphon.Continue;
import antiphon.Exchange;
import antiphon.Request;
import antiphon.Stop;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A loop that asks for refinement until the caller is content, or the budget of turns is used up.
 *
 * <pre>ANTIPHON_SERVER=127.0.0.1:7373 java -cp ... examples/AnalysisLoop.java</pre>
 *
 * <p>The server runs the turns and keeps them. What an answer is worth, and what to ask for next, is decided here.
 */
public final class AnalysisLoop {
    private AnalysisLoop() {}

    /** The last answer, and what it still leaves out. */
    public record Analysis(Exchange exchange, List<String> missing) {}

    /** Has a text analysed until the analysis treats every topic. */
    public static Analysis analyse(Client client, String text, List<String> topics, int additionalTurns) {
        AtomicReference<Analysis> latest = new AtomicReference<>();
        Request start = Request.of("Analyse this: " + text).system("Analyse what you are given, in a few sentences.");
        client.coordinate(start, additionalTurns, decision -> {
            String answer = decision.exchange().text().toLowerCase(Locale.ROOT);
            List<String> missing = topics.stream().filter(topic -> !answer.contains(topic.toLowerCase(Locale.ROOT))).toList();
            latest.set(new Analysis(decision.exchange(), missing));
            return missing.isEmpty() ? new Stop() : new Continue("Go on: " + String.join(", ", missing) + "?");
        });
        // Whether it stopped or was exhausted, the last answer was seen; `missing` tells which.
        return latest.get();
    }

    /** Analyses an example. */
    public static void main(String[] arguments) {
        try (Client client = Client.fromEnv()) {
            Analysis found = analyse(client, "We move the archive to the cellar in spring.", List.of("risk", "cost"), 3);
            System.out.println(found.exchange().text());
            if (!found.missing().isEmpty()) {
                System.out.println("It never came to: " + String.join(", ", found.missing()));
            }
        }
    }
}
