package antiphon

// Places in the graph to go on from, and threads to move. Knows nothing of which call takes them.

import (
	"encoding/json"

	pb "antiphon/gen/antiphonv1"
)

// ExchangeID is the id of an exchange on record, as a place to go on from.
type ExchangeID string

// Point is where a turn goes on from: a *[Exchange] or an [ExchangeID], where no head moves, or a [ThreadPoint], whose head does.
type Point interface{ point() }

// Source is where a branch begins: a *[Exchange], an [ExchangeID] or a [ThreadTurn].
type Source interface{ source() }

// Start is where a coordination begins: a *[Exchange], an [ExchangeID], a [ThreadPoint], or a [Request] to execute first.
type Start interface{ start() }

// Place is a thread that a first turn goes on: a [ThreadPoint] without exchanges, or a [NewThread].
type Place interface{ place() }

// ThreadPoint is a thread to go on from and move: at the head that the caller saw, or at whatever is its head then.
type ThreadPoint struct {
	ThreadID string
	// ExpectedHead is an exchange id; another head is refused.
	ExpectedHead string
	// OnBusy is what to do while another run is at work on it: "reject", "enqueue", "interrupt" or "fork"; refuse when absent.
	OnBusy string
	// UnansweredTools is what to do with a new prompt while tool calls are unanswered: "reject", "interrupt", which answers each
	// with a marked result, or "abandon"; refuse when absent.
	UnansweredTools string
}

// ThreadTurn is a point on a thread's path, to branch from: after a turn, counted from 1, or after a run; the head when neither
// is said.
type ThreadTurn struct {
	ThreadID  string
	AfterTurn *uint64
	AfterRun  string
}

// NewThread is a thread to make; its id is ours when absent.
type NewThread struct {
	ThreadID string
	Name     string
	Labels   map[string]string
	// Metadata is data of your own, which becomes a JSON object.
	Metadata any
	// ProfileID is what its turns use unless they say otherwise, as the two after it.
	ProfileID string
	Model     string
	Tools     []*Tool
}

func (*Exchange) point()   {}
func (ExchangeID) point()  {}
func (ThreadPoint) point() {}

func (*Exchange) source()  {}
func (ExchangeID) source() {}
func (ThreadTurn) source() {}

func (*Exchange) start()   {}
func (ExchangeID) start()  {}
func (ThreadPoint) start() {}
func (Request) start()     {}

func (ThreadPoint) place() {}
func (NewThread) place()   {}

func (t ThreadPoint) toRaw() (*pb.ThreadPoint, error) {
	made := &pb.ThreadPoint{ThreadId: t.ThreadID}
	if t.ExpectedHead != "" {
		head := &pb.ExpectedHead_Exchange{Exchange: &pb.ExchangePoint{ExchangeId: t.ExpectedHead}}
		made.ExpectedHead = &pb.ExpectedHead{Head: head}
	}
	var err error
	if made.OnBusy, err = number[pb.OnBusy]("on_busy", t.OnBusy); err != nil {
		return nil, err
	}
	made.UnansweredTools, err = number[pb.UnansweredTools]("unanswered_tools", t.UnansweredTools)
	return made, err
}

func (t ThreadTurn) toRaw() (*pb.ThreadTurnPoint, error) {
	made := &pb.ThreadTurnPoint{ThreadId: t.ThreadID}
	switch {
	case t.AfterTurn != nil && t.AfterRun != "":
		return nil, invalid("a point is after a turn or after a run, not both")
	case t.AfterTurn != nil:
		made.At = &pb.ThreadTurnPoint_AfterTurn{AfterTurn: &pb.AfterTurn{Turn: *t.AfterTurn}}
	case t.AfterRun != "":
		made.At = &pb.ThreadTurnPoint_AfterRun{AfterRun: &pb.AfterRun{RunId: t.AfterRun}}
	}
	return made, nil
}

func (t NewThread) toRaw() (*pb.NewThread, error) {
	made := &pb.NewThread{ThreadId: t.ThreadID, Name: t.Name, Labels: t.Labels}
	if t.Metadata != nil {
		text, err := json.Marshal(t.Metadata)
		if err != nil {
			return nil, invalid("metadata: %v", err)
		}
		made.MetadataJson = string(text)
	}
	if t.ProfileID != "" || t.Model != "" || t.Tools != nil {
		made.Defaults = &pb.ThreadDefaults{ProfileId: t.ProfileID, Model: t.Model}
	}
	if t.Tools != nil {
		tools, err := toolList(t.Tools)
		if err != nil {
			return nil, err
		}
		made.Defaults.StandingTools = tools
	}
	return made, nil
}

// exchangePoint is an exchange on record as a place to go on from.
func exchangePoint(at any) (*pb.ExchangePoint, error) {
	switch at := at.(type) {
	case ExchangeID:
		return &pb.ExchangePoint{ExchangeId: string(at)}, nil
	case *Exchange:
		if at == nil {
			return nil, invalid("the exchange is nil: give one, or its id")
		}
		if !at.Captured {
			return nil, at.notCaptured("there is nothing on record to go on from")
		}
		return &pb.ExchangePoint{ExchangeId: at.ExchangeID}, nil
	}
	return nil, invalid("%T is no place to go on from: give an exchange, its id, or a thread", at)
}
