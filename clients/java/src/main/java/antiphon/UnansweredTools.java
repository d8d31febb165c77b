package antiphon;

/** What to do with a new request while tool calls are unanswered. */
public enum UnansweredTools {
    /** Refuse it. */
    REJECT,
    /** Answer each call with a marked result. */
    INTERRUPT,
    /** Leave the calls behind. */
    ABANDON
}
