package antiphon;

/** A thread that a first turn goes on: a {@link ThreadPoint} without exchanges, or a {@link NewThread}. */
public sealed interface Place permits ThreadPoint, NewThread {}
