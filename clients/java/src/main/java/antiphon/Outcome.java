package antiphon;

import antiphon.gen.AnswerRejected;
import antiphon.gen.CoordinationDetached;
import antiphon.gen.CoordinationEnded;
import antiphon.gen.DetachReason;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * How a coordination went that neither failed nor was cancelled. None of the states says anything about the last result's worth.
 *
 * @param state how
 * @param coordinationId empty when it was ephemeral
 * @param undelivered a completed result that was never presented
 */
public record Outcome(State state, String coordinationId, Optional<Exchange> undelivered) {
    /** How a coordination went. */
    public enum State {
        /** The caller said so. */
        STOPPED,
        /** The caller asked for a turn when none was left. */
        EXHAUSTED,
        /** The caller left it for later. */
        SUSPENDED
    }

    /** How it ended: an outcome, or throws why it failed. */
    static Outcome of(CoordinationEnded ended, String coordinationId) {
        Exchange undelivered = ended.hasUndeliveredExchange() ? Exchange.of(ended.getUndeliveredExchange()) : null;
        AntiphonException.Facts facts =
                switch (ended.getOutcomeCase()) {
                    case STOPPED, EXHAUSTED -> null;
                    case FAILED -> Failures.of(ended.getFailed().getError());
                    case CANCELLED -> Failures.of(ended.getCancelled().getError());
                    // A newer server may have more ways than this package knows.
                    case OUTCOME_NOT_SET -> new AntiphonException.Facts(
                            Code.UNKNOWN, "the coordination ended in a way that this client does not know: read it by its id");
                };
        if (facts != null) {
            throw new AntiphonException(facts.withUndelivered(undelivered));
        }
        return new Outcome(ended.hasStopped() ? State.STOPPED : State.EXHAUSTED, coordinationId, Optional.ofNullable(undelivered));
    }

    /** What a stream says that ends before its coordination: an outcome where that was asked for with {@link Suspend}, else throws. */
    static Outcome of(CoordinationDetached frame) {
        String id = frame.getCoordinationId();
        if (frame.getReason() == DetachReason.DETACH_REASON_SUSPENDED) {
            return new Outcome(State.SUSPENDED, id, Optional.empty());
        }
        boolean taken = frame.getReason() == DetachReason.DETACH_REASON_TAKEN_OVER;
        String reason = Words.word(DetachReason.getDescriptor(), frame.getReasonValue()).toUpperCase(Locale.ROOT);
        String message = "coordination " + id + " was detached (" + reason + ") and goes on without this stream; attach to it "
                + (taken ? "where it is not attached already" : "again later");
        Map<String, String> metadata = Map.of("coordination_id", id, "pending_id", frame.getPendingId());
        throw Failures.of(taken ? Code.ABORTED : Code.UNAVAILABLE, reason, metadata, message);
    }

    /** Why an answer changed nothing. */
    static AntiphonException rejection(AnswerRejected rejected, String coordinationId) {
        AntiphonException.Facts said = Failures.of(rejected.getError());
        Map<String, String> metadata = new LinkedHashMap<>(said.metadata());
        metadata.putIfAbsent("coordination_id", coordinationId);
        return new AntiphonException(said.withMetadata(metadata)
                .withRetryAfter(rejected.hasRetryAfter() ? Failures.duration(rejected.getRetryAfter()) : null));
    }
}
