package antiphon;

import antiphon.gen.ExchangePoint;

/** A thread to go on from and move: at the head that the caller saw, or at whatever is its head then. */
public final class ThreadPoint implements Point, Start, Place {
    private final String threadId;
    private final String expectedHead;
    private final OnBusy onBusy;
    private final UnansweredTools unansweredTools;

    /** At whatever is its head then. */
    public ThreadPoint(String threadId) {
        this(threadId, "", null, null);
    }

    private ThreadPoint(String threadId, String expectedHead, OnBusy onBusy, UnansweredTools unansweredTools) {
        this.threadId = threadId;
        this.expectedHead = expectedHead;
        this.onBusy = onBusy;
        this.unansweredTools = unansweredTools;
    }

    /** The same at this head, an exchange id; another head is refused. */
    public ThreadPoint expectedHead(String exchangeId) {
        return new ThreadPoint(threadId, exchangeId, onBusy, unansweredTools);
    }

    /** The same with what to do while another run is at work on it; refuse when absent. */
    public ThreadPoint onBusy(OnBusy what) {
        return new ThreadPoint(threadId, expectedHead, what, unansweredTools);
    }

    /** The same with what to do with a new request while tool calls are unanswered; refuse when absent. */
    public ThreadPoint unansweredTools(UnansweredTools what) {
        return new ThreadPoint(threadId, expectedHead, onBusy, what);
    }

    /** The thread's id. */
    public String threadId() {
        return threadId;
    }

    antiphon.gen.ThreadPoint toRaw() {
        antiphon.gen.ThreadPoint.Builder raw = antiphon.gen.ThreadPoint.newBuilder().setThreadId(threadId);
        if (!expectedHead.isEmpty()) {
            raw.getExpectedHeadBuilder().setExchange(ExchangePoint.newBuilder().setExchangeId(expectedHead));
        }
        if (onBusy != null) {
            raw.setOnBusyValue(Words.number(antiphon.gen.OnBusy.getDescriptor(), onBusy));
        }
        if (unansweredTools != null) {
            raw.setUnansweredToolsValue(Words.number(antiphon.gen.UnansweredTools.getDescriptor(), unansweredTools));
        }
        return raw.build();
    }
}
