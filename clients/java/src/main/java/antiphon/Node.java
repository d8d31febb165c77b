package antiphon;

import antiphon.gen.ExchangeNode;
import antiphon.gen.ExchangeOrigin;
import antiphon.gen.StopReason;
import java.util.Map;

/**
 * An exchange in the graph, without its content; {@link Client#inspect(OnRecord)} has that.
 *
 * @param raw the message behind it
 */
public record Node(ExchangeNode raw) {
    /** Its id. */
    public String exchangeId() {
        return raw.getExchangeId();
    }

    /** The exchange before it; empty at a root. */
    public String parentExchangeId() {
        return raw.getParentExchangeId();
    }

    /** Its run. */
    public String runId() {
        return raw.getRunId();
    }

    /** The thread that it was made on; empty without one. */
    public String threadId() {
        return raw.getThreadId();
    }

    /** The number of its turn on its path. */
    public long turn() {
        return raw.getTurn();
    }

    /** How many exchanges are on the path to it, itself included. */
    public long depth() {
        return raw.getDepth();
    }

    /** Whether it is the last exchange of a completed run. */
    public boolean endsTurn() {
        return raw.getEndsTurn();
    }

    /** How it came to be here: {@code executed}, {@code recorded} or {@code imported}. */
    public String origin() {
        return Words.word(ExchangeOrigin.getDescriptor(), raw.getOriginValue());
    }

    /** The model that was asked for; empty where the caller did not say. */
    public String model() {
        return raw.getResponder().getModel();
    }

    /** Why the model stopped. */
    public String stopReason() {
        return Words.word(StopReason.getDescriptor(), raw.getStopReasonValue());
    }

    /** What it consumed. */
    public Usage usage() {
        return Usage.of(raw.getUsage());
    }

    /** Its labels. */
    public Map<String, String> labels() {
        return raw.getLabelsMap();
    }

    /** The beginning of what was asked. */
    public String user() {
        return raw.getUserPreview();
    }

    /** The beginning of the answer. */
    public String assistant() {
        return raw.getAssistantPreview();
    }

    /** How many exchanges follow from it. */
    public long childCount() {
        return raw.getChildCount();
    }

    /** This exchange, to go on from, to branch from, or to read. */
    public ExchangeId id() {
        return new ExchangeId(raw.getExchangeId());
    }
}
