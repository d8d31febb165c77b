package antiphon;

import java.util.List;
import java.util.function.Consumer;

/**
 * Parameters of a call to a model; what is absent is left to the profile, then to the provider. Each method gives another one that says
 * more.
 */
public final class Parameters {
    private final antiphon.gen.Parameters raw;

    /** None. */
    public Parameters() {
        this(antiphon.gen.Parameters.getDefaultInstance());
    }

    Parameters(antiphon.gen.Parameters raw) {
        this.raw = raw;
    }

    /** How freely it chooses words. */
    public Parameters temperature(double temperature) {
        return with(made -> made.setTemperature(temperature));
    }

    /** From how large a share of the likeliest words it chooses. */
    public Parameters topP(double topP) {
        return with(made -> made.setTopP(topP));
    }

    /** How many tokens the answer may have. */
    public Parameters maxOutputTokens(int tokens) {
        return with(made -> made.setMaxOutputTokens(tokens));
    }

    /** Texts at which it stops. */
    public Parameters stopSequences(String... sequences) {
        return with(made -> made.clearStopSequences().addAllStopSequences(List.of(sequences)));
    }

    /** Makes it choose alike where the provider can. */
    public Parameters seed(long seed) {
        return with(made -> made.setSeed(seed));
    }

    /** The provider's word for how much it thinks. */
    public Parameters reasoningEffort(String effort) {
        return with(made -> made.setReasoningEffort(effort));
    }

    /** Whether one answer may have several calls of tools. */
    public Parameters parallelToolCalls(boolean parallel) {
        return with(made -> made.setParallelToolCalls(parallel));
    }

    /** What the provider takes besides, a JSON object that goes along as it is. */
    public Parameters extraJson(String json) {
        return with(made -> made.setExtraJson(json));
    }

    /** The message behind it, which says of each whether it is set. */
    public antiphon.gen.Parameters raw() {
        return raw;
    }

    private Parameters with(Consumer<antiphon.gen.Parameters.Builder> change) {
        antiphon.gen.Parameters.Builder made = raw.toBuilder();
        change.accept(made);
        return new Parameters(made.build());
    }
}
