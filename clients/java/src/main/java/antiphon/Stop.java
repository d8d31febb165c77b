package antiphon;

/** The caller has what it wanted. */
public record Stop() implements Action {}
