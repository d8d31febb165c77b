package antiphon;

import antiphon.gen.AfterHead;
import antiphon.gen.CaptureRequest;
import antiphon.gen.ContinueRequest;
import antiphon.gen.ExchangeServiceGrpc;
import antiphon.gen.ExecutionRequest;
import antiphon.gen.ProbeRequest;
import antiphon.gen.ProbeResponse;
import antiphon.gen.RecordRequest;
import antiphon.gen.RecordedFacts;
import antiphon.gen.StreamCaptureRequest;
import antiphon.gen.StreamContinueRequest;
import antiphon.gen.StreamProbeRequest;
import antiphon.gen.UncapturedPrefix;
import java.time.Duration;
import java.util.List;

/** One call to a model at a time, kept or not; tools that it asks for are left to the caller. Knows nothing of loops. */
abstract class Turns extends Workspaces {
    private static final String[] RECORD = {"timeout", "after", "thread", "facts", "labels", "requestId"};

    Turns(Connection connection) {
        super(connection);
    }

    /**
     * Executes a request at a root and keeps the exchange, on a thread without exchanges if one is given. Tools that the model asks for are
     * left to the caller; see {@link Client#chain(Request, List, Options)}.
     *
     * <p>It takes {@code timeout}, {@code onDelta} and {@code thread}.
     */
    public Exchange capture(Request request, Options options) {
        options.only("capture", Options.TURN, "thread");
        CaptureRequest raw = captured(request, options.thread);
        if (options.onDelta != null) {
            return streamCapture(raw, options.timeout).heard(options.onDelta);
        }
        return Exchange.of(call(ExchangeServiceGrpc.getCaptureMethod(), raw, options.timeout, Turns::again).getExchange());
    }

    /**
     * A new turn: from an exchange, where no head moves, or from a thread, whose head moves. In place of a request it takes the results of
     * all calls that are pending there, with which the same run goes on. It is called so since Java has another use for the word.
     *
     * <p>It takes {@code timeout} and {@code onDelta}.
     */
    public Exchange continueFrom(Point point, Input input, Options options) {
        options.only("continueFrom", Options.TURN);
        return continued(onRecord(point, input), options);
    }

    /**
     * A first turn, or one {@code after} a point, as an answer to read as it comes. Nothing is asked before it is read.
     *
     * <p>It takes {@code timeout}, {@code after} and {@code thread}.
     */
    public Response<Exchange> stream(Input input, Options options) {
        options.only("stream", new String[] {"timeout"}, "after", "thread");
        if (options.after != null) {
            return streamContinue(onRecord(goingOn(options), input), options.timeout);
        }
        return streamCapture(captured(beginning(input), options.thread), options.timeout);
    }

    /**
     * Asks something from a point of history and leaves nothing behind. It is one call to the model: calls of tools come back as its stop
     * reason. Tools with side effects are refused unless {@code allowSideEffects} says otherwise, and those that need a person always.
     *
     * <p>It takes {@code timeout}, {@code onDelta} and {@code allowSideEffects}.
     */
    public Probe forkOnce(Source source, Request request, Options options) {
        options.only("forkOnce", Options.TURN, "allowSideEffects");
        ProbeRequest.Builder raw =
                ProbeRequest.newBuilder().setRequest(request.toRaw()).setAllowSideEffects(options.allowSideEffects);
        if (source instanceof ThreadTurn turn) {
            raw.setThread(turn.toRaw());
        } else {
            raw.setExchange(point((OnRecord) source));
        }
        ProbeRequest probe = raw.build();
        if (options.onDelta == null) {
            return new Probe(call(ExchangeServiceGrpc.getProbeMethod(), probe, options.timeout));
        }
        StreamProbeRequest asked = StreamProbeRequest.newBuilder().setProbe(probe).build();
        // A probe's run is on no record to be tried again.
        Response<Probe> answer = new Response<>(
                Response.asked(
                        (again, settings) -> ask(ExchangeServiceGrpc.getStreamProbeMethod(), asked, settings),
                        event -> new Response.Event<>(event.getProgress(), event.hasCompleted() ? probe(event.getCompleted()) : null),
                        Probe::text),
                "",
                connection.within(options.timeout),
                false,
                runId -> {},
                this::atOnce);
        return answer.heard(options.onDelta);
    }

    /**
     * Stores what the caller said and heard itself, cut after each assistant message; what is stored already is found again. The messages
     * are a whole transcript, or what comes {@code after} a point; {@code thread} is one that goes through the transcript and moves to its
     * end, or one to make.
     *
     * <p>It takes {@code timeout}, {@code after}, {@code thread}, {@code facts}, {@code labels} and {@code requestId}.
     */
    public Recorded record(List<Message> messages, Options options) {
        RecordRequest.Builder raw = RecordRequest.newBuilder();
        messages.forEach(message -> raw.addMessages(message.raw()));
        return record(raw, options);
    }

    /** Stores what a probe brought. It takes what {@link #record(List, Options)} does. */
    public Recorded record(Probe probe, Options options) {
        return record(probe.raw().getPromotion().toBuilder(), options);
    }

    private Recorded record(RecordRequest.Builder raw, Options options) {
        options.only("record", RECORD);
        options.facts.forEach(facts -> raw.addFacts(facts.toRaw()));
        raw.putAllLabels(options.labels);
        if (!options.requestId.isEmpty() || raw.getRequestId().isEmpty()) {
            raw.setRequestId(options.requestId.isEmpty() ? Words.fresh() : options.requestId);
        }
        if (options.after instanceof ThreadPoint thread) {
            raw.setAfterHead(AfterHead.getDefaultInstance()).setExistingThread(thread.toRaw());
        } else if (options.after != null) {
            raw.setAfterExchange(point((OnRecord) options.after));
        }
        if (options.thread instanceof ThreadPoint thread) {
            raw.setExistingThread(thread.toRaw());
        } else if (options.thread instanceof NewThread thread) {
            raw.setNewThread(thread.toRaw());
        }
        return new Recorded(call(ExchangeServiceGrpc.getRecordMethod(), raw.build(), options.timeout));
    }

    /**
     * An exchange that was not captured, once it is on record with all that was said before it, each turn by itself. What is there already
     * is found again.
     */
    ExchangeId settled(Exchange exchange) {
        UncapturedPrefix prefix = exchange.prefix();
        int last = prefix.getRenderedMessagesCount();
        RecordedFacts facts = prefix.getFacts().toBuilder().setMessageIndex(last).build();
        RecordRequest raw = RecordRequest.newBuilder()
                .addAllMessages(prefix.getRenderedMessagesList())
                .addMessages(prefix.getAssistant())
                .addFacts(facts)
                .setRequestId(Words.fresh())
                .build();
        return new ExchangeId(call(ExchangeServiceGrpc.getRecordMethod(), raw, null).getExchangeId());
    }

    Exchange continued(ContinueRequest raw, Options options) {
        if (options.onDelta != null) {
            return streamContinue(raw, options.timeout).heard(options.onDelta);
        }
        return Exchange.of(call(ExchangeServiceGrpc.getContinueMethod(), raw, options.timeout, Turns::again).getExchange());
    }

    private Response<Exchange> streamCapture(CaptureRequest raw, Duration timeout) {
        return new Response<>(
                Response.asked(
                        (again, settings) -> ask(
                                ExchangeServiceGrpc.getStreamCaptureMethod(),
                                StreamCaptureRequest.newBuilder().setCapture(again ? again(raw) : raw).build(),
                                settings),
                        event -> new Response.Event<>(
                                event.getProgress(), event.hasCompleted() ? Exchange.of(event.getCompleted().getExchange()) : null),
                        Exchange::text),
                raw.getRequest().getRunId(),
                connection.within(timeout),
                true,
                this::cancelRun,
                this::atOnce);
    }

    private Response<Exchange> streamContinue(ContinueRequest raw, Duration timeout) {
        return new Response<>(
                Response.asked(
                        (again, settings) -> ask(
                                ExchangeServiceGrpc.getStreamContinueMethod(),
                                StreamContinueRequest.newBuilder().setTurn(again ? again(raw) : raw).build(),
                                settings),
                        event -> new Response.Event<>(
                                event.getProgress(), event.hasCompleted() ? Exchange.of(event.getCompleted().getExchange()) : null),
                        Exchange::text),
                raw.getRequest().getRunId(),
                connection.within(timeout),
                true,
                this::cancelRun,
                this::atOnce);
    }

    private static Probe probe(ProbeResponse raw) {
        return new Probe(raw);
    }

    private static CaptureRequest again(CaptureRequest raw) {
        return raw.toBuilder().setRequest(raw.getRequest().toBuilder().setRetry(true)).build();
    }

    private static ContinueRequest again(ContinueRequest raw) {
        return raw.hasRequest()
                ? raw.toBuilder().setRequest(raw.getRequest().toBuilder().setRetry(true)).build()
                : raw.toBuilder().setToolResults(raw.getToolResults().toBuilder().setRetry(true)).build();
    }

    /** With a name for its run, ours where the caller gives none. */
    static ExecutionRequest named(ExecutionRequest raw) {
        return raw.getRunId().isEmpty() ? raw.toBuilder().setRunId(Words.fresh()).build() : raw;
    }

    /** What a turn goes on from, whose thread is told there. */
    static Point goingOn(Options options) {
        if (options.thread != null) {
            throw new IllegalArgumentException("`thread` is for a first turn; one that goes on has its thread in `after`");
        }
        return options.after;
    }

    /** What a first turn is made with. */
    static Request beginning(Input input) {
        if (input instanceof Request request) {
            return request;
        }
        throw new IllegalArgumentException("results of tool calls need `after`, the exchange or thread with the calls");
    }

    static CaptureRequest captured(Request request, Place thread) {
        CaptureRequest.Builder raw = CaptureRequest.newBuilder().setRequest(named(request.toRaw()));
        if (thread instanceof ThreadPoint existing) {
            raw.setExistingThread(existing.toRaw());
        } else if (thread instanceof NewThread made) {
            raw.setNewThread(made.toRaw());
        }
        return raw.build();
    }

    /** A turn from what is on record. Storing what was not captured is for {@code reply}, which says so. */
    static ContinueRequest onRecord(Point point, Input input) {
        if (point instanceof OnRecord exchange) {
            point(exchange);
        }
        return continuation(point, input);
    }

    /** A new turn, as it goes out; what was not captured goes along with it, in one write. */
    static ContinueRequest continuation(Point point, Input input) {
        ContinueRequest.Builder raw = ContinueRequest.newBuilder();
        if (input instanceof Request request) {
            raw.setRequest(named(request.toRaw()));
        } else {
            raw.setToolResults(((Results) input).toRaw());
        }
        if (point instanceof ThreadPoint thread) {
            raw.setThread(thread.toRaw());
        } else if (point instanceof Exchange exchange && !exchange.captured()) {
            raw.setUncapturedPrefix(exchange.prefix());
        } else {
            raw.setExchange(point((OnRecord) point));
        }
        return raw.build();
    }
}
