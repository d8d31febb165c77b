package antiphon;

/**
 * Where documents are read: as of an {@link Exchange} or its id, which is what was there when it was complete; {@link BeforeExchange}; on a
 * thread, with {@link ThreadTurn}, after a turn or a run, or what is live; a version, a {@link WorkspaceVersion} or {@link WorkspaceRoot};
 * or where other {@link Documents} are.
 */
public sealed interface WorkspacePoint
        permits OnRecord, BeforeExchange, ThreadTurn, WorkspaceVersion, WorkspaceRoot, Documents {}
