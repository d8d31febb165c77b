package antiphon;

/** Where a turn goes on from: an {@link Exchange} or its id, where no head moves, or a {@link ThreadPoint}, whose head does. */
public sealed interface Point permits OnRecord, ThreadPoint {}
