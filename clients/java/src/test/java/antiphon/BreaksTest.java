package antiphon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import antiphon.Fixture.Script;
import antiphon.testing.Server;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What breaks: connections and servers. No callback and no tool is called twice for one thing. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class BreaksTest {
    private static final Map<String, Object> CITY = Map.of("type", "object");

    private static Server server;
    private static Proxy proxy;
    // Over the connection that is cut, and past it.
    private static Client client;
    private static Client record;

    @TempDir
    Path folder;

    @BeforeAll
    static void begin() {
        server = Server.start(new Server.Config().config(Fixture.CONFIG));
        proxy = new Proxy(server.address());
        client = Client.connect(proxy.address());
        record = Client.connect(server.address());
    }

    @BeforeEach
    void cutBefore() {
        proxy.cut();
    }

    @AfterAll
    static void end() {
        client.close();
        record.close();
        proxy.close();
        server.close();
    }

    @Test
    void aCutWhileTheCallbackThinksChangesNothing() {
        List<Decision> seen = new ArrayList<>();
        Outcome outcome = client.coordinate(client.capture("zero"), 2, decision -> {
            seen.add(decision);
            proxy.cut();
            return new Continue("turn " + seen.size());
        });
        assertEquals(Outcome.State.EXHAUSTED, outcome.state());
        assertEquals(List.of("zero", "turn 1", "turn 2"), seen.stream().map(decision -> decision.exchange().text()).toList());
        assertEquals(3, seen.stream().map(Decision::decisionId).distinct().count());
    }

    @Test
    void aCutInATurnLetsItFinish() {
        AtomicBoolean cut = new AtomicBoolean();
        Script script = new Script(new Continue("slow"), new Stop());
        client.coordinate(client.capture("zero"), 1, script, new Options().onDelta(delta -> {
            if (!cut.getAndSet(true)) {
                proxy.cut();
            }
        }));
        assertEquals(List.of("zero", Fixture.SLOW), script.texts());
    }

    @Test
    void aCutWhileToolsRunCallsNoneAgain() {
        List<String> called = Collections.synchronizedList(new ArrayList<>());
        Tool weather = Tool.of("weather", "", CITY, given -> called.add("weather") ? "fine" : "");
        Tool tide = Tool.of("tide", "", CITY, given -> {
            called.add("tide");
            proxy.cut();
            return "high";
        });
        assertEquals("Done.", client.chain("the forecast", List.of(weather, tide)).text());
        assertEquals(List.of("tide", "weather"), called.stream().sorted().toList());
    }

    @Test
    void aFailureOfTheCallbackIsToldAfterACutAndComesBackAsItself() {
        String id = Words.fresh();
        IOException raised = new IOException("no");
        Exchange start = client.capture("zero");
        // Its kind is known to the compiler, too.
        IOException thrown = assertThrows(IOException.class, () -> failing(start, id, raised));
        assertSame(raised, thrown);
        Coordination ended = record.coordination(id);
        assertEquals("failed", ended.state());
        assertEquals("IOEXCEPTION", ended.raw().getEnded().getFailed().getError().getReason());
    }

    private static Outcome failing(Exchange start, String id, IOException raised) throws IOException {
        return client.coordinate(
                start,
                1,
                decision -> {
                    proxy.cut();
                    throw raised;
                },
                new Options().coordinationId(id));
    }

    @Test
    void aHookThatFailsAsTheConnectionIsCutStillEndsIt() {
        String id = Words.fresh();
        IllegalStateException raised = new IllegalStateException("the terminal is gone");
        Exchange start = client.capture("zero");
        Options hooks = new Options().coordinationId(id).onDelta(delta -> {
            proxy.cut();
            throw raised;
        });
        Script script = new Script(new Continue("slow"));
        assertSame(raised, assertThrows(IllegalStateException.class, () -> client.coordinate(start, 1, script, hooks)));
        assertEquals("cancelled", record.coordination(id).state());
    }

    @Test
    void aServerThatStaysAwayIsAnErrorInTheEnd() {
        ClientOptions brief = new ClientOptions().attachFor(Duration.ofMillis(300));
        try (Proxy own = new Proxy(server.address());
                Client other = Client.connect(own.address(), brief)) {
            Exchange start = other.capture("zero");
            Fixture.refused(Code.UNAVAILABLE, "", () -> other.coordinate(start, 1, decision -> {
                own.stop();
                return new Stop();
            }));
        }
    }

    /** There is nothing to attach over, for however long that may be tried. */
    @Test
    void aClientThatIsClosedAttachesNoMore() {
        Client own = Client.connect(server.address());
        long began = System.nanoTime();
        Exchange start = own.capture("zero");
        Fixture.refused(Code.UNAVAILABLE, "", () -> own.coordinate(start, 1, decision -> {
            own.close();
            return new Continue("one");
        }));
        assertTrue(System.nanoTime() - began < Duration.ofSeconds(30).toNanos());
        Fixture.refused(Code.UNAVAILABLE, "", () -> own.async().capture("one"));
    }

    @Test
    void aServerThatCrashesBetweenDecisionAndAnswerGoesOn() {
        Server.Config config = new Server.Config().config(Fixture.CONFIG).data(folder.resolve("between"));
        List<Server> running = new ArrayList<>(List.of(Server.start(config)));
        try (Proxy own = new Proxy(running.get(0).address());
                Client other = Client.connect(own.address())) {
            List<String> seen = new ArrayList<>();
            Outcome outcome = other.coordinate(other.capture("zero"), 2, decision -> {
                seen.add(decision.exchange().text());
                if (seen.size() == 2) {
                    restart(running, config, own);
                }
                return new Continue("turn " + seen.size());
            });
            assertEquals(Outcome.State.EXHAUSTED, outcome.state());
            assertEquals(List.of("zero", "turn 1", "turn 2"), seen);
        } finally {
            running.get(running.size() - 1).close();
        }
    }

    @Test
    void aCrashInATurnConsumesItAndAsksAgain() {
        Server.Config config = new Server.Config().config(Fixture.CONFIG).data(folder.resolve("within"));
        List<Server> running = new ArrayList<>(List.of(Server.start(config)));
        try (Proxy own = new Proxy(running.get(0).address());
                Client other = Client.connect(own.address())) {
            Script script = new Script(new Continue("slow"), new Continue("again"), new Stop());
            other.coordinate(other.capture("zero"), 2, script, new Options().onDelta(delta -> {
                if (running.size() == 1) {
                    restart(running, config, own);
                }
            }));
            assertEquals(List.of("zero", "zero", "again"), script.texts());
            assertFalse(script.seen.get(1).interruptedRunId().isEmpty());
            assertEquals(1, script.seen.get(1).turnsRemaining());
        } finally {
            running.get(running.size() - 1).close();
        }
    }

    private static void restart(List<Server> running, Server.Config config, Proxy way) {
        running.get(running.size() - 1).kill();
        running.add(Server.start(config));
        way.target(running.get(running.size() - 1).address());
    }

    @Test
    void aServerThatStopsInGoodOrderSaysSoAndTheAnswerIsKept() {
        Server.Config config = new Server.Config().config(Fixture.CONFIG).data(folder.resolve("stopped"));
        Server first = Server.start(config);
        String id = Words.fresh();
        List<String> seen = new ArrayList<>();
        NextAction<RuntimeException> stopping = decision -> {
            seen.add(decision.exchange().text());
            if (seen.size() > 1) {
                return new Stop();
            }
            first.stop();
            return new Continue("one");
        };
        try (Proxy own = new Proxy(first.address());
                Client other = Client.connect(own.address())) {
            Exchange start = other.capture("zero");
            Options named = new Options().coordinationId(id);
            Fixture.refused(Code.UNAVAILABLE, "DRAINING", () -> other.coordinate(start, 1, stopping, named));
            try (Server second = Server.start(config)) {
                own.target(second.address());
                assertEquals(Outcome.State.STOPPED, other.attach(id, stopping).state());
                assertEquals(List.of("zero", "one"), seen, "the first decision was answered with what the callback had said");
                // An open connection holds up the server's end.
                own.stop();
            }
        } finally {
            first.close();
        }
    }

    @Test
    void aCallWhoseConnectionBreaksIsMadeAgainUnderItsId() {
        String runId = Words.fresh();
        CompletableFuture<Exchange> going = client.async().capture(Request.of("patience").runId(runId));
        Fixture.until(() -> Fixture.runState(record, runId), "running");
        proxy.cut();
        assertEquals("patience", going.join().text());
        assertEquals(runId, going.join().runId());
    }

    @Test
    void aStreamThatBreaksIsJoinedAgainWithoutSayingAnythingTwice() {
        List<String> heard = new ArrayList<>();
        Request slow = Request.of("slow").onDisconnect(OnDisconnect.FINISH);
        try (Response<Exchange> response = client.stream(slow)) {
            for (Delta delta : response) {
                if (heard.size() == 2) {
                    proxy.cut();
                }
                heard.add(delta.text());
            }
            assertEquals(Fixture.SLOW, String.join("", heard));
            assertEquals(Fixture.SLOW, response.result().text());
        }
    }

    @Test
    void whoWatchesARunFollowsItOverACut() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        Options heard = new Options().onDelta(delta -> begun.countDown());
        CompletableFuture<Exchange> going = record.async().capture(Request.of("slow").runId("watched"), heard);
        begun.await();
        List<String> states = new ArrayList<>();
        try (Watch watch = client.watch("watched")) {
            for (RunEvent event : watch) {
                if (states.isEmpty()) {
                    proxy.cut();
                }
                event.run().map(Run::state).ifPresent(states::add);
            }
        }
        assertEquals(List.of("running", "completed"), states);
        assertEquals(Fixture.SLOW, going.join().text());
    }
}
