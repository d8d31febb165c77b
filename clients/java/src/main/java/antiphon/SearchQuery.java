package antiphon;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What is looked for: that for which all of it holds. Each method gives another one that says more.
 *
 * @param text stands in its own messages, upper and lower case alike; nothing is looked for in them when it is empty
 * @param scope it lies in this part of the graph; anywhere when empty
 * @param labels its run has all of these labels
 * @param models one of these models answered
 * @param offeredTools it offered one of these tools
 * @param calledTools it called one of these tools
 * @param states its run is in one of these states, such as {@code completed}; in any when there are none
 * @param rootsOnly nothing was said before it
 * @param since it was stored then or later
 * @param before it was stored before then
 */
public record SearchQuery(
        String text,
        Optional<Scope> scope,
        Map<String, String> labels,
        List<String> models,
        List<String> offeredTools,
        List<String> calledTools,
        List<String> states,
        boolean rootsOnly,
        Optional<Instant> since,
        Optional<Instant> before) {
    /** All. */
    public SearchQuery() {
        this("", Optional.empty(), Map.of(), List.of(), List.of(), List.of(), List.of(), false, Optional.empty(), Optional.empty());
    }

    /** With this text in its own messages, upper and lower case alike. */
    public SearchQuery text(String text) {
        return new SearchQuery(text, scope, labels, models, offeredTools, calledTools, states, rootsOnly, since, before);
    }

    /** In this part of the graph. */
    public SearchQuery scope(Scope scope) {
        Optional<Scope> said = Optional.of(scope);
        return new SearchQuery(text, said, labels, models, offeredTools, calledTools, states, rootsOnly, since, before);
    }

    /** Of runs with all of these labels. */
    public SearchQuery labels(Map<String, String> labels) {
        Map<String, String> said = Map.copyOf(labels);
        return new SearchQuery(text, scope, said, models, offeredTools, calledTools, states, rootsOnly, since, before);
    }

    /** That one of these models answered. */
    public SearchQuery models(String... models) {
        return new SearchQuery(text, scope, labels, List.of(models), offeredTools, calledTools, states, rootsOnly, since, before);
    }

    /** That offered one of these tools. */
    public SearchQuery offeredTools(String... tools) {
        return new SearchQuery(text, scope, labels, models, List.of(tools), calledTools, states, rootsOnly, since, before);
    }

    /** That called one of these tools. */
    public SearchQuery calledTools(String... tools) {
        return new SearchQuery(text, scope, labels, models, offeredTools, List.of(tools), states, rootsOnly, since, before);
    }

    /** Of runs in one of these states, such as {@code completed}. */
    public SearchQuery states(String... states) {
        return new SearchQuery(text, scope, labels, models, offeredTools, calledTools, List.of(states), rootsOnly, since, before);
    }

    /** Before which nothing was said. */
    public SearchQuery withRootsOnly() {
        return new SearchQuery(text, scope, labels, models, offeredTools, calledTools, states, true, since, before);
    }

    /** That was stored then or later. */
    public SearchQuery since(Instant time) {
        Optional<Instant> said = Optional.of(time);
        return new SearchQuery(text, scope, labels, models, offeredTools, calledTools, states, rootsOnly, said, before);
    }

    /** That was stored before then. */
    public SearchQuery before(Instant time) {
        Optional<Instant> said = Optional.of(time);
        return new SearchQuery(text, scope, labels, models, offeredTools, calledTools, states, rootsOnly, since, said);
    }
}
