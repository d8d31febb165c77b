package antiphon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import antiphon.gen.RunServiceGetRequest;
import antiphon.gen.RunServiceGetResponse;
import antiphon.gen.RunServiceGrpc;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.TlsServerCredentials;
import io.grpc.stub.StreamObserver;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** How a connection is made: TLS, keys, and calls that are made again. The peer is a small server here, since only its ear matters. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ConnectionTest {
    private static final Path CERTIFICATE = file("tls/certificate.pem");
    private static final Path KEY = file("tls/key.pem");

    /** Tells what it was called with. */
    private static final class Ear extends RunServiceGrpc.RunServiceImplBase implements ServerInterceptor, AutoCloseable {
        private final List<Metadata> heard = new ArrayList<>();
        private final Queue<Status> failures = new ArrayDeque<>();
        private final io.grpc.Server server;

        Ear(ServerCredentials credentials, Status... failures) throws IOException {
            this.failures.addAll(Arrays.asList(failures));
            server = Grpc.newServerBuilderForPort(0, credentials).addService(this).intercept(this).build().start();
        }

        @Override
        public synchronized void get(RunServiceGetRequest asked, StreamObserver<RunServiceGetResponse> answer) {
            if (!failures.isEmpty()) {
                answer.onError(failures.remove().withDescription("not now").asRuntimeException());
                return;
            }
            RunServiceGetResponse.Builder made = RunServiceGetResponse.newBuilder();
            made.getRunBuilder().setRunId(asked.getRunId()).setStateValue(99).getUsageBuilder().setCompletenessValue(98);
            answer.onNext(made.build());
            answer.onCompleted();
        }

        @Override
        public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
            synchronized (this) {
                heard.add(headers);
            }
            return next.startCall(call, headers);
        }

        String said(int call, String name) {
            return heard.get(call).get(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER));
        }

        @Override
        public void close() {
            server.shutdownNow();
        }
    }

    private static Path file(String name) {
        try {
            return Path.of(Objects.requireNonNull(ConnectionTest.class.getClassLoader().getResource(name)).toURI());
        } catch (URISyntaxException never) {
            throw new AssertionError(never);
        }
    }

    /** Shows a certificate for antiphon.test and wants one of the same authority. */
    private static ServerCredentials secured() throws IOException {
        File certificate = CERTIFICATE.toFile();
        return TlsServerCredentials.newBuilder()
                .keyManager(certificate, KEY.toFile())
                .trustManager(certificate)
                .clientAuth(TlsServerCredentials.ClientAuth.REQUIRE)
                .build();
    }

    @Test
    void bothSidesShowWhoTheyAre() throws IOException {
        Tls tls = new Tls().authorities(CERTIFICATE).certificate(CERTIFICATE, KEY).serverName("antiphon.test");
        ClientOptions options = new ClientOptions()
                .token("key-1")
                .providerCredential("sk-1")
                .tls(tls)
                .keepalive(Duration.ofSeconds(10));
        try (Ear ear = new Ear(secured());
                Client client = Client.connect("https://127.0.0.1:" + ear.server.getPort() + "/", options)) {
            Run run = client.run("r");
            // Words of a newer server.
            assertEquals("unknown_99", run.state());
            assertEquals("unknown_98", run.usage().completeness());
            assertEquals("Bearer key-1", ear.said(0, "authorization"));
            assertEquals("sk-1", ear.said(0, "antiphon-provider-credential"));
            // Another key for the calls of one user goes along in place of that, and with nobody else's.
            Client other = client.withProviderCredential("sk-2");
            other.run("r");
            client.run("r");
            other.async().run("r").join();
            assertEquals(List.of("sk-2", "sk-1", "sk-2"), List.of(1, 2, 3).stream()
                    .map(call -> ear.said(call, "antiphon-provider-credential"))
                    .toList());
            assertEquals("Bearer key-1", ear.said(1, "authorization"));
            other.close();
            Fixture.refused(Code.UNAVAILABLE, "", () -> client.run("r"));
        }
    }

    /** A listener that says nothing stands for a server that hangs. */
    @Test
    void aReadTakesNoLongerThanItMay() throws IOException {
        try (ServerSocket silent = new ServerSocket(0, 8, InetAddress.getLoopbackAddress());
                Client client = Client.connect("127.0.0.1:" + silent.getLocalPort())) {
            Client brief = client.withTimeout(Duration.ofMillis(50));
            OnRecord exchange = new ExchangeId("e");
            for (Executable read : List.<Executable>of(
                    () -> brief.run("r"),
                    () -> brief.inspect(exchange),
                    () -> brief.usage(exchange),
                    () -> brief.threads().toList(),
                    () -> brief.stream("x").result(),
                    () -> brief.prompt("x"),
                    () -> client.capture("x", new Options().timeout(Duration.ofMillis(50))))) {
                Fixture.refused(Code.DEADLINE_EXCEEDED, "", read);
            }
            // What a call says itself comes first.
            Options briefer = new Options().timeout(Duration.ofMillis(50));
            Client patient = client.withTimeout(Duration.ofHours(1));
            Fixture.refused(Code.DEADLINE_EXCEEDED, "", () -> patient.prompt("x", briefer));
        }
    }

    @Test
    void optionsThatAreWrittenToALogKeepTheirKeys() {
        String said = new ClientOptions().token("key-1").providerCredential("sk-1").toString();
        assertFalse(said.contains("key-1") || said.contains("sk-1"), said);
        assertTrue(said.contains("token=(hidden)") && new ClientOptions().toString().contains("token=(none)"), said);
    }

    @Test
    void aServerThatNobodyVouchesForIsNotTalkedTo() throws IOException {
        ClientOptions options = new ClientOptions().token("key-1").withoutKeepalive();
        try (Ear ear = new Ear(secured());
                Client stranger = Client.connect("https://127.0.0.1:" + ear.server.getPort(), options)) {
            Fixture.refused(Code.UNAVAILABLE, "", () -> stranger.run("r"));
            assertTrue(ear.heard.isEmpty());
        }
    }

    @Test
    void filesThatAreNoneAndAddressesThatAreEmptyAreSaidAtOnce() {
        ClientOptions nowhere = new ClientOptions().tls(new Tls().authorities(Path.of("nowhere.pem")));
        assertThrows(IllegalArgumentException.class, () -> Client.connect("127.0.0.1:1", nowhere));
        assertThrows(
                IllegalArgumentException.class,
                () -> new Tls(Optional.empty(), Optional.of(CERTIFICATE), Optional.empty(), Optional.empty()));
        assertThrows(IllegalArgumentException.class, () -> Client.connect("http://"));
    }

    @Test
    void aCallIsMadeAgainWhereThatHelpsAndOnlyThere() throws IOException {
        Status away = Status.UNAVAILABLE;
        try (Ear ear = new Ear(InsecureServerCredentials.create(), away, away);
                Client client = Client.connect("http://127.0.0.1:" + ear.server.getPort())) {
            assertEquals("r", client.run("r").runId());
            assertEquals(3, ear.heard.size());
            ear.failures.add(Status.RESOURCE_EXHAUSTED);
            Fixture.refused(Code.RESOURCE_EXHAUSTED, "", () -> client.run("r"));
            assertEquals(4, ear.heard.size());
        }
    }
}
