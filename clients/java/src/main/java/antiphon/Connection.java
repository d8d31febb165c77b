package antiphon;

import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A connection to one server, and what goes along with each call over it. Others may share it with other keys. Knows nothing of calls. */
final class Connection {
    private static final Duration PING_TIMEOUT = Duration.ofSeconds(20);
    private static final Metadata.Key<String> AUTHORIZATION = key("authorization");
    private static final Metadata.Key<String> PROVIDER_CREDENTIAL = key("antiphon-provider-credential");

    private final Shared shared;
    private final Metadata said;
    private final Channel channel;
    // Null without one.
    private final Duration timeout;

    /** What all clients of one connection have together: it, the threads beside it, and what was answered over it, by coordination. */
    private record Shared(ManagedChannel channel, Duration attachFor, ExecutorService workers, Map<String, Memory> memories) {}

    private Connection(Shared shared, Metadata said, Duration timeout) {
        this.shared = shared;
        this.said = said;
        this.timeout = timeout;
        this.channel = ClientInterceptors.intercept(shared.channel, MetadataUtils.newAttachHeadersInterceptor(said));
    }

    /** One that connects when it is used. Throws an {@link IllegalArgumentException} for an address without a host. */
    static Connection to(String address, ClientOptions options) {
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
        ExecutorService workers = Executors.newCachedThreadPool(new Daemons());
        return new Connection(new Shared(builder.build(), options.attachFor(), workers, new ConcurrentHashMap<>()), said, null);
    }

    /** The same with another key for the server's provider. */
    Connection withProviderCredential(String credential) {
        Metadata other = new Metadata();
        other.merge(said);
        other.discardAll(PROVIDER_CREDENTIAL);
        other.put(PROVIDER_CREDENTIAL, credential);
        return new Connection(shared, other, timeout);
    }

    /** The same with a limit for calls that have none of their own. */
    Connection withTimeout(Duration limit) {
        return new Connection(shared, said, limit);
    }

    Channel channel() {
        return channel;
    }

    /** What limits a call; null for nothing. */
    Duration within(Duration own) {
        return own == null ? timeout : own;
    }

    Duration attachFor() {
        return shared.attachFor;
    }

    Map<String, Memory> memories() {
        return shared.memories;
    }

    ExecutorService workers() {
        if (isClosed()) {
            throw Failures.of(Code.UNAVAILABLE, "the client is closed");
        }
        return shared.workers;
    }

    /** Whether it was closed, so that there is nothing to connect to any more. */
    boolean isClosed() {
        return shared.channel.isShutdown();
    }

    /** Lets the next try connect: the pause before it was ours, and gRPC's own may be longer. */
    void atOnce() {
        shared.channel.resetConnectBackoff();
    }

    void close() {
        shared.channel.shutdownNow();
        shared.workers.shutdownNow();
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
