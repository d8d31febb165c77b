package antiphon;

/** Sees each call of a tool with its result. */
@FunctionalInterface
public interface AfterCall {
    /** What it throws cancels the loop and comes out of it. */
    void see(ToolCall call, ToolResult result);
}
