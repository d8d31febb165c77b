package antiphon;

import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.time.temporal.TemporalAccessor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** How values become JSON. Knows nothing of how it is read. */
final class JsonWriter {
    private static final int MAX_DEPTH = 256;

    private JsonWriter() {}

    static void write(Object value, StringBuilder made, int depth) {
        if (depth > MAX_DEPTH) {
            throw new IllegalArgumentException("the value is nested too deeply, or contains itself");
        }
        if (value == null || value instanceof Boolean) {
            made.append(value);
        } else if (value instanceof Optional<?> optional) {
            write(optional.orElse(null), made, depth);
        } else if (value instanceof Number number) {
            made.append(number(number));
        } else if (value instanceof Enum<?> word) {
            string(word.name(), made);
        } else if (value instanceof CharSequence || value instanceof Character || value instanceof TemporalAccessor) {
            string(value.toString(), made);
        } else if (value instanceof Map<?, ?> map) {
            object(map, made, depth);
        } else if (value instanceof Record item) {
            object(fields(item), made, depth);
        } else if (value instanceof Iterable<?> items) {
            array(items, made, depth);
        } else if (value.getClass().isArray()) {
            List<Object> items = new ArrayList<>();
            for (int index = 0; index < Array.getLength(value); index++) {
                items.add(Array.get(value, index));
            }
            array(items, made, depth);
        } else {
            throw new IllegalArgumentException(value.getClass().getName() + " has no JSON; use records, maps, lists, numbers and text");
        }
    }

    private static void object(Map<?, ?> map, StringBuilder made, int depth) {
        char before = '{';
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            made.append(before);
            before = ',';
            string(String.valueOf(entry.getKey()), made);
            made.append(':');
            write(entry.getValue(), made, depth + 1);
        }
        made.append(map.isEmpty() ? "{}" : "}");
    }

    private static void array(Iterable<?> items, StringBuilder made, int depth) {
        made.append('[');
        boolean first = true;
        for (Object item : items) {
            if (!first) {
                made.append(',');
            }
            first = false;
            write(item, made, depth + 1);
        }
        made.append(']');
    }

    /** A record by its components; an optional one that is empty is left out. */
    private static Map<String, Object> fields(Record item) {
        Map<String, Object> made = new LinkedHashMap<>();
        for (RecordComponent component : item.getClass().getRecordComponents()) {
            Object value = field(item, component);
            if (!(value instanceof Optional<?> optional && optional.isEmpty())) {
                made.put(component.getName(), value);
            }
        }
        return made;
    }

    private static Object field(Record item, RecordComponent component) {
        try {
            component.getAccessor().setAccessible(true);
            return component.getAccessor().invoke(item);
        } catch (IllegalAccessException hidden) {
            throw new IllegalArgumentException("the record " + item.getClass().getName() + " cannot be read", hidden);
        } catch (InvocationTargetException thrown) {
            throw new IllegalArgumentException("the record " + item.getClass().getName() + " cannot be read", thrown.getCause());
        }
    }

    private static String number(Number number) {
        if (number instanceof Double || number instanceof Float) {
            if (!Double.isFinite(number.doubleValue())) {
                throw new IllegalArgumentException(number + " has no JSON");
            }
        }
        return number.toString();
    }

    private static void string(String text, StringBuilder made) {
        made.append('"');
        for (int index = 0; index < text.length(); index++) {
            char next = text.charAt(index);
            switch (next) {
                case '"' -> made.append("\\\"");
                case '\\' -> made.append("\\\\");
                case '\n' -> made.append("\\n");
                case '\r' -> made.append("\\r");
                case '\t' -> made.append("\\t");
                default -> {
                    // A half of a pair is no character, and no UTF-8 says it.
                    boolean alone = Character.isSurrogate(next) && !paired(text, index);
                    if (next < ' ' || alone) {
                        made.append(String.format("\\u%04x", (int) next));
                    } else {
                        made.append(next);
                    }
                }
            }
        }
        made.append('"');
    }

    private static boolean paired(String text, int index) {
        char here = text.charAt(index);
        return Character.isHighSurrogate(here)
                ? index + 1 < text.length() && Character.isLowSurrogate(text.charAt(index + 1))
                : index > 0 && Character.isHighSurrogate(text.charAt(index - 1));
    }
}
