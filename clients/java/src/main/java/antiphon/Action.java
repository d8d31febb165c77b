package antiphon;

/** What comes next: {@link Continue}, {@link Stop}, {@link Fail} or {@link Suspend}. */
public sealed interface Action extends Answer permits Continue, Stop, Fail, Suspend {}
