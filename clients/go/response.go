package antiphon

// Answers that are read as they come. Knows nothing of how they are asked for.

import (
	"context"
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc/codes"

	pb "antiphon/gen/antiphonv1"
)

// answering is an answer of some kind on its way: the same call, made again where the connection broke, tells nothing twice.
type answering[Result any] struct {
	// open makes the call, and gives what reads its next event: a piece, the whole, or neither.
	open  func(context.Context) (func() (*pb.Progress, *Result, error), error)
	text  func(*Result) string
	run   repeatable
	tries *tries
	told  map[string]int
	// The number of the call to the model that was told of last. A connection that is made again tells those before it, too.
	attempt uint32
	result  *Result
	// failed is what it ended with, once and for all.
	failed error
}

func answer[Result any](run repeatable, text func(*Result) string, open func(context.Context) (func() (*pb.Progress, *Result, error), error)) *answering[Result] {
	return &answering[Result]{open: open, text: text, run: run, tries: newTries(run), told: map[string]int{}}
}

// deltas is every piece that was not told yet. Leaving it lets go of the call.
func (a *answering[Result]) deltas(ctx context.Context) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		if a.failed != nil {
			yield(Delta{}, a.failed)
			return
		}
		for a.result == nil {
			left, err := a.once(ctx, yield)
			if left {
				return
			}
			if a.result != nil {
				break
			}
			if err = a.tries.pause(ctx, fromRPC(ctx, err)); err != nil {
				if ctx.Err() == nil {
					a.failed = err
				}
				yield(Delta{}, err)
				return
			}
		}
		// The stored result of an earlier call comes without pieces.
		whole := a.text(a.result)
		if told := a.told["text"]; told < len(whole) {
			a.told["text"] = len(whole)
			yield(Delta{"text", whole[told:]}, nil)
		}
	}
}

// once makes the call and tells its pieces, until it ends or who listens has left.
func (a *answering[Result]) once(ctx context.Context, yield func(Delta, error) bool) (bool, error) {
	ctx, release := context.WithCancel(ctx)
	defer release()
	next, err := a.open(ctx)
	if err != nil {
		return false, err
	}
	seen, at := map[string]int{}, uint32(0)
	if !a.tries.begun {
		// It may be another attempt of the run, whose calls are counted from 1 again.
		a.attempt = 0
	}
	for {
		progress, whole, err := next()
		if errors.Is(err, io.EOF) {
			err = &Error{Code: codes.Unavailable, Message: "the stream closed before its run ended"}
		}
		if err != nil {
			return false, err
		}
		if whole != nil {
			a.result = whole
			return false, nil
		}
		if started := progress.GetAttemptStarted(); started != nil {
			at = started.GetNumber()
			if anew(started) {
				clear(seen)
			}
			if at > a.attempt && anew(started) && len(a.told) > 0 {
				clear(a.told)
				if a.attempt = at; !yield(Delta{Kind: "attempt"}, nil) {
					return true, nil
				}
			}
			a.attempt = max(a.attempt, at)
		}
		if delta, ok := deltaOf(progress.GetDelta()); ok && (at == 0 || at >= a.attempt) {
			if delta = a.more(delta, seen); delta.Text != "" && !yield(delta, nil) {
				return true, nil
			}
		}
	}
}

// more is what of a piece was not told before the connection broke.
func (a *answering[Result]) more(delta Delta, seen map[string]int) Delta {
	before, told := seen[delta.Kind], a.told[delta.Kind]
	after := before + len(delta.Text)
	seen[delta.Kind], a.told[delta.Kind] = after, max(told, after)
	a.tries.begun = true
	return Delta{delta.Kind, delta.Text[min(max(0, told-before), len(delta.Text)):]}
}

// heard is the whole answer, with its pieces told on the way.
func heard[Result any](ctx context.Context, a *answering[Result], hear OnDelta) (*Result, error) {
	for delta, err := range a.deltas(ctx) {
		if err != nil {
			return nil, err
		}
		if err := hear(ctx, delta); err != nil {
			return nil, err
		}
	}
	return a.result, nil
}

// Response is an answer on its way: range over Deltas for its pieces, ask Result for the whole, Cancel to end its run. One goroutine
// reads it; any may cancel.
//
// The text pieces joined are the text of the result, whatever became of the connection meanwhile, those since the last "attempt" where
// the model was asked again: the call is repeated under its run
// id, which gives what is there or joins what is at work. Only a run that ended after its first piece came is not tried again.
type Response struct {
	client *Client
	from   *answering[Exchange]
}

// RunID names the run, from the beginning; empty where results go on with a run.
func (r *Response) RunID() string { return r.from.run.GetRunId() }

// Deltas is the pieces of the answer, each once. Breaking off lets go of the call, and the run is cancelled unless its request says
// otherwise; ranging over it again goes on.
func (r *Response) Deltas(ctx context.Context) iter.Seq2[Delta, error] { return r.from.deltas(ctx) }

// Result is the whole, once it is there.
func (r *Response) Result(ctx context.Context) (*Exchange, error) {
	return heard(ctx, r.from, func(context.Context, Delta) error { return nil })
}

// Cancel ends the run, unless it has ended; whoever reads this gets an [Error] with the code Canceled.
func (r *Response) Cancel(ctx context.Context) error {
	_, err := r.client.CancelRun(ctx, r.RunID())
	if ReasonOf(err) == "RUN_NOT_FOUND" {
		// It was never begun, or refused before it was.
		return nil
	}
	return err
}

func (c *Client) streamCapture(raw *pb.CaptureRequest) *answering[Exchange] {
	return answer(raw.GetRequest(), exchangeText, func(ctx context.Context) (func() (*pb.Progress, *Exchange, error), error) {
		stream, err := c.exchanges.StreamCapture(ctx, &pb.StreamCaptureRequest{Capture: raw})
		return func() (*pb.Progress, *Exchange, error) {
			event, err := stream.Recv()
			if whole := event.GetCompleted(); whole != nil {
				return nil, exchangeOf(whole.GetExchange()), err
			}
			return event.GetProgress(), nil, err
		}, err
	})
}

func (c *Client) streamContinue(raw *pb.ContinueRequest) *answering[Exchange] {
	return answer(runOf(raw), exchangeText, func(ctx context.Context) (func() (*pb.Progress, *Exchange, error), error) {
		stream, err := c.exchanges.StreamContinue(ctx, &pb.StreamContinueRequest{Turn: raw})
		return func() (*pb.Progress, *Exchange, error) {
			event, err := stream.Recv()
			if whole := event.GetCompleted(); whole != nil {
				return nil, exchangeOf(whole.GetExchange()), err
			}
			return event.GetProgress(), nil, err
		}, err
	})
}

func (c *Client) streamProbe(raw *pb.ProbeRequest) *answering[Probe] {
	text := func(probe *Probe) string { return probe.Text }
	// A probe's run is on no record to be tried again.
	return answer(nil, text, func(ctx context.Context) (func() (*pb.Progress, *Probe, error), error) {
		stream, err := c.exchanges.StreamProbe(ctx, &pb.StreamProbeRequest{Probe: raw})
		return func() (*pb.Progress, *Probe, error) {
			event, err := stream.Recv()
			if whole := event.GetCompleted(); whole != nil {
				return nil, probeOf(whole), err
			}
			return event.GetProgress(), nil, err
		}, err
	})
}

func exchangeText(exchange *Exchange) string { return exchange.Text }
