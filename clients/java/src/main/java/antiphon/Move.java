package antiphon;

import antiphon.gen.ThreadMove;
import java.time.Instant;

/**
 * One move of a thread's head.
 *
 * @param fromExchangeId the head before; empty when there was none
 * @param toExchangeId the head after
 * @param runId the run that moved it; empty for a restore
 * @param time when
 * @param fromRoot the version of the documents before, as a {@link WorkspaceRoot} names it; empty for none
 * @param toRoot the version of the documents after; empty for none
 */
public record Move(
        String fromExchangeId, String toExchangeId, String runId, Instant time, String fromRoot, String toRoot) {
    static Move of(ThreadMove raw) {
        return new Move(
                raw.getFromExchangeId(),
                raw.getToExchangeId(),
                raw.getRunId(),
                Times.of(raw.getTime()),
                raw.getFromWorkspaceRoot(),
                raw.getToWorkspaceRoot());
    }
}
