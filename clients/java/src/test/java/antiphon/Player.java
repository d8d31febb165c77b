package antiphon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Plays one scenario with the client's own methods. */
final class Player {
    private static final Set<String> BESIDE_VERBS = Set.of("as", "expect", "error");

    private final Client client;
    private final Map<String, Object> kept = new LinkedHashMap<>();
    private final Map<String, Tool> tools = new LinkedHashMap<>();
    private final Map<String, Integer> called = new ConcurrentHashMap<>();
    private Fixture.Heard heard = new Fixture.Heard();

    /** What a callback of a scenario throws. */
    private static final class Raised extends Exception {
        private static final long serialVersionUID = 1;

        Raised(String message) {
            super(message);
        }
    }

    /** Begins a loop with what decides in it. */
    private interface Begin {
        Outcome with(NextAction<Exception> decide, Options hooks) throws Exception;
    }

    Player(Client client, Map<String, Object> scenario) {
        this.client = client;
        if (scenario.containsKey("tools")) {
            Plain.mapping(scenario.get("tools")).forEach((key, said) -> tools.put(key, tool(key, Plain.mapping(said))));
        }
    }

    private Tool tool(String key, Map<String, Object> said) {
        String name = (String) said.getOrDefault("name", key);
        Tool made = Tool.of(name, key, Plain.mapping(said.get("schema")), given -> {
            called.merge(key, 1, Integer::sum);
            if (Boolean.TRUE.equals(said.get("pauses"))) {
                throw new Pause();
            }
            if (said.containsKey("fails")) {
                throw new Exception((String) said.get("fails"));
            }
            return said.get("returns");
        });
        made = Boolean.TRUE.equals(said.get("side_effects")) ? made.withSideEffects() : made;
        return Boolean.TRUE.equals(said.get("requires_human")) ? made.thatRequiresHuman() : made;
    }

    void step(Map<String, Object> said, String where) {
        String verb = said.keySet().stream().filter(key -> !BESIDE_VERBS.contains(key)).findFirst().orElseThrow();
        called.clear();
        heard = new Fixture.Heard();
        Object found;
        try {
            found = call(verb, Plain.mapping(said.get(verb)));
        } catch (Exception thrown) {
            if (!said.containsKey("error")) {
                throw new AssertionError(where + ": " + thrown, thrown);
            }
            Plain.compare(value(said.get("error")), error(thrown), where);
            return;
        }
        assertFalse(said.containsKey("error"), () -> where + ": it gave " + Plain.of(found));
        if (said.containsKey("as")) {
            kept.put((String) said.get("as"), found);
        }
        Object told = Plain.of(found);
        if (found instanceof Exchange || found instanceof Outcome) {
            Map<String, Object> more = new LinkedHashMap<>(Plain.mapping(told));
            more.put("called", called);
            more.putAll(Map.of("told", heard.text(), "anew", heard.anew()));
            told = more;
        }
        if (said.containsKey("expect")) {
            Plain.compare(value(said.get("expect")), told, where);
        }
    }

    private static Map<String, Object> error(Exception thrown) {
        if (thrown instanceof Raised) {
            return Map.of("raised", thrown.getMessage());
        }
        if (thrown instanceof Pause pause) {
            return Map.of("paused", pause.coordinationId());
        }
        if (thrown instanceof AntiphonException error) {
            return Map.of(
                    "code", error.code().name(), "reason", error.reason(), "metadata", error.metadata(), "message", error.getMessage());
        }
        throw new AssertionError(thrown);
    }

    /** With what was kept in place of its names. */
    private Object value(Object said) {
        if (said instanceof List<?> list) {
            return list.stream().map(this::value).toList();
        }
        if (said instanceof Map<?, ?> map && map.keySet().equals(Set.of("repeated", "times"))) {
            return ((String) map.get("repeated")).repeat((int) map.get("times"));
        }
        if (said instanceof Map<?, ?> map) {
            Map<String, Object> made = new LinkedHashMap<>();
            Plain.mapping(map).forEach((name, value) -> made.put(name, value(value)));
            return made;
        }
        if (!(said instanceof String text) || !text.matches("\\$[a-z_0-9.]+")) {
            return said;
        }
        String[] path = text.substring(1).split("\\.");
        Object found = kept.get(path[0]);
        for (int index = 1; index < path.length; index++) {
            Object plain = Plain.of(found);
            found = plain instanceof List<?> list ? list.get(Integer.parseInt(path[index])) : Plain.mapping(plain).get(path[index]);
        }
        return found;
    }

    private Object call(String verb, Map<String, Object> raw) throws Exception {
        // The names of what is chosen and the callbacks' own words are looked at when their time has come.
        Map<String, Object> said = new LinkedHashMap<>();
        raw.forEach((name, value) -> said.put(name, name.equals("decisions") ? value : value(value)));
        return switch (verb) {
            case "prompt" -> client.prompt(request(said), new Options().capture(Boolean.TRUE.equals(said.get("capture"))));
            case "capture" -> client.capture(request(said), hearing(placed(said), said));
            case "continue" -> client.continueFrom(point(said.get("from")), input(said));
            case "reply" -> client.reply((Exchange) said.get("to"), input(said), kept(said));
            case "fork" -> said.containsKey("request") || said.containsKey("results")
                    ? client.fork(source(said.get("from")), input(said), placed(said))
                    : client.thread(client.fork(source(said.get("from")), placed(said)).threadId());
            case "fork_once" -> client.forkOnce(source(said.get("from")), request(said), allowing(said));
            case "record" -> client.record(messages(said.get("messages")), after(placed(said), said));
            case "chain" -> client.chain(request(said), named(said), after(loop(said), said));
            case "resume" -> client.resume((String) said.get("id"), named(said));
            case "coordinate" -> decided(said, (decide, hooks) -> client.coordinate(
                    said.containsKey("start") ? (Start) point(said.get("start")) : request(said), (int) said.get("turns"), decide, hooks));
            case "attach" -> decided(said, (decide, hooks) -> client.attach((String) said.get("id"), decide, hooks));
            case "cancel" -> {
                client.cancel((String) said.get("id"));
                yield null;
            }
            case "inspect" -> client.inspect((OnRecord) point(said.get("exchange")));
            case "thread" -> client.thread((String) said.get("id"));
            case "run" -> client.run((String) said.get("id"));
            case "coordination" -> client.coordination((String) said.get("id"));
            case "runs" -> client.runs(new Which().labels(Plain.texts(said.get("labels")))).toList();
            case "threads" -> client.threads(Plain.texts(said.get("labels"))).toList();
            default -> Keeps.VERBS.contains(verb) ? Keeps.keep(client, verb, said) : Looks.look(client, verb, said, this::request);
        };
    }

    private Outcome decided(Map<String, Object> said, Begin begin) throws Exception {
        Deque<Object> left = new ArrayDeque<>((List<?>) said.get("decisions"));
        List<Throwable> wrong = new ArrayList<>();
        NextAction<Exception> decide = decision -> {
            try {
                Object next = left.poll();
                assertNotNull(next, () -> "the callback was called once more, with " + Plain.of(decision));
                kept.put("decision", decision);
                Map<String, Object> step = Plain.mapping(next);
                if (step.containsKey("see")) {
                    Plain.compare(value(step.get("see")), Plain.of(decision), "see");
                }
                return action(value(step.get("do")));
            } catch (AssertionError | RuntimeException unexpected) {
                wrong.add(unexpected);
                throw unexpected;
            }
        };
        Options hooks = said.containsKey("turns") ? loop(said) : new Options();
        try {
            return begin.with(decide, said.containsKey("tools") ? hooks.tools(named(said)) : hooks);
        } finally {
            // A scenario ends what it began by interrupting this very thread, which then goes on.
            Thread.interrupted();
            assertEquals(List.of(), wrong);
            assertEquals(0, left.size(), () -> "the callback was not called for " + left);
        }
    }

    private Action action(Object said) throws Raised {
        if (said instanceof String word) {
            return switch (word) {
                case "stop" -> new Stop();
                case "suspend" -> new Suspend();
                case "cancel" -> {
                    Thread.currentThread().interrupt();
                    yield new Stop();
                }
                default -> throw new AssertionError("there is no action " + word);
            };
        }
        Map<String, Object> action = Plain.mapping(said);
        if (action.containsKey("continue")) {
            return new Continue(asked(Plain.mapping(action.get("continue"))));
        }
        if (action.containsKey("results")) {
            return new Continue(results(action.get("results")));
        }
        if (action.containsKey("fail")) {
            Map<String, Object> fail = Plain.mapping(action.get("fail"));
            Map<String, String> metadata = fail.containsKey("metadata") ? Plain.texts(fail.get("metadata")) : Map.of();
            Code code = Optional.ofNullable((String) fail.get("code")).map(Code::valueOf).orElse(Code.UNKNOWN);
            return new Fail(code, (String) fail.get("message"), (String) fail.getOrDefault("reason", ""), metadata);
        }
        throw new Raised((String) action.get("raise"));
    }

    private Request request(Map<String, Object> step) {
        return asked(Plain.mapping(step.get("request")));
    }

    private Request asked(Map<String, Object> said) {
        Request made = new Request();
        for (Map.Entry<String, Object> entry : said.entrySet()) {
            Object value = entry.getValue();
            made = switch (entry.getKey()) {
                case "text" -> made.text((String) value);
                case "system" -> made.system((String) value);
                case "messages" -> made.messages(messages(value));
                case "prompt" -> made.promptId((String) value);
                case "vars" -> made.vars(value);
                case "profile" -> made.profileId((String) value);
                case "model" -> made.model((String) value);
                case "tools" -> made.tools(named(said));
                case "tool_choice" -> made.toolChoice((String) value);
                case "contract" -> value instanceof String name ? made.contract(name) : made.contract(Plain.mapping(value));
                case "repair" -> made.repair((int) value);
                case "history_view" -> made.historyView(view(Plain.mapping(value)));
                case "temperature" -> made.parameters(new Parameters().temperature(((Number) value).doubleValue()));
                case "run_id" -> made.runId((String) value);
                case "labels" -> made.labels(Plain.texts(value));
                case "on_tool_drift" -> made.onToolDrift(ToolDrift.valueOf(((String) value).toUpperCase(Locale.ROOT)));
                default -> throw new AssertionError("a request has no `" + entry.getKey() + "`");
            };
        }
        return made;
    }

    private static HistoryView view(Map<String, Object> said) {
        Map.Entry<String, Object> only = said.entrySet().iterator().next();
        return switch (only.getKey()) {
            case "last_turns" -> HistoryView.lastTurns((int) only.getValue());
            case "from_exchange" -> HistoryView.fromExchange((String) only.getValue());
            case "token_budget" -> HistoryView.tokenBudget((int) only.getValue());
            default -> throw new AssertionError("a view has no `" + only.getKey() + "`");
        };
    }

    private Input input(Map<String, Object> said) {
        return said.containsKey("request") ? request(said) : results(said.get("results"));
    }

    private List<Tool> named(Map<String, Object> said) {
        List<?> names = (List<?>) said.getOrDefault("tools", List.of());
        return names.stream().map(tools::get).toList();
    }

    private static Options loop(Map<String, Object> said) {
        Options made = placed(said);
        for (String limit : List.of("tool_round_limit", "chain_limit")) {
            made = said.containsKey(limit) ? made.chainLimit((int) said.get(limit)) : made;
        }
        made = said.containsKey("token_limit") ? made.tokenLimit(((Number) said.get("token_limit")).longValue()) : made;
        made = said.containsKey("cost_limit") ? made.costLimit((String) said.get("cost_limit")) : made;
        made = said.containsKey("id") ? made.coordinationId((String) said.get("id")) : made;
        made = Boolean.TRUE.equals(said.get("ephemeral")) ? made.ephemeral() : made;
        if (said.containsKey("generate")) {
            Deque<Object> left = new ArrayDeque<>((List<?>) said.get("generate"));
            made = made.generate(generation -> Generated.of((String) left.remove()));
        }
        return made;
    }

    private static Options placed(Map<String, Object> said) {
        if (!said.containsKey("thread")) {
            return new Options();
        }
        Map<String, Object> thread = Plain.mapping(said.get("thread"));
        NewThread made = new NewThread((String) thread.getOrDefault("id", "")).name((String) thread.getOrDefault("name", ""));
        return new Options().thread(thread.containsKey("labels") ? made.labels(Plain.texts(thread.get("labels"))) : made);
    }

    private static Options after(Options options, Map<String, Object> said) {
        return said.containsKey("after") ? options.after(point(said.get("after"))) : options;
    }

    private static Options kept(Map<String, Object> said) {
        return said.containsKey("capture") ? new Options().capture((boolean) said.get("capture")) : new Options();
    }

    private Options hearing(Options options, Map<String, Object> said) {
        return Boolean.TRUE.equals(said.get("deltas")) ? options.onDelta(heard) : options;
    }

    private static Options allowing(Map<String, Object> said) {
        return Boolean.TRUE.equals(said.get("allow_side_effects")) ? new Options().allowSideEffects() : new Options();
    }

    static Point point(Object said) {
        if (said instanceof Map<?, ?> map) {
            ThreadPoint made = new ThreadPoint((String) map.get("thread"));
            return map.containsKey("expected_head") ? made.expectedHead((String) map.get("expected_head")) : made;
        }
        return said instanceof Exchange exchange ? exchange : new ExchangeId((String) said);
    }

    private static Source source(Object said) {
        if (said instanceof Map<?, ?> map) {
            ThreadTurn made = new ThreadTurn((String) map.get("thread"));
            return map.containsKey("after_turn") ? made.afterTurn((int) map.get("after_turn")) : made;
        }
        return (Source) point(said);
    }

    private static Results results(Object said) {
        List<ToolResult> made = new ArrayList<>();
        for (Object one : (List<?>) said) {
            Map<String, Object> result = Plain.mapping(one);
            made.add(new ToolResult(
                    (String) result.get("call_id"), (String) result.get("text"), Boolean.TRUE.equals(result.get("is_error"))));
        }
        return new Results(made);
    }

    private static List<Message> messages(Object said) {
        List<Message> made = new ArrayList<>();
        for (Object one : (List<?>) said) {
            Map<String, Object> message = Plain.mapping(one);
            made.add(Message.of((String) message.get("role"), (String) message.get("text")));
        }
        return made;
    }
}
