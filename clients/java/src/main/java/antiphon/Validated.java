package antiphon;

import antiphon.gen.Validation;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What was found of an answer that had to have a form. Knows nothing of whose answer it is. */
final class Validated {
    private Validated() {}

    /** The JSON in it: what was found valid, else the answer's text. */
    static String json(Validation found, String text) {
        return found.getValueJson().isEmpty() ? text : found.getValueJson();
    }

    /** What is wrong, in a line each: where, as a JSON Pointer, and what. */
    static List<String> violations(Validation found) {
        return found.getViolationsList().stream()
                .map(one -> Stream.of(one.getInstancePath(), one.getMessage())
                        .filter(part -> !part.isEmpty())
                        .collect(Collectors.joining(": ")))
                .toList();
    }
}
