package antiphon;

/**
 * A part of the graph: an {@link Exchange} or its id, which is the path from the root to it; a {@link Subtree}; a {@link ThreadPath}; or a
 * {@link ThreadTree}.
 */
public sealed interface Scope permits OnRecord, Subtree, ThreadPath, ThreadTree {}
