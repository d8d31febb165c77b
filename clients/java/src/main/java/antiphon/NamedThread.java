package antiphon;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A thread: a named bookmark into the graph, as it was when it was read. It is called so since Java has threads of its own.
 *
 * @param raw the message behind it
 */
public record NamedThread(antiphon.gen.Thread raw) {
    /** Its id. */
    public String threadId() {
        return raw.getThreadId();
    }

    /** A name for people. */
    public String name() {
        return raw.getName();
    }

    /** The last exchange of its last completed run; empty when there is none. */
    public String headExchangeId() {
        return raw.getHeadExchangeId();
    }

    /** How many turns lead to the head. */
    public long turnCount() {
        return raw.getTurnCount();
    }

    /** Changes with every change of it. */
    public String etag() {
        return raw.getEtag();
    }

    /** The run at work, or the one that failed or was interrupted and may be resumed; empty without one. */
    public String activeRunId() {
        return raw.getActiveRunId();
    }

    /** The thread that it was forked from; empty when it was not, or at a bare exchange. */
    public String parentThreadId() {
        return raw.getParent().getThreadId();
    }

    /** Its labels. */
    public Map<String, String> labels() {
        return raw.getLabelsMap();
    }

    /** The caller's own data, as {@link Json} reads it. */
    public Optional<Map<String, Object>> metadata() {
        return raw.getMetadataJson().isEmpty() ? Optional.empty() : Optional.of(Json.parseObject(raw.getMetadataJson()));
    }

    /** The calls that wait for results. */
    public List<ToolCall> toolCalls() {
        return ToolCall.of(raw.getPending().getCallsList());
    }
}
