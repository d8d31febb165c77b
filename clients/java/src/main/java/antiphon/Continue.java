package antiphon;

import antiphon.gen.NextTurn;
import java.util.Objects;
import java.util.Optional;

/**
 * Another turn, from the exchange that was presented.
 *
 * @param input a request, or the results of the calls that the exchange left unanswered
 * @param unansweredTools what to do with a request while tool calls are unanswered; refuse when absent
 * @param detachThread whether to go on without the thread from here on, as when its head was moved by others
 */
public record Continue(Input input, Optional<UnansweredTools> unansweredTools, boolean detachThread) implements Action {
    /** Another turn. */
    public Continue {
        Objects.requireNonNull(input);
    }

    /** Another turn. */
    public Continue(Input input) {
        this(input, Optional.empty(), false);
    }

    /** Another turn, with a text. */
    public Continue(String text) {
        this(Request.of(text));
    }

    /** The same with what to do with a request while tool calls are unanswered. */
    public Continue withUnansweredTools(UnansweredTools what) {
        return new Continue(input, Optional.of(what), detachThread);
    }

    /** The same, without the thread from here on. */
    public Continue withoutThread() {
        return new Continue(input, unansweredTools, true);
    }

    /** All of it but the input, as it goes out. */
    NextTurn.Builder rawBesideInput() {
        NextTurn.Builder raw = NextTurn.newBuilder().setDetachThread(detachThread);
        unansweredTools.ifPresent(
                what -> raw.setUnansweredToolsValue(Words.number(antiphon.gen.UnansweredTools.getDescriptor(), what)));
        return raw;
    }
}
