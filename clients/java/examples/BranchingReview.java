import antiphon.AntiphonException;
import antiphon.Client;
import antiphon.Continue;
import antiphon.Exchange;
import antiphon.NextAction;
import antiphon.Options;
import antiphon.Stop;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;

/**
 * Several reviews of one draft, each a branch of its own from the same exchange, all at once.
 *
 * <pre>ANTIPHON_SERVER=127.0.0.1:7373 java -cp ... examples/BranchingReview.java</pre>
 *
 * <p>Branches share the draft and see nothing of one another; the draft stays as it is. Each goes on until its reviewer has no more to ask.
 * How the branches are scheduled and joined is decided here.
 */
public final class BranchingReview {
    private BranchingReview() {}

    /** One branch: who asked, what was answered, where it is now, and why it broke off if it did. */
    public record Review(String reviewer, List<String> answers, Exchange head, Optional<AntiphonException> error) {}

    /** Asks a draft's author one reviewer's questions, one turn each. */
    private static Review review(Client client, Exchange draft, String reviewer, List<String> questions) {
        List<Exchange> answers = new ArrayList<>();
        Queue<String> left = new ArrayDeque<>(questions);
        NextAction<RuntimeException> next = decision -> {
            if (!decision.starting()) {
                answers.add(decision.exchange());
            }
            // A reviewer may be a person or another model here; nothing is held at the server meanwhile.
            return left.isEmpty() ? new Stop() : new Continue(reviewer + " asks: " + left.remove());
        };
        Optional<AntiphonException> error = Optional.empty();
        try {
            client.coordinate(draft, questions.size(), next, new Options().labels(Map.of("reviewer", reviewer)));
        } catch (AntiphonException failed) {
            // One branch that fails takes no other with it.
            error = Optional.of(failed);
        }
        Exchange head = answers.isEmpty() ? draft : answers.get(answers.size() - 1);
        return new Review(reviewer, answers.stream().map(Exchange::text).toList(), head, error);
    }

    /** All reviews of a draft, in the order of the reviewers. */
    public static List<Review> reviewAll(Client client, Exchange draft, Map<String, List<String>> questions) {
        List<CompletableFuture<Review>> all = questions.entrySet().stream()
                .map(asked -> CompletableFuture.supplyAsync(
                        () -> review(client, draft, asked.getKey(), asked.getValue()), work -> new Thread(work).start()))
                .toList();
        return all.stream().map(CompletableFuture::join).toList();
    }

    /** Reviews an example. */
    public static void main(String[] arguments) {
        try (Client client = Client.fromEnv()) {
            Exchange draft = client.capture("Draft a notice: the archive moves to the cellar in spring.");
            System.out.println(draft.text());
            Map<String, List<String>> questions = new LinkedHashMap<>();
            questions.put("Ada", List.of("Who carries the boxes?", "By when?"));
            questions.put("Bo", List.of("Is the cellar dry?"));
            for (Review review : reviewAll(client, draft, questions)) {
                System.out.println("\n" + review.reviewer() + ":");
                review.answers().forEach(answer -> System.out.println("  " + answer));
                review.error().ifPresent(error -> System.out.println("  " + error));
            }
        }
    }
}
