package antiphon

// Drives one coordination: calls the callback and the tools, and attaches again when the stream breaks. Knows nothing of other
// calls.

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	pb "antiphon/gen/antiphonv1"
)

const (
	hookFailed      = "a hook of the caller failed"
	callerGone      = "the caller was cancelled"
	firstAttachWait = 100 * time.Millisecond
	maxAttachWait   = 2 * time.Second
	// How long a cancellation may take to be heard; then the caller goes on all the same.
	cancelWait = 5 * time.Second
)

// With these the stream is taken for broken when the server itself said nothing.
var broken = []codes.Code{codes.Unavailable, codes.Internal, codes.Unknown, codes.Canceled}

// coordinator is one coordination, from its start or from an attach to the end of what this process has to do with it.
type coordinator struct {
	client *Client
	chosen
	next NextAction
	// The tools stand at the server already: they are called when the model says so, and not offered anew.
	standing  bool
	id        string
	memory    *memory
	functions map[string]*Tool

	wire     *wire
	batch    *pb.ToolsNeeded
	sequence uint64
	started  *pb.CoordinationStarted
	told     []Warning
	// Something was told of the call to the model that is at work.
	toldDelta    bool
	isEphemeral  bool
	history      []*pb.Message
	knownHistory bool
	troubleSince time.Time
	wait         time.Duration
	// What the caller's own model failed with last.
	generation error

	// The calls of one answer run at once, and each may set these.
	lock    sync.Mutex
	failure error
	paused  map[string]bool
}

func (c *Client) coordinator(id string, all chosen, next NextAction, standing bool) *coordinator {
	made := &coordinator{
		client: c, chosen: all, next: next, standing: standing, id: id, memory: c.memories.of(id), functions: map[string]*Tool{},
		paused: map[string]bool{},
	}
	made.learn(all.tools)
	return made
}

func (o *coordinator) learn(tools []*Tool) {
	for _, tool := range tools {
		o.functions[tool.Name] = tool
	}
}

// forget lets go of what this process remembers, once there is nothing left.
func (o *coordinator) forget() { o.client.memories.forget(o.id, o.memory) }

func (o *coordinator) failed() error {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.failure
}

func (o *coordinator) fail(failure error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.failure == nil {
		o.failure = failure
	}
}

// offered is a request with the tools of the coordination, unless it has its own.
func (o *coordinator) offered(request Request) (*pb.ExecutionRequest, error) {
	raw, err := request.toRaw()
	if err != nil {
		return nil, err
	}
	if request.Tools != nil {
		o.learn(request.Tools)
	} else if o.tools != nil && !o.standing {
		if raw.Tools, err = toolList(o.tools); err != nil {
			return nil, err
		}
	}
	if raw.GetOnToolDrift() == 0 {
		if raw.OnToolDrift, err = number[pb.ToolDriftPolicy]("on_tool_drift", o.onToolDrift); err != nil {
			return nil, err
		}
	}
	if raw.GetRunId() == "" && slices.ContainsFunc(raw.GetTools().GetTools(), (*pb.Tool).GetRequiresHuman) {
		// The answer of a person is waited for by this name, so it is not left to the server.
		raw.RunId = fresh()
	}
	return raw, nil
}

// run follows it until it ended or is left for later; without a start, attaches.
func (o *coordinator) run(ctx context.Context, start *pb.CoordinationStart) (*Outcome, error) {
	defer o.forget()
	if ctx.Err() != nil {
		return nil, gone(ctx)
	}
	if start.GetEphemeral() {
		o.isEphemeral, o.knownHistory = true, start.GetInitialRequest() != nil
	}
	for {
		opened := time.Now()
		outcome, over, err := o.once(ctx, start)
		if over {
			return outcome, err
		}
		lost := fromRPC(ctx, err)
		again := lost.CanRetry() || (lost.Reason == "" && slices.Contains(broken, lost.Code))
		if !again || start.GetEphemeral() {
			return nil, o.orFailure(lost)
		}
		if time.Since(opened) > maxAttachWait {
			o.troubleSince = time.Time{}
		}
		if err := o.rest(ctx, lost); err != nil {
			if ctx.Err() != nil {
				return o.abandon(ctx)
			}
			return nil, err
		}
	}
}

func (o *coordinator) orFailure(err error) error {
	if failure := o.failed(); failure != nil {
		return failure
	}
	return err
}

// once opens a stream and follows it; over when that is all, else the error is what the stream broke with.
func (o *coordinator) once(ctx context.Context, start *pb.CoordinationStart) (*Outcome, bool, error) {
	wire, err := o.client.openWire(ctx)
	if err != nil {
		return nil, false, err
	}
	o.wire = wire
	defer func() {
		o.wire = nil
		wire.close()
	}()
	wire.send(o.greeting(start))
	// The server hears of it at once, whatever a callback is doing.
	stop := context.AfterFunc(ctx, func() { wire.send(cancelFrame(callerGone)) })
	defer stop()
	return o.follow(ctx)
}

func (o *coordinator) greeting(start *pb.CoordinationStart) *pb.CoordinateRequest {
	// A start that was perhaps not heard is said again: with the same id it begins nothing twice.
	if start != nil && o.sequence == 0 {
		return &pb.CoordinateRequest{Frame: &pb.CoordinateRequest_Start{Start: start}}
	}
	attach := &pb.CoordinationAttach{CoordinationId: o.id, AfterSequence: o.sequence, Deltas: Ptr(o.onDelta != nil)}
	return &pb.CoordinateRequest{Frame: &pb.CoordinateRequest_Attach{Attach: attach}}
}

// rest waits before the next try, or gives an error when it has tried for long enough.
func (o *coordinator) rest(ctx context.Context, trouble *Error) error {
	if o.troubleSince.IsZero() {
		o.troubleSince, o.wait = time.Now(), firstAttachWait
	}
	if time.Since(o.troubleSince) >= o.client.attachFor {
		return o.orFailure(trouble)
	}
	wait := o.wait
	if trouble.RetryAfter != nil {
		wait = *trouble.RetryAfter
	}
	o.wait = min(o.wait*2, maxAttachWait)
	return sleep(ctx, wait)
}

// follow reads until the coordination ends or lets go, or the stream breaks.
func (o *coordinator) follow(ctx context.Context) (*Outcome, bool, error) {
	for {
		frame, err := o.wire.receive(ctx)
		if ctx.Err() != nil {
			// What was heard is perhaps the end already.
			if ended := frame.GetEnded(); ended != nil {
				return o.end(ctx, ended)
			}
			outcome, err := o.abandon(ctx)
			return outcome, true, err
		}
		if err != nil {
			return nil, false, err
		}
		if frame.GetSequence() > o.sequence {
			// Something new, and not only a question that is told again to whoever attaches.
			o.sequence, o.troubleSince = frame.GetSequence(), time.Time{}
		}
		outcome, over, err := o.hear(ctx, frame)
		if over || err != nil {
			return outcome, true, err
		}
	}
}

// hear does what a frame asks for; an error ends what this process has to do with it.
func (o *coordinator) hear(ctx context.Context, frame *pb.CoordinateResponse) (*Outcome, bool, error) {
	switch said := frame.GetFrame().(type) {
	case *pb.CoordinateResponse_Started:
		o.started = said.Started
	case *pb.CoordinateResponse_Warning:
		o.told = append(o.told, Warning{Code: said.Warning.GetCode(), Message: said.Warning.GetMessage()})
	case *pb.CoordinateResponse_DecisionNeeded:
		if o.isPast(frame, said.DecisionNeeded.GetDecisionId()) {
			o.told = nil
		} else {
			o.decide(ctx, said.DecisionNeeded)
		}
	case *pb.CoordinateResponse_ToolsNeeded:
		if !o.isPast(frame, said.ToolsNeeded.GetBatchId()) {
			o.runTools(ctx, said.ToolsNeeded)
		}
	case *pb.CoordinateResponse_GenerationNeeded:
		if !o.isPast(frame, said.GenerationNeeded.GetGenerationId()) {
			o.generateFor(ctx, said.GenerationNeeded)
		}
	case *pb.CoordinateResponse_Rejected:
		return nil, false, o.rejected(ctx, said.Rejected)
	case *pb.CoordinateResponse_Attempt:
		if anew(said.Attempt) && o.toldDelta {
			o.hearDelta(ctx, Delta{Kind: "attempt"})
		}
		o.toldDelta = false
	case *pb.CoordinateResponse_Delta:
		if delta, ok := deltaOf(said.Delta); ok {
			o.toldDelta = true
			o.hearDelta(ctx, delta)
		}
	case *pb.CoordinateResponse_Detached:
		outcome, left := leftOf(said.Detached)
		if outcome != nil && len(o.paused) == 0 {
			return outcome, true, nil
		}
		if left != nil {
			return nil, true, o.orFailure(left)
		}
		return nil, true, o.orFailure(o.pauseOf(said.Detached))
	case *pb.CoordinateResponse_Ended:
		return o.end(ctx, said.Ended)
	}
	return nil, false, nil
}

// isPast tells whether a question is told again that was answered before this stream was attached.
func (o *coordinator) isPast(frame *pb.CoordinateResponse, asked string) bool {
	return frame.GetSequence() <= o.started.GetLastSequence() && asked != o.started.GetPendingId()
}

func (o *coordinator) end(ctx context.Context, ended *pb.CoordinationEnded) (*Outcome, bool, error) {
	outcome, failed := outcomeOf(ended, o.id)
	if failed != nil {
		// The trailers say the same, and two things more.
		var last *Error
		if _, err := o.wire.receive(ctx); errors.As(err, &last) {
			failed.RequestID, failed.RetryAfter = last.RequestID, last.RetryAfter
		}
	}
	o.memory.clear()
	if outcome != nil {
		return outcome, true, nil
	}
	if ctx.Err() != nil && failed.Code == codes.Canceled {
		return nil, true, o.goneWith(ctx, failed.Undelivered)
	}
	if failure := o.failed(); failure != nil {
		return nil, true, failure
	}
	var known *Error
	if o.generation != nil && !errors.As(o.generation, &known) && ended.GetFailed() != nil {
		return nil, true, o.generation
	}
	failed.cause = o.generation
	return nil, true, failed
}

// abandon ends the coordination, since the caller no longer waits for it.
func (o *coordinator) abandon(ctx context.Context) (*Outcome, error) {
	if o.wire != nil {
		// It was told of the cancellation when the context ended.
		if ended := o.wire.drain(cancelWait); ended != nil {
			outcome, failed := outcomeOf(ended, o.id)
			o.memory.clear()
			if outcome != nil {
				return outcome, nil
			}
			return nil, o.goneWith(ctx, failed.Undelivered)
		}
	}
	if o.id != "" {
		last, release := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
		defer release()
		// The caller is on its way out, and a server that cannot be reached cannot be told.
		_ = o.client.Cancel(last, o.id, callerGone)
	}
	return nil, o.goneWith(ctx, nil)
}

func (o *coordinator) goneWith(ctx context.Context, undelivered *Exchange) *Error {
	made := gone(ctx)
	made.Undelivered = undelivered
	if o.id != "" {
		made.Metadata = map[string]string{"coordination_id": o.id}
	}
	return made
}
