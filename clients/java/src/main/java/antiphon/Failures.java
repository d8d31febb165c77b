package antiphon;

import antiphon.gen.ErrorStatus;
import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RequestInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.Map;

/** How the one exception is read from what gRPC says. Knows nothing of what was called. */
final class Failures {
    private Failures() {}

    /** Reads what a call failed with. */
    static AntiphonException of(Throwable failed) {
        if (failed instanceof AntiphonException known) {
            return known;
        }
        if (interrupted(failed)) {
            return gone(failed);
        }
        Status status = Status.fromThrowable(failed);
        String message = status.getDescription() == null ? status.getCode().name() : status.getDescription();
        AntiphonException.Facts facts = new AntiphonException.Facts(Code.of(status.getCode().value()), message);
        com.google.rpc.Status said = StatusProto.fromThrowable(failed);
        if (said != null) {
            for (Any detail : said.getDetailsList()) {
                facts = read(detail, facts);
            }
        }
        return new AntiphonException(facts.withCause(facts.reason().isEmpty() ? failed : null));
    }

    /** Reads an error that is part of an answer. */
    static AntiphonException.Facts of(ErrorStatus status) {
        return new AntiphonException.Facts(
                status.getCode() == 0 ? Code.UNKNOWN : Code.of(status.getCode()),
                status.getMessage(),
                status.getReason(),
                status.getMetadataMap(),
                null,
                "",
                null,
                null);
    }

    /** The error of a caller that no longer waits. Its thread stays interrupted. */
    static AntiphonException gone(Throwable cause) {
        Thread.currentThread().interrupt();
        return new AntiphonException(
                new AntiphonException.Facts(Code.CANCELLED, "the caller was interrupted").withCause(cause));
    }

    /** Ends a call before it begins where its caller no longer waits. */
    static void unlessInterrupted() {
        if (Thread.currentThread().isInterrupted()) {
            throw gone(null);
        }
    }

    static AntiphonException of(Code code, String message) {
        return new AntiphonException(code, message);
    }

    /** A failure with facts for a program. */
    static AntiphonException of(Code code, String reason, Map<String, String> metadata, String message) {
        return new AntiphonException(code, message, reason, metadata);
    }

    /** What a callback threw comes out as itself, whether or not its kind is declared: where it may be another one is said there. */
    @SuppressWarnings("unchecked")
    static <X extends Throwable> RuntimeException asItself(Throwable thrown) throws X {
        throw (X) thrown;
    }

    private static boolean interrupted(Throwable failed) {
        for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
            if (cause instanceof InterruptedException) {
                return true;
            }
        }
        return false;
    }

    private static AntiphonException.Facts read(Any detail, AntiphonException.Facts facts) {
        try {
            if (detail.is(ErrorInfo.class)) {
                ErrorInfo info = detail.unpack(ErrorInfo.class);
                return new AntiphonException.Facts(
                        facts.code(),
                        facts.message(),
                        info.getReason(),
                        info.getMetadataMap(),
                        facts.retryAfter(),
                        facts.requestId(),
                        null,
                        null);
            }
            if (detail.is(RetryInfo.class)) {
                return facts.withRetryAfter(duration(detail.unpack(RetryInfo.class).getRetryDelay()));
            }
            if (detail.is(RequestInfo.class)) {
                return facts.withRequestId(detail.unpack(RequestInfo.class).getRequestId());
            }
            return facts;
        } catch (InvalidProtocolBufferException unreadable) {
            // A detail that cannot be read says nothing; the code and the message are there all the same.
            return facts;
        }
    }

    static Duration duration(com.google.protobuf.Duration raw) {
        return Duration.ofSeconds(raw.getSeconds(), raw.getNanos());
    }

    static com.google.protobuf.Duration raw(Duration duration) {
        return com.google.protobuf.Duration.newBuilder()
                .setSeconds(duration.getSeconds())
                .setNanos(duration.getNano())
                .build();
    }
}
