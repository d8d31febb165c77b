package antiphon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;

/** Results in the words of the scenarios, and whether they are what is expected. */
final class Plain {
    private Plain() {}

    static Map<String, Object> mapping(Object said) {
        @SuppressWarnings("unchecked") // the names of a mapping in YAML are text here
        Map<String, Object> made = (Map<String, Object>) said;
        return made;
    }

    static Map<String, String> texts(Object said) {
        Map<String, String> made = new LinkedHashMap<>();
        mapping(said == null ? Map.of() : said).forEach((name, text) -> made.put(name, (String) text));
        return made;
    }

    /** A result, or whatever else there is, in the words of the scenarios. */
    static Object of(Object found) {
        if (found instanceof Exchange exchange) {
            return exchange(exchange);
        }
        if (found instanceof Probe probe) {
            return fields(
                    "text", probe.text(), "stop_reason", probe.stopReason(), "run_id", probe.runId(), "messages", messages(probe.messages()));
        }
        if (found instanceof NamedThread thread) {
            return fields(
                    "id", thread.threadId(), "name", thread.name(), "head", thread.headExchangeId(), "turn_count", thread.turnCount());
        }
        if (found instanceof Run run) {
            Map<String, Object> made = fields("id", run.runId(), "state", run.state(), "exchange_id", run.exchangeId());
            made.putAll(fields("captured", run.captured(), "attempt", run.attempt(), "model_calls", run.modelCalls()));
            return made;
        }
        if (found instanceof Coordination coordination) {
            Map<String, Object> made = fields("id", coordination.coordinationId(), "state", coordination.state());
            made.putAll(fields("turns_started", coordination.turnsStarted(), "turns_remaining", coordination.turnsRemaining()));
            made.put("exchange_id", coordination.exchangeId());
            OptionalLong tokens = coordination.tokenLimit();
            made.put("token_limit", tokens.isPresent() ? tokens.getAsLong() : null);
            made.put("cost_limit", coordination.costLimit().orElse(null));
            Map<String, Object> costs = new LinkedHashMap<>();
            coordination.spent().costs().forEach((currency, amount) -> costs.put(currency, amount.toPlainString()));
            made.put("spent", fields("tokens", coordination.spent().tokens(), "costs", costs));
            return made;
        }
        if (found instanceof Recorded recorded) {
            Map<String, Object> made = fields("exchange_id", recorded.exchangeId(), "exchange_ids", recorded.exchangeIds());
            made.putAll(fields("stored", recorded.stored(), "matched", recorded.matched()));
            return made;
        }
        if (found instanceof Inspection inspection) {
            return fields("messages", messages(inspection.messages()), "path", inspection.path());
        }
        if (found instanceof Outcome outcome) {
            return fields(
                    "state",
                    outcome.state().name().toLowerCase(Locale.ROOT),
                    "undelivered",
                    outcome.undelivered().map(Exchange::text).orElse(null));
        }
        if (found instanceof Decision decision) {
            Map<String, Object> made = fields("exchange", exchange(decision.exchange()), "starting", decision.starting());
            made.putAll(fields("turns_started", decision.turnsStarted(), "turns_remaining", decision.turnsRemaining()));
            made.putAll(fields("stop_reason", decision.stopReason(), "thread_id", decision.threadId()));
            return made;
        }
        return found instanceof List<?> list ? list.stream().map(Plain::of).toList() : Looks.looked(found);
    }

    private static Map<String, Object> exchange(Exchange found) {
        Map<String, Object> made = fields("exchange_id", found.exchangeId(), "parent_exchange_id", found.parentExchangeId());
        made.putAll(fields("run_id", found.runId(), "thread_id", found.threadId(), "turn", found.turn(), "text", found.text()));
        made.putAll(fields("stop_reason", found.stopReason(), "validation", found.validation(), "captured", found.captured()));
        made.put(
                "tool_calls",
                found.toolCalls().stream()
                        .map(call -> fields("call_id", call.callId(), "name", call.name(), "arguments_json", call.argumentsJson()))
                        .toList());
        made.put("tools", found.tools().stream().map(OfferedTool::name).toList());
        made.put("standing_tools", found.standingTools().stream().map(OfferedTool::name).toList());
        made.put("warnings", found.warnings().stream().map(Warning::code).toList());
        made.put("profile", found.setting("profile_id").orElse(null));
        made.put("model", found.setting("model").orElse(null));
        made.put("messages", messages(found.messages()));
        return made;
    }

    static List<Object> messages(List<Message> found) {
        return found.stream().<Object>map(message -> fields("role", message.role(), "text", said(message))).toList();
    }

    private static String said(Message message) {
        String results = message.toolResults().stream().map(ToolResult::text).collect(Collectors.joining());
        return message.text().isEmpty() ? results : message.text();
    }

    static Map<String, Object> fields(Object... pairs) {
        Map<String, Object> made = new LinkedHashMap<>();
        for (int index = 0; index < pairs.length; index += 2) {
            made.put((String) pairs[index], pairs[index + 1]);
        }
        return made;
    }

    /** Fails unless what is expected is a part of what was found. */
    static void compare(Object expected, Object found, String where) {
        if (expected instanceof Map<?, ?> map) {
            compareMapping(mapping(map), found, where);
        } else if (expected instanceof List<?> list) {
            assertTrue(found instanceof List<?> items && items.size() == list.size(), () -> where + ": " + found + " is not " + list);
            for (int index = 0; index < list.size(); index++) {
                compare(list.get(index), ((List<?>) found).get(index), where + "." + index);
            }
        } else if (expected instanceof Number number && found instanceof Number other) {
            assertEquals(number.longValue(), other.longValue(), where);
        } else {
            assertEquals(expected, found, where);
        }
    }

    private static void compareMapping(Map<String, Object> expected, Object found, String where) {
        if (expected.keySet().equals(Set.of("contains"))) {
            String wanted = (String) expected.get("contains");
            boolean there = found instanceof String text ? text.contains(wanted) : ((Collection<?>) found).contains(wanted);
            assertTrue(there, () -> where + ": " + found + " has no " + wanted);
        } else if (expected.keySet().equals(Set.of("length"))) {
            int length = found instanceof String text ? text.length() : ((Collection<?>) found).size();
            assertEquals(expected.get("length"), length, () -> where + ": " + found);
        } else if (expected.keySet().equals(Set.of("differs"))) {
            assertNotEquals(expected.get("differs"), found, where);
        } else if (!(found instanceof Map<?, ?> there)) {
            fail(where + ": " + found + " has no fields");
        } else if (expected.isEmpty()) {
            assertTrue(there.isEmpty(), () -> where + ": " + found + " is not empty");
        } else {
            expected.forEach((name, value) -> {
                assertTrue(there.containsKey(name), () -> where + ": there is no `" + name + "` in " + found);
                compare(value, there.get(name), where + "." + name);
            });
        }
    }
}
