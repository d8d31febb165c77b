package antiphon;

/** Not now: the decision stays pending, to be taken after an attach from anywhere. */
public record Suspend() implements Action {}
