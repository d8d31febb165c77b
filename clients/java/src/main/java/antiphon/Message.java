package antiphon;

import antiphon.gen.Part;
import antiphon.gen.Role;
import antiphon.gen.TextPart;
import java.util.List;
import java.util.stream.Collectors;

/**
 * One message of a history.
 *
 * @param raw the message with all of its parts; images, files and what a provider attached are only there
 */
public record Message(antiphon.gen.Message raw) {
    /** What the system says. */
    public static Message system(String text) {
        return of("system", text);
    }

    /** What a person says. */
    public static Message user(String text) {
        return of("user", text);
    }

    /** What a model says, with the calls that it makes. */
    public static Message assistant(String text, ToolCall... calls) {
        antiphon.gen.Message.Builder made = antiphon.gen.Message.newBuilder().setRole(Role.ROLE_ASSISTANT);
        if (!text.isEmpty()) {
            made.addParts(textPart(text));
        }
        for (ToolCall call : calls) {
            made.addPartsBuilder().setToolCall(call.toRaw());
        }
        return new Message(made.build());
    }

    /** Results of calls. */
    public static Message tool(List<ToolResult> results) {
        antiphon.gen.Message.Builder made = antiphon.gen.Message.newBuilder().setRole(Role.ROLE_TOOL);
        for (ToolResult result : results) {
            made.addPartsBuilder().setToolResult(result.toRaw());
        }
        return new Message(made.build());
    }

    /** One of a role, {@code system}, {@code user}, {@code assistant} or {@code tool}, with a text. */
    public static Message of(String role, String text) {
        int number = Words.number(Role.getDescriptor(), role);
        return new Message(antiphon.gen.Message.newBuilder().setRoleValue(number).addParts(textPart(text)).build());
    }

    static List<Message> of(List<antiphon.gen.Message> raw) {
        return raw.stream().map(Message::new).toList();
    }

    /** {@code system}, {@code user}, {@code assistant} or {@code tool}. */
    public String role() {
        return Words.word(Role.getDescriptor(), raw.getRoleValue());
    }

    /** Its text parts, joined. */
    public String text() {
        return textOf(raw.getPartsList());
    }

    /** The calls in it. */
    public List<ToolCall> toolCalls() {
        return raw.getPartsList().stream().filter(Part::hasToolCall).map(part -> ToolCall.of(part.getToolCall())).toList();
    }

    /** The results in it. */
    public List<ToolResult> toolResults() {
        return raw.getPartsList().stream().filter(Part::hasToolResult).map(part -> ToolResult.of(part.getToolResult())).toList();
    }

    static Part textPart(String text) {
        return Part.newBuilder().setText(TextPart.newBuilder().setText(text)).build();
    }

    static String textOf(List<Part> parts) {
        return parts.stream().map(part -> part.getText().getText()).collect(Collectors.joining());
    }
}
