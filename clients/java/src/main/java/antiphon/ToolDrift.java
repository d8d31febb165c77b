package antiphon;

/** What happens when an offered tool has another input schema than the history had under its name. */
public enum ToolDrift {
    /** The result says so. */
    WARN,
    /** The call is refused before the model is asked. */
    REFUSE
}
