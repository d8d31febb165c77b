package antiphon

// Exchanges that the caller made itself, and what came of storing them. Knows nothing of the call that does it.

import pb "antiphon/gen/antiphonv1"

// Facts are what is known of a call that the caller made.
type Facts struct {
	// MessageIndex is which of the messages is its answer, counted from 0.
	MessageIndex uint32
	RunID        string
	Provider     string
	Model        string
	StopReason   string
	Usage        *Usage
	// Tools were offered; they stand from then on. Nil says nothing of them.
	Tools []*Tool
}

func (f Facts) toRaw() (*pb.RecordedFacts, error) {
	made := &pb.RecordedFacts{
		MessageIndex: f.MessageIndex, RunId: f.RunID, Provider: f.Provider, Model: f.Model, Usage: f.Usage.toRaw(),
	}
	var err error
	if made.StopReason, err = number[pb.StopReason]("stop_reason", f.StopReason); err != nil {
		return nil, err
	}
	if f.Tools != nil {
		made.Tools, err = toolList(f.Tools)
	}
	return made, err
}

// Recorded is what was stored, and what was there.
type Recorded struct {
	// ExchangeID is the last exchange of the transcript.
	ExchangeID string
	// ExchangeIDs are one for each assistant message, in order.
	ExchangeIDs []string
	Stored      uint32
	// Matched is how many were there before.
	Matched uint32
	// ThreadID is empty without a thread.
	ThreadID string
	// Replayed says that it is the result of an earlier call under the same request id.
	Replayed bool

	raw *pb.RecordResponse
}

// Raw is the message behind it.
func (r *Recorded) Raw() *pb.RecordResponse { return r.raw }

func recordedOf(raw *pb.RecordResponse) *Recorded {
	made := &Recorded{
		ExchangeID: raw.GetExchangeId(), Stored: raw.GetStoredCount(), Matched: raw.GetMatchedCount(),
		ThreadID: raw.GetThread().GetThreadId(), Replayed: raw.GetReplayed(), raw: raw,
	}
	for _, exchange := range raw.GetExchanges() {
		made.ExchangeIDs = append(made.ExchangeIDs, exchange.GetExchangeId())
	}
	return made
}
