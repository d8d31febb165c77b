package antiphon;

import java.util.List;
import java.util.Map;

/**
 * Whose usage is summed: that of all runs which any of it names. Each method gives another one that says more.
 *
 * @param scopes the runs in these parts of the graph
 * @param runIds these runs
 * @param labels the runs that have all of these labels; none when it is empty
 */
public record UsageQuery(List<Scope> scopes, List<String> runIds, Map<String, String> labels) {
    /** Nobody's yet. */
    public UsageQuery() {
        this(List.of(), List.of(), Map.of());
    }

    /** The runs in these parts of the graph. */
    public UsageQuery scopes(Scope... scopes) {
        return new UsageQuery(List.of(scopes), runIds, labels);
    }

    /** These runs, by their ids. */
    public UsageQuery runs(String... runIds) {
        return new UsageQuery(scopes, List.of(runIds), labels);
    }

    /** The runs that have all of these labels. */
    public UsageQuery labels(Map<String, String> labels) {
        return new UsageQuery(scopes, runIds, Map.copyOf(labels));
    }
}
