package antiphon;

import antiphon.gen.CoordinationState;
import antiphon.gen.NeededToolCall;
import java.util.List;
import java.util.Map;

/**
 * One branch driven turn by turn, as it was when it was read.
 *
 * @param raw the message behind it
 */
public record Coordination(antiphon.gen.Coordination raw) {
    /** Its id. */
    public String coordinationId() {
        return raw.getCoordinationId();
    }

    /** {@code turn_running}, {@code awaiting_decision}, {@code awaiting_tools}, {@code awaiting_generation}, or how it ended. */
    public String state() {
        return Words.word(CoordinationState.getDescriptor(), raw.getStateValue());
    }

    /** Whether a stream is attached. */
    public boolean attached() {
        return raw.getAttached();
    }

    /** What it waits for: a decision, a batch of calls, or a generation; empty when for nothing. */
    public String pendingId() {
        return raw.getPendingId();
    }

    /** The calls that it waits for; only where a single one was asked for. */
    public List<ToolCall> toolCalls() {
        return ToolCall.of(raw.getToolsNeeded().getCallsList().stream().map(NeededToolCall::getCall).toList());
    }

    /** Its last exchange; empty when it has none. */
    public String exchangeId() {
        return raw.getExchangeId();
    }

    /** How many turns were started. */
    public int turnsStarted() {
        return raw.getTurnsStarted();
    }

    /** How many can still be. */
    public int turnsRemaining() {
        return raw.getTurnsRemaining();
    }

    /** Labels to list by. */
    public Map<String, String> labels() {
        return raw.getLabelsMap();
    }
}
