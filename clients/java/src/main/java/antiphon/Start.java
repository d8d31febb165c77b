package antiphon;

/**
 * Where a coordination begins: an {@link Exchange} or its id, a {@link ThreadPoint}, whose head then moves, or a {@link Request} to execute
 * first.
 */
public sealed interface Start permits OnRecord, ThreadPoint, Request {}
