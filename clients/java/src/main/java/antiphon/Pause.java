package antiphon;

import java.util.List;

/**
 * Thrown by a tool, or a {@link BeforeCall}, whose answer comes later, from a person for instance: the coordination is left for that, and
 * the loop throws one that says where to go on, once the other calls have their results. Give the answer with {@link Client#answer(String,
 * Answer)}, or by the tool itself after {@link Client#resume(String, List)} or an attach.
 */
public final class Pause extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String coordinationId;
    private final transient List<ToolCall> calls;

    /** The answer comes later. */
    public Pause() {
        super("the answer comes later");
        coordinationId = "";
        calls = List.of();
    }

    Pause(String coordinationId, List<ToolCall> calls) {
        super("coordination " + coordinationId + " waits for the results of " + calls.size() + " calls");
        this.coordinationId = coordinationId;
        this.calls = List.copyOf(calls);
    }

    /** Of what was left; to attach to, or to answer. */
    public String coordinationId() {
        return coordinationId;
    }

    /** The calls that have no result yet. */
    public List<ToolCall> calls() {
        return calls == null ? List.of() : calls;
    }
}
