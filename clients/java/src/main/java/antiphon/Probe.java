package antiphon;

import antiphon.gen.ProbeResponse;
import antiphon.gen.StopReason;
import antiphon.gen.ValidationStatus;
import java.util.List;

/**
 * What a probe brought. Nothing of it is on record; {@link Client#record(Probe)} makes it so.
 *
 * @param raw the message behind it
 */
public record Probe(ProbeResponse raw) {
    /** All text of the answer, joined. */
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

    /** What the probe added, the answer included; not what was before it. */
    public List<Message> messages() {
        return Message.of(raw.getMessagesList());
    }

    /** Why the model stopped. */
    public String stopReason() {
        return Words.word(StopReason.getDescriptor(), raw.getStopReasonValue());
    }

    /** Whether the answer has its form. */
    public String validation() {
        return Words.word(ValidationStatus.getDescriptor(), raw.getValidation().getStatusValue());
    }

    /** What is wrong with the form of the answer, each with where. */
    public List<String> violations() {
        return Validated.violations(raw.getValidation());
    }

    /** What it consumed. */
    public Usage usage() {
        return Usage.of(raw.getUsage());
    }

    /** A fresh id, which is on no record. */
    public String runId() {
        return raw.getRunId();
    }

    /** What the caller should know. */
    public List<Warning> warnings() {
        return Warning.of(raw.getWarningsList());
    }
}
