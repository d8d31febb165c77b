package antiphon;

/**
 * Takes a document from another version, or from elsewhere, without sending its content.
 *
 * @param name what it is called here
 * @param source where it is taken from
 * @param sourceName what it is called there; the same when empty
 */
public record CopyDocument(String name, WorkspacePoint source, String sourceName) implements DocumentEdit {
    /** Of the same name. */
    public CopyDocument(String name, WorkspacePoint source) {
        this(name, source, "");
    }
}
