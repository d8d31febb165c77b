package antiphon;

/**
 * An exchange that is on record: itself, or its id. A place to go on from, to branch from and to start from, where no head moves. As a part
 * of the graph it is the path to it; of documents, those as of when it was complete.
 */
public sealed interface OnRecord extends Point, Source, Start, Scope, WorkspacePoint permits Exchange, ExchangeId {}
