package antiphon;

/** What happens to a run when nobody waits for it any more. */
public enum OnDisconnect {
    /** It ends. */
    CANCEL,
    /** It goes on, and its result is kept. */
    FINISH
}
