package antiphon;

/**
 * The whole tree that a thread's path is in, with its siblings.
 *
 * @param threadId the thread
 */
public record ThreadTree(String threadId) implements Scope {}
