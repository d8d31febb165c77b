package antiphon;

import antiphon.gen.CoordinateRequest;
import antiphon.gen.ToolResult;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** What this process has answered, so that no callback is made twice for one id. Forgotten when the coordination ends. */
final class Memory {
    private final Map<String, CoordinateRequest> answers = new ConcurrentHashMap<>();
    private final Map<String, ToolResult> results = new ConcurrentHashMap<>();

    CoordinateRequest answer(String id) {
        return answers.get(id);
    }

    void keep(String id, CoordinateRequest answer) {
        answers.put(id, answer);
    }

    void drop(String id) {
        answers.remove(id);
    }

    ToolResult result(String callId) {
        return results.get(callId);
    }

    void keep(ToolResult result) {
        results.put(result.getCallId(), result);
    }

    void clear() {
        answers.clear();
        results.clear();
    }

    boolean isEmpty() {
        return answers.isEmpty() && results.isEmpty();
    }
}
