package antiphon;

import antiphon.gen.PrepareResponse;
import java.time.Instant;

/**
 * A request that is ready to be executed once, exactly as it was shown.
 *
 * @param preparedId names it
 * @param runId the run that it will be
 * @param expires until when it can be executed
 * @param explanation what will be sent
 */
public record Prepared(String preparedId, String runId, Instant expires, Explanation explanation) {
    static Prepared of(PrepareResponse raw, String runId) {
        return new Prepared(raw.getPreparedId(), runId, Times.of(raw.getExpireTime()), Explanation.of(raw.getExplanation()));
    }
}
