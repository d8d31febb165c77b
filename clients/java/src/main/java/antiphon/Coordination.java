package antiphon;

import antiphon.gen.CoordinationState;
import antiphon.gen.CostAmount;
import antiphon.gen.NeededToolCall;
import antiphon.gen.SpendLimit;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

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

    /** How many tokens all of its turns may spend together, where that has a limit. */
    public OptionalLong tokenLimit() {
        SpendLimit limit = raw.getSpendLimit();
        return limit.hasTokens() ? OptionalLong.of(limit.getTokens()) : OptionalLong.empty();
    }

    /** What they may cost, such as {@code 2.5 USD}, where that has a limit. */
    public Optional<String> costLimit() {
        CostAmount cost = raw.getSpendLimit().getCost();
        return raw.getSpendLimit().hasCost() ? Optional.of(cost.getAmount() + " " + cost.getCurrency()) : Optional.empty();
    }

    /** What they spent, whether or not there is a limit. */
    public Spent spent() {
        return Spent.of(raw.getSpent());
    }

    /** Labels to list by. */
    public Map<String, String> labels() {
        return raw.getLabelsMap();
    }
}
