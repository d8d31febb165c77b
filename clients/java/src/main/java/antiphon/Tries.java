package antiphon;

import io.grpc.CallOptions;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** How often one call was made, and whether and when it is made again. Knows nothing of what is called. */
final class Tries {
    private static final int MAX_TRIES = 4;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(200);

    // Null without a limit.
    private final Long until;
    // Whether it begins or goes on with a run, which can be tried again under its id.
    private final boolean runs;
    private int count;
    private boolean broke;
    private boolean begun;
    private boolean again;

    Tries(Duration timeout, boolean runs) {
        until = timeout == null ? null : System.nanoTime() + timeout.toNanos();
        this.runs = runs;
    }

    /** More was handed on than can be taken back: a run that ended is not tried again. */
    void begun() {
        begun = true;
    }

    /** It got on since it was last tried: the next ones are counted anew, within the same time. */
    void progressed() {
        count = 0;
    }

    /** Whether the next try opens another attempt of a run that ended. */
    boolean again() {
        return again;
    }

    /** How the next try is called: within what is left of the time. */
    CallOptions options() {
        if (until == null) {
            return CallOptions.DEFAULT;
        }
        return CallOptions.DEFAULT.withDeadlineAfter(Math.max(0, until - System.nanoTime()), TimeUnit.NANOSECONDS);
    }

    /**
     * Waits before the next try, or throws the error when there is none.
     *
     * <p>A run that failed, or that the server cancelled because the connection broke, is on record under its id and would give the same
     * error again, so it is tried again under that id.
     */
    void pause(AntiphonException error) {
        count++;
        String state = error.metadata().getOrDefault("run_state", "").toUpperCase(Locale.ROOT);
        boolean ours = broke && error.reason().equals("RUN_CANCELLED");
        broke |= error.code() == Code.UNAVAILABLE && error.reason().isEmpty();
        boolean ended = state.equals("FAILED") || state.equals("CANCELLED") || ours;
        Duration wait = error.retryAfter().orElse(FIRST_PAUSE.multipliedBy(1L << (count - 1)));
        boolean late = until != null && System.nanoTime() + wait.toNanos() - until >= 0;
        boolean taken = ended && (!runs || begun);
        if (!(error.canRetry() || ours) || late || count >= MAX_TRIES || taken) {
            throw error;
        }
        again = ended;
        sleep(wait);
    }

    /** Waits, unless the caller has gone. */
    static void sleep(Duration wait) {
        try {
            Thread.sleep(wait.toMillis());
        } catch (InterruptedException left) {
            throw Failures.gone(left);
        }
    }
}
