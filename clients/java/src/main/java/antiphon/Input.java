package antiphon;

/** What a turn is made with: a {@link Request}, or the {@link Results} of the calls that are pending. */
public sealed interface Input permits Request, Results {}
