package antiphon;

import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import java.util.Locale;
import java.util.UUID;
import java.util.stream.Collectors;

/** Numbers of enums as words. Knows nothing of what they are about. */
final class Words {
    private static final String UNKNOWN = "unknown_";

    private Words() {}

    /**
     * A value as its word, such as {@code stop}. One that a newer server has and this package does not know is {@code unknown_} with its
     * number.
     */
    static String word(EnumDescriptor kind, int number) {
        EnumValueDescriptor known = kind.findValueByNumber(number);
        return known == null ? UNKNOWN + number : known.getName().substring(prefix(kind).length()).toLowerCase(Locale.ROOT);
    }

    /** The value of a word. */
    static int number(EnumDescriptor kind, String said) {
        EnumValueDescriptor known = kind.findValueByName(prefix(kind) + said.toUpperCase(Locale.ROOT));
        if (known != null) {
            return known.getNumber();
        }
        if (said.matches(UNKNOWN + "\\d{1,9}")) {
            return Integer.parseInt(said.substring(UNKNOWN.length()));
        }
        String there = kind.getValues().stream()
                .filter(value -> value.getNumber() != 0)
                .map(value -> word(kind, value.getNumber()))
                .collect(Collectors.joining(", "));
        throw new IllegalArgumentException("'" + said + "' is none of " + there);
    }

    /** The value of a word of this package's own. */
    static int number(EnumDescriptor kind, Enum<?> said) {
        return number(kind, said.name());
    }

    /** A name for what is made once, kept over every try of it. */
    static String fresh() {
        return UUID.randomUUID().toString();
    }

    // Each enum has its zero as PREFIX_UNSPECIFIED.
    private static String prefix(EnumDescriptor kind) {
        String zero = kind.findValueByNumber(0).getName();
        return zero.substring(0, zero.length() - "UNSPECIFIED".length());
    }
}
