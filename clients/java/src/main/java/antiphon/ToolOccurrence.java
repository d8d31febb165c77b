package antiphon;

import java.util.List;

/**
 * A call to a model that had a tool.
 *
 * @param exchangeId what it made
 * @param runId its run
 * @param threadId the thread that the exchange was made on; empty without one
 * @param offered whether the tool was offered
 * @param schemaHash tells its input schema there from others; empty where it was not offered
 * @param callIds the calls of it in the answer
 */
public record ToolOccurrence(
        String exchangeId, String runId, String threadId, boolean offered, String schemaHash, List<String> callIds) {
    static ToolOccurrence of(antiphon.gen.ToolOccurrence raw) {
        return new ToolOccurrence(
                raw.getExchangeId(),
                raw.getRunId(),
                raw.getThreadId(),
                raw.getOffered(),
                raw.getSchemaHash(),
                List.copyOf(raw.getCallIdsList()));
    }
}
