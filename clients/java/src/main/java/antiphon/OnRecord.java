package antiphon;

/**
 * An exchange that is on record: itself, or its id. A place to go on from, to branch from and to start from, where no head moves; as a part
 * of the graph, the path to it.
 */
public sealed interface OnRecord extends Point, Source, Start, Scope permits Exchange, ExchangeId {}
