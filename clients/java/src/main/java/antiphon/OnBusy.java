package antiphon;

/** What to do on a thread while another run is at work on it. */
public enum OnBusy {
    /** Refuse, and name that run. */
    REJECT,
    /** Wait for its end. */
    ENQUEUE,
    /** End it. */
    INTERRUPT,
    /** Go on from the same head on a thread of its own. */
    FORK
}
