package antiphon;

/**
 * Removes a document, which must be there.
 *
 * @param name the document's
 */
public record RemoveDocument(String name) implements DocumentEdit {}
