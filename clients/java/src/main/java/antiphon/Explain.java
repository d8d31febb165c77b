package antiphon;

import antiphon.gen.ExchangeServiceGrpc;
import antiphon.gen.ExecutionRequest;
import antiphon.gen.ExplainRequest;
import antiphon.gen.ExplainResponse;
import antiphon.gen.PrepareRequest;
import antiphon.gen.RunRequest;
import antiphon.gen.RunResponse;

/** What would be sent, before it is: looked at, and kept for one execution. Nothing here but {@code execute} calls a model. */
abstract class Explain extends Turns {
    private static final String[] EXPLAIN = {"timeout", "after", "thread"};

    Explain(Connection connection) {
        super(connection);
    }

    /**
     * What {@code capture}, or {@code continueFrom} where {@code after} says from what, would send.
     *
     * <p>It takes {@code timeout}, {@code after} and {@code thread}.
     */
    public Explanation explain(Input input, Options options) {
        options.only("explain", EXPLAIN);
        ExplainRequest.Builder raw = ExplainRequest.newBuilder();
        if (options.after != null) {
            raw.setTurn(onRecord(goingOn(options), input));
        } else {
            raw.setCapture(captured(beginning(input), options.thread));
        }
        return Explanation.of(call(ExchangeServiceGrpc.getExplainMethod(), raw.build(), options.timeout).getExplanation());
    }

    /** What was sent for an exchange, derived again from what is stored; {@code matches} says whether that is what went out. */
    public Explanation explainExchange(OnRecord exchange) {
        ExplainRequest asked = ExplainRequest.newBuilder().setExchange(point(exchange)).build();
        ExplainResponse found = call(ExchangeServiceGrpc.getExplainMethod(), asked, null);
        return Explanation.of(found.getExplanation(), found.getSent());
    }

    /**
     * Resolves and renders a request, shows what would be sent, and keeps that for one {@code execute}, until it {@code expires}. Whether
     * the exchange is kept then is said now, with {@code capture}.
     *
     * <p>It takes {@code timeout}, {@code after}, {@code capture} and {@code expires}.
     */
    public Prepared prepare(Request request, Options options) {
        options.only("prepare", new String[] {"timeout", "after", "capture", "expires"});
        ExecutionRequest named = named(request.toRaw());
        PrepareRequest.Builder raw =
                PrepareRequest.newBuilder().setRequest(named).setCapture(Boolean.TRUE.equals(options.capture));
        if (options.after instanceof ThreadPoint thread) {
            raw.setThread(thread.toRaw());
        } else if (options.after != null) {
            raw.setExchange(point((OnRecord) options.after));
        }
        if (options.expires != null) {
            raw.setExpireTime(Times.raw(options.expires));
        }
        return Prepared.of(call(ExchangeServiceGrpc.getPrepareMethod(), raw.build(), options.timeout), named.getRunId());
    }

    /**
     * Executes what was prepared, exactly as it was shown. Once: again gives the same answer.
     *
     * <p>It takes {@code timeout}.
     */
    public Exchange execute(Prepared prepared, Options options) {
        options.only("execute", new String[] {"timeout"});
        RunRequest.Builder raw = RunRequest.newBuilder().setIncludeRenderedMessages(true);
        raw.getPreparedBuilder().setPreparedId(prepared.preparedId()).setRunId(prepared.runId());
        RunResponse answer = call(ExchangeServiceGrpc.getRunMethod(), raw.build(), options.timeout);
        return answer.hasExchange() ? Exchange.of(answer.getExchange()) : Exchange.uncaptured(answer, 0, null);
    }
}
