package antiphon;

import antiphon.gen.RunState;
import java.util.Map;
import java.util.Optional;

/**
 * One prompt to its final assistant message, as it was when it was read.
 *
 * @param raw the message behind it
 */
public record Run(antiphon.gen.Run raw) {
    /** Its id. */
    public String runId() {
        return raw.getRunId();
    }

    /**
     * {@code queued}, {@code running}, {@code pending_tools}, {@code completed}, {@code failed}, {@code cancelled} or {@code interrupted}.
     */
    public String state() {
        return Words.word(RunState.getDescriptor(), raw.getStateValue());
    }

    /** Whether its exchanges are kept. */
    public boolean captured() {
        return raw.getCaptured();
    }

    /** Its last exchange; empty when it has none. */
    public String exchangeId() {
        return raw.getExchangeId();
    }

    /** The thread that it moves; empty without one. */
    public String threadId() {
        return raw.getThreadId();
    }

    /** Which attempt under this id the state belongs to. */
    public int attempt() {
        return raw.getAttempt();
    }

    /** How often a provider was called for it, in all attempts. */
    public int modelCalls() {
        return raw.getObservationsCount();
    }

    /** What it consumed, each call counted once. */
    public Usage usage() {
        return Usage.of(raw.getUsage());
    }

    /** Why it failed, was cancelled or interrupted. */
    public Optional<AntiphonException> error() {
        return raw.hasError() ? Optional.of(new AntiphonException(Failures.of(raw.getError()))) : Optional.empty();
    }

    /** The labels of the request. */
    public Map<String, String> labels() {
        return raw.getLabelsMap();
    }
}
