package antiphon;

import java.util.List;
import java.util.Map;

/**
 * A model asks for a tool.
 *
 * @param callId names the call
 * @param name the tool's
 * @param argumentsJson the arguments as the model wrote them, which need not be JSON; see {@link #arguments}
 * @param raw the message behind it
 */
public record ToolCall(String callId, String name, String argumentsJson, antiphon.gen.ToolCall raw) {
    /** A call that the caller says was made; {@code argumentsJson} are its arguments as JSON. */
    public ToolCall(String callId, String name, String argumentsJson) {
        this(callId, name, argumentsJson, antiphon.gen.ToolCall.getDefaultInstance());
    }

    static ToolCall of(antiphon.gen.ToolCall raw) {
        return new ToolCall(raw.getCallId(), raw.getName(), raw.getArgumentsJson(), raw);
    }

    static List<ToolCall> of(List<antiphon.gen.ToolCall> raw) {
        return raw.stream().map(ToolCall::of).toList();
    }

    /** The arguments, as {@link Json} reads them. Throws an {@link IllegalArgumentException} when they are no JSON object. */
    public Map<String, Object> arguments() {
        return Json.parseObject(argumentsJson);
    }

    antiphon.gen.ToolCall toRaw() {
        return antiphon.gen.ToolCall.newBuilder()
                .setCallId(callId)
                .setName(name)
                .setArgumentsJson(argumentsJson)
                .setProviderCallId(raw.getProviderCallId())
                .build();
    }
}
