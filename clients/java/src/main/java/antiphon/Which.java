package antiphon;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Which of what is on record are meant: those for which all of it holds. Each method gives another one that says more.
 *
 * @param states in one of these states, such as {@code completed}; in any when there are none
 * @param threadId of this thread; of any, or none, when empty
 * @param labels with all of these labels
 * @param attached of coordinations: with or without a stream
 */
public record Which(List<String> states, String threadId, Map<String, String> labels, Optional<Boolean> attached) {
    /** All. */
    public Which() {
        this(List.of(), "", Map.of(), Optional.empty());
    }

    /** In one of these states, such as {@code completed}. */
    public Which states(String... states) {
        return new Which(List.of(states), threadId, labels, attached);
    }

    /** Of this thread. */
    public Which threadId(String threadId) {
        return new Which(states, threadId, labels, attached);
    }

    /** With all of these labels. */
    public Which labels(Map<String, String> labels) {
        return new Which(states, threadId, Map.copyOf(labels), attached);
    }

    /** Of coordinations: with or without a stream. */
    public Which attached(boolean attached) {
        return new Which(states, threadId, labels, Optional.of(attached));
    }
}
