package antiphon;

/** A status code by the name that gRPC gives it. */
public enum Code {
    /** No failure. */
    OK,
    /** Somebody gave up. */
    CANCELLED,
    /** Nothing is known, or the caller's own failure that said nothing else. */
    UNKNOWN,
    /** The request is wrong whatever the state of things. */
    INVALID_ARGUMENT,
    /** It took too long. */
    DEADLINE_EXCEEDED,
    /** There is no such thing. */
    NOT_FOUND,
    /** There is one already, and it is another. */
    ALREADY_EXISTS,
    /** The key does not open this. */
    PERMISSION_DENIED,
    /** A limit or a queue is full. */
    RESOURCE_EXHAUSTED,
    /** Not as things stand. */
    FAILED_PRECONDITION,
    /** Somebody was faster, or it was interrupted. */
    ABORTED,
    /** Past the end of what is there. */
    OUT_OF_RANGE,
    /** Not yet. */
    UNIMPLEMENTED,
    /** A fault of the server. */
    INTERNAL,
    /** Not now; waiting helps. */
    UNAVAILABLE,
    /** What was stored cannot be read. */
    DATA_LOSS,
    /** A key is missing or wrong. */
    UNAUTHENTICATED;

    private static final Code[] ALL = values();

    /** A code by its number; UNKNOWN for one that is none. */
    static Code of(int number) {
        return number >= 0 && number < ALL.length ? ALL[number] : UNKNOWN;
    }
}
