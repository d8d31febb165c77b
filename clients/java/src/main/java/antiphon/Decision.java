package antiphon;

import antiphon.gen.DecisionNeeded;
import antiphon.gen.StopReason;

/**
 * A result is presented and the next action is asked for. No backend capacity is held meanwhile.
 *
 * @param exchange the result; or, when {@link #starting}, what the coordination was started from
 * @param coordinationId empty when it is ephemeral
 * @param raw the message behind it
 */
public record Decision(Exchange exchange, String coordinationId, DecisionNeeded raw) {
    /** Names it. */
    public String decisionId() {
        return raw.getDecisionId();
    }

    /** Whether what is presented is what it was started from. */
    public boolean starting() {
        return raw.getStarting();
    }

    /** How many turns were started. */
    public int turnsStarted() {
        return raw.getTurnsStarted();
    }

    /** How many turns can still be started; asking for one when it is 0 ends as exhausted. */
    public int turnsRemaining() {
        return raw.getTurnsRemaining();
    }

    /** Why the model stopped, for the turn as a whole: {@code tool_round_limit} where calls were left unanswered at the limit of rounds. */
    public String stopReason() {
        int ofRun = raw.getRun().getStopReasonValue();
        return Words.word(StopReason.getDescriptor(), ofRun == 0 ? raw.getExchange().getStopReasonValue() : ofRun);
    }

    /** The thread that the next turn moves; empty without one. */
    public String threadId() {
        return raw.getThreadId();
    }

    /** A stop of the server interrupted this run, started from the same exchange; its turn stays consumed. Empty when there is none. */
    public String interruptedRunId() {
        return raw.getInterruptedRunId();
    }
}
