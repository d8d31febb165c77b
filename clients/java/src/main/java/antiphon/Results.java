package antiphon;

import antiphon.gen.ToolResults;
import java.util.List;

/**
 * What came of the calls that are pending, of all of them: goes on with the run that made them.
 *
 * @param results one for each call
 */
public record Results(List<ToolResult> results) implements Input, Answer {
    /** What came of them. */
    public Results {
        results = List.copyOf(results);
    }

    /** What came of them. */
    public static Results of(ToolResult... results) {
        return new Results(List.of(results));
    }

    List<antiphon.gen.ToolResult> list() {
        return results.stream().map(ToolResult::toRaw).toList();
    }

    ToolResults toRaw() {
        return ToolResults.newBuilder().addAllResults(list()).build();
    }
}
