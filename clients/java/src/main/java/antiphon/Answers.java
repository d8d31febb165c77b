package antiphon;

import antiphon.gen.CoordinateRequest;
import antiphon.gen.CoordinateResponse;
import antiphon.gen.CoordinationDetached;
import antiphon.gen.CoordinationEnded;
import antiphon.gen.CoordinationStart;
import antiphon.gen.DecisionNeeded;
import antiphon.gen.ExecutionRequest;
import antiphon.gen.GenerationNeeded;
import antiphon.gen.ToolsNeeded;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What a coordination is answered: by the caller's functions, each asked once for one thing. Knows nothing of the stream's ends. */
final class Answers {
    private static final String HOOK_FAILED = "a hook of the caller failed";

    private final Options hooks;
    private final NextAction<?> next;
    // The tools stand at the server already: they are called when the model says so, and not offered anew.
    private final boolean standing;
    private final String id;
    private final Memory memory;
    private final ToolRunner runner;
    private boolean ephemeral;
    // What was said where no record does; null where that is not known.
    private List<antiphon.gen.Message> history;
    private ToolsNeeded batch = ToolsNeeded.getDefaultInstance();
    // What the caller's own model failed with last.
    private Throwable generation;

    Answers(Calls client, Options hooks, NextAction<?> next, boolean standing, String id, Memory memory) {
        this.hooks = hooks;
        this.next = next;
        this.standing = standing;
        this.id = id;
        this.memory = memory;
        this.runner = new ToolRunner(client.workers(), hooks, memory);
    }

    /** What is begun without a record is remembered here. */
    void begin(CoordinationStart start) {
        ephemeral = start.getEphemeral();
        history = ephemeral && start.hasInitialRequest() ? new ArrayList<>() : null;
    }

    boolean hearsDeltas() {
        return hooks.onDelta != null;
    }

    boolean hasFailed() {
        return runner.failure() != null;
    }

    /** What a callback threw, thrown as itself; else the error. */
    RuntimeException orFailure(RuntimeException error) {
        if (runner.failure() != null) {
            throw Failures.<RuntimeException>asItself(runner.failure());
        }
        return error;
    }

    /** A request with the tools of the coordination, unless it has its own. */
    ExecutionRequest offered(Request request) {
        ExecutionRequest.Builder raw = request.toRaw().toBuilder();
        if (request.ownTools() != null) {
            runner.learn(request.ownTools());
        } else if (hooks.tools != null && !standing) {
            raw.setTools(Tool.list(hooks.tools));
        }
        if (hooks.onToolDrift != null && raw.getOnToolDriftValue() == 0) {
            raw.setOnToolDriftValue(Request.drift(hooks.onToolDrift));
        }
        // The answer of a person is waited for by this name, so it is not left to the server.
        boolean waits = raw.getTools().getToolsList().stream().anyMatch(antiphon.gen.Tool::getRequiresHuman);
        return waits ? Turns.named(raw.build()) : raw.build();
    }

    void decide(Feed<CoordinateRequest, CoordinateResponse> feed, DecisionNeeded needed, List<Warning> told) throws InterruptedException {
        String decisionId = needed.getDecisionId();
        CoordinateRequest answer = memory.answer(decisionId);
        if (answer == null) {
            answer = hasFailed() ? Frames.cancel(HOOK_FAILED) : decided(needed, told);
            if (answer.hasNextAction()) {
                memory.keep(decisionId, answer);
            }
        }
        feed.send(answer);
    }

    private CoordinateRequest decided(DecisionNeeded needed, List<Warning> told) throws InterruptedException {
        try {
            Action action = next.decide(new Decision(presented(needed, told), id, needed));
            ToolRunner.unlessInterrupted();
            return action instanceof Suspend
                    ? Frames.suspend()
                    : Frames.action(Frames.nextAction(needed.getDecisionId(), action, this::offered));
        } catch (Throwable thrown) {
            ToolRunner.unlessInterrupted(thrown);
            runner.fail(thrown);
            return Frames.action(Frames.nextAction(needed.getDecisionId(), Fail.of(thrown), this::offered));
        }
    }

    /** The result with what is known of it beside its record. */
    private Exchange presented(DecisionNeeded needed, List<Warning> told) {
        antiphon.gen.Exchange raw = needed.getExchange();
        if (!ephemeral || (needed.getStarting() && history == null)) {
            return Exchange.of(raw).told(told);
        }
        List<antiphon.gen.Message> before = history == null ? null : List.copyOf(history);
        remember(raw);
        return Exchange.loose(raw, before, Tool.listed(raw.getTools().getStanding())).told(told);
    }

    private void remember(antiphon.gen.Exchange raw) {
        if (history != null) {
            history.addAll(raw.getMessagesList());
            history.add(raw.getAssistant());
        }
    }

    void generate(Feed<CoordinateRequest, CoordinateResponse> feed, GenerationNeeded needed) throws InterruptedException {
        String generationId = needed.getGenerationId();
        CoordinateRequest answer = memory.answer(generationId);
        if (answer == null) {
            answer = hasFailed() ? Frames.cancel(HOOK_FAILED) : Frames.generated(generated(needed));
            memory.keep(generationId, answer);
        }
        feed.send(answer);
    }

    private antiphon.gen.Generated generated(GenerationNeeded needed) throws InterruptedException {
        String generationId = needed.getGenerationId();
        if (hooks.generate == null) {
            String message = "this client does not call models itself: give it `generate`, or use another backend";
            return Generated.failed(generationId, Failures.of(Code.UNIMPLEMENTED, message));
        }
        generation = null;
        try {
            Generated made = hooks.generate.call(new Generation(id, needed));
            ToolRunner.unlessInterrupted();
            return made.toRaw(generationId);
        } catch (Throwable thrown) {
            ToolRunner.unlessInterrupted(thrown);
            generation = thrown;
            return Generated.failed(generationId, thrown);
        }
    }

    void hear(Feed<CoordinateRequest, CoordinateResponse> feed, Delta delta) {
        if (hooks.onDelta == null || hasFailed()) {
            return;
        }
        try {
            hooks.onDelta.hear(delta);
        } catch (Throwable thrown) {
            if (Thread.currentThread().isInterrupted()) {
                // Whoever follows the stream sees that, too, and gives up.
                return;
            }
            runner.fail(thrown);
            feed.send(Frames.cancel(HOOK_FAILED));
        }
    }

    void runTools(Feed<CoordinateRequest, CoordinateResponse> feed, ToolsNeeded needed) throws InterruptedException {
        if (!batch.getBatchId().equals(needed.getBatchId())) {
            remember(needed.getExchange());
        }
        batch = needed;
        if (!hasFailed()) {
            // At once, so that a slow sibling puts no finished call at risk.
            runner.run(needed, result -> feed.send(Frames.results(needed, List.of(result))));
        }
        if (hasFailed()) {
            feed.send(Frames.cancel(HOOK_FAILED));
        } else if (runner.hasPaused()) {
            feed.send(Frames.suspend());
        }
    }

    boolean hasPaused() {
        return runner.hasPaused();
    }

    /** What a tool asked for, with what is left to be answered. */
    Pause pause(CoordinationDetached left) {
        List<ToolCall> calls = batch.getCallsList().stream()
                .map(needed -> ToolCall.of(needed.getCall()))
                .filter(call -> left.getPendingCallIdsList().contains(call.callId()))
                .toList();
        return new Pause(left.getCoordinationId(), calls);
    }

    /** Every result of the batch at hand that is known, where that is what an id names. */
    Optional<CoordinateRequest> batchFrame(String batchId) {
        if (!batchId.equals(batch.getBatchId())) {
            return Optional.empty();
        }
        List<antiphon.gen.ToolResult> known = batch.getCallsList().stream()
                .map(needed -> memory.result(needed.getCall().getCallId()))
                .filter(result -> result != null)
                .toList();
        return Optional.of(Frames.results(batch, known));
    }

    /** How it failed, with what the caller's own model threw where that is why; an exception that says no code comes out as itself. */
    AntiphonException explained(AntiphonException failed, CoordinationEnded ended) {
        if (generation == null) {
            return failed;
        }
        if (!(generation instanceof AntiphonException) && ended.hasFailed()) {
            throw Failures.<RuntimeException>asItself(generation);
        }
        return new AntiphonException(failed.facts().withCause(generation));
    }
}
