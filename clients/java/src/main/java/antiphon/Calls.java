package antiphon;

import antiphon.gen.CoordinateRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** The connection, and calls that are repeated where that is safe and helps. Knows nothing of what is asked. */
abstract class Calls implements AutoCloseable {
    private static final Duration PING_TIMEOUT = Duration.ofSeconds(20);
    private static final Metadata.Key<String> AUTHORIZATION = key("authorization");
    private static final Metadata.Key<String> PROVIDER_CREDENTIAL = key("antiphon-provider-credential");

    /** For how long a broken coordination stream is attached again. */
    final Duration attachFor;

    /** What this process has answered, by coordination. */
    final Map<String, Memory> memories = new ConcurrentHashMap<>();

    private final ManagedChannel connection;
    private final Channel channel;
    private final ExecutorService workers = Executors.newCachedThreadPool(new Daemons());

    Calls(String address, ClientOptions options) {
        boolean secure = options.tls().isPresent() || address.startsWith("https://");
        String target = address.replaceFirst("^https?://", "").replaceFirst("/+$", "");
        if (target.isEmpty()) {
            throw new IllegalArgumentException("the address is empty: give host and port");
        }
        Tls tls = options.tls().orElseGet(Tls::new);
        ManagedChannelBuilder<?> builder = Grpc.newChannelBuilder(target, secure ? tls.credentials() : InsecureChannelCredentials.create())
                // One exchange may be larger than gRPC's 4 MiB; the server has limits of its own.
                .maxInboundMessageSize(Integer.MAX_VALUE)
                // Calls are made again here, where it is known what may be. Nothing is read from a name server or the environment
                // that nobody asked for.
                .disableRetry()
                .disableServiceConfigLookUp()
                .proxyDetector(any -> null);
        tls.serverName().ifPresent(builder::overrideAuthority);
        // A callback may take days, and a connection that died meanwhile says nothing.
        options.keepalive().ifPresent(silence -> builder.keepAliveTime(silence.toNanos(), TimeUnit.NANOSECONDS)
                .keepAliveTimeout(PING_TIMEOUT.toNanos(), TimeUnit.NANOSECONDS)
                .keepAliveWithoutCalls(true));
        Metadata said = new Metadata();
        options.token().ifPresent(token -> said.put(AUTHORIZATION, "Bearer " + token));
        options.providerCredential().ifPresent(credential -> said.put(PROVIDER_CREDENTIAL, credential));
        connection = builder.build();
        channel = ClientInterceptors.intercept(connection, MetadataUtils.newAttachHeadersInterceptor(said));
        attachFor = options.attachFor();
    }

    /** The connection, for the stubs in {@code antiphon.gen}. What is called over it carries the same keys. */
    public Channel raw() {
        return channel;
    }

    /** Closes the connection. What is at work on it fails. */
    @Override
    public void close() {
        connection.shutdownNow();
        workers.shutdownNow();
    }

    /**
     * Where the calls of tools run, and what is asked for in the background. It grows as it must, since nothing in it waits for more of it.
     */
    ExecutorService workers() {
        if (isClosed()) {
            throw Failures.of(Code.UNAVAILABLE, "the client is closed");
        }
        return workers;
    }

    /** Makes a call that is safe to repeat, since it changes nothing or what it does has a name, and repeats it where that helps. */
    <Q, A> A call(MethodDescriptor<Q, A> method, Q asked, Duration timeout) {
        return call(method, asked, timeout, null);
    }

    /** The same where it begins or goes on with a run: {@code again} makes it another attempt of a run that ended. */
    <Q, A> A call(MethodDescriptor<Q, A> method, Q asked, Duration timeout, UnaryOperator<Q> again) {
        Tries tries = new Tries(timeout, again != null);
        for (;;) {
            Failures.unlessInterrupted();
            try {
                return ClientCalls.blockingUnaryCall(channel, method, tries.options(), tries.again() ? again.apply(asked) : asked);
            } catch (StatusRuntimeException failed) {
                tries.pause(Failures.of(failed));
                atOnce();
            }
        }
    }

    /** Asks once, and answers come one after the other. */
    <Q, A> Feed<Q, A> ask(MethodDescriptor<Q, A> method, Q asked, CallOptions options) {
        return Feed.ask(channel, method, options, asked);
    }

    /** Opens the stream of a coordination. */
    Feed<CoordinateRequest, antiphon.gen.CoordinateResponse> talk() {
        return Feed.talk(channel, antiphon.gen.ExchangeServiceGrpc.getCoordinateMethod(), frame -> !frame.hasHeartbeat());
    }

    /** Whether it was closed, so that there is nothing to connect to any more. */
    boolean isClosed() {
        return connection.isShutdown();
    }

    /** Lets the next try connect: the pause before it was ours, and gRPC's own may be longer. */
    void atOnce() {
        connection.resetConnectBackoff();
    }

    /** Every item of a list, page after page, as they are read. */
    <Q, A, T> Paged<A, T> pages(
            MethodDescriptor<Q, A> method, Function<String, Q> asked, Function<A, String> next, Function<A, List<T>> items) {
        return new Paged<>(token -> call(method, asked.apply(token), null), next, items);
    }

    private static Metadata.Key<String> key(String name) {
        return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
    }

    private static final class Daemons implements ThreadFactory {
        private static final AtomicInteger COUNT = new AtomicInteger();

        @Override
        public Thread newThread(Runnable work) {
            Thread made = new Thread(work, "antiphon-" + COUNT.incrementAndGet());
            // Nobody's program is kept alive by a client that it forgot to close.
            made.setDaemon(true);
            return made;
        }
    }
}
