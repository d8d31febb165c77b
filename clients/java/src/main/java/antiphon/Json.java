package antiphon;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON whose numbers keep all of their digits.
 *
 * <p>Objects are {@code Map<String, Object>} in their order, arrays {@code List<Object>}, integers {@link BigInteger}, other numbers {@link
 * BigDecimal}; text, {@link Boolean} and {@code null} are what they are.
 */
public final class Json {
    private static final int MAX_DEPTH = 256;
    // So many digits of an exponent are past any use, and would cost memory when such a number is written out.
    private static final int MAX_EXPONENT_DIGITS = 6;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Reads JSON. Throws an {@link IllegalArgumentException} for what is none. */
    public static Object parse(String text) {
        Json reader = new Json(text);
        Object found = reader.value(0);
        reader.space();
        if (reader.at < text.length()) {
            throw reader.wrong("there is more than one value");
        }
        return found;
    }

    /** Reads a JSON object. Throws an {@link IllegalArgumentException} for anything else. */
    public static Map<String, Object> parseObject(String text) {
        if (parse(text) instanceof Map<?, ?> found) {
            @SuppressWarnings("unchecked") // parse makes no other maps
            Map<String, Object> made = (Map<String, Object>) found;
            return made;
        }
        throw new IllegalArgumentException("it is no JSON object");
    }

    /**
     * Writes JSON: maps, records, lists, arrays, optionals, enums by their names, numbers, text, times as ISO 8601 has them. Equal values
     * give equal text. Throws an {@link IllegalArgumentException} for what JSON has no word for.
     */
    public static String write(Object value) {
        StringBuilder made = new StringBuilder();
        JsonWriter.write(value, made, 0);
        return made.toString();
    }

    private Object value(int depth) {
        if (depth > MAX_DEPTH) {
            throw wrong("it is nested too deeply");
        }
        space();
        if (at >= text.length()) {
            throw wrong("it ends too early");
        }
        char next = text.charAt(at);
        return switch (next) {
            case '{' -> object(depth);
            case '[' -> array(depth);
            case '"' -> string();
            case 't' -> word("true", Boolean.TRUE);
            case 'f' -> word("false", Boolean.FALSE);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Map<String, Object> object(int depth) {
        Map<String, Object> made = new LinkedHashMap<>();
        at++;
        space();
        if (taken('}')) {
            return made;
        }
        do {
            space();
            if (at >= text.length() || text.charAt(at) != '"') {
                throw wrong("a name is missing");
            }
            String name = string();
            space();
            need(':');
            made.put(name, value(depth + 1));
            space();
        } while (taken(','));
        need('}');
        return made;
    }

    private List<Object> array(int depth) {
        List<Object> made = new ArrayList<>();
        at++;
        space();
        if (taken(']')) {
            return made;
        }
        do {
            made.add(value(depth + 1));
            space();
        } while (taken(','));
        need(']');
        return Collections.unmodifiableList(made);
    }

    private String string() {
        StringBuilder made = new StringBuilder();
        for (at++; at < text.length(); at++) {
            char next = text.charAt(at);
            if (next == '"') {
                at++;
                return made.toString();
            }
            if (next < ' ') {
                throw wrong("a text has a control character");
            }
            made.append(next == '\\' ? escaped() : next);
        }
        throw wrong("a text does not end");
    }

    private char escaped() {
        at++;
        char next = at < text.length() ? text.charAt(at) : ' ';
        return switch (next) {
            case '"', '\\', '/' -> next;
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> {
                String digits = text.substring(Math.min(at + 1, text.length()), Math.min(at + 5, text.length()));
                if (!digits.matches("[0-9a-fA-F]{4}")) {
                    throw wrong("a text has an escape that is none");
                }
                at += 4;
                yield (char) Integer.parseInt(digits, 16);
            }
            default -> throw wrong("a text has an escape that is none");
        };
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw wrong("it has a word that is none of JSON");
        }
        at += word.length();
        return value;
    }

    private Number number() {
        int start = at;
        taken('-');
        if (!taken('0') && !digits()) {
            throw wrong("it has something that is none of JSON");
        }
        boolean whole = true;
        if (taken('.')) {
            whole = false;
            if (!digits()) {
                throw wrong("a number lacks digits");
            }
        }
        if (taken('e') || taken('E')) {
            whole = false;
            if (!taken('-')) {
                taken('+');
            }
            int exponent = at;
            if (!digits() || at - exponent > MAX_EXPONENT_DIGITS) {
                throw wrong("a number has an exponent that is none, or too large");
            }
        }
        String said = text.substring(start, at);
        return whole ? new BigInteger(said) : new BigDecimal(said);
    }

    private boolean digits() {
        int start = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        return at > start;
    }

    private void space() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private boolean taken(char wanted) {
        if (at < text.length() && text.charAt(at) == wanted) {
            at++;
            return true;
        }
        return false;
    }

    private void need(char wanted) {
        if (!taken(wanted)) {
            throw wrong("'" + wanted + "' is missing");
        }
    }

    private IllegalArgumentException wrong(String what) {
        return new IllegalArgumentException("it is no JSON: at character " + at + ", " + what);
    }
}
