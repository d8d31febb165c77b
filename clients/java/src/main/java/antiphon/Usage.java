package antiphon;

import antiphon.gen.UsageCompleteness;
import java.util.OptionalLong;

/**
 * Tokens of one model call with its retries and repairs, or of a run; what the provider did not say is absent, which is not zero.
 *
 * @param inputTokens all that were read, cached ones included
 * @param outputTokens all that were written, reasoning included
 * @param totalTokens both
 * @param cachedInputTokens those read from the provider's cache
 * @param cacheWrittenTokens those written to it
 * @param reasoningTokens those of reasoning
 * @param completeness {@code complete}, {@code partial} where the figures are a lower bound, or {@code unknown}
 * @param reported the caller's word; the server did not see the call
 */
public record Usage(
        OptionalLong inputTokens,
        OptionalLong outputTokens,
        OptionalLong totalTokens,
        OptionalLong cachedInputTokens,
        OptionalLong cacheWrittenTokens,
        OptionalLong reasoningTokens,
        String completeness,
        boolean reported) {
    /** What a call that the caller made consumed. */
    public static Usage of(long inputTokens, long outputTokens) {
        OptionalLong none = OptionalLong.empty();
        return new Usage(OptionalLong.of(inputTokens), OptionalLong.of(outputTokens), none, none, none, none, "complete", true);
    }

    static Usage of(antiphon.gen.Usage raw) {
        return new Usage(
                counter(raw.hasInputTokens(), raw.getInputTokens()),
                counter(raw.hasOutputTokens(), raw.getOutputTokens()),
                counter(raw.hasTotalTokens(), raw.getTotalTokens()),
                counter(raw.hasCachedInputTokens(), raw.getCachedInputTokens()),
                counter(raw.hasCacheWrittenTokens(), raw.getCacheWrittenTokens()),
                counter(raw.hasReasoningTokens(), raw.getReasoningTokens()),
                Words.word(UsageCompleteness.getDescriptor(), raw.getCompletenessValue()),
                raw.getReported());
    }

    /** As it goes out, with a call that the caller made. */
    antiphon.gen.Usage toRaw() {
        antiphon.gen.Usage.Builder raw = antiphon.gen.Usage.newBuilder();
        inputTokens.ifPresent(raw::setInputTokens);
        outputTokens.ifPresent(raw::setOutputTokens);
        totalTokens.ifPresent(raw::setTotalTokens);
        cachedInputTokens.ifPresent(raw::setCachedInputTokens);
        cacheWrittenTokens.ifPresent(raw::setCacheWrittenTokens);
        reasoningTokens.ifPresent(raw::setReasoningTokens);
        return raw.build();
    }

    private static OptionalLong counter(boolean said, long counter) {
        return said ? OptionalLong.of(counter) : OptionalLong.empty();
    }
}
