package antiphon;

import antiphon.gen.RunState;
import antiphon.gen.SearchHit;
import java.util.Optional;

/**
 * Something that was found.
 *
 * @param runId the run
 * @param runState what became of it, such as {@code completed}
 * @param exchange its exchange; empty for a run that has none
 * @param snippet the text that was looked for, with what is around it; empty without a search for text
 * @param raw the message behind it
 */
public record Hit(String runId, String runState, Optional<Node> exchange, String snippet, SearchHit raw) {
    static Hit of(SearchHit raw) {
        return new Hit(
                raw.getRunId(),
                Words.word(RunState.getDescriptor(), raw.getRunStateValue()),
                raw.hasExchange() ? Optional.of(new Node(raw.getExchange())) : Optional.empty(),
                raw.getSnippet(),
                raw);
    }
}
