package antiphon;

/**
 * How a part of the graph is drawn. Each method gives another one that says more.
 *
 * @param form in which language
 * @param detail what has a node of its own
 * @param previews whether nodes show the beginnings of what was said
 */
public record Drawing(Form form, Detail detail, boolean previews) {
    /** In which language. */
    public enum Form {
        /** Text for a terminal. */
        TEXT,
        /** The language of Graphviz. */
        DOT,
        /** Mermaid. */
        MERMAID
    }

    /** What has a node of its own. */
    public enum Detail {
        /** Each turn. */
        TURNS,
        /** Each exchange. */
        EXCHANGES,
        /** Roots, heads, ends, and where branches part. */
        FORKS
    }

    /** Turns, as text for a terminal. */
    public static Drawing text() {
        return new Drawing(Form.TEXT, Detail.TURNS, false);
    }

    /** Turns, for Graphviz. */
    public static Drawing dot() {
        return new Drawing(Form.DOT, Detail.TURNS, false);
    }

    /** Turns, for Mermaid. */
    public static Drawing mermaid() {
        return new Drawing(Form.MERMAID, Detail.TURNS, false);
    }

    /** With something else that has a node of its own. */
    public Drawing detail(Detail detail) {
        return new Drawing(form, detail, previews);
    }

    /** With the beginnings of what was said. */
    public Drawing withPreviews() {
        return new Drawing(form, detail, true);
    }
}
