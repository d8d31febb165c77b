package antiphon;

/** Sees a call of a tool before it is made. The calls of one answer are made at once, and so are the hooks around them. */
@FunctionalInterface
public interface BeforeCall {
    /** What it throws refuses the call, and the model is told; a {@link Pause} leaves the answer for later. */
    void see(ToolCall call) throws Exception;
}
