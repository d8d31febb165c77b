package antiphon

// Threads, runs and coordinations as they are read. Knows nothing of how they are asked for.

import (
	"encoding/json"
	"maps"

	pb "antiphon/gen/antiphonv1"
)

// Thread is a named bookmark into the graph, as it was when it was read.
type Thread struct {
	ThreadID string
	// Name is for people.
	Name string
	// HeadExchangeID is the last exchange of its last completed run; empty when there is none.
	HeadExchangeID string
	// TurnCount is how many turns lead to the head.
	TurnCount uint64
	// Etag changes with every change of it.
	Etag string
	// ActiveRunID is the run at work, or the one that failed or was interrupted and may be resumed.
	ActiveRunID string
	// ParentThreadID is the thread that it was forked from; empty when it was not, or at a bare exchange.
	ParentThreadID string
	Labels         map[string]string
	// Metadata is the caller's own data, JSON; nil when there is none.
	Metadata json.RawMessage
	// ToolCalls wait for results.
	ToolCalls []ToolCall

	raw *pb.Thread
}

// Raw is the message behind it.
func (t *Thread) Raw() *pb.Thread { return t.raw }

func threadOf(raw *pb.Thread) *Thread {
	made := &Thread{
		ThreadID: raw.GetThreadId(), Name: raw.GetName(), HeadExchangeID: raw.GetHeadExchangeId(), TurnCount: raw.GetTurnCount(),
		Etag: raw.GetEtag(), ActiveRunID: raw.GetActiveRunId(), ParentThreadID: raw.GetParent().GetThreadId(),
		Labels: maps.Clone(raw.GetLabels()), ToolCalls: toolCallsOf(raw.GetPending().GetCalls()), raw: raw,
	}
	if raw.GetMetadataJson() != "" {
		made.Metadata = json.RawMessage(raw.GetMetadataJson())
	}
	return made
}

// Turn is one turn on a thread's path.
type Turn struct {
	Number     uint64
	RunID      string
	ExchangeID string
	// User is the beginning of what was asked.
	User string
	// Assistant is the beginning of the answer.
	Assistant  string
	StopReason string
}

// Run is one prompt to its final assistant message, as it was when it was read.
type Run struct {
	RunID string
	// State is "queued", "running", "pending_tools", "completed", "failed", "cancelled" or "interrupted".
	State string
	// Captured is whether its exchanges are kept.
	Captured bool
	// ExchangeID is its last exchange; empty when it has none.
	ExchangeID string
	// ThreadID is the thread that it moves; empty without one.
	ThreadID string
	// Attempt is which attempt under this id the state belongs to.
	Attempt uint32
	// Usage is what it consumed, each call counted once.
	Usage Usage
	// ModelCalls is how often a model was called for it.
	ModelCalls int
	// Err is why it failed, was cancelled or interrupted; nil otherwise.
	Err    *Error
	Labels map[string]string

	raw *pb.Run
}

// Raw is the message behind it.
func (r *Run) Raw() *pb.Run { return r.raw }

func readRun(raw *pb.Run) *Run {
	made := &Run{
		RunID: raw.GetRunId(), State: word(raw.GetState()), Captured: raw.GetCaptured(), ExchangeID: raw.GetExchangeId(),
		ThreadID: raw.GetThreadId(), Attempt: raw.GetAttempt(), Usage: usageOf(raw.GetUsage()),
		ModelCalls: len(raw.GetObservations()), Labels: maps.Clone(raw.GetLabels()), raw: raw,
	}
	if raw.GetError() != nil {
		made.Err = fromStatus(raw.GetError())
	}
	return made
}

// RunEvent is something that happened to a run that is followed.
type RunEvent struct {
	// Sequence of a state is its number, which stays for ever and is given to go on after it; 0 for what is not on record.
	Sequence uint64
	// Kind is "run" for a state, "text_so_far", or what happened on the way, such as "delta".
	Kind string
	// Run is there when it came to a state.
	Run *Run
	// Text is more of the answer's text, or what came of it before.
	Text string
}

// Coordination is one branch driven turn by turn, as it was when it was read.
type Coordination struct {
	CoordinationID string
	// State is "turn_running", "awaiting_decision", "awaiting_tools", "awaiting_generation", or how it ended.
	State string
	// Attached is whether a stream is attached.
	Attached bool
	// PendingID is what it waits for: a decision, a batch of calls, or a generation; empty when for nothing.
	PendingID string
	// ToolCalls are those that it waits for; only where a single coordination was asked for.
	ToolCalls []ToolCall
	// ExchangeID is its last exchange.
	ExchangeID     string
	TurnsStarted   uint32
	TurnsRemaining uint32
	// TokenLimit is how many tokens all of its turns may spend together; nil without that limit.
	TokenLimit *uint64
	// CostLimit is what they may cost, such as "2.5 USD"; empty without that limit.
	CostLimit string
	// Spent is what they spent, whether or not there is a limit.
	Spent  Spent
	Labels map[string]string

	raw *pb.Coordination
}

// Raw is the message behind it.
func (c *Coordination) Raw() *pb.Coordination { return c.raw }

func coordinationOf(raw *pb.Coordination) *Coordination {
	made := &Coordination{
		CoordinationID: raw.GetCoordinationId(), State: word(raw.GetState()), Attached: raw.GetAttached(),
		PendingID: raw.GetPendingId(), ExchangeID: raw.GetExchangeId(), TurnsStarted: raw.GetTurnsStarted(),
		TurnsRemaining: raw.GetTurnsRemaining(), Spent: spentOf(raw.GetSpent()), Labels: maps.Clone(raw.GetLabels()), raw: raw,
	}
	if limit := raw.GetSpendLimit(); limit != nil {
		made.TokenLimit = limit.Tokens
		if cost := limit.GetCost(); cost != nil {
			made.CostLimit = cost.GetAmount() + " " + cost.GetCurrency()
		}
	}
	for _, needed := range raw.GetToolsNeeded().GetCalls() {
		made.ToolCalls = append(made.ToolCalls, toolCallOf(needed.GetCall()))
	}
	return made
}

// Inspection is one exchange with its history.
type Inspection struct {
	Exchange *Exchange
	// Messages are the whole logical history, the answer included; empty when none was asked for.
	Messages []Message
	// Path is the exchanges that they come from, by their ids, the root first.
	Path []string
}
