package antiphon;

import java.util.List;

/**
 * Something that the caller should know and that stopped nothing.
 *
 * @param code a stable word for programs, such as {@code tool_schema_drift}
 * @param message what it is about, for people
 */
public record Warning(String code, String message) {
    static Warning of(antiphon.gen.Warning raw) {
        return new Warning(raw.getCode(), raw.getMessage());
    }

    static List<Warning> of(List<antiphon.gen.Warning> raw) {
        return raw.stream().map(Warning::of).toList();
    }
}
