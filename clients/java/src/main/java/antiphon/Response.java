package antiphon;

import antiphon.gen.Progress;
import io.grpc.CallOptions;
import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * An answer on its way: iterate for its pieces, ask {@link #result} for the whole, {@link #cancel} to end its run, {@link #close} to let go
 * of it. One thread reads it; any may cancel. Nothing is asked before it is read.
 *
 * <p>The text pieces joined are the text of the result, whatever became of the connection meanwhile, those since the last {@code attempt}
 * where the model was asked again: the call is repeated under its run id, which gives what is there or joins what is at work. Only a run
 * that ended after its first piece came is not tried again. Whoever leaves the iteration early may go on with it, or ask for the result.
 *
 * @param <R> what it becomes, an {@link Exchange} or a {@link Probe}
 */
public final class Response<R> implements Iterable<Delta>, AutoCloseable {
    private final Asked<?, R> asked;
    private final String runId;
    private final Consumer<String> end;
    private final Tries tries;
    private final Runnable beforeNextTry;
    private final Pieces pieces = new Pieces();
    private Feed<?, ?> feed;
    private R result;
    private AntiphonException failed;
    private Delta next;

    /** What one event of such a call says: progress, the whole, or neither. */
    record Event<R>(Progress progress, R whole) {}

    /** How it is asked for and read. */
    interface Asked<A, R> {
        /** Makes the call; {@code again} as another attempt of a run that ended. */
        Feed<?, A> open(boolean again, CallOptions options);

        /** Reads an event. */
        Event<R> read(A event);

        /** The text of the whole. */
        String text(R whole);
    }

    Response(Asked<?, R> asked, String runId, Duration timeout, boolean runs, Consumer<String> end, Runnable beforeNextTry) {
        this.asked = asked;
        this.runId = runId;
        this.end = end;
        this.tries = new Tries(timeout, runs);
        this.beforeNextTry = beforeNextTry;
    }

    /** Names the run, from the beginning; empty where results go on with a run, and for a probe. */
    public String runId() {
        return runId;
    }

    /** The pieces of the answer, each once, however often this is asked for. */
    @Override
    public Iterator<Delta> iterator() {
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return advance();
            }

            @Override
            public Delta next() {
                if (!advance()) {
                    throw new NoSuchElementException();
                }
                Delta piece = next;
                next = null;
                return piece;
            }
        };
    }

    /** The whole, once it is there. Throws an {@link AntiphonException} where nothing came of it. */
    public R result() {
        forEach(piece -> {});
        return result;
    }

    /** The whole, with its pieces told on the way. */
    R heard(OnDelta hear) {
        try (this) {
            forEach(hear::hear);
            return result;
        }
    }

    /** Ends the run, unless it has ended; whoever reads this gets an {@link AntiphonException} with the code CANCELLED. */
    public void cancel() {
        try {
            end.accept(runId);
        } catch (AntiphonException refused) {
            // It was never begun, or refused before it was.
            if (!refused.reason().equals("RUN_NOT_FOUND")) {
                throw refused;
            }
        }
    }

    /** Lets go of what was not read to its end: its run is cancelled unless its request says otherwise. */
    @Override
    public void close() {
        if (feed != null) {
            feed.close();
        }
        if (result == null && failed == null) {
            failed = Failures.of(Code.CANCELLED, "the response was closed before its end");
        }
    }

    /** Reads until there is a piece that was not told yet; false when there is none any more. */
    private boolean advance() {
        while (next == null && result == null) {
            if (failed != null) {
                throw failed;
            }
            try {
                step(asked);
            } catch (RuntimeException broken) {
                stepAgain(Failures.of(broken));
            } catch (InterruptedException left) {
                feed.close();
                feed = null;
                throw Failures.gone(left);
            }
        }
        if (next == null) {
            next = rest(asked);
        }
        return next != null;
    }

    private <A> void step(Asked<A, R> asked) throws InterruptedException {
        if (feed == null) {
            Failures.unlessInterrupted();
            pieces.connected();
            feed = asked.open(tries.again(), tries.options());
        }
        @SuppressWarnings("unchecked") // it was opened just above, or by an earlier call of this
        A event = (A) feed.receive();
        if (event == null) {
            throw Failures.of(Code.UNAVAILABLE, "the stream closed before its run ended");
        }
        Event<R> said = asked.read(event);
        if (said.whole() != null) {
            result = said.whole();
            feed.close();
        } else {
            next = pieces.fresh(said.progress()).orElse(null);
            if (pieces.begun()) {
                tries.begun();
            }
        }
    }

    // The stored result of an earlier call comes without pieces.
    private <A> Delta rest(Asked<A, R> asked) {
        return pieces.rest(asked.text(result)).orElse(null);
    }

    private void stepAgain(AntiphonException error) {
        if (feed != null) {
            feed.close();
            feed = null;
        }
        if (Thread.currentThread().isInterrupted()) {
            throw error;
        }
        try {
            tries.pause(error);
        } catch (AntiphonException last) {
            failed = Thread.currentThread().isInterrupted() ? null : last;
            throw last;
        }
        beforeNextTry.run();
    }

    /** How such a call is read, in short. */
    static <Q, A, R> Asked<A, R> asked(
            BiFunction<Boolean, CallOptions, Feed<Q, A>> open, Function<A, Event<R>> read, Function<R, String> text) {
        return new Asked<>() {
            @Override
            public Feed<?, A> open(boolean again, CallOptions options) {
                return open.apply(again, options);
            }

            @Override
            public Event<R> read(A event) {
                return read.apply(event);
            }

            @Override
            public String text(R whole) {
                return text.apply(whole);
            }
        };
    }
}
