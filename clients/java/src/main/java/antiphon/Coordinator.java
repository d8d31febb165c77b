package antiphon;

import antiphon.gen.AnswerRejected;
import antiphon.gen.AttemptStarted;
import antiphon.gen.CoordinateRequest;
import antiphon.gen.CoordinateResponse;
import antiphon.gen.CoordinationAttach;
import antiphon.gen.CoordinationDetached;
import antiphon.gen.CoordinationEnded;
import antiphon.gen.CoordinationStart;
import antiphon.gen.CoordinationStarted;
import antiphon.gen.DecisionNeeded;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Drives one coordination: follows its stream, and attaches again when that breaks. Knows nothing of how its questions are answered. */
final class Coordinator {
    private static final String CALLER_GONE = "the caller was interrupted";
    private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(2);
    // How long a cancellation may take to be heard; then the caller goes on all the same.
    private static final Duration CANCEL_WAIT = Duration.ofSeconds(5);
    // With these the stream is taken for broken when the server itself said nothing.
    private static final Set<Code> BROKEN = EnumSet.of(Code.UNAVAILABLE, Code.INTERNAL, Code.UNKNOWN, Code.CANCELLED);

    private final Loops client;
    private final String id;
    private final Memory memory;
    private final Answers answers;

    private Feed<CoordinateRequest, CoordinateResponse> feed;
    private long sequence;
    private CoordinationStarted started = CoordinationStarted.getDefaultInstance();
    private List<Warning> told = new ArrayList<>();
    // Something was told of the call to the model that is at work.
    private boolean toldDelta;
    // Since when there is trouble, in nanoseconds; null without.
    private Long troubleSince;
    private Duration pause = FIRST_PAUSE;

    Coordinator(Loops client, String id, Memory memory, Answers answers) {
        this.client = client;
        this.id = id;
        this.memory = memory;
        this.answers = answers;
    }

    /** Follows it until it ended or is left for later; without a start, attaches. Throws what a callback threw as itself. */
    Outcome run(CoordinationStart start) {
        Failures.unlessInterrupted();
        boolean ephemeral = start != null && start.getEphemeral();
        try {
            for (;;) {
                long opened = System.nanoTime();
                AntiphonException lost;
                try {
                    return once(start);
                } catch (Lost broken) {
                    lost = broken.error;
                }
                boolean again = lost.canRetry() || (lost.reason().isEmpty() && BROKEN.contains(lost.code()));
                if (!again || ephemeral || client.isClosed()) {
                    throw answers.orFailure(lost);
                }
                if (System.nanoTime() - opened > LONGEST_PAUSE.toNanos()) {
                    troubleSince = null;
                }
                rest(lost);
                client.atOnce();
            }
        } catch (InterruptedException left) {
            return abandon(left);
        } finally {
            letGo();
        }
    }

    /** Opens a stream and follows it. */
    private Outcome once(CoordinationStart start) throws InterruptedException, Lost {
        letGo();
        feed = client.talk();
        feed.send(greeting(start));
        for (;;) {
            CoordinateResponse frame = receive();
            if (Long.compareUnsigned(frame.getSequence(), sequence) > 0) {
                // Something new, and not only a question that is told again to whoever attaches.
                sequence = frame.getSequence();
                troubleSince = null;
            }
            Optional<Outcome> outcome = hear(frame);
            if (outcome.isPresent()) {
                return outcome.get();
            }
            if (Thread.interrupted()) {
                throw new InterruptedException(CALLER_GONE);
            }
        }
    }

    private CoordinateRequest greeting(CoordinationStart start) {
        // A start that was perhaps not heard is said again: with the same id it begins nothing twice.
        if (start != null && sequence == 0) {
            return CoordinateRequest.newBuilder().setStart(start).build();
        }
        CoordinationAttach.Builder attach = CoordinationAttach.newBuilder()
                .setCoordinationId(id)
                .setAfterSequence(sequence)
                .setDeltas(answers.hearsDeltas());
        return CoordinateRequest.newBuilder().setAttach(attach).build();
    }

    private CoordinateResponse receive() throws InterruptedException, Lost {
        CoordinateResponse frame;
        try {
            frame = feed.receive();
        } catch (RuntimeException broken) {
            throw new Lost(Failures.of(broken));
        }
        if (frame == null) {
            throw new Lost(Failures.of(Code.UNAVAILABLE, "the stream closed before its coordination ended"));
        }
        return frame;
    }

    private void letGo() {
        if (feed != null) {
            feed.close();
            feed = null;
        }
    }

    /** Waits before the next try, or throws when it has tried for long enough. */
    private void rest(AntiphonException trouble) throws InterruptedException {
        if (troubleSince == null) {
            troubleSince = System.nanoTime();
            pause = FIRST_PAUSE;
        }
        if (System.nanoTime() - troubleSince >= client.attachFor.toNanos()) {
            throw answers.orFailure(trouble);
        }
        Thread.sleep(trouble.retryAfter().orElse(pause).toMillis());
        pause = pause.multipliedBy(2).compareTo(LONGEST_PAUSE) < 0 ? pause.multipliedBy(2) : LONGEST_PAUSE;
    }

    /** Does what a frame asks for; an outcome ends what this process has to do with it. */
    private Optional<Outcome> hear(CoordinateResponse frame) throws InterruptedException {
        switch (frame.getFrameCase()) {
            case STARTED -> started = frame.getStarted();
            case WARNING -> told.add(Warning.of(frame.getWarning()));
            case DECISION_NEEDED -> decide(frame, frame.getDecisionNeeded());
            case TOOLS_NEEDED -> {
                if (!isPast(frame, frame.getToolsNeeded().getBatchId())) {
                    answers.runTools(feed, frame.getToolsNeeded());
                }
            }
            case GENERATION_NEEDED -> {
                if (!isPast(frame, frame.getGenerationNeeded().getGenerationId())) {
                    answers.generate(feed, frame.getGenerationNeeded());
                }
            }
            case REJECTED -> rejected(frame.getRejected());
            case ATTEMPT -> attempt(frame.getAttempt());
            case DELTA -> Delta.of(frame.getDelta()).ifPresent(delta -> {
                toldDelta = true;
                answers.hear(feed, delta);
            });
            case DETACHED -> {
                return Optional.of(detached(frame.getDetached()));
            }
            case ENDED -> {
                return Optional.of(end(frame.getEnded()));
            }
            // Accepted, that it drains, or what a newer server says: nothing to do.
            default -> {}
        }
        return Optional.empty();
    }

    /** Whether a question is told again that was answered before this stream was attached. */
    private boolean isPast(CoordinateResponse frame, String asked) {
        return Long.compareUnsigned(frame.getSequence(), started.getLastSequence()) <= 0 && !asked.equals(started.getPendingId());
    }

    private void decide(CoordinateResponse frame, DecisionNeeded needed) throws InterruptedException {
        List<Warning> known = told;
        told = new ArrayList<>();
        if (!isPast(frame, needed.getDecisionId())) {
            answers.decide(feed, needed, known);
        }
    }

    private void attempt(AttemptStarted started) {
        if (Delta.isAnew(started) && toldDelta) {
            answers.hear(feed, Delta.ANEW);
        }
        toldDelta = false;
    }

    /** An answer changed nothing. It is given again where waiting helps; else the caller is told, and the decision stays pending. */
    private void rejected(AnswerRejected rejected) throws InterruptedException {
        AntiphonException error = Outcome.rejection(rejected, id);
        CoordinateRequest answer = memory.answer(rejected.getId());
        // It is being cancelled, and the end is on its way.
        boolean cancelling = answers.hasFailed() && answer == null;
        // The attempt had timed out by then. What comes of that, another one or the end, is told next.
        boolean late = error.reason().equals("ANSWER_STALE") && answer != null && answer.hasGenerated();
        if (cancelling || late) {
            return;
        }
        if (answers.hasFailed() || !error.canRetry()) {
            memory.drop(rejected.getId());
            throw answers.orFailure(error);
        }
        rest(error);
        CoordinateRequest said = answers.batchFrame(rejected.getId()).orElse(answer);
        if (said != null) {
            feed.send(said);
        }
    }

    private Outcome detached(CoordinationDetached left) {
        Outcome outcome;
        try {
            outcome = Outcome.of(left);
        } catch (AntiphonException gone) {
            throw answers.orFailure(gone);
        }
        if (answers.hasPaused()) {
            throw answers.orFailure(answers.pause(left));
        }
        return outcome;
    }

    private Outcome end(CoordinationEnded ended) throws InterruptedException {
        Outcome outcome = null;
        AntiphonException failed = null;
        try {
            outcome = Outcome.of(ended, id);
        } catch (AntiphonException error) {
            failed = withTrailers(error);
        }
        memory.clear();
        if (outcome == null) {
            throw answers.orFailure(answers.explained(failed, ended));
        }
        return outcome;
    }

    /** The trailers say the same, and two things more. */
    private AntiphonException withTrailers(AntiphonException error) throws InterruptedException {
        try {
            receive();
            return error;
        } catch (Lost said) {
            AntiphonException.Facts facts = error.facts().withRequestId(said.error.requestId());
            return new AntiphonException(facts.withRetryAfter(said.error.retryAfter().orElse(null)));
        }
    }

    /** Ends the coordination, since the caller no longer waits for it. */
    private Outcome abandon(InterruptedException left) {
        try {
            Exchange undelivered = null;
            Optional<CoordinationEnded> ended = drain();
            if (ended.isPresent()) {
                memory.clear();
                undelivered = ended.get().hasUndeliveredExchange() ? Exchange.of(ended.get().getUndeliveredExchange()) : null;
                if (ended.get().hasStopped() || ended.get().hasExhausted()) {
                    Outcome outcome = Outcome.of(ended.get(), id);
                    Thread.currentThread().interrupt();
                    return outcome;
                }
            } else if (!id.isEmpty()) {
                client.cancelQuietly(id, CALLER_GONE, CANCEL_WAIT);
            }
            AntiphonException.Facts facts = Failures.gone(left).facts().withUndelivered(undelivered);
            throw new AntiphonException(id.isEmpty() ? facts : facts.withMetadata(Map.of("coordination_id", id)));
        } catch (InterruptedException twice) {
            throw Failures.gone(twice);
        }
    }

    /** Tells the server, and reads on for a while to hear how it ended. */
    private Optional<CoordinationEnded> drain() throws InterruptedException {
        if (feed == null) {
            return Optional.empty();
        }
        feed.send(Frames.cancel(CALLER_GONE));
        long until = System.nanoTime() + CANCEL_WAIT.toNanos();
        try {
            for (long wait = CANCEL_WAIT.toNanos(); wait > 0; wait = until - System.nanoTime()) {
                CoordinateResponse frame = feed.receive(Duration.ofNanos(wait));
                if (frame == null) {
                    return Optional.empty();
                }
                if (frame.hasEnded()) {
                    return Optional.of(frame.getEnded());
                }
            }
        } catch (RuntimeException broken) {
            // It is told over another call then.
            return Optional.empty();
        }
        return Optional.empty();
    }

    /** The stream itself failed, and no callback did. */
    private static final class Lost extends Exception {
        private static final long serialVersionUID = 1;

        private final transient AntiphonException error;

        Lost(AntiphonException error) {
            super(error);
            this.error = error;
        }
    }
}
