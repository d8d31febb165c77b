package antiphon;

/** Hears an answer as it comes. */
@FunctionalInterface
public interface OnDelta {
    /** What it throws ends what it hears of, and comes out of that. */
    void hear(Delta delta);
}
