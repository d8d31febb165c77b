package antiphon;

import antiphon.gen.RecordResponse;
import antiphon.gen.RecordedExchange;
import java.util.List;

/**
 * What was stored, and what was there.
 *
 * @param raw the message behind it
 */
public record Recorded(RecordResponse raw) {
    /** The last exchange of the transcript. */
    public String exchangeId() {
        return raw.getExchangeId();
    }

    /** One for each assistant message, in order. */
    public List<String> exchangeIds() {
        return raw.getExchangesList().stream().map(RecordedExchange::getExchangeId).toList();
    }

    /** How many are new. */
    public int stored() {
        return raw.getStoredCount();
    }

    /** How many were there before. */
    public int matched() {
        return raw.getMatchedCount();
    }

    /** The thread; empty without one. */
    public String threadId() {
        return raw.getThread().getThreadId();
    }

    /** Whether it is the result of an earlier call under the same request id. */
    public boolean replayed() {
        return raw.getReplayed();
    }
}
