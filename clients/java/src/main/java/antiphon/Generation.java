package antiphon;

import antiphon.gen.AttemptKind;
import antiphon.gen.GenerationNeeded;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A model is to be called, by a profile whose backend is of the kind {@code client}.
 *
 * @param coordinationId empty when the coordination is ephemeral
 * @param raw the message behind it
 */
public record Generation(String coordinationId, GenerationNeeded raw) {
    /** Names the call. */
    public String generationId() {
        return raw.getGenerationId();
    }

    /** The run that it is for. */
    public String runId() {
        return raw.getRunId();
    }

    /** Which call of the run, counted from 1. */
    public int number() {
        return raw.getNumber();
    }

    /** {@code first}, or {@code retry} after a failure. */
    public String kind() {
        return Words.word(AttemptKind.getDescriptor(), raw.getKindValue());
    }

    /** What to send, the whole history. */
    public List<Message> messages() {
        return Message.of(raw.getMessagesList());
    }

    /** The model's name. */
    public String model() {
        return raw.getModel();
    }

    /** The backend of the profile. */
    public String backendId() {
        return raw.getBackendId();
    }

    /** What to offer. */
    public List<OfferedTool> tools() {
        return OfferedTool.of(raw.getTools());
    }

    /** The parameters. */
    public Parameters parameters() {
        return new Parameters(raw.getParameters());
    }

    /** {@code auto}, {@code none}, {@code required} or a tool's name; empty leaves it to the model. */
    public Optional<String> toolChoice() {
        return Tool.choice(raw.getToolChoice());
    }

    /** The JSON Schema that the answer must follow, where there is one; it is checked by the server in any case. */
    public Optional<Map<String, Object>> schema() {
        return raw.getContract().hasJsonSchema()
                ? Optional.of(Json.parseObject(raw.getContract().getJsonSchema().getSchemaJson()))
                : Optional.empty();
    }
}
