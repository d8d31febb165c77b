package antiphon;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** A call whose answers are read one after the other, by whichever thread waits for them. Knows nothing of what is said on it. */
final class Feed<Q, A> implements AutoCloseable {
    private static final Object END = new Object();

    private final ClientCall<Q, A> call;
    private final BlockingQueue<Object> heard = new LinkedBlockingQueue<>();
    private final boolean paced;
    private boolean closed;

    private Feed(Channel channel, MethodDescriptor<Q, A> method, CallOptions options, boolean paced, Predicate<A> wanted) {
        // What listens only puts things into a queue, which needs no thread of its own.
        call = channel.newCall(method, options.withExecutor(Runnable::run));
        this.paced = paced;
        call.start(
                new ClientCall.Listener<A>() {
                    @Override
                    public void onMessage(A message) {
                        if (wanted.test(message)) {
                            heard.add(message);
                        }
                    }

                    @Override
                    public void onClose(Status status, Metadata trailers) {
                        heard.add(status.isOk() ? END : status.asRuntimeException(trailers));
                    }
                },
                new Metadata());
        call.request(paced ? 1 : Integer.MAX_VALUE);
    }

    /** Asks once and reads at the pace of who listens. */
    static <Q, A> Feed<Q, A> ask(Channel channel, MethodDescriptor<Q, A> method, CallOptions options, Q asked) {
        Feed<Q, A> made = new Feed<>(channel, method, options, true, any -> true);
        made.call.sendMessage(asked);
        made.call.halfClose();
        return made;
    }

    /**
     * Talks both ways. What is heard is kept until somebody reads it, so that a callback may take days while the connection stays alive.
     */
    static <Q, A> Feed<Q, A> talk(Channel channel, MethodDescriptor<Q, A> method, Predicate<A> wanted) {
        return new Feed<>(channel, method, CallOptions.DEFAULT, false, wanted);
    }

    /** Says something, from whichever thread. What a broken stream was told is lost; reading tells that it broke. */
    synchronized void send(Q frame) {
        if (!closed) {
            call.sendMessage(frame);
        }
    }

    /** What is said next; null when it ended well. Throws what it ended with otherwise. */
    A receive() throws InterruptedException {
        return read(heard.take());
    }

    /** What is said within so long; null when it ended well, or nothing was said. */
    A receive(Duration within) throws InterruptedException {
        Object next = heard.poll(within.toMillis(), TimeUnit.MILLISECONDS);
        return next == null ? null : read(next);
    }

    private A read(Object next) {
        if (next == END || next instanceof RuntimeException) {
            // Whoever reads on gets the same.
            heard.add(next);
            if (next instanceof RuntimeException failed) {
                throw failed;
            }
            return null;
        }
        if (paced) {
            call.request(1);
        }
        @SuppressWarnings("unchecked") // nothing else is put there
        A message = (A) next;
        return message;
    }

    /** Lets go. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            call.cancel("the caller has left", null);
        }
    }
}
