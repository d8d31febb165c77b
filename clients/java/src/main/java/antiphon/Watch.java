package antiphon;

import antiphon.gen.RunServiceGrpc;
import antiphon.gen.WatchRequest;
import antiphon.gen.WatchResponse;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * Follows a run until it is over, over connections that break: its states, each once, and what is told of its answer on the way. It only
 * looks: leaving cancels nothing. After a break the text comes again, as {@code text_so_far}. One thread reads it, once; close it when it
 * is left before its end.
 */
public final class Watch implements Iterable<RunEvent>, AutoCloseable {
    private final Calls calls;
    private final String runId;
    private final Tries tries = new Tries(null, false);
    private long after;
    private Feed<WatchRequest, WatchResponse> feed;
    private RunEvent next;
    private boolean over;

    Watch(Calls calls, String runId, long after) {
        this.calls = calls;
        this.runId = runId;
        this.after = after;
    }

    /** What happens, as it does. */
    @Override
    public Iterator<RunEvent> iterator() {
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return advance();
            }

            @Override
            public RunEvent next() {
                if (!advance()) {
                    throw new NoSuchElementException();
                }
                RunEvent event = next;
                next = null;
                return event;
            }
        };
    }

    /** Looks no more. */
    @Override
    public void close() {
        over = true;
        leave();
    }

    private boolean advance() {
        while (next == null && !over) {
            try {
                step();
            } catch (RuntimeException broken) {
                leave();
                Failures.unlessInterrupted();
                tries.pause(Failures.of(broken));
                calls.atOnce();
            } catch (InterruptedException left) {
                leave();
                throw Failures.gone(left);
            }
        }
        return next != null;
    }

    private void step() throws InterruptedException {
        if (feed == null) {
            WatchRequest asked = WatchRequest.newBuilder().setRunId(runId).setAfterSequence(after).build();
            feed = calls.ask(RunServiceGrpc.getWatchMethod(), asked, tries.options());
        }
        WatchResponse said = feed.receive();
        if (said == null) {
            over = true;
            return;
        }
        after = Math.max(after, said.getSequence());
        next = RunEvent.of(said);
    }

    private void leave() {
        if (feed != null) {
            feed.close();
            feed = null;
        }
    }
}
