package antiphon

// Turns in loops: coordinations that a callback decides, and chains of tools. Knows nothing of how a stream is followed.

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "antiphon/gen/antiphonv1"
)

// defaultChainLimit is how many rounds of tool calls a chain has when nothing is said.
const defaultChainLimit = 16

// Coordinate runs up to additionalTurns turns of one branch; nextAction decides each.
//
// It starts from an exchange or its id, from the head of a thread, which then moves, or with a [Request] that is executed first, on a
// thread if [OnThread] gives one. nextAction sees that starting exchange, then each new result, the last one included. What it returns
// as an error ends the coordination as failed and is returned from here, the same value.
//
// A stream that breaks is attached again, and no callback is made twice for one decision. A context that ends ends the coordination at
// the server. It returns an [Error] when an execution fails, when it was cancelled, or when an answer was refused, in which case the
// decision stays pending; and a *[Pause] where a tool left its answer for later.
//
// It takes OnThread, WithTools, ChainLimit, TokenLimit, CostLimit, DecisionTimeout, Deadline, OnDisconnect, CoordinationID, Labels,
// Ephemeral and the options of all loops: WithBeforeCall, WithAfterCall, WithDeltas, WithGenerate and OnToolDrift.
func (c *Client) Coordinate(ctx context.Context, start Start, additionalTurns uint32, nextAction NextAction, options ...Option) (*Outcome, error) {
	all, err := read("Coordinate", options, append(loopOptions, "OnThread", "WithTools", "ChainLimit", "TokenLimit", "CostLimit",
		"DecisionTimeout", "Deadline", "OnDisconnect", "CoordinationID", "Labels", "Ephemeral")...)
	if err != nil {
		return nil, err
	}
	if nextAction == nil {
		return nil, invalid("nextAction is nil: give a function that decides")
	}
	raw := startOf(all, additionalTurns)
	raw.ToolRoundLimit = all.roundLimit
	if all.decisionTimeout > 0 {
		raw.DecisionTimeout = durationpb.New(all.decisionTimeout)
	}
	if !all.deadline.IsZero() {
		raw.Deadline = timestamppb.New(all.deadline)
	}
	if raw.OnDisconnect, err = number[pb.OnDisconnect]("on_disconnect", all.onDisconnect); err != nil {
		return nil, err
	}
	return c.begin(ctx, raw, start, all, nextAction, false)
}

// Attach goes on with a coordination that was suspended, or whose process or connection is gone, at what is pending.
//
// It takes WithTools and the options of all loops.
func (c *Client) Attach(ctx context.Context, coordinationID string, nextAction NextAction, options ...Option) (*Outcome, error) {
	all, err := read("Attach", options, append(loopOptions, "WithTools")...)
	if err != nil {
		return nil, err
	}
	if nextAction == nil || coordinationID == "" {
		return nil, invalid("Attach takes the id of a coordination and a function that decides")
	}
	return c.coordinator(coordinationID, all, nextAction, false).run(ctx, nil)
}

// Chain executes a request and the tools that the model calls, until it calls none or there were [ChainLimit] rounds of them; then the
// answer has ToolCalls that nothing answers. Without tools it offers none, unless its request has some.
//
// It is a first turn, on a thread if [OnThread] gives one, or one [After] an exchange or a thread's head. A tool that returns a *[Pause]
// leaves it for [Client.Resume].
//
// It takes After, OnThread, ChainLimit, TokenLimit, CostLimit, CoordinationID, Labels, Ephemeral and the options of all loops.
func (c *Client) Chain(ctx context.Context, request Request, tools []*Tool, options ...Option) (*Exchange, error) {
	all, err := read("Chain", options, append(loopOptions, "After", "OnThread", "ChainLimit", "TokenLimit", "CostLimit", "CoordinationID", "Labels",
		"Ephemeral")...)
	if err != nil {
		return nil, err
	}
	all.tools = append([]*Tool{}, tools...)
	return c.chain(ctx, request, all, false)
}

// Resume goes on with a chain that was paused, or whose process is gone, and gives its result. Calls that have results are not made
// again.
//
// It takes the options of all loops.
func (c *Client) Resume(ctx context.Context, coordinationID string, tools []*Tool, options ...Option) (*Exchange, error) {
	take := &take{}
	if _, err := c.Attach(ctx, coordinationID, take.next, append(options, WithTools(tools...))...); err != nil {
		return nil, err
	}
	return take.result(coordinationID)
}

// chain is a chain as a conversation has it.
func (c *Client) chain(ctx context.Context, request Request, all chosen, standing bool) (*Exchange, error) {
	var turns uint32
	var start Start = request
	take := &take{}
	if all.after != nil {
		turns, take.request = 1, &request
		switch after := all.after.(type) {
		case *Exchange:
			start = after
			if after != nil && !after.Captured && !all.ephemeral {
				// A branch of turns needs what it goes on from on record, where it lands once, however often it is replied to.
				id, err := c.settled(ctx, after)
				if err != nil {
					return nil, err
				}
				start = id
			}
		case ExchangeID:
			start = after
		case ThreadPoint:
			start = after
		}
	}
	limit := uint32(defaultChainLimit)
	if all.roundLimit != nil {
		limit = *all.roundLimit
	}
	raw := startOf(all, turns)
	raw.ToolRoundLimit = &limit
	if _, err := c.begin(ctx, raw, start, all, take.next, standing); err != nil {
		return nil, err
	}
	return take.result(raw.GetCoordinationId())
}

func startOf(all chosen, turns uint32) *pb.CoordinationStart {
	raw := &pb.CoordinationStart{
		AdditionalTurns: turns, CoordinationId: all.id, Ephemeral: all.ephemeral, Labels: all.labels, Deltas: all.onDelta != nil,
		SpendLimit: spendLimitOf(all.tokenLimit, all.costLimit),
	}
	if raw.Ephemeral {
		raw.CoordinationId = ""
	} else if raw.CoordinationId == "" {
		raw.CoordinationId = fresh()
	}
	return raw
}

func (c *Client) begin(ctx context.Context, raw *pb.CoordinationStart, start Start, all chosen, next NextAction, standing bool) (*Outcome, error) {
	if ctx.Err() != nil {
		return nil, gone(ctx)
	}
	driver := c.coordinator(raw.GetCoordinationId(), all, next, standing)
	defer driver.forget()
	request, first := start.(Request)
	if all.place != nil && !first {
		return nil, invalid("OnThread is for a start with a request")
	}
	switch {
	case first:
		offered, err := driver.offered(request)
		if err != nil {
			return nil, err
		}
		existing, made, err := placeOf(all.place)
		if err != nil {
			return nil, err
		}
		initial := &pb.InitialRequest{Request: offered}
		if existing != nil {
			initial.Thread = &pb.InitialRequest_ExistingThread{ExistingThread: existing}
		} else if made != nil {
			initial.Thread = &pb.InitialRequest_NewThread{NewThread: made}
		}
		raw.From = &pb.CoordinationStart_InitialRequest{InitialRequest: initial}
	default:
		if thread, ok := start.(ThreadPoint); ok {
			at, err := thread.toRaw()
			if err != nil {
				return nil, err
			}
			raw.From = &pb.CoordinationStart_Thread{Thread: at}
			break
		}
		at, err := exchangePoint(start)
		if err != nil {
			return nil, err
		}
		raw.From = &pb.CoordinationStart_Exchange{Exchange: at}
	}
	return driver.run(ctx, raw)
}

// take is the callback of a chain: asks for one turn where it goes on from something, and takes the result.
type take struct {
	request *Request
	found   *Exchange
}

func (t *take) next(_ context.Context, decision *Decision) (Action, error) {
	if decision.Starting && t.request != nil {
		return Continue{Input: *t.request}, nil
	}
	if decision.Starting && decision.TurnsRemaining > 0 {
		return Suspend{}, nil
	}
	if t.found == nil {
		t.found = decision.Exchange
	}
	return Stop{}, nil
}

func (t *take) result(coordinationID string) (*Exchange, error) {
	if t.found == nil {
		return nil, &Error{
			Code: codes.FailedPrecondition, Metadata: map[string]string{"coordination_id": coordinationID},
			Message: fmt.Sprintf("chain %s had not begun its turn: attach to it with a callback that says what to ask", coordinationID),
		}
	}
	return t.found, nil
}

// ephemeralPrompt is a request of which nothing is kept, heard as it comes: only a coordination tells that.
func (c *Client) ephemeralPrompt(ctx context.Context, raw *pb.ExecutionRequest, hear OnDelta) (*pb.Exchange, error) {
	take := &take{}
	start := &pb.CoordinationStart{
		Ephemeral: true, Deltas: true, ToolRoundLimit: Ptr(uint32(0)),
		From: &pb.CoordinationStart_InitialRequest{InitialRequest: &pb.InitialRequest{Request: raw}},
	}
	if until, ok := ctx.Deadline(); ok && until.After(time.Now()) {
		start.Deadline = timestamppb.New(until)
	}
	if _, err := c.coordinator("", chosen{onDelta: hear}, take.next, false).run(ctx, start); err != nil {
		return nil, err
	}
	found, err := take.result("")
	if err != nil {
		return nil, err
	}
	return found.raw, nil
}
