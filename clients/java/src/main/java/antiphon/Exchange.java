package antiphon;

import antiphon.gen.EffectiveSetting;
import antiphon.gen.Part;
import antiphon.gen.RecordedFacts;
import antiphon.gen.RunResponse;
import antiphon.gen.StopReason;
import antiphon.gen.ToolList;
import antiphon.gen.UncapturedPrefix;
import antiphon.gen.ValidationStatus;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** One completed model call. What is on record never changes. */
public final class Exchange implements OnRecord {
    private final antiphon.gen.Exchange raw;
    private final boolean captured;
    // What was said before it, where that is on no record; null where it is not known here.
    private final List<antiphon.gen.Message> before;
    // The tools that a reply offers when it says nothing, where no record tells.
    private final ToolList standing;
    private final List<Warning> told;

    private Exchange(
            antiphon.gen.Exchange raw, boolean captured, List<antiphon.gen.Message> before, ToolList standing, List<Warning> told) {
        this.raw = raw;
        this.captured = captured;
        this.before = before;
        this.standing = standing;
        this.told = told;
    }

    /** One that is on record. */
    static Exchange of(antiphon.gen.Exchange raw) {
        return new Exchange(raw, true, null, null, List.of());
    }

    /** One of which nothing is on record; {@code before} is null where it is not known. */
    static Exchange loose(antiphon.gen.Exchange raw, List<antiphon.gen.Message> before, ToolList standing) {
        return new Exchange(raw, false, before, standing, List.of());
    }

    /** What a run said that was not captured; so many of its messages were said before it. */
    static Exchange uncaptured(RunResponse said, int before, ToolList standing) {
        List<antiphon.gen.Message> rendered = said.getRenderedMessagesList();
        int count = Math.min(before, rendered.size());
        antiphon.gen.Exchange.Builder made = antiphon.gen.Exchange.newBuilder()
                .setRunId(said.getRun().getRunId())
                .addAllMessages(rendered.subList(count, rendered.size()))
                .setAssistant(said.getAssistant())
                .setText(said.getText())
                .setStopReasonValue(said.getStopReasonValue())
                .setStopReasonRaw(said.getStopReasonRaw())
                .addAllEffectiveSettings(said.getEffectiveSettingsList())
                .addAllObservations(said.getRun().getObservationsList())
                .addAllWarnings(said.getWarningsList())
                .putAllLabels(said.getRun().getLabelsMap())
                .setUsage(said.getRun().getUsage());
        if (said.hasValidation()) {
            made.setValidation(said.getValidation());
        }
        said.getAssistant().getPartsList().stream()
                .filter(Part::hasToolCall)
                .forEach(part -> made.addPendingToolCalls(part.getToolCall()));
        return loose(made.build(), List.copyOf(rendered.subList(0, count)), standing);
    }

    /** The same with warnings of earlier calls of its turn, which are not in {@code raw}. */
    Exchange told(List<Warning> told) {
        return new Exchange(raw, captured, before, standing, List.copyOf(told));
    }

    /** The message behind it. */
    public antiphon.gen.Exchange raw() {
        return raw;
    }

    /** Whether it is on record. One that is not can be replied to, from what is in memory here, and nothing else. */
    public boolean captured() {
        return captured;
    }

    /** Its id; empty when it is not on record. */
    public String exchangeId() {
        return captured ? raw.getExchangeId() : "";
    }

    /** The model call before it; empty at a root. */
    public String parentExchangeId() {
        return raw.getParentExchangeId();
    }

    /** The run that made it. */
    public String runId() {
        return raw.getRunId();
    }

    /** The thread that it was made on; empty without one. */
    public String threadId() {
        return raw.getThreadId();
    }

    /** The number of its turn on its path. */
    public long turn() {
        return raw.getTurn();
    }

    /** What the call added to the history before the answer. */
    public List<Message> messages() {
        return Message.of(raw.getMessagesList());
    }

    /** The answer. */
    public Message assistant() {
        return new Message(raw.getAssistant());
    }

    /** The text parts of the answer, joined. */
    public String text() {
        return raw.getText();
    }

    /**
     * The answer as {@link Json} reads it: the value that was found valid where it had to have a form, else its text. Throws an {@link
     * IllegalArgumentException} when it is no JSON.
     */
    public Object json() {
        return Json.parse(Validated.json(raw.getValidation(), raw.getText()));
    }

    /** The answer read as a record. Throws an {@link IllegalArgumentException} when it does not fit. */
    public <T extends Record> T as(Class<T> form) {
        return Binding.record(form, Json.parseObject(Validated.json(raw.getValidation(), raw.getText())));
    }

    /** Why the model stopped, such as {@code stop}, {@code max_tokens} or {@code tool_calls}. */
    public String stopReason() {
        return Words.word(StopReason.getDescriptor(), raw.getStopReasonValue());
    }

    /** Whether the answer has its form: {@code valid}, {@code invalid} or {@code not_applicable}. */
    public String validation() {
        return Words.word(ValidationStatus.getDescriptor(), raw.getValidation().getStatusValue());
    }

    /** What is wrong with the form of the answer, each with where. */
    public List<String> violations() {
        return Validated.violations(raw.getValidation());
    }

    /** The calls of the answer that nothing answers yet. */
    public List<ToolCall> toolCalls() {
        return ToolCall.of(raw.getPendingToolCallsList());
    }

    /** The tools that this very call offered. */
    public List<OfferedTool> tools() {
        return OfferedTool.of(raw.getTools().getOffered());
    }

    /** The tools that the next call offers when it says nothing. */
    public List<OfferedTool> standingTools() {
        return OfferedTool.of(raw.getTools().getStanding());
    }

    /** What it consumed. */
    public Usage usage() {
        return Usage.of(raw.getUsage());
    }

    /** What the caller should know of this call and those before it in the turn, each said once. */
    public List<Warning> warnings() {
        return Stream.concat(told.stream(), raw.getWarningsList().stream().map(Warning::of)).distinct().toList();
    }

    /** The labels of the request. */
    public Map<String, String> labels() {
        return raw.getLabelsMap();
    }

    /** A setting as it was used, such as {@code model}, as {@link Json} reads it; empty when there was none. */
    public Optional<Object> setting(String name) {
        return raw.getEffectiveSettingsList().stream()
                .filter(setting -> setting.getName().equals(name))
                .map(EffectiveSetting::getValueJson)
                .findFirst()
                .map(Json::parse);
    }

    /** A setting that is a text; empty when there was none. */
    String textSetting(String name) {
        return setting(name).filter(String.class::isInstance).map(String.class::cast).orElse("");
    }

    /** The tools that a reply offers when it says nothing, where no record tells; null where one does. */
    ToolList standing() {
        return standing;
    }

    /** All of an exchange that is on no record, as it goes out. */
    UncapturedPrefix prefix() {
        if (before == null) {
            throw notCaptured("what was said before it is known to nobody any more");
        }
        RecordedFacts.Builder facts = RecordedFacts.newBuilder()
                .setModel(textSetting("model"))
                .setStopReasonValue(raw.getStopReasonValue())
                .setUsage(usage().toRaw());
        if (standing != null) {
            facts.setTools(standing);
        }
        return UncapturedPrefix.newBuilder()
                .addAllRenderedMessages(before)
                .addAllRenderedMessages(raw.getMessagesList())
                .setAssistant(raw.getAssistant())
                .setRunId(runId())
                .setFacts(facts)
                .build();
    }

    /** The error of a call that needs it on record. */
    AntiphonException notCaptured(String why) {
        String message =
                "run " + runId() + " was not captured, and " + why + ": capture it, or use reply where a branch is not needed";
        return Failures.of(Code.FAILED_PRECONDITION, "NOT_CAPTURED", Map.of("run_id", runId()), message);
    }
}
