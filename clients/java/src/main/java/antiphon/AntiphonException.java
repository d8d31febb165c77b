package antiphon;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * A call was refused or failed, or a coordination ended failed or cancelled. There is no other exception of this package's own but
 * {@link Pause}, which tools throw.
 */
public final class AntiphonException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final Code code;
    private final String reason;
    private final transient Map<String, String> metadata;
    private final transient Duration retryAfter;
    private final String requestId;
    private final transient Exchange undelivered;

    /** An error of a callback that says its code; {@code message} is for people. */
    public AntiphonException(Code code, String message) {
        this(code, message, "", Map.of());
    }

    /** An error of a callback that says its code, a stable word for programs and the facts that they need. */
    public AntiphonException(Code code, String message, String reason, Map<String, String> metadata) {
        this(new Facts(code, message, reason, metadata, null, "", null, null));
    }

    AntiphonException(Facts facts) {
        super(facts.message, facts.cause);
        code = facts.code;
        reason = facts.reason;
        metadata = Map.copyOf(facts.metadata);
        retryAfter = facts.retryAfter;
        requestId = facts.requestId;
        undelivered = facts.undelivered;
    }

    /** gRPC's status code. */
    public Code code() {
        return code;
    }

    /** A stable word such as {@code HEAD_MOVED}, from the list in error.proto, or the caller's own; empty when the transport failed. */
    public String reason() {
        return reason;
    }

    /** The facts that a program needs, by the names that error.proto gives for the reason. */
    public Map<String, String> metadata() {
        return metadata == null ? Map.of() : metadata;
    }

    /** How long to wait before the next try; only where waiting helps. */
    public Optional<Duration> retryAfter() {
        return Optional.ofNullable(retryAfter);
    }

    /** What the server's log has, too; empty where no server was heard. */
    public String requestId() {
        return requestId;
    }

    /** A completed result that was on record and never presented when a coordination ended. */
    public Optional<Exchange> undelivered() {
        return Optional.ofNullable(undelivered);
    }

    /** Whether the same call may be made again without asking: RUN_INTERRUPTED never is, since the model may have been called. */
    public boolean canRetry() {
        if (reason.equals("RUN_INTERRUPTED")) {
            return false;
        }
        boolean waitingHelps = retryAfter != null && (code == Code.RESOURCE_EXHAUSTED || code == Code.ABORTED);
        return code == Code.UNAVAILABLE || waitingHelps;
    }

    /** The code, the reason and the message. */
    @Override
    public String toString() {
        return code + (reason.isEmpty() ? "" : " " + reason) + ": " + getMessage();
    }

    /** Everything that it says, to make another of it. */
    Facts facts() {
        return new Facts(code, getMessage(), reason, metadata(), retryAfter, requestId, undelivered, getCause());
    }

    /** What an exception is made of. */
    record Facts(
            Code code,
            String message,
            String reason,
            Map<String, String> metadata,
            Duration retryAfter,
            String requestId,
            Exchange undelivered,
            Throwable cause) {
        Facts(Code code, String message) {
            this(code, message, "", Map.of(), null, "", null, null);
        }

        Facts withMetadata(Map<String, String> said) {
            return new Facts(code, message, reason, said, retryAfter, requestId, undelivered, cause);
        }

        Facts withRetryAfter(Duration said) {
            return new Facts(code, message, reason, metadata, said, requestId, undelivered, cause);
        }

        Facts withRequestId(String said) {
            return new Facts(code, message, reason, metadata, retryAfter, said, undelivered, cause);
        }

        Facts withUndelivered(Exchange said) {
            return new Facts(code, message, reason, metadata, retryAfter, requestId, said, cause);
        }

        Facts withCause(Throwable said) {
            return new Facts(code, message, reason, metadata, retryAfter, requestId, undelivered, said);
        }
    }
}
