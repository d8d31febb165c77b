package antiphon;

import java.util.List;

/**
 * A tool whose input schema is another one than before on the same path.
 *
 * @param name the tool's
 * @param previousExchangeId the first exchange with the schema that was the last before
 * @param previous the tool as it was
 * @param exchangeId the exchange that has it otherwise
 * @param current the tool as it is there
 */
public record Drift(String name, String previousExchangeId, OfferedTool previous, String exchangeId, OfferedTool current) {
    static Drift of(antiphon.gen.ToolDrift raw) {
        return new Drift(
                raw.getName(),
                raw.getPreviousExchangeId(),
                OfferedTool.of(raw.getPrevious()),
                raw.getExchangeId(),
                OfferedTool.of(raw.getCurrent()));
    }

    static List<Drift> of(List<antiphon.gen.ToolDrift> raw) {
        return raw.stream().map(Drift::of).toList();
    }
}
