package antiphon;

/** Where a branch begins: an {@link Exchange} or its id, or a {@link ThreadTurn}. */
public sealed interface Source permits OnRecord, ThreadTurn {}
