package antiphon;

import java.util.List;

/**
 * A tool as it was offered to a model.
 *
 * @param name the tool's
 * @param description what a model is told of it
 * @param schemaJson the JSON Schema of its arguments
 * @param schemaHash tells whether two schemas are one
 * @param sideEffects whether probes leave it out unless told otherwise
 * @param requiresHuman whether its answer may take days
 */
public record OfferedTool(
        String name, String description, String schemaJson, String schemaHash, boolean sideEffects, boolean requiresHuman) {
    static List<OfferedTool> of(antiphon.gen.ToolSet raw) {
        return raw.getToolsList().stream().map(OfferedTool::of).toList();
    }

    static OfferedTool of(antiphon.gen.Tool raw) {
        return new OfferedTool(
                raw.getName(),
                raw.getDescription(),
                raw.getInputSchemaJson(),
                raw.getSchemaHash(),
                raw.getSideEffects(),
                raw.getRequiresHuman());
    }
}
