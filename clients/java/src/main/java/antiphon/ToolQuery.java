package antiphon;

import java.util.Optional;

/**
 * Which calls that had a tool are meant: those for which all of it holds. Each method gives another one that says more.
 *
 * @param kind {@code offered} or {@code called}; either when empty
 * @param schemaHash it had this input schema; any when empty
 * @param scope in this part of the graph; anywhere when empty
 */
public record ToolQuery(String kind, String schemaHash, Optional<Scope> scope) {
    /** All. */
    public ToolQuery() {
        this("", "", Optional.empty());
    }

    /** Those that had it in this way: {@code offered} or {@code called}. */
    public ToolQuery kind(String kind) {
        return new ToolQuery(kind, schemaHash, scope);
    }

    /** Those where it had this input schema, as {@link OfferedTool#schemaHash} tells it. */
    public ToolQuery schemaHash(String schemaHash) {
        return new ToolQuery(kind, schemaHash, scope);
    }

    /** Those in this part of the graph. */
    public ToolQuery scope(Scope scope) {
        return new ToolQuery(kind, schemaHash, Optional.of(scope));
    }
}
