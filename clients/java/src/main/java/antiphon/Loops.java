package antiphon;

import antiphon.gen.AnswerRequest;
import antiphon.gen.BatchResults;
import antiphon.gen.CoordinationServiceCancelRequest;
import antiphon.gen.CoordinationServiceGrpc;
import antiphon.gen.CoordinationStart;
import antiphon.gen.ExecutionRequest;
import antiphon.gen.InitialRequest;
import antiphon.gen.SpendLimit;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** Turns in loops: coordinations that a callback decides, and chains of tools. Knows nothing of how a stream is followed. */
abstract class Loops extends Explain {
    private static final int CHAIN_LIMIT = 16;

    Loops(Connection connection) {
        super(connection);
    }

    /**
     * Runs up to {@code additionalTurns} turns of one branch; {@code nextAction} decides each.
     *
     * <p>It starts from an exchange or its id, from the head of a thread, which then moves, or with a {@link Request} that is executed
     * first, on {@code thread} if one is given. {@code nextAction} sees that starting exchange, then each new result, the last one
     * included. What it throws ends the coordination as failed and is thrown here, the same object.
     *
     * <p>Tools of one answer are called at once, and one that fails, is not there or is refused by what {@code beforeCall} throws gives an
     * error result. What {@code afterCall} or {@code onDelta} throws cancels the coordination and is thrown here. A tool that throws {@link
     * Pause} leaves it for later, and that is thrown here with the id to go on with.
     *
     * <p>A stream that breaks is attached again, and no callback is made twice for one decision. Interrupting the thread ends the
     * coordination at the server. Throws an {@link AntiphonException} when an execution fails, when it was cancelled, or when an answer was
     * refused, in which case the decision stays pending.
     *
     * <p>It takes {@code thread}, {@code tools}, {@code chainLimit}, {@code tokenLimit}, {@code costLimit}, {@code decisionTimeout}, {@code
     * deadline}, {@code onDisconnect}, {@code coordinationId}, {@code labels}, {@code ephemeral} and what all loops take: {@code beforeCall},
     * {@code afterCall}, {@code onDelta}, {@code generate} and {@code onToolDrift}.
     */
    public <X extends Exception> Outcome coordinate(Start start, int additionalTurns, NextAction<X> nextAction, Options options)
            throws X {
        options.only(
                "coordinate",
                Options.LOOP,
                "thread",
                "tools",
                "chainLimit",
                "tokenLimit",
                "costLimit",
                "decisionTimeout",
                "deadline",
                "onDisconnect",
                "coordinationId",
                "labels",
                "ephemeral");
        CoordinationStart.Builder raw = begun(options, additionalTurns);
        if (options.rounds != null) {
            raw.setToolRoundLimit(options.rounds);
        }
        if (options.decisionTimeout != null) {
            raw.setDecisionTimeout(Failures.raw(options.decisionTimeout));
        }
        if (options.deadline != null) {
            raw.setDeadline(Times.raw(options.deadline));
        }
        if (options.onDisconnect != null) {
            raw.setOnDisconnectValue(Words.number(antiphon.gen.OnDisconnect.getDescriptor(), options.onDisconnect));
        }
        return start(raw, start, options, nextAction, false);
    }

    /**
     * Goes on with a coordination that was suspended, or whose process or connection is gone, at what is pending.
     *
     * <p>It takes {@code tools} and what all loops take.
     */
    public <X extends Exception> Outcome attach(String coordinationId, NextAction<X> nextAction, Options options) throws X {
        options.only("attach", Options.LOOP, "tools");
        return attached(coordinationId, nextAction, options);
    }

    private Outcome attached(String coordinationId, NextAction<?> nextAction, Options options) {
        if (coordinationId.isEmpty()) {
            throw new IllegalArgumentException("give the id of the coordination to attach to");
        }
        try (Memories memories = new Memories(coordinationId)) {
            return memories.follow(new Answers(this, options, nextAction, false, coordinationId, memories.memory), null);
        }
    }

    /**
     * Executes a request and the tools that the model calls, until it calls none or there were {@code chainLimit} rounds of them, 16 unless
     * it says otherwise; then the answer has {@code toolCalls} that nothing answers. Without tools it offers none, unless its request has
     * some.
     *
     * <p>It is a first turn, on {@code thread} if one is given, or one {@code after} an exchange or a thread's head. A tool that throws
     * {@link Pause} leaves it for {@link #resume(String, List, Options)}.
     *
     * <p>It takes {@code after}, {@code thread}, {@code chainLimit}, {@code tokenLimit}, {@code costLimit}, {@code coordinationId}, {@code
     * labels}, {@code ephemeral} and what all loops take.
     */
    public Exchange chain(Request request, List<Tool> tools, Options options) {
        options.only(
                "chain",
                Options.LOOP,
                "after",
                "thread",
                "chainLimit",
                "tokenLimit",
                "costLimit",
                "coordinationId",
                "labels",
                "ephemeral");
        List<Tool> offered = List.copyOf(tools);
        return chained(request, options.with(made -> made.tools = offered), false);
    }

    /**
     * Goes on with a chain that was paused, or whose process is gone, and gives its result. Calls that have results are not made again.
     *
     * <p>It takes what all loops take.
     */
    public Exchange resume(String coordinationId, List<Tool> tools, Options options) {
        options.only("resume", Options.LOOP);
        List<Tool> offered = List.copyOf(tools);
        Take take = new Take(null);
        attached(coordinationId, take, options.with(made -> made.tools = offered));
        return take.result(coordinationId);
    }

    /**
     * Gives the answer that a coordination waits for, from anywhere and without a stream: results of tool calls, a next action, or what a
     * model said. With the {@code pendingId} that the caller saw, the same answer may be given again, and another one is refused.
     *
     * <p>It takes {@code timeout} and {@code pendingId}.
     */
    public Coordination answer(String coordinationId, Answer answer, Options options) {
        options.only("answer", new String[] {"timeout", "pendingId"});
        if (answer instanceof Suspend) {
            throw new IllegalArgumentException("there is no stream to suspend; a coordination that nobody answers waits by itself");
        }
        String pending = options.pendingId.isEmpty() ? coordination(coordinationId).pendingId() : options.pendingId;
        AnswerRequest.Builder raw = AnswerRequest.newBuilder().setCoordinationId(coordinationId);
        if (answer instanceof Results results) {
            raw.setToolResults(BatchResults.newBuilder().setBatchId(pending).addAllResults(results.list()));
        } else if (answer instanceof Generated generated) {
            raw.setGenerated(generated.toRaw(pending));
        } else {
            raw.setNextAction(Frames.nextAction(pending, (Action) answer, Request::toRaw));
        }
        return new Coordination(call(CoordinationServiceGrpc.getAnswerMethod(), raw.build(), options.timeout).getCoordination());
    }

    /** Ends a coordination, wherever it is. Ending one that has ended changes nothing. */
    public void cancel(String coordinationId) {
        cancel(coordinationId, "");
    }

    /** Ends a coordination, and says why. */
    public void cancel(String coordinationId, String message) {
        call(CoordinationServiceGrpc.getCancelMethod(), cancelling(coordinationId, message), null);
    }

    /** Ends a coordination whose caller is on its way out: a server that cannot be reached cannot be told. */
    void cancelQuietly(String coordinationId, String message, Duration within) {
        try {
            call(CoordinationServiceGrpc.getCancelMethod(), cancelling(coordinationId, message), within);
        } catch (AntiphonException untold) {
            // Whoever cancels gets to know that, and its coordination can be found by its id.
            return;
        }
    }

    private static CoordinationServiceCancelRequest cancelling(String coordinationId, String message) {
        return CoordinationServiceCancelRequest.newBuilder().setCoordinationId(coordinationId).setMessage(message).build();
    }

    /** A chain as a conversation has it. */
    Exchange chained(Request request, Options options, boolean standing) {
        CoordinationStart.Builder raw = begun(options, options.after == null ? 0 : 1);
        raw.setToolRoundLimit(options.rounds == null ? CHAIN_LIMIT : options.rounds);
        Take take = new Take(options.after == null ? null : request);
        start(raw, chainStart(request, options), options, take, standing);
        return take.result(raw.getCoordinationId());
    }

    private Start chainStart(Request request, Options options) {
        if (options.after == null) {
            return request;
        }
        if (options.after instanceof Exchange exchange && !exchange.captured() && !options.ephemeral) {
            // A branch of turns needs what it goes on from on record, where it lands once, however often it is replied to.
            return settled(exchange);
        }
        return (Start) options.after;
    }

    /** A request of which nothing is kept, heard as it comes: only a coordination tells that. */
    antiphon.gen.Exchange ephemeral(ExecutionRequest request, Options options) {
        Take take = new Take(null);
        CoordinationStart.Builder raw = CoordinationStart.newBuilder()
                .setEphemeral(true)
                .setDeltas(true)
                .setToolRoundLimit(0)
                .setInitialRequest(InitialRequest.newBuilder().setRequest(request));
        Duration timeout = connection.within(options.timeout);
        if (timeout != null) {
            raw.setDeadline(Times.raw(Instant.now().plus(timeout)));
        }
        try (Memories memories = new Memories("")) {
            memories.follow(new Answers(this, options, take, false, "", memories.memory), raw.build());
        }
        return take.result("").raw();
    }

    private Outcome start(CoordinationStart.Builder raw, Start start, Options options, NextAction<?> next, boolean standing) {
        if (options.thread != null && !(start instanceof Request)) {
            throw new IllegalArgumentException("`thread` is for a start with a request");
        }
        String id = raw.getCoordinationId();
        try (Memories memories = new Memories(id)) {
            Answers answers = new Answers(this, options, next, standing, id, memories.memory);
            from(raw, start, options.thread, answers);
            return memories.follow(answers, raw.build());
        }
    }

    private static void from(CoordinationStart.Builder raw, Start start, Place place, Answers answers) {
        if (start instanceof ThreadPoint thread) {
            raw.setThread(thread.toRaw());
        } else if (start instanceof Request request) {
            InitialRequest.Builder initial = raw.getInitialRequestBuilder().setRequest(answers.offered(request));
            if (place instanceof ThreadPoint existing) {
                initial.setExistingThread(existing.toRaw());
            } else if (place instanceof NewThread made) {
                initial.setNewThread(made.toRaw());
            }
        } else {
            raw.setExchange(point((OnRecord) start));
        }
    }

    private static CoordinationStart.Builder begun(Options options, int additionalTurns) {
        String id = options.coordinationId.isEmpty() ? Words.fresh() : options.coordinationId;
        CoordinationStart.Builder raw = CoordinationStart.newBuilder()
                .setAdditionalTurns(additionalTurns)
                .setCoordinationId(options.ephemeral ? "" : id)
                .setEphemeral(options.ephemeral)
                .putAllLabels(options.labels)
                .setDeltas(options.onDelta != null);
        SpendLimit limit = options.spendLimit();
        return limit == null ? raw : raw.setSpendLimit(limit);
    }

    /** What this process remembers of one coordination, for as long as there is something. */
    private final class Memories implements AutoCloseable {
        private final String id;
        private final Memory memory;

        Memories(String id) {
            this.id = id;
            memory = id.isEmpty() ? new Memory() : memories.computeIfAbsent(id, any -> new Memory());
        }

        Outcome follow(Answers answers, CoordinationStart start) {
            if (start != null) {
                answers.begin(start);
            }
            return new Coordinator(Loops.this, id, memory, answers).run(start);
        }

        @Override
        public void close() {
            memories.computeIfPresent(id, (any, known) -> known == memory && known.isEmpty() ? null : known);
        }
    }
}
