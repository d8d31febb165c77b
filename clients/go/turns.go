package antiphon

// Single turns that are kept, probes that are not, and what the caller made itself. Knows nothing of loops.

import (
	"context"

	"google.golang.org/protobuf/proto"

	pb "antiphon/gen/antiphonv1"
)

// Capture executes a request at a root and keeps the exchange, on a thread without exchanges if [OnThread] gives one. Tools that the
// model asks for are left to the caller; see [Client.Chain].
//
// It takes OnThread and WithDeltas.
func (c *Client) Capture(ctx context.Context, request Request, options ...Option) (*Exchange, error) {
	all, err := read("Capture", options, append(turnOptions, "OnThread")...)
	if err != nil {
		return nil, err
	}
	raw, err := captureOf(request, all.place)
	if err != nil {
		return nil, err
	}
	if all.onDelta != nil {
		return heard(ctx, c.streamCapture(raw), all.onDelta)
	}
	answer, err := call(ctx, c.exchanges.Capture, raw, raw.GetRequest())
	if err != nil {
		return nil, err
	}
	return exchangeOf(answer.GetExchange()), nil
}

// Continue makes a new turn: from an exchange, where no head moves, or from a thread, whose head moves. In place of a request it takes
// the [Results] of all calls that are pending there, with which the same run goes on.
//
// It takes WithDeltas.
func (c *Client) Continue(ctx context.Context, from Point, input Input, options ...Option) (*Exchange, error) {
	all, err := read("Continue", options, turnOptions...)
	if err != nil {
		return nil, err
	}
	raw, err := turnOf(from, input)
	if err != nil {
		return nil, err
	}
	return c.continueWith(ctx, raw, all.onDelta)
}

func (c *Client) continueWith(ctx context.Context, raw *pb.ContinueRequest, hear OnDelta) (*Exchange, error) {
	if hear != nil {
		return heard(ctx, c.streamContinue(raw), hear)
	}
	answer, err := call(ctx, c.exchanges.Continue, raw, runOf(raw))
	if err != nil {
		return nil, err
	}
	return exchangeOf(answer.GetExchange()), nil
}

// Stream is Capture, or Continue where [After] says from what, as an answer to read as it comes. Nothing is asked before it is read.
//
// It takes After and OnThread.
func (c *Client) Stream(input Input, options ...Option) (*Response, error) {
	all, err := read("Stream", options, "After", "OnThread")
	if err != nil {
		return nil, err
	}
	if all.after != nil {
		if all.place != nil {
			return nil, invalid("OnThread is for a first turn; one that goes on has its thread in After")
		}
		raw, err := turnOf(all.after, input)
		if err != nil {
			return nil, err
		}
		return &Response{client: c, from: c.streamContinue(raw)}, nil
	}
	request, ok := input.(Request)
	if !ok {
		return nil, invalid("results of tool calls need After, the exchange or thread with the calls")
	}
	raw, err := captureOf(request, all.place)
	if err != nil {
		return nil, err
	}
	return &Response{client: c, from: c.streamCapture(raw)}, nil
}

// ForkOnce asks something from a point of history and leaves nothing behind. It is one call to the model: calls of tools come back as
// its stop reason.
//
// It takes AllowSideEffects and WithDeltas.
func (c *Client) ForkOnce(ctx context.Context, from Source, request Request, options ...Option) (*Probe, error) {
	all, err := read("ForkOnce", options, append(turnOptions, "AllowSideEffects")...)
	if err != nil {
		return nil, err
	}
	raw := &pb.ProbeRequest{AllowSideEffects: all.sideEffects}
	if raw.Request, err = request.toRaw(); err != nil {
		return nil, err
	}
	if turn, ok := from.(ThreadTurn); ok {
		at, err := turn.toRaw()
		if err != nil {
			return nil, err
		}
		raw.From = &pb.ProbeRequest_Thread{Thread: at}
	} else {
		at, err := exchangePoint(from)
		if err != nil {
			return nil, err
		}
		raw.From = &pb.ProbeRequest_Exchange{Exchange: at}
	}
	if all.onDelta != nil {
		return heard(ctx, c.streamProbe(raw), all.onDelta)
	}
	answer, err := call(ctx, c.exchanges.Probe, raw, nil)
	if err != nil {
		return nil, err
	}
	return probeOf(answer), nil
}

// Record stores what the caller said and heard itself, cut after each assistant message; what is stored already is found again. The
// messages are a whole transcript, or what comes after a point; a thread goes through the transcript and moves to its end, or is made.
//
// It takes After, OnThread, WithFacts, Labels and RequestID.
func (c *Client) Record(ctx context.Context, messages []Message, options ...Option) (*Recorded, error) {
	raw := &pb.RecordRequest{}
	var err error
	if raw.Messages, err = rawMessages(messages); err != nil {
		return nil, err
	}
	return c.record(ctx, "Record", raw, options)
}

// RecordProbe stores what a probe brought. It takes what Record does.
func (c *Client) RecordProbe(ctx context.Context, probe *Probe, options ...Option) (*Recorded, error) {
	return c.record(ctx, "RecordProbe", proto.CloneOf(probe.raw.GetPromotion()), options)
}

func (c *Client) record(ctx context.Context, name string, raw *pb.RecordRequest, options []Option) (*Recorded, error) {
	all, err := read(name, options, "After", "OnThread", "WithFacts", "Labels", "RequestID")
	if err != nil {
		return nil, err
	}
	for _, facts := range all.facts {
		known, err := facts.toRaw()
		if err != nil {
			return nil, err
		}
		raw.Facts = append(raw.Facts, known)
	}
	if all.labels != nil {
		raw.Labels = all.labels
	}
	if all.requestID != "" {
		raw.RequestId = all.requestID
	} else if raw.GetRequestId() == "" {
		raw.RequestId = fresh()
	}
	if thread, ok := all.after.(ThreadPoint); ok {
		at, err := thread.toRaw()
		if err != nil {
			return nil, err
		}
		raw.Start = &pb.RecordRequest_AfterHead{AfterHead: &pb.AfterHead{}}
		raw.Thread = &pb.RecordRequest_ExistingThread{ExistingThread: at}
	} else if all.after != nil {
		at, err := exchangePoint(all.after)
		if err != nil {
			return nil, err
		}
		raw.Start = &pb.RecordRequest_AfterExchange{AfterExchange: at}
	}
	existing, made, err := placeOf(all.place)
	switch {
	case err != nil:
		return nil, err
	case existing != nil:
		raw.Thread = &pb.RecordRequest_ExistingThread{ExistingThread: existing}
	case made != nil:
		raw.Thread = &pb.RecordRequest_NewThread{NewThread: made}
	}
	answer, err := call(ctx, c.exchanges.Record, raw, nil)
	if err != nil {
		return nil, err
	}
	return recordedOf(answer), nil
}

// settled is the id of an exchange that was not captured, once it is on record with all that was said before it, each turn by itself.
// What is there already is found again.
func (c *Client) settled(ctx context.Context, exchange *Exchange) (ExchangeID, error) {
	prefix, err := exchange.prefix()
	if err != nil {
		return "", err
	}
	said := append(prefix.GetRenderedMessages(), prefix.GetAssistant())
	prefix.Facts.MessageIndex = uint32(len(said) - 1)
	raw := &pb.RecordRequest{Messages: said, Facts: []*pb.RecordedFacts{prefix.GetFacts()}, RequestId: fresh()}
	answer, err := call(ctx, c.exchanges.Record, raw, nil)
	return ExchangeID(answer.GetExchangeId()), err
}

func placeOf(place Place) (*pb.ThreadPoint, *pb.NewThread, error) {
	switch place := place.(type) {
	case ThreadPoint:
		raw, err := place.toRaw()
		return raw, nil, err
	case NewThread:
		raw, err := place.toRaw()
		return nil, raw, err
	case nil:
		return nil, nil, nil
	}
	return nil, nil, invalid("OnThread takes a ThreadPoint or a NewThread, not %T", place)
}

func captureOf(request Request, place Place) (*pb.CaptureRequest, error) {
	execution, err := request.toRaw()
	if err != nil {
		return nil, err
	}
	if execution.GetRunId() == "" {
		execution.RunId = fresh()
	}
	raw := &pb.CaptureRequest{Execution: &pb.CaptureRequest_Request{Request: execution}}
	existing, made, err := placeOf(place)
	if existing != nil {
		raw.Thread = &pb.CaptureRequest_ExistingThread{ExistingThread: existing}
	} else if made != nil {
		raw.Thread = &pb.CaptureRequest_NewThread{NewThread: made}
	}
	return raw, err
}

// turnOf is a new turn from what is on record. Storing what was not captured is for Reply, which says so.
func turnOf(from Point, input Input) (*pb.ContinueRequest, error) {
	if exchange, ok := from.(*Exchange); ok {
		if _, err := exchangePoint(exchange); err != nil {
			return nil, err
		}
	}
	return continuation(from, input)
}

// continuation is a new turn, as it goes out; what was not captured goes along with it, in one write.
func continuation(from Point, input Input) (*pb.ContinueRequest, error) {
	request, results, err := written(input)
	if err != nil {
		return nil, err
	}
	raw := &pb.ContinueRequest{}
	if request != nil {
		if request.GetRunId() == "" {
			request.RunId = fresh()
		}
		raw.Input = &pb.ContinueRequest_Request{Request: request}
	} else {
		raw.Input = &pb.ContinueRequest_ToolResults{ToolResults: results}
	}
	if thread, ok := from.(ThreadPoint); ok {
		at, err := thread.toRaw()
		raw.From = &pb.ContinueRequest_Thread{Thread: at}
		return raw, err
	}
	if exchange, ok := from.(*Exchange); ok && exchange != nil && !exchange.Captured {
		prefix, err := exchange.prefix()
		raw.From = &pb.ContinueRequest_UncapturedPrefix{UncapturedPrefix: prefix}
		return raw, err
	}
	at, err := exchangePoint(from)
	raw.From = &pb.ContinueRequest_Exchange{Exchange: at}
	return raw, err
}

func runOf(raw *pb.ContinueRequest) repeatable {
	if request := raw.GetRequest(); request != nil {
		return request
	}
	return raw.GetToolResults()
}
