package antiphon;

/**
 * A version of a workspace by its name alone, as a {@link Move} of a thread has it.
 *
 * @param root the name; empty is the version without documents
 */
public record WorkspaceRoot(String root) implements WorkspacePoint {}
