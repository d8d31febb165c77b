package antiphon;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** JSON Schemas of record types. Knows nothing of tools, nor of the values that fit. */
final class Shape {
    private static final Set<Class<?>> INTEGERS = Set.of(
            int.class, Integer.class, long.class, Long.class, short.class, Short.class, byte.class, Byte.class, BigInteger.class);
    private static final Set<Class<?>> NUMBERS =
            Set.of(double.class, Double.class, float.class, Float.class, BigDecimal.class, Number.class);

    private Shape() {}

    /** The schema of an object with the components of a record. */
    static Map<String, Object> of(Class<? extends Record> kind) {
        return object(kind, kind.getSimpleName(), List.of());
    }

    private static Map<String, Object> of(Type type, String where, List<Class<?>> within) {
        if (type instanceof Class<?> kind) {
            if (kind == String.class) {
                return Map.of("type", "string");
            }
            if (kind == boolean.class || kind == Boolean.class) {
                return Map.of("type", "boolean");
            }
            if (INTEGERS.contains(kind)) {
                return Map.of("type", "integer");
            }
            if (NUMBERS.contains(kind)) {
                return Map.of("type", "number");
            }
            if (kind == Instant.class || kind == OffsetDateTime.class) {
                return ordered("type", "string", "format", "date-time");
            }
            if (kind == LocalDate.class) {
                return ordered("type", "string", "format", "date");
            }
            if (kind == Object.class) {
                return Map.of();
            }
            if (kind.isEnum()) {
                List<String> names = Arrays.stream(kind.getEnumConstants()).map(word -> ((Enum<?>) word).name()).toList();
                return ordered("type", "string", "enum", names);
            }
            if (kind.isRecord()) {
                return object(kind, where, within);
            }
        }
        if (type instanceof ParameterizedType generic) {
            Type[] arguments = generic.getActualTypeArguments();
            if (generic.getRawType() == List.class) {
                return ordered("type", "array", "items", of(arguments[0], where, within));
            }
            if (generic.getRawType() == Map.class && arguments[0] == String.class) {
                return ordered("type", "object", "additionalProperties", of(arguments[1], where, within));
            }
        }
        throw new IllegalArgumentException(where + ": " + type.getTypeName()
                + " has no JSON Schema here; use text, numbers, booleans, enums, times, List, Map, Optional and records, or give a schema");
    }

    private static Map<String, Object> object(Class<?> kind, String where, List<Class<?>> within) {
        if (within.contains(kind)) {
            throw new IllegalArgumentException(where + ": " + kind.getName() + " contains itself; give a schema");
        }
        List<Class<?>> deeper = new ArrayList<>(within);
        deeper.add(kind);
        Map<String, Object> properties = new LinkedHashMap<>();
        List<String> required = new ArrayList<>();
        for (RecordComponent component : kind.getRecordComponents()) {
            String name = component.getName();
            Map<String, Object> found = new LinkedHashMap<>(of(inner(component.getGenericType()), where + "." + name, deeper));
            Description said = component.getAnnotation(Description.class);
            if (said != null) {
                found.put("description", said.value());
            }
            properties.put(name, found);
            if (!isOptional(component.getGenericType())) {
                required.add(name);
            }
        }
        Map<String, Object> made = ordered("type", "object", "properties", properties);
        made.put("required", required);
        made.put("additionalProperties", false);
        return made;
    }

    /** Whether a component may be left out. */
    static boolean isOptional(Type type) {
        return type instanceof ParameterizedType generic && generic.getRawType() == Optional.class;
    }

    /** The type of what is there when it is. */
    static Type inner(Type type) {
        return type instanceof ParameterizedType generic && isOptional(type) ? generic.getActualTypeArguments()[0] : type;
    }

    // Equal types give equal bytes, so that a change of a schema is told; Map.of has no order to rely on.
    private static Map<String, Object> ordered(String first, Object one, String second, Object other) {
        Map<String, Object> made = new LinkedHashMap<>();
        made.put(first, one);
        made.put(second, other);
        return made;
    }
}
