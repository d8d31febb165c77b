package antiphon;

import antiphon.gen.FailAction;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;

/**
 * The caller failed, in a way that has a code and a reason. What a callback throws does the same with its own class and text.
 *
 * @param code any but OK
 * @param message for people
 * @param reason a stable word for programs
 * @param metadata the facts that a program needs
 * @param detailsJson more of it, as JSON
 */
public record Fail(Code code, String message, String reason, Map<String, String> metadata, String detailsJson) implements Action {
    private static final int MAX_MESSAGE_BYTES = 4096;
    private static final int MAX_REASON = 63;
    private static final int MAX_FACTS = 64;
    private static final int MAX_FACT = 1024;

    /** The caller failed. */
    public Fail {
        if (code == Code.OK) {
            throw new IllegalArgumentException("a failure has a code other than OK");
        }
        metadata = Map.copyOf(metadata);
    }

    /** The caller failed; of the code UNKNOWN. */
    public Fail(String message) {
        this(Code.UNKNOWN, message, "");
    }

    /** The caller failed. */
    public Fail(Code code, String message, String reason) {
        this(code, message, reason, Map.of());
    }

    /** The caller failed. */
    public Fail(Code code, String message, String reason, Map<String, String> metadata) {
        this(code, message, reason, metadata, "");
    }

    /** What a callback threw: its class is the reason, unless it says its own. */
    static Fail of(Throwable thrown) {
        String message = thrown.getMessage() == null ? "" : thrown.getMessage();
        if (thrown instanceof AntiphonException error) {
            return new Fail(error.code() == Code.OK ? Code.UNKNOWN : error.code(), message, error.reason(), error.metadata());
        }
        String name = thrown.getClass().getSimpleName();
        String words = name.replaceAll("(?<=[a-z0-9])(?=[A-Z])", "_").toUpperCase(Locale.ROOT);
        return new Fail(Code.UNKNOWN, message, cut(words.replaceAll("[^A-Z0-9_]", "_"), MAX_REASON));
    }

    FailAction toRaw() {
        FailAction.Builder raw = FailAction.newBuilder()
                .setCode(code.ordinal())
                .setMessage(shortened(message))
                .setReason(reason)
                .setDetailsJson(detailsJson);
        metadata.entrySet().stream()
                .limit(MAX_FACTS)
                .forEach(fact -> raw.putMetadata(cut(fact.getKey(), MAX_REASON), cut(fact.getValue(), MAX_FACT)));
        return raw.build();
    }

    private static String cut(String text, int length) {
        return text.length() <= length ? text : text.substring(0, length);
    }

    /** At most so many bytes of UTF-8 as the server takes, and no half of a character. */
    private static String shortened(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (bytes.length <= MAX_MESSAGE_BYTES) {
            return text;
        }
        int end = MAX_MESSAGE_BYTES;
        while ((bytes[end] & 0xC0) == 0x80) {
            end--;
        }
        return new String(bytes, 0, end, StandardCharsets.UTF_8);
    }
}
