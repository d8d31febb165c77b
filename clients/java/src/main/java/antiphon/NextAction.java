package antiphon;

/**
 * Decides what comes after a result. What it throws ends the coordination as failed and comes out as itself. It holds nothing at the
 * server, so it may call the same models or wait for days.
 *
 * @param <X> what it may throw that is checked; a lambda that throws nothing such needs no word of it
 */
@FunctionalInterface
public interface NextAction<X extends Exception> {
    /** Says what comes next. */
    Action decide(Decision decision) throws X;
}
