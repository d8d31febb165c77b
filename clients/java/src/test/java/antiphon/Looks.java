package antiphon;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Steps of scenarios that change nothing and read more than one thing, and their results in words. Knows nothing of loops. */
final class Looks {
    private Looks() {}

    /** Plays one. */
    static Object look(Client client, String verb, Map<String, Object> said, Function<Map<String, Object>, Request> request) {
        Options after = said.containsKey("after") ? new Options().after(Player.point(said.get("after"))) : new Options();
        return switch (verb) {
            case "ancestors" -> client.ancestors(exchange(said.get("of"))).toList();
            case "children" -> client.children(exchange(said.get("of"))).toList();
            case "common_ancestor" -> client.commonAncestor(exchanges(said)).orElse(null);
            case "search" -> client.search(new SearchQuery()
                            .text((String) said.getOrDefault("text", ""))
                            .labels(Plain.texts(said.get("labels"))))
                    .toList();
            case "diff" -> client.diff(exchange(said.get("left")), exchange(said.get("right")));
            case "usage" -> client.usage(new UsageQuery().scopes(exchanges(said)).labels(Plain.texts(said.get("labels"))));
            case "explain" -> said.containsKey("exchange")
                    ? client.explainExchange(exchange(said.get("exchange")))
                    : client.explain(request.apply(said), after);
            case "prepare" -> client.prepare(request.apply(said), after.capture(Boolean.TRUE.equals(said.get("capture"))));
            case "execute" -> client.execute((Prepared) said.get("prepared"));
            case "call_tools" -> client.callTools(exchange(said.get("of")));
            case "tool_occurrences" -> client.toolOccurrences(
                            (String) said.get("name"), new ToolQuery().kind((String) said.getOrDefault("kind", "")))
                    .toList();
            case "tool_drifts" -> client.toolDrifts(exchange(said.get("of"))).toList();
            case "prompts" -> client.prompts().toList();
            case "profiles" -> client.profiles().toList();
            case "backends" -> client.backends().toList();
            default -> throw new AssertionError("there is no step `" + verb + "`");
        };
    }

    static OnRecord exchange(Object said) {
        return (OnRecord) Player.point(said);
    }

    private static OnRecord[] exchanges(Map<String, Object> said) {
        List<?> named = (List<?>) said.getOrDefault("of", List.of());
        return named.stream().map(Looks::exchange).toArray(OnRecord[]::new);
    }

    /** A result of such a step, or whatever else there is, in the words of the scenarios. */
    static Object looked(Object found) {
        if (found instanceof Node node) {
            return Plain.fields(
                    "exchange_id", node.exchangeId(), "turn", node.turn(), "user", node.user(), "assistant", node.assistant());
        }
        if (found instanceof Hit hit) {
            return Plain.fields("exchange_id", hit.exchange().map(Node::exchangeId).orElse(""), "run_id", hit.runId());
        }
        if (found instanceof Difference difference) {
            return difference(difference);
        }
        if (found instanceof UsageSum sum) {
            return Plain.fields(
                    "run_count",
                    sum.runCount(),
                    "input_tokens",
                    sum.usage().inputTokens().orElseThrow(),
                    "output_tokens",
                    sum.usage().outputTokens().orElseThrow());
        }
        if (found instanceof Explanation shown) {
            Map<String, Object> settings = new LinkedHashMap<>();
            shown.settings().forEach((name, setting) -> settings.put(name, setting.value()));
            Map<String, Object> made = Plain.fields("messages", Plain.messages(shown.messages()), "settings", settings);
            made.putAll(Plain.fields("tools", names(shown.tools()), "matches", shown.matches().orElse(null)));
            return made;
        }
        if (found instanceof Prepared prepared) {
            return Plain.fields("run_id", prepared.runId(), "messages", Plain.messages(prepared.explanation().messages()));
        }
        return audited(found);
    }

    private static Object audited(Object found) {
        if (found instanceof CallTools tools) {
            Map<String, Object> made = Plain.fields("offered", names(tools.offered()), "standing", names(tools.standing()));
            made.putAll(Plain.fields("called", tools.called(), "drifts", tools.drifts().stream().map(Drift::name).toList()));
            return made;
        }
        if (found instanceof ToolOccurrence occurrence) {
            return Plain.fields("exchange_id", occurrence.exchangeId(), "offered", occurrence.offered());
        }
        if (found instanceof Drift drift) {
            Map<String, Object> made = Plain.fields("name", drift.name(), "previous_exchange_id", drift.previousExchangeId());
            made.put("exchange_id", drift.exchangeId());
            return made;
        }
        if (found instanceof ConfiguredPrompt prompt) {
            Map<String, Object> made = Plain.fields("id", prompt.promptId(), "description", prompt.description());
            made.putAll(Plain.fields("variables", prompt.variables(), "required", prompt.required()));
            return made;
        }
        if (found instanceof ConfiguredProfile profile) {
            Map<String, Object> made = Plain.fields("id", profile.profileId(), "backend", profile.backendId());
            made.putAll(Plain.fields("model", profile.model(), "default", profile.isDefault()));
            return made;
        }
        if (found instanceof ConfiguredBackend backend) {
            return Plain.fields("id", backend.backendId(), "kind", backend.kind(), "capacity", backend.capacity());
        }
        return Keeps.kept(found);
    }

    private static Map<String, Object> difference(Difference found) {
        Map<String, Object> settings = new LinkedHashMap<>();
        for (Difference.Change<Object> change : found.settings()) {
            settings.put(change.name(), sides(change));
        }
        Map<String, Object> tools = new LinkedHashMap<>();
        for (Difference.Change<OfferedTool> change : found.tools()) {
            tools.put(change.name(), Plain.fields("kind", change.kind()));
        }
        Map<String, Object> documents = new LinkedHashMap<>();
        found.documents().forEach(change -> documents.put(change.name(), Plain.fields("kind", change.kind())));
        Map<String, Object> made = Plain.fields("common_ancestor_exchange_id", found.commonAncestorExchangeId());
        made.putAll(Plain.fields("left_count", found.leftCount(), "right_count", found.rightCount()));
        made.putAll(Plain.fields("settings", settings, "tools", tools, "documents", documents));
        made.put("messages", found.messages().stream().map(Looks::sides).toList());
        return made;
    }

    private static Map<String, Object> sides(Difference.Change<?> change) {
        Map<String, Object> made = Plain.fields("kind", change.kind());
        change.left().ifPresent(left -> made.put("left", left instanceof Message message ? message.text() : left));
        change.right().ifPresent(right -> made.put("right", right instanceof Message message ? message.text() : right));
        return made;
    }

    private static List<String> names(List<OfferedTool> tools) {
        return tools.stream().map(OfferedTool::name).toList();
    }
}
