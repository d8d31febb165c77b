package antiphon;

/**
 * What came of a tool call.
 *
 * @param callId the call's
 * @param text what is told to the model
 * @param isError whether the call failed
 */
public record ToolResult(String callId, String text, boolean isError) {
    /** What a call gave that did not fail. */
    public ToolResult(String callId, String text) {
        this(callId, text, false);
    }

    /** Reads one of a history; what is not text in it stays out. */
    static ToolResult of(antiphon.gen.ToolResult raw) {
        return new ToolResult(raw.getCallId(), Message.textOf(raw.getPartsList()), raw.getIsError());
    }

    antiphon.gen.ToolResult toRaw() {
        return antiphon.gen.ToolResult.newBuilder()
                .setCallId(callId)
                .addParts(Message.textPart(text))
                .setIsError(isError)
                .build();
    }
}
