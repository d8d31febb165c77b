package antiphon;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** JSON as values of record types: all of what a record has and nothing else. Knows nothing of tools. */
final class Binding {
    private Binding() {}

    /** Reads the components of a record. Throws an {@link IllegalArgumentException} that says where it does not fit. */
    static <T extends Record> T record(Class<T> kind, Map<String, Object> said) {
        return kind.cast(object(kind, said, ""));
    }

    private static Object object(Class<?> kind, Map<?, ?> said, String where) {
        RecordComponent[] components = kind.getRecordComponents();
        List<String> names = Arrays.stream(components).map(RecordComponent::getName).toList();
        for (Object name : said.keySet()) {
            if (!names.contains(name)) {
                throw new IllegalArgumentException("there is no " + where + name);
            }
        }
        Object[] values = new Object[components.length];
        for (int index = 0; index < components.length; index++) {
            String name = names.get(index);
            Type type = components[index].getGenericType();
            Object value = said.get(name);
            if (Shape.isOptional(type)) {
                values[index] = Optional.ofNullable(value).map(there -> value(Shape.inner(type), there, where + name));
            } else if (!said.containsKey(name)) {
                throw new IllegalArgumentException(where + name + " is missing");
            } else {
                values[index] = value(type, value, where + name);
            }
        }
        return make(kind, components, values);
    }

    private static Object make(Class<?> kind, RecordComponent[] components, Object[] values) {
        try {
            Class<?>[] types = Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
            Constructor<?> constructor = kind.getDeclaredConstructor(types);
            constructor.setAccessible(true);
            return constructor.newInstance(values);
        } catch (InvocationTargetException thrown) {
            // What the record's own constructor says of the values.
            throw new IllegalArgumentException(thrown.getCause().getMessage(), thrown.getCause());
        } catch (ReflectiveOperationException hidden) {
            throw new IllegalArgumentException("the record " + kind.getName() + " cannot be made", hidden);
        }
    }

    private static Object value(Type type, Object said, String where) {
        if (type instanceof Class<?> kind) {
            return plain(kind, said, where);
        }
        ParameterizedType generic = (ParameterizedType) type;
        if (generic.getRawType() == List.class && said instanceof List<?> items) {
            List<Object> made = new ArrayList<>();
            for (int index = 0; index < items.size(); index++) {
                made.add(value(generic.getActualTypeArguments()[0], items.get(index), where + "[" + index + "]"));
            }
            return made;
        }
        if (generic.getRawType() == Map.class && said instanceof Map<?, ?> map) {
            Map<String, Object> made = new LinkedHashMap<>();
            map.forEach((name, item) ->
                    made.put((String) name, value(generic.getActualTypeArguments()[1], item, where + "." + name)));
            return made;
        }
        throw unfit(type, where);
    }

    private static Object plain(Class<?> kind, Object said, String where) {
        if (kind == Object.class) {
            return said;
        }
        try {
            if (said instanceof String text) {
                return text(kind, text);
            }
            if (said instanceof Boolean && (kind == boolean.class || kind == Boolean.class)) {
                return said;
            }
            if (said instanceof Map<?, ?> map && kind.isRecord()) {
                return object(kind, map, where + ".");
            }
            if (said instanceof Number number) {
                return number(kind, new BigDecimal(number.toString()));
            }
        } catch (ArithmeticException | DateTimeException | Unfit misfit) {
            throw new IllegalArgumentException(unfit(kind, where).getMessage(), misfit);
        }
        throw unfit(kind, where);
    }

    private static Object text(Class<?> kind, String text) {
        if (kind == String.class) {
            return text;
        }
        if (kind == Instant.class) {
            return OffsetDateTime.parse(text).toInstant();
        }
        if (kind == OffsetDateTime.class) {
            return OffsetDateTime.parse(text);
        }
        if (kind == LocalDate.class) {
            return LocalDate.parse(text);
        }
        if (kind.isEnum()) {
            for (Object word : kind.getEnumConstants()) {
                if (((Enum<?>) word).name().equals(text)) {
                    return word;
                }
            }
        }
        throw new Unfit();
    }

    // A number that would be rounded does not fit: 1.5 is no integer, and 2^40 no int. What floats hold is rounded by nature.
    private static Object number(Class<?> kind, BigDecimal number) {
        if (kind == int.class || kind == Integer.class) {
            return number.intValueExact();
        }
        if (kind == long.class || kind == Long.class) {
            return number.longValueExact();
        }
        if (kind == short.class || kind == Short.class) {
            return number.shortValueExact();
        }
        if (kind == byte.class || kind == Byte.class) {
            return number.byteValueExact();
        }
        if (kind == BigInteger.class) {
            return number.toBigIntegerExact();
        }
        if (kind == double.class || kind == Double.class) {
            return number.doubleValue();
        }
        if (kind == float.class || kind == Float.class) {
            return number.floatValue();
        }
        if (kind == BigDecimal.class || kind == Number.class) {
            return number;
        }
        throw new Unfit();
    }

    private static IllegalArgumentException unfit(Type type, String where) {
        String name = type instanceof Class<?> kind ? kind.getSimpleName() : type.getTypeName();
        return new IllegalArgumentException(where + " is no " + name);
    }

    private static final class Unfit extends RuntimeException {
        private static final long serialVersionUID = 1;
    }
}
