package antiphon;

import antiphon.gen.AttemptKind;
import antiphon.gen.AttemptStarted;
import java.util.Optional;

/**
 * More of an answer on its way.
 *
 * @param kind {@code text}, {@code reasoning}, {@code tool_call} or {@code refusal}; or {@code attempt} where the answer begins anew, since
 *     what was told of it before was of a call that failed or whose answer missed its form
 * @param text more of that; of a tool call, more of its arguments
 */
public record Delta(String kind, String text) {
    /** That what was told so far is void. */
    static final Delta ANEW = new Delta("attempt", "");

    /** Reads one; empty for a kind that this package does not know. */
    static Optional<Delta> of(antiphon.gen.Delta raw) {
        return Optional.ofNullable(
                switch (raw.getDeltaCase()) {
                    case TEXT -> new Delta("text", raw.getText().getText());
                    case REASONING -> new Delta("reasoning", raw.getReasoning().getText());
                    case TOOL_CALL -> new Delta("tool_call", raw.getToolCall().getArgumentsJson());
                    case REFUSAL -> new Delta("refusal", raw.getRefusal().getText());
                    case DELTA_NOT_SET -> null;
                });
    }

    /** Whether a call to the model takes the place of one before it. */
    static boolean isAnew(AttemptStarted raw) {
        return raw.getKind() == AttemptKind.ATTEMPT_KIND_RETRY || raw.getKind() == AttemptKind.ATTEMPT_KIND_REPAIR;
    }
}
