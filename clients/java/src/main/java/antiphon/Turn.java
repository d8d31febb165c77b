package antiphon;

import antiphon.gen.StopReason;

/**
 * One turn on a thread's path.
 *
 * @param number counted from 1
 * @param runId its run
 * @param exchangeId its last exchange
 * @param user the beginning of what was asked
 * @param assistant the beginning of the answer
 * @param stopReason why the model stopped
 */
public record Turn(long number, String runId, String exchangeId, String user, String assistant, String stopReason) {
    static Turn of(antiphon.gen.Turn raw) {
        return new Turn(
                raw.getTurn(),
                raw.getRunId(),
                raw.getExchangeId(),
                raw.getUserPreview(),
                raw.getAssistantPreview(),
                Words.word(StopReason.getDescriptor(), raw.getStopReasonValue()));
    }
}
