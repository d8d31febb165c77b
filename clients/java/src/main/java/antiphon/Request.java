package antiphon;

import antiphon.gen.Contract;
import antiphon.gen.ExecutionRequest;
import antiphon.gen.ToolChoice;
import antiphon.gen.ToolDriftPolicy;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** One turn: what is asked of a model. {@code Request.of("Hello")} is enough; each method gives another one that says more. */
public final class Request implements Input, Start, Cloneable {
    private ExecutionRequest raw = ExecutionRequest.getDefaultInstance();
    private String system = "";
    private List<Tool> tools;

    /** One that says nothing yet. */
    public Request() {}

    /** One user message. */
    public static Request of(String text) {
        return new Request().text(text);
    }

    /** One user message, after all others. */
    public Request text(String text) {
        return with(made -> made.setText(text));
    }

    /** One system message, before all others. */
    public Request system(String text) {
        Request made = copy();
        made.system = text;
        return made;
    }

    /** Messages as they are, between the two. */
    public Request messages(List<Message> messages) {
        return with(made -> made.clearMessages().addAllMessages(messages.stream().map(Message::raw).toList()));
    }

    /** Messages as they are, between the two. */
    public Request messages(Message... messages) {
        return messages(List.of(messages));
    }

    /** A configured prompt to render. */
    public Request promptId(String promptId) {
        return with(made -> made.getPromptBuilder().setPromptId(promptId));
    }

    /** Values of the prompt's variables, a map or a record, as {@link Json} writes them. */
    public Request vars(Object vars) {
        String written = Json.write(vars);
        return with(made -> made.getPromptBuilder().setVarsJson(written));
    }

    /** A backend, a model and parameters, by the name that the configuration gives them. */
    public Request profileId(String profileId) {
        return with(made -> made.setProfileId(profileId));
    }

    /** Another model than the profile's. */
    public Request model(String model) {
        return with(made -> made.setModel(model));
    }

    /** Other parameters than the profile's. */
    public Request parameters(Parameters parameters) {
        return with(made -> made.setParameters(parameters.raw()));
    }

    /** The form that the answer must have: {@code "json"}, {@code "text"}, or the id of a configured contract; the prompt's when absent. */
    public Request contract(String contract) {
        return with(made -> made.setContract(contractOf(contract)));
    }

    /** A JSON Schema that the answer must follow. */
    public Request contract(Map<String, ?> schema) {
        String written = Json.write(schema);
        return with(made -> made.getContractBuilder().getJsonSchemaBuilder().setSchemaJson(written));
    }

    /** A record type whose JSON Schema the answer must follow. Throws an {@link IllegalArgumentException} for a type that has none. */
    public Request contract(Class<? extends Record> form) {
        return contract(Shape.of(form));
    }

    /** How often at most the model is asked again where its answer misses the contract, 0 for never; as configured when absent. */
    public Request repair(int attempts) {
        return with(made -> made.getRepairBuilder().setAttempts(attempts));
    }

    /** How much of the history is sent; all of it when absent. */
    public Request historyView(HistoryView view) {
        return with(made -> view(made.getHistoryViewBuilder(), view));
    }

    /** Tools that are offered in this turn: absent offers what stands, an empty list none. */
    public Request tools(List<Tool> tools) {
        List<Tool> kept = List.copyOf(tools);
        Request made = with(raw -> raw.setTools(Tool.list(kept)));
        made.tools = kept;
        return made;
    }

    /** Tools that are offered in this turn; without any, none are. */
    public Request tools(Tool... tools) {
        return tools(List.of(tools));
    }

    /** The tools that stand from this turn on; absent leaves them as they are. */
    public Request standingTools(List<Tool> tools) {
        return with(made -> made.setStandingTools(Tool.list(tools)));
    }

    /** {@code "auto"}, {@code "none"}, {@code "required"}, or the name of a tool. */
    public Request toolChoice(String choice) {
        return with(made -> made.setToolChoice(toolChoiceOf(choice)));
    }

    /** The provider's own memory of a conversation. */
    public Request sessionId(String sessionId) {
        return with(made -> made.setSessionId(sessionId));
    }

    /** Names and texts of your own, to list by. */
    public Request labels(Map<String, String> labels) {
        return with(made -> made.clearLabels().putAllLabels(labels));
    }

    /** Names the run, so that it can be found again; ours when absent. */
    public Request runId(String runId) {
        return with(made -> made.setRunId(runId));
    }

    /** Where the run of this id failed, was cancelled or interrupted: try again under the same id. */
    public Request retry() {
        return with(made -> made.setRetry(true));
    }

    /** What happens when nobody waits any more; a single turn is cancelled and one of a coordination finished when absent. */
    public Request onDisconnect(OnDisconnect what) {
        return with(made -> made.setOnDisconnectValue(Words.number(antiphon.gen.OnDisconnect.getDescriptor(), what)));
    }

    /** What happens when a tool's input schema is another one than before; a warning when absent. */
    public Request onToolDrift(ToolDrift what) {
        return with(made -> made.setOnToolDriftValue(drift(what)));
    }

    /** Its own tools; null when it has none of its own. */
    List<Tool> ownTools() {
        return tools;
    }

    ExecutionRequest toRaw() {
        if (system.isEmpty()) {
            return raw;
        }
        return raw.toBuilder().addMessages(0, Message.system(system).raw()).build();
    }

    static int drift(ToolDrift what) {
        return Words.number(ToolDriftPolicy.getDescriptor(), what);
    }

    private Request with(Consumer<ExecutionRequest.Builder> change) {
        ExecutionRequest.Builder changed = raw.toBuilder();
        change.accept(changed);
        Request made = copy();
        made.raw = changed.build();
        return made;
    }

    private Request copy() {
        try {
            return (Request) clone();
        } catch (CloneNotSupportedException never) {
            throw new AssertionError(never);
        }
    }

    private static Contract contractOf(String contract) {
        Contract.Builder raw = Contract.newBuilder();
        switch (contract) {
            case "text" -> raw.getTextBuilder();
            case "json" -> raw.getJsonBuilder();
            default -> raw.getNamedBuilder().setContractId(contract);
        }
        return raw.build();
    }

    private static void view(antiphon.gen.HistoryView.Builder raw, HistoryView view) {
        if (view instanceof HistoryView.LastTurns last) {
            raw.getLastTurnsBuilder().setTurns(last.turns());
        } else if (view instanceof HistoryView.FromExchange from) {
            raw.getFromExchangeBuilder().setExchangeId(from.exchangeId());
        } else {
            raw.getTokenBudgetBuilder().setTokens(((HistoryView.TokenBudget) view).tokens());
        }
    }

    private static ToolChoice toolChoiceOf(String choice) {
        ToolChoice.Builder raw = ToolChoice.newBuilder();
        switch (choice) {
            case "auto" -> raw.getAutoBuilder();
            case "none" -> raw.getNoneBuilder();
            case "required" -> raw.getRequiredBuilder();
            default -> raw.getNamedBuilder().setName(choice);
        }
        return raw.build();
    }
}
