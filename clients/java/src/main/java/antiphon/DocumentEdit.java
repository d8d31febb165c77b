package antiphon;

/** One change to a workspace. */
public sealed interface DocumentEdit permits PutDocument, RemoveDocument, CopyDocument {}
