package antiphon;

/** The caller's own model, for a profile whose backend is of the kind {@code client}. */
@FunctionalInterface
public interface Generate {
    /**
     * Calls it. With an {@link AntiphonException}, the server decides by its code whether it is asked again; anything else that is thrown
     * fails the turn and comes out as itself, and of its text nothing goes to the server.
     */
    Generated call(Generation generation);
}
