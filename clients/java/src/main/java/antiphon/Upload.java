package antiphon;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;

/** A call that is told many things, at the pace of who listens, and answers once. Knows nothing of what is said. */
final class Upload<Q, A> implements AutoCloseable {
    private final ClientCall<Q, A> call;
    // Guarded by this, as what comes of the call is told on threads of gRPC's own.
    private A answer;
    private RuntimeException failed;
    private boolean over;

    Upload(Channel channel, MethodDescriptor<Q, A> method, CallOptions options) {
        // What listens only notes what it hears, which needs no thread of its own.
        call = channel.newCall(method, options.withExecutor(Runnable::run));
        call.start(
                new ClientCall.Listener<A>() {
                    @Override
                    public void onMessage(A message) {
                        answered(message);
                    }

                    @Override
                    public void onReady() {
                        wake();
                    }

                    @Override
                    public void onClose(Status status, Metadata trailers) {
                        ended(status.isOk() ? null : status.asRuntimeException(trailers));
                    }
                },
                new Metadata());
        call.request(1);
    }

    private synchronized void answered(A message) {
        answer = message;
    }

    private synchronized void wake() {
        notifyAll();
    }

    private synchronized void ended(RuntimeException why) {
        over = true;
        failed = why;
        notifyAll();
    }

    /** Says more, once there is room for it; false where nobody listens any more, so that it is time to ask what came of it. */
    boolean send(Q more) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException("the caller was interrupted");
        }
        synchronized (this) {
            while (!over && !call.isReady()) {
                wait();
            }
            if (over) {
                return false;
            }
        }
        call.sendMessage(more);
        return true;
    }

    /** What came of it, after all was said. Throws an {@link AntiphonException} where nothing did. */
    A finish() throws InterruptedException {
        call.halfClose();
        synchronized (this) {
            while (!over) {
                wait();
            }
            if (failed != null) {
                throw Failures.of(failed);
            }
            if (answer == null) {
                throw Failures.of(Code.INTERNAL, "the call ended without an answer");
            }
            return answer;
        }
    }

    /** Lets go; what was not finished is as if it was never said. */
    @Override
    public void close() {
        call.cancel("the caller has left", null);
    }
}
