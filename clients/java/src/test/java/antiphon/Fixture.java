package antiphon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.fail;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.function.Executable;

/** What the tests have in common: a configuration with scripted answers, and callbacks that say what they are told to. */
final class Fixture {
    static final String SLOW = "It took a while, and there is much to tell.";

    static final String CONFIG =
            """
            default_profile = "canned"

            [profiles.canned]
            backend = "script"
            model = "canned-1"

            [profiles.ours]
            backend = "ours"
            model = "ours-1"

            [backends.ours]
            kind = "client"
            retry = { attempts = 2, base_ms = 1, max_ms = 2 }

            [backends.script]
            kind = "scripted"
            retry = { attempts = 1 }
            chunk_chars = 4

            [[backends.script.rules]]
            when = "down for good"
            fault = { kind = "status", status = 503, message = "down" }

            [[backends.script.rules]]
            when = "slow"
            text = "It took a while, and there is much to tell."
            chunk_gap_ms = 50

            [[backends.script.rules]]
            when = "patience"
            text = "patience"
            delay_ms = 1500

            [[backends.script.rules]]
            when = "for hours"
            text = "nobody waits for this"
            delay_ms = 3600000

            [[backends.script.rules]]
            when = "in its form"
            text = "I would rather not."
            delay_ms = 50

            [[backends.script.rules]]
            when = "the form that was asked for"
            text = \"""
            ```json
            {"good": true}
            ```
            \"""
            delay_ms = 50

            [[backends.script.rules]]
            when = "forecast"
            on = "user"
            tool_calls = [{ name = "weather", arguments = { city = "Lisbon" } }, { name = "tide", arguments = { city = "Lisbon" } }]

            [[backends.script.rules]]
            when = "forecast"
            on = "tool"
            text = "Done."

            [[backends.script.rules]]
            when = "big"
            on = "user"
            tool_calls = [{ name = "weather", arguments_json = '{"city": 12345678901234567890123}' }]

            [[backends.script.rules]]
            on = "tool"
            text = "{last_tool}"

            [[backends.script.rules]]
            text = "{last_user}"
            """;

    private Fixture() {}

    /** Gives its actions one after the other, and keeps what it saw. */
    static final class Script implements NextAction<RuntimeException> {
        final List<Decision> seen = new ArrayList<>();
        private final Deque<Action> actions;

        Script(Action... actions) {
            this.actions = new ArrayDeque<>(Arrays.asList(actions));
        }

        @Override
        public Action decide(Decision decision) {
            seen.add(decision);
            return actions.isEmpty() ? new Stop() : actions.remove();
        }

        List<String> texts() {
            return seen.stream().map(decision -> decision.exchange().text()).toList();
        }
    }

    /** What was told of an answer since it last began anew, and how often it did. */
    static final class Heard implements OnDelta {
        private final StringBuilder text = new StringBuilder();
        private int anew;

        @Override
        public void hear(Delta delta) {
            if (delta.kind().equals("attempt")) {
                text.setLength(0);
                anew++;
            } else if (delta.kind().equals("text")) {
                text.append(delta.text());
            }
        }

        String text() {
            return text.toString();
        }

        int anew() {
            return anew;
        }
    }

    /** Waits until something is so: only the attached stream is told of a coordination, and the test must not take it over. */
    static void until(Supplier<String> found, String wanted) {
        long late = System.nanoTime() + 10_000_000_000L;
        while (!found.get().equals(wanted)) {
            if (System.nanoTime() > late) {
                fail("it is still " + found.get() + ", not " + wanted);
            }
            Thread.onSpinWait();
        }
    }

    /** The state of a run; {@code unknown} while it is not there. */
    static String runState(Client client, String runId) {
        try {
            return client.run(runId).state();
        } catch (AntiphonException missing) {
            assertEquals("RUN_NOT_FOUND", missing.reason());
            return "unknown";
        }
    }

    /** Fails unless something is refused with a code and a reason. */
    static AntiphonException refused(Code code, String reason, Executable call) {
        AntiphonException error = assertThrows(AntiphonException.class, call);
        assertEquals(code + " " + reason, error.code() + " " + error.reason(), error::toString);
        return error;
    }
}
