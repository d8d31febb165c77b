package antiphon;

import antiphon.gen.CoordinateRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** Calls over a connection, which are repeated where that is safe and helps. Knows nothing of what is asked. */
abstract class Calls implements AutoCloseable {
    /** Over which they go, and what goes along. */
    final Connection connection;

    /** For how long a broken coordination stream is attached again. */
    final Duration attachFor;

    /** What this process has answered, by coordination. */
    final Map<String, Memory> memories;

    Calls(Connection connection) {
        this.connection = connection;
        attachFor = connection.attachFor();
        memories = connection.memories();
    }

    /** The connection, for the stubs in {@code antiphon.gen}. What is called over it carries the same keys. */
    public Channel raw() {
        return connection.channel();
    }

    /** Closes the connection. What is at work on it fails. */
    @Override
    public void close() {
        connection.close();
    }

    /**
     * Where the calls of tools run, and what is asked for in the background. It grows as it must, since nothing in it waits for more of it.
     */
    ExecutorService workers() {
        return connection.workers();
    }

    /** Makes a call that is safe to repeat, since it changes nothing or what it does has a name, and repeats it where that helps. */
    <Q, A> A call(MethodDescriptor<Q, A> method, Q asked, Duration timeout) {
        return call(method, asked, timeout, null);
    }

    /** The same where it begins or goes on with a run: {@code again} makes it another attempt of a run that ended. */
    <Q, A> A call(MethodDescriptor<Q, A> method, Q asked, Duration timeout, UnaryOperator<Q> again) {
        Tries tries = new Tries(connection.within(timeout), again != null);
        for (;;) {
            Failures.unlessInterrupted();
            try {
                return ClientCalls.blockingUnaryCall(raw(), method, tries.options(), tries.again() ? again.apply(asked) : asked);
            } catch (StatusRuntimeException failed) {
                tries.pause(Failures.of(failed));
                atOnce();
            }
        }
    }

    /** Asks once, and answers come one after the other. */
    <Q, A> Feed<Q, A> ask(MethodDescriptor<Q, A> method, Q asked, CallOptions options) {
        return Feed.ask(raw(), method, options, asked);
    }

    /** Opens the stream of a coordination. */
    Feed<CoordinateRequest, antiphon.gen.CoordinateResponse> talk() {
        return Feed.talk(raw(), antiphon.gen.ExchangeServiceGrpc.getCoordinateMethod(), frame -> !frame.hasHeartbeat());
    }

    /** Whether it was closed, so that there is nothing to connect to any more. */
    boolean isClosed() {
        return connection.isClosed();
    }

    /** Lets the next try connect: the pause before it was ours, and gRPC's own may be longer. */
    void atOnce() {
        connection.atOnce();
    }

    /** Every item of a list, page after page, as they are read. */
    <Q, A, T> Paged<A, T> pages(
            MethodDescriptor<Q, A> method, Function<String, Q> asked, Function<A, String> next, Function<A, List<T>> items) {
        return new Paged<>(token -> call(method, asked.apply(token), null), next, items);
    }
}
