package antiphon;

import antiphon.gen.ToolChoice;
import antiphon.gen.ToolList;
import antiphon.gen.ToolSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Objects;

/**
 * A function that a model may call. What it returns is the result: text as it is, everything else as JSON; what it throws is one for the
 * model, too.
 */
public final class Tool {
    private final String name;
    private final String description;
    private final String schemaJson;
    private final boolean sideEffects;
    private final boolean requiresHuman;
    private final Function<String> function;

    /**
     * The code behind a tool. What it throws is told to the model, which may do better; a {@link Pause} leaves the answer for later.
     *
     * @param <T> what it takes
     */
    @FunctionalInterface
    public interface Function<T> {
        /** Does what the tool does. */
        Object call(T arguments) throws Exception;
    }

    private Tool(
            String name, String description, String schemaJson, boolean sideEffects, boolean requiresHuman, Function<String> function) {
        if (name.isEmpty()) {
            throw new IllegalArgumentException("a tool needs a name");
        }
        this.name = name;
        this.description = Objects.requireNonNull(description);
        this.schemaJson = schemaJson;
        this.sideEffects = sideEffects;
        this.requiresHuman = requiresHuman;
        this.function = Objects.requireNonNull(function);
    }

    /**
     * A tool whose arguments are the components of a record, which is also its schema: {@link Description} says what each is for, and one
     * that is an {@code Optional} may be left out. Arguments that do not fit are told to the model. Throws an {@link
     * IllegalArgumentException} for a type that has no JSON Schema.
     */
    public static <T extends Record> Tool of(String name, String description, Class<T> arguments, Function<? super T> function) {
        Objects.requireNonNull(function);
        return new Tool(name, description, Json.write(Shape.of(arguments)), false, false, said -> {
            T fitting;
            try {
                fitting = Binding.record(arguments, Json.parseObject(said));
            } catch (IllegalArgumentException unfit) {
                throw new IllegalArgumentException("the arguments of " + name + " do not fit: " + unfit.getMessage(), unfit);
            }
            return function.call(fitting);
        });
    }

    /** A tool with a JSON Schema of its own, which is checked by nobody: its function gets the arguments as {@link Json} reads them. */
    public static Tool of(String name, String description, Map<String, ?> schema, Function<? super Map<String, Object>> function) {
        Objects.requireNonNull(function);
        return new Tool(
                name, description, Json.write(schema), false, false, said -> function.call(Json.parseObject(said)));
    }

    /** The same, kept from probes unless they are told to offer it. */
    public Tool withSideEffects() {
        return new Tool(name, description, schemaJson, true, requiresHuman, function);
    }

    /** The same, with an answer that may take days, so that a probe never offers it. */
    public Tool thatRequiresHuman() {
        return new Tool(name, description, schemaJson, sideEffects, true, function);
    }

    /** What the model calls it. */
    public String name() {
        return name;
    }

    /** What the model is told of it. */
    public String description() {
        return description;
    }

    /** The JSON Schema of its arguments. */
    public String schemaJson() {
        return schemaJson;
    }

    /** Whether probes leave it out unless told otherwise. */
    public boolean hasSideEffects() {
        return sideEffects;
    }

    /** Whether its answer may take days. */
    public boolean requiresHuman() {
        return requiresHuman;
    }

    /** Calls it with arguments as a model wrote them. */
    String call(String argumentsJson) throws Exception {
        Object made = function.call(argumentsJson);
        return made instanceof String text ? text : Json.write(made);
    }

    /** As a request offers them. */
    static ToolList list(List<Tool> tools) {
        ToolList.Builder made = ToolList.newBuilder();
        for (Tool tool : tools) {
            made.addToolsBuilder()
                    .setName(tool.name)
                    .setDescription(tool.description)
                    .setInputSchemaJson(tool.schemaJson)
                    .setSideEffects(tool.sideEffects)
                    .setRequiresHuman(tool.requiresHuman);
        }
        return made.build();
    }

    /** Tools of a call that was made, as a request offers them again. */
    static ToolList listed(ToolSet tools) {
        ToolList.Builder made = ToolList.newBuilder();
        for (antiphon.gen.Tool tool : tools.getToolsList()) {
            made.addTools(tool.toBuilder().clearSchemaHash());
        }
        return made.build();
    }

    /** How freely tools may be called: {@code auto}, {@code none}, {@code required} or a tool's name; empty leaves it to the model. */
    static Optional<String> choice(ToolChoice raw) {
        return Optional.ofNullable(
                switch (raw.getChoiceCase()) {
                    case AUTO -> "auto";
                    case NONE -> "none";
                    case REQUIRED -> "required";
                    case NAMED -> raw.getNamed().getName();
                    case CHOICE_NOT_SET -> null;
                });
    }
}
