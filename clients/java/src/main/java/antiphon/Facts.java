package antiphon;

import antiphon.gen.RecordedFacts;
import antiphon.gen.StopReason;
import java.util.List;
import java.util.function.Consumer;

/** What is known of a call that the caller made. Each method gives another one that says more. */
public final class Facts {
    private final RecordedFacts raw;

    private Facts(RecordedFacts raw) {
        this.raw = raw;
    }

    /** Of the call whose answer is this one of the messages, counted from 0. */
    public static Facts of(int messageIndex) {
        return new Facts(RecordedFacts.newBuilder().setMessageIndex(messageIndex).build());
    }

    /** Names the run. */
    public Facts runId(String runId) {
        return with(made -> made.setRunId(runId));
    }

    /** Who answered. */
    public Facts provider(String provider) {
        return with(made -> made.setProvider(provider));
    }

    /** Which model answered. */
    public Facts model(String model) {
        return with(made -> made.setModel(model));
    }

    /** Why it stopped, such as {@code stop}. */
    public Facts stopReason(String reason) {
        int number = Words.number(StopReason.getDescriptor(), reason);
        return with(made -> made.setStopReasonValue(number));
    }

    /** What it consumed. */
    public Facts usage(Usage usage) {
        return with(made -> made.setUsage(usage.toRaw()));
    }

    /** The tools that were offered; they stand from then on. */
    public Facts tools(List<Tool> tools) {
        return with(made -> made.setTools(Tool.list(tools)));
    }

    RecordedFacts toRaw() {
        return raw;
    }

    private Facts with(Consumer<RecordedFacts.Builder> change) {
        RecordedFacts.Builder made = raw.toBuilder();
        change.accept(made);
        return new Facts(made.build());
    }
}
