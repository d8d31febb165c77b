package antiphon;

import antiphon.gen.GetCallToolsResponse;
import java.util.List;
import java.util.Optional;

/**
 * The tools of one call to a model.
 *
 * @param offered those that it could use
 * @param standing those that the next call offers when it says nothing
 * @param toolChoice {@code auto}, {@code none}, {@code required} or a tool's name; empty left it to the model
 * @param called those that the answer called, in order
 * @param drifts those of the offered ones whose schema is another one than before
 * @param raw the message behind it
 */
public record CallTools(
        List<OfferedTool> offered,
        List<OfferedTool> standing,
        Optional<String> toolChoice,
        List<String> called,
        List<Drift> drifts,
        GetCallToolsResponse raw) {
    static CallTools of(GetCallToolsResponse raw) {
        return new CallTools(
                OfferedTool.of(raw.getTools().getOffered()),
                OfferedTool.of(raw.getTools().getStanding()),
                Tool.choice(raw.getToolChoice()),
                List.copyOf(raw.getCalledToolsList()),
                Drift.of(raw.getDriftsList()),
                raw);
    }
}
