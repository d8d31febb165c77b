package antiphon

// What a coordination asks and is told: decisions, next actions, outcomes. Knows nothing of streams.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"

	pb "antiphon/gen/antiphonv1"
)

// NextAction decides what comes after a result. An error ends the coordination as failed and comes out as itself. It holds nothing at
// the server, so it may call the same models or wait for days.
type NextAction func(ctx context.Context, decision *Decision) (Action, error)

// Decision says that a result is presented and the next action asked for. No backend capacity is held meanwhile.
type Decision struct {
	DecisionID string
	// Exchange is the result; or, when Starting, what the coordination was started from.
	Exchange *Exchange
	Starting bool
	// TurnsStarted is how many turns were started.
	TurnsStarted uint32
	// TurnsRemaining is how many can still be; asking for one when it is 0 ends in exhaustion.
	TurnsRemaining uint32
	// StopReason is why the model stopped, for the turn as a whole: "tool_round_limit" where calls were left unanswered at the limit
	// of rounds.
	StopReason string
	// ThreadID is the thread that the next turn moves; empty without one.
	ThreadID string
	// InterruptedRunID is a run that a stop of the server interrupted, started from the same exchange; its turn stays consumed. Empty
	// when there is none.
	InterruptedRunID string
	// CoordinationID is empty when it is ephemeral.
	CoordinationID string

	raw *pb.DecisionNeeded
}

// Raw is the message behind it.
func (d *Decision) Raw() *pb.DecisionNeeded { return d.raw }

// Action is what comes next: [Continue], [Stop], [Fail] or [Suspend].
type Action interface {
	Answer
	action()
}

// Answer is what a coordination may wait for: an [Action], the [Results] of tool calls, or what a model said, a [Generated].
type Answer interface{ answer() }

// Continue asks for another turn, from the exchange that was presented.
type Continue struct {
	// Input is a Request, or the Results of the calls that the exchange left unanswered.
	Input Input
	// UnansweredTools is what to do with a request while tool calls are unanswered, as in [ThreadPoint].
	UnansweredTools string
	// DetachThread goes on without the thread from here on, as when its head was moved by others.
	DetachThread bool
}

// Stop says that the caller has what it wanted.
type Stop struct{}

// Fail says that the caller failed, in a way that has a code and a reason. An error of the callback does the same with its own text.
type Fail struct {
	Message string
	// Code is Unknown when absent.
	Code     codes.Code
	Reason   string
	Metadata map[string]string
	// DetailsJSON is more of it, for programs.
	DetailsJSON string
}

// Suspend says not now: the decision stays pending, to be taken after an Attach from anywhere.
type Suspend struct{}

func (Continue) action() {}
func (Stop) action()     {}
func (Fail) action()     {}
func (Suspend) action()  {}

func (Continue) answer()  {}
func (Stop) answer()      {}
func (Fail) answer()      {}
func (Suspend) answer()   {}
func (Results) answer()   {}
func (Generated) answer() {}

// OutcomeState is how a coordination went that neither failed nor was cancelled. None says anything about the last result's worth.
type OutcomeState string

const (
	// Stopped is what the caller said.
	Stopped OutcomeState = "stopped"
	// Exhausted is where a turn was asked for and none was left.
	Exhausted OutcomeState = "exhausted"
	// Suspended was left for later.
	Suspended OutcomeState = "suspended"
)

// Outcome is how a coordination went.
type Outcome struct {
	State          OutcomeState
	CoordinationID string
	// Undelivered is a completed result that was never presented; nil without one.
	Undelivered *Exchange
}

func decisionOf(raw *pb.DecisionNeeded, coordinationID string, exchange *Exchange) *Decision {
	reason := raw.GetRun().GetStopReason()
	if reason == 0 {
		reason = raw.GetExchange().GetStopReason()
	}
	return &Decision{
		DecisionID: raw.GetDecisionId(), Exchange: exchange, Starting: raw.GetStarting(), TurnsStarted: raw.GetTurnsStarted(),
		TurnsRemaining: raw.GetTurnsRemaining(), StopReason: word(reason), ThreadID: raw.GetThreadId(),
		InterruptedRunID: raw.GetInterruptedRunId(), CoordinationID: coordinationID, raw: raw,
	}
}

func cancelFrame(message string) *pb.CoordinateRequest {
	cancel := &pb.CoordinationCancel{Message: clip(message, 1024)}
	return &pb.CoordinateRequest{Frame: &pb.CoordinateRequest_Cancel{Cancel: cancel}}
}

func suspendFrame() *pb.CoordinateRequest {
	return &pb.CoordinateRequest{Frame: &pb.CoordinateRequest_Suspend{Suspend: &pb.CoordinationSuspend{}}}
}

// actionFrame is the frame of an action; offered writes its request with the tools that the coordination offers.
func actionFrame(id string, action Action, offered func(Request) (*pb.ExecutionRequest, error)) (*pb.CoordinateRequest, error) {
	answer := &pb.NextAction{DecisionId: id}
	switch action := action.(type) {
	case Suspend:
		return suspendFrame(), nil
	case Stop:
		answer.Action = &pb.NextAction_Stop{Stop: &pb.StopAction{}}
	case Fail:
		answer.Action = &pb.NextAction_Fail{Fail: action.toRaw()}
	case Continue:
		turn := &pb.NextTurn{DetachThread: action.DetachThread}
		switch input := action.Input.(type) {
		case Request:
			request, err := offered(input)
			if err != nil {
				return nil, err
			}
			turn.Input = &pb.NextTurn_Request{Request: request}
		case Results:
			turn.Input = &pb.NextTurn_ToolResults{ToolResults: &pb.ToolResults{Results: rawResults(input)}}
		default:
			return nil, invalid("Continue takes a Request or Results as its Input, not %T", action.Input)
		}
		var err error
		if turn.UnansweredTools, err = number[pb.UnansweredTools]("unanswered_tools", action.UnansweredTools); err != nil {
			return nil, err
		}
		answer.Action = &pb.NextAction_Turn{Turn: turn}
	default:
		return nil, invalid("the next action is %T in place of Continue, Stop, Fail or Suspend", action)
	}
	return &pb.CoordinateRequest{Frame: &pb.CoordinateRequest_NextAction{NextAction: answer}}, nil
}

// failureFrame is the frame of a callback that failed: the type of the error is the reason, unless it says its own.
func failureFrame(id string, failure error) *pb.CoordinateRequest {
	fail := Fail{Message: failure.Error(), Reason: reasonOfType(failure)}
	var known *Error
	if errors.As(failure, &known) {
		fail = Fail{Message: known.Message, Code: known.Code, Reason: known.Reason, Metadata: known.Metadata}
	}
	answer := &pb.NextAction{DecisionId: id, Action: &pb.NextAction_Fail{Fail: fail.toRaw()}}
	return &pb.CoordinateRequest{Frame: &pb.CoordinateRequest_NextAction{NextAction: answer}}
}

var (
	humps    = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	oddities = regexp.MustCompile(`[^A-Z0-9_]`)
)

// reasonOfType is the first type in a chain of errors that says something, in upper case; those of errors and fmt say nothing.
func reasonOfType(failure error) string {
	for ; failure != nil; failure = errors.Unwrap(failure) {
		name := strings.TrimLeft(fmt.Sprintf("%T", failure), "*")
		if strings.HasPrefix(name, "errors.") || strings.HasPrefix(name, "fmt.") {
			continue
		}
		name = name[strings.LastIndex(name, ".")+1:]
		return clip(oddities.ReplaceAllString(strings.ToUpper(humps.ReplaceAllString(name, "${1}_${2}")), "_"), 63)
	}
	return ""
}

func (f Fail) toRaw() *pb.FailAction {
	code := f.Code
	if code == codes.OK {
		code = codes.Unknown
	}
	made := &pb.FailAction{
		Code: int32(code), Message: clip(f.Message, 4096), Reason: f.Reason, DetailsJson: f.DetailsJSON, Metadata: map[string]string{},
	}
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		if len(made.Metadata) < 64 {
			made.Metadata[clip(key, 63)] = clip(f.Metadata[key], 1024)
		}
	}
	return made
}

// clip is the beginning of a text, of at most so many bytes, whole characters.
func clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// rejection is why an answer changed nothing.
func rejection(rejected *pb.AnswerRejected, coordinationID string) *Error {
	made := fromStatus(rejected.GetError())
	if made.Metadata == nil {
		made.Metadata = map[string]string{}
	}
	if _, ok := made.Metadata["coordination_id"]; !ok {
		made.Metadata["coordination_id"] = coordinationID
	}
	if rejected.GetRetryAfter() != nil {
		after := rejected.GetRetryAfter().AsDuration()
		made.RetryAfter = &after
	}
	return made
}

// outcomeOf is how it ended: one of the two.
func outcomeOf(ended *pb.CoordinationEnded, coordinationID string) (*Outcome, *Error) {
	var undelivered *Exchange
	if ended.GetUndeliveredExchange() != nil {
		undelivered = exchangeOf(ended.GetUndeliveredExchange())
	}
	var failed *Error
	switch how := ended.GetOutcome().(type) {
	case *pb.CoordinationEnded_Stopped:
		return &Outcome{Stopped, coordinationID, undelivered}, nil
	case *pb.CoordinationEnded_Exhausted:
		return &Outcome{Exhausted, coordinationID, undelivered}, nil
	case *pb.CoordinationEnded_Failed:
		failed = fromStatus(how.Failed.GetError())
	case *pb.CoordinationEnded_Cancelled:
		failed = fromStatus(how.Cancelled.GetError())
	default:
		// A newer server may have more ways than this package knows.
		failed = &Error{Code: codes.Unknown, Message: "the coordination ended in a way that this client does not know: read it by its id"}
	}
	failed.Undelivered = undelivered
	return nil, failed
}

// leftOf is what a stream says that ends before its coordination: asked for with Suspend, or not.
func leftOf(frame *pb.CoordinationDetached) (*Outcome, *Error) {
	if frame.GetReason() == pb.DetachReason_DETACH_REASON_SUSPENDED {
		return &Outcome{State: Suspended, CoordinationID: frame.GetCoordinationId()}, nil
	}
	reason, code, when := strings.ToUpper(word(frame.GetReason())), codes.Unavailable, "again later"
	if frame.GetReason() == pb.DetachReason_DETACH_REASON_TAKEN_OVER {
		code, when = codes.Aborted, "where it is not attached already"
	}
	return nil, &Error{
		Code: code, Reason: reason,
		Message:  fmt.Sprintf("coordination %s was detached (%s) and goes on without this stream; attach to it %s", frame.GetCoordinationId(), reason, when),
		Metadata: map[string]string{"coordination_id": frame.GetCoordinationId(), "pending_id": frame.GetPendingId()},
	}
}
