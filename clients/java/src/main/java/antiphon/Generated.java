package antiphon;

import antiphon.gen.GeneratedAnswer;
import antiphon.gen.GenerationFailure;
import antiphon.gen.StopReason;
import java.util.List;
import java.util.function.Consumer;

/** What a model of the caller's own said, whole. Each method gives another one that says more. */
public final class Generated implements Answer {
    private static final int MAX_MESSAGE = 1024;

    private final GeneratedAnswer raw;

    private Generated(GeneratedAnswer raw) {
        this.raw = raw;
    }

    /** A text. */
    public static Generated of(String text) {
        return of(Message.assistant(text));
    }

    /** A text with calls, each with the provider's id as its {@code callId}. */
    public static Generated of(String text, List<ToolCall> calls) {
        return of(Message.assistant(text, calls.toArray(ToolCall[]::new)));
    }

    /** An answer with parts that a text and calls cannot say. */
    public static Generated of(Message message) {
        StopReason reason = message.toolCalls().isEmpty() ? StopReason.STOP_REASON_STOP : StopReason.STOP_REASON_TOOL_CALLS;
        return new Generated(
                GeneratedAnswer.newBuilder().setAssistant(message.raw()).setStopReason(reason).build());
    }

    /** Why it stopped; {@code stop}, or {@code tool_calls} where there are some, when absent. */
    public Generated stopReason(String reason) {
        int number = Words.number(StopReason.getDescriptor(), reason);
        return with(made -> made.setStopReasonValue(number));
    }

    /** The provider's own word for that. */
    public Generated stopReasonRaw(String reason) {
        return with(made -> made.setStopReasonRaw(reason));
    }

    /** What it consumed. */
    public Generated usage(Usage usage) {
        return with(made -> made.setUsage(usage.toRaw()));
    }

    /** Who answered, and over which interface of theirs. */
    public Generated provider(String provider, String api) {
        return with(made -> made.setProvider(provider).setApi(api));
    }

    /** Which model says that it answered, and by which id the provider knows the answer. */
    public Generated response(String model, String id) {
        return with(made -> made.setResponseModel(model).setResponseId(id));
    }

    antiphon.gen.Generated toRaw(String generationId) {
        return antiphon.gen.Generated.newBuilder().setGenerationId(generationId).setAnswer(raw).build();
    }

    /**
     * A call that failed, as it goes out. An {@link AntiphonException} says its own code, UNAVAILABLE for instance where another try may
     * help; of everything else only the class is told, since its text may have what must not be on record.
     */
    static antiphon.gen.Generated failed(String generationId, Throwable thrown) {
        GenerationFailure.Builder failure = GenerationFailure.newBuilder()
                .setCode(Code.UNKNOWN.ordinal())
                .setMessage(thrown.getClass().getSimpleName());
        if (thrown instanceof AntiphonException error && error.code() != Code.OK) {
            String message = error.getMessage();
            failure.setCode(error.code().ordinal())
                    .setMessage(message.length() <= MAX_MESSAGE ? message : message.substring(0, MAX_MESSAGE))
                    .setProviderCode(error.reason());
            error.retryAfter().ifPresent(after -> failure.setRetryAfter(Failures.raw(after)));
        }
        return antiphon.gen.Generated.newBuilder().setGenerationId(generationId).setFailure(failure).build();
    }

    private Generated with(Consumer<GeneratedAnswer.Builder> change) {
        GeneratedAnswer.Builder made = raw.toBuilder();
        change.accept(made);
        return new Generated(made.build());
    }
}
