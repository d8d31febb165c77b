package antiphon

// What a coordination is answered: decisions, generations, and answers that were refused. Knows nothing of the stream's end.

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"

	pb "antiphon/gen/antiphonv1"
)

func (o *coordinator) decide(ctx context.Context, needed *pb.DecisionNeeded) {
	id := needed.GetDecisionId()
	answer := o.memory.answer(id)
	if answer == nil && o.failed() != nil {
		answer = cancelFrame(hookFailed)
	} else if answer == nil {
		decision := decisionOf(needed, o.id, o.presented(needed))
		action, err := o.next(ctx, decision)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			answer, err = actionFrame(id, action, o.offered)
		}
		if err != nil {
			o.fail(err)
			answer = failureFrame(id, err)
		}
		if answer.GetNextAction() != nil {
			o.memory.keep(id, answer)
		}
	}
	o.wire.send(answer)
}

// presented is the result with what is known of it beside its record.
func (o *coordinator) presented(needed *pb.DecisionNeeded) *Exchange {
	raw, told := needed.GetExchange(), o.told
	o.told = nil
	made := exchangeOf(raw)
	if o.isEphemeral && (!needed.GetStarting() || o.knownHistory) {
		made = loose(raw, slices.Clone(o.history), o.knownHistory, listed(raw.GetTools().GetStanding()))
		o.remember(raw)
	}
	own := made.Warnings
	made.Warnings = nil
	made.warn(told)
	made.warn(own)
	return made
}

// remember keeps what was said where no record does.
func (o *coordinator) remember(raw *pb.Exchange) {
	if o.isEphemeral && o.knownHistory {
		o.history = append(append(o.history, raw.GetMessages()...), raw.GetAssistant())
	}
}

func (o *coordinator) generateFor(ctx context.Context, needed *pb.GenerationNeeded) {
	id := needed.GetGenerationId()
	answer := o.memory.answer(id)
	if answer == nil && o.failed() != nil {
		answer = cancelFrame(hookFailed)
	} else if answer == nil {
		answer = o.generated(ctx, needed)
		if ctx.Err() != nil {
			return
		}
		o.memory.keep(id, answer)
	}
	o.wire.send(answer)
}

func (o *coordinator) generated(ctx context.Context, needed *pb.GenerationNeeded) *pb.CoordinateRequest {
	id := needed.GetGenerationId()
	if o.generate == nil {
		message := "this client does not call models itself: give it WithGenerate, or use another backend"
		return failedFrame(id, &Error{Code: codes.Unimplemented, Message: message})
	}
	o.generation = nil
	made, err := o.generate(ctx, generationOf(needed, o.id))
	if err == nil {
		var frame *pb.CoordinateRequest
		if frame, err = generatedFrame(id, made); err == nil {
			return frame
		}
	}
	o.generation = err
	return failedFrame(id, err)
}

func (o *coordinator) hearDelta(ctx context.Context, raw *pb.Delta) {
	delta, ok := deltaOf(raw)
	if !ok || o.onDelta == nil || o.failed() != nil {
		return
	}
	if err := o.onDelta(ctx, delta); err != nil {
		o.fail(err)
		o.wire.send(cancelFrame(hookFailed))
	}
}

// rejected: an answer changed nothing. It is given again where waiting helps; else the caller is told, and the decision stays pending.
func (o *coordinator) rejected(ctx context.Context, rejected *pb.AnswerRejected) error {
	id := rejected.GetId()
	refused, answer := rejection(rejected, o.id), o.memory.answer(rejected.GetId())
	if o.failed() != nil && answer == nil {
		// It is being cancelled, and the end is on its way.
		return nil
	}
	if refused.Reason == "ANSWER_STALE" && answer.GetGenerated() != nil {
		// The attempt had timed out by then. What comes of that, another one or the end, is told next.
		return nil
	}
	if o.failed() != nil || !refused.CanRetry() {
		o.memory.drop(id)
		return o.orFailure(refused)
	}
	if err := o.rest(ctx, refused); err != nil {
		if ctx.Err() != nil {
			// The loop sees that, too, and says so to the server.
			return nil
		}
		return err
	}
	if id == o.batch.GetBatchId() {
		o.wire.send(o.resultsFrame(o.batch))
	} else if answer != nil {
		o.wire.send(answer)
	}
	return nil
}
