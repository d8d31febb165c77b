package antiphon;

/** What a coordination may wait for: an {@link Action}, the {@link Results} of tool calls, or what a model said, a {@link Generated}. */
public sealed interface Answer permits Action, Results, Generated {}
