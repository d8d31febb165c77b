package antiphon;

import antiphon.gen.AfterRun;
import antiphon.gen.AfterTurn;
import antiphon.gen.ThreadTurnPoint;

/**
 * A point on a thread's path: its head, after a turn, or after a run. To branch from, or to read the documents as of there, which at its
 * head are those that are live.
 */
public final class ThreadTurn implements Source, WorkspacePoint {
    private final String threadId;
    private final Long turn;
    private final String runId;

    /** The head. */
    public ThreadTurn(String threadId) {
        this(threadId, null, null);
    }

    private ThreadTurn(String threadId, Long turn, String runId) {
        this.threadId = threadId;
        this.turn = turn;
        this.runId = runId;
    }

    /** After a turn of this thread, counted from 1. */
    public ThreadTurn afterTurn(long turn) {
        return new ThreadTurn(threadId, turn, null);
    }

    /** After a run on this thread's path. */
    public ThreadTurn afterRun(String runId) {
        return new ThreadTurn(threadId, null, runId);
    }

    ThreadTurnPoint toRaw() {
        ThreadTurnPoint.Builder raw = ThreadTurnPoint.newBuilder().setThreadId(threadId);
        if (turn != null) {
            raw.setAfterTurn(AfterTurn.newBuilder().setTurn(turn));
        } else if (runId != null) {
            raw.setAfterRun(AfterRun.newBuilder().setRunId(runId));
        }
        return raw.build();
    }
}
