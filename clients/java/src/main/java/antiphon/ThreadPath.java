package antiphon;

/**
 * The path from the root to a thread's head.
 *
 * @param threadId the thread
 */
public record ThreadPath(String threadId) implements Scope {}
