package antiphon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import antiphon.Fixture.Script;
import antiphon.testing.Server;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The patience of the caller: interruption, futures that are cancelled, and time that runs out, down to the provider. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class GivingUpTest {
    private static Server server;
    private static Client client;

    @BeforeAll
    static void begin() {
        server = Server.start(new Server.Config().config(Fixture.CONFIG));
        client = Client.connect(server.address());
    }

    @AfterAll
    static void end() {
        client.close();
        server.close();
    }

    @Test
    void anInterruptedThreadEndsACoordinationWhoseCallbackWaits() throws InterruptedException {
        String id = Words.fresh();
        Exchange start = client.capture("zero");
        CountDownLatch asked = new CountDownLatch(1);
        CompletableFuture<AntiphonException> told = new CompletableFuture<>();
        CompletableFuture<Boolean> stays = new CompletableFuture<>();
        Thread caller = new Thread(() -> {
            told.complete(assertThrows(AntiphonException.class, () -> coordinateForEver(start, id, asked)));
            stays.complete(Thread.currentThread().isInterrupted());
        });
        caller.start();
        asked.await();
        caller.interrupt();
        AntiphonException error = told.join();
        assertEquals(Code.CANCELLED, error.code());
        assertEquals(Map.of("coordination_id", id), error.metadata());
        assertInstanceOf(InterruptedException.class, error.getCause());
        assertTrue(stays.join(), "a thread that was interrupted stays so");
        assertEquals("cancelled", client.coordination(id).state());
    }

    private static Outcome coordinateForEver(Exchange start, String id, CountDownLatch asked) throws InterruptedException {
        return client.coordinate(
                start,
                1,
                decision -> {
                    asked.countDown();
                    new CountDownLatch(1).await();
                    return new Stop();
                },
                new Options().coordinationId(id));
    }

    @Test
    void aCancelledFutureEndsACoordinationInATurnAndItsRun() throws InterruptedException {
        String id = Words.fresh();
        String runId = Words.fresh();
        CountDownLatch begun = new CountDownLatch(1);
        Script script = new Script(new Continue(Request.of("slow").runId(runId)));
        Options hooks = new Options().coordinationId(id).onDelta(delta -> begun.countDown());
        CompletableFuture<Outcome> going = client.async().coordinate(client.capture("zero"), 1, script, hooks);
        begun.await();
        going.cancel(true);
        assertThrows(CancellationException.class, going::join);
        Fixture.until(() -> client.coordination(id).state(), "cancelled");
        Fixture.until(() -> Fixture.runState(client, runId), "cancelled");
    }

    @Test
    void aCancellationIsToldOverAnotherCallWhenTheStreamIsCut() throws InterruptedException {
        String id = Words.fresh();
        Exchange start = client.capture("zero");
        CountDownLatch asked = new CountDownLatch(1);
        try (Proxy proxy = new Proxy(server.address());
                Client cut = Client.connect(proxy.address())) {
            NextAction<InterruptedException> waits = decision -> {
                proxy.cut();
                asked.countDown();
                new CountDownLatch(1).await();
                return new Stop();
            };
            CompletableFuture<Outcome> going = cut.async().coordinate(start, 1, waits, new Options().coordinationId(id));
            asked.await();
            going.cancel(true);
            Fixture.until(() -> client.coordination(id).state(), "cancelled");
        }
    }

    @Test
    void toolsAtWorkAreInterruptedWithTheirCaller() throws InterruptedException {
        String id = Words.fresh();
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch left = new CountDownLatch(1);
        Tool weather = Tool.of("weather", "", Map.of("type", "object"), given -> {
            begun.countDown();
            try {
                new CountDownLatch(1).await();
                return "";
            } finally {
                left.countDown();
            }
        });
        CompletableFuture<Exchange> going =
                client.async().chain("the forecast", List.of(weather), new Options().coordinationId(id));
        begun.await();
        going.cancel(true);
        left.await();
        Fixture.until(() -> client.coordination(id).state(), "cancelled");
    }

    @Test
    void nothingIsBegunByAThreadThatWasInterruptedBefore() {
        String id = Words.fresh();
        Exchange start = client.capture("zero");
        Thread.currentThread().interrupt();
        try {
            Options named = new Options().coordinationId(id);
            Fixture.refused(Code.CANCELLED, "", () -> client.coordinate(start, 1, decision -> new Stop(), named));
            Fixture.refused(Code.CANCELLED, "", () -> client.capture(Request.of("one").runId(id)));
            Fixture.refused(Code.CANCELLED, "", () -> client.stream("one").result());
            assertTrue(Thread.currentThread().isInterrupted());
        } finally {
            Thread.interrupted();
        }
        Fixture.refused(Code.NOT_FOUND, "COORDINATION_NOT_FOUND", () -> client.coordination(id));
        Fixture.refused(Code.NOT_FOUND, "RUN_NOT_FOUND", () -> client.run(id));
    }

    /** S4-68: a call that nobody waits for any more costs nothing more. */
    @Test
    void aCancelledFutureReachesTheProvider() throws IOException, InterruptedException {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch hungUp = new CountDownLatch(1);
        try (StubProvider provider = new StubProvider(asked, hungUp);
                Server own = Server.start(new Server.Config().config(provider.config()));
                Client caller = Client.connect(own.address())) {
            CompletableFuture<Exchange> going = caller.async().capture("one");
            asked.await();
            assertFalse(going.isDone());
            going.cancel(true);
            hungUp.await();
        }
    }

    @Test
    void aTimeoutIsTheWholeCalls() {
        Options brief = new Options().timeout(Duration.ofMillis(100));
        // Server and client both know the deadline, and either may say so first.
        AntiphonException late = assertThrows(AntiphonException.class, () -> client.capture("for hours", brief));
        assertEquals(Code.DEADLINE_EXCEEDED, late.code());
        try (Proxy nowhere = new Proxy("127.0.0.1:1");
                Client away = Client.connect(nowhere.address())) {
            Fixture.refused(Code.UNAVAILABLE, "", () -> away.capture("one", new Options().timeout(Duration.ofMillis(400))));
        }
    }

    @Test
    void aFutureThatTimesOutEndsItsCall() {
        String runId = Words.fresh();
        CompletableFuture<Exchange> going =
                client.async().capture(Request.of("for hours").runId(runId)).orTimeout(100, TimeUnit.MILLISECONDS);
        CompletionException error = assertThrows(CompletionException.class, going::join);
        assertInstanceOf(TimeoutException.class, error.getCause());
        Fixture.until(() -> Fixture.runState(client, runId), "cancelled");
    }

    /** What comes after a future may run on the thread that completed it, which must not be left interrupted. */
    @Test
    void whatComesAfterAFutureMayCallAgain() {
        CompletableFuture<List<Exchange>> all = CompletableFuture.completedFuture(List.of());
        for (int index = 0; index < 20; index++) {
            CompletableFuture<Exchange> chained = client.async()
                    .capture("one")
                    .thenApply(exchange -> client.reply(exchange, "two"))
                    .thenCompose(exchange -> client.async().reply(exchange, "three"));
            all = all.thenCombine(chained, (before, exchange) -> {
                List<Exchange> more = new ArrayList<>(before);
                more.add(exchange);
                return more;
            });
        }
        assertEquals(20, all.join().stream().filter(exchange -> exchange.turn() == 3).count());
    }

    @Test
    void whatACallThrowsIsWhatItsFutureHas() {
        CompletableFuture<NamedThread> missing = client.async().thread("nowhere");
        Throwable error = assertThrows(ExecutionException.class, missing::get).getCause();
        assertEquals("THREAD_NOT_FOUND", assertInstanceOf(AntiphonException.class, error).reason());
        IOException raised = new IOException("no");
        NextAction<IOException> fails = decision -> {
            throw raised;
        };
        CompletableFuture<Outcome> going = client.async().coordinate(client.capture("zero"), 1, fails);
        assertSame(raised, assertThrows(ExecutionException.class, going::get).getCause());
    }

    /** A provider that is asked and never answers, and notices when it is hung up on. */
    private static final class StubProvider implements AutoCloseable {
        private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());

        StubProvider(CountDownLatch asked, CountDownLatch hungUp) throws IOException {
            Thread answering = new Thread(() -> {
                try (Socket caller = listener.accept()) {
                    while (caller.getInputStream().read() >= 0) {
                        asked.countDown();
                    }
                    hungUp.countDown();
                } catch (IOException cut) {
                    hungUp.countDown();
                }
            });
            answering.setDaemon(true);
            answering.start();
        }

        String config() {
            return """
                default_profile = "main"
                [profiles.main]
                backend = "provider"
                model = "some-model"
                [backends.provider]
                kind = "openai"
                base_url = "http://127.0.0.1:%d/v1"
                """
                    .formatted(listener.getLocalPort());
        }

        @Override
        public void close() throws IOException {
            listener.close();
        }
    }
}
