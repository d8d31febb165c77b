package antiphon

// Which tools calls had, which calls had a tool, and where its schema changed. Knows nothing of tools that are called now.

import (
	"context"
	"iter"
	"slices"

	pb "antiphon/gen/antiphonv1"
)

// Drift is a tool whose input schema is another one than before on the same path.
type Drift struct {
	Name string
	// PreviousExchangeID is the first exchange with the schema that was the last before.
	PreviousExchangeID string
	Previous           OfferedTool
	// ExchangeID is the exchange that has it otherwise.
	ExchangeID string
	Current    OfferedTool
}

func driftOf(raw *pb.ToolDrift) Drift {
	return Drift{
		Name: raw.GetName(), PreviousExchangeID: raw.GetPreviousExchangeId(), Previous: offeredTool(raw.GetPrevious()),
		ExchangeID: raw.GetExchangeId(), Current: offeredTool(raw.GetCurrent()),
	}
}

// CallTools are the tools of one call to a model.
type CallTools struct {
	// Offered are those that it could use.
	Offered []OfferedTool
	// Standing are those that the next call offers when it says nothing.
	Standing []OfferedTool
	// ToolChoice is "auto", "none", "required" or a tool's name; empty left it to the model.
	ToolChoice string
	// Called are those that the answer called, in order.
	Called []string
	// Drifts are those of the offered ones whose schema is another one than before.
	Drifts []Drift

	raw *pb.GetCallToolsResponse
}

// Raw is the message behind it.
func (t *CallTools) Raw() *pb.GetCallToolsResponse { return t.raw }

// CallTools are the tools of the call that made an exchange: offered, standing and called.
func (c *Client) CallTools(ctx context.Context, exchange Source) (*CallTools, error) {
	at, err := exchangePoint(exchange)
	if err != nil {
		return nil, err
	}
	found, err := call(ctx, c.tools.GetCallTools, &pb.GetCallToolsRequest{ExchangeId: at.GetExchangeId()}, nil)
	if err != nil {
		return nil, err
	}
	made := &CallTools{
		Offered:    offeredOf(found.GetTools().GetOffered().GetTools()),
		Standing:   offeredOf(found.GetTools().GetStanding().GetTools()),
		ToolChoice: chosenTool(found.GetToolChoice()), Called: found.GetCalledTools(), raw: found,
	}
	for _, drift := range found.GetDrifts() {
		made.Drifts = append(made.Drifts, driftOf(drift))
	}
	return made, nil
}

// ToolQuery says which calls that had a tool: that offered it, "offered", or called it, "called", or either; with this schema, in this part
// of the graph.
type ToolQuery struct {
	Kind       string
	SchemaHash string
	Scope      Scope
}

// ToolOccurrence is a call to a model that had a tool.
type ToolOccurrence struct {
	ExchangeID string
	RunID      string
	// ThreadID is the thread that the exchange was made on; empty without one.
	ThreadID string
	Offered  bool
	// SchemaHash tells its input schema there from others; empty where it was not offered.
	SchemaHash string
	// CallIDs are the calls of it in the answer.
	CallIDs []string
}

// ToolOccurrences are the calls that had a tool, newest first.
func (c *Client) ToolOccurrences(ctx context.Context, name string, query ToolQuery) iter.Seq2[ToolOccurrence, error] {
	asked := &pb.ListToolOccurrencesRequest{Name: name, SchemaHash: query.SchemaHash}
	var err error
	if asked.Kind, err = number[pb.ToolOccurrenceKind]("kind", query.Kind); err != nil {
		return none[ToolOccurrence](err)
	}
	if query.Scope != nil {
		if asked.Scope, err = scopeOf(query.Scope); err != nil {
			return none[ToolOccurrence](err)
		}
	}
	list := c.tools.ListToolOccurrences
	raw := pages(ctx, list, asked, func(next string) { asked.PageToken = next }, (*pb.ListToolOccurrencesResponse).GetOccurrences)
	return each(raw, func(one *pb.ToolOccurrence) ToolOccurrence {
		return ToolOccurrence{
			ExchangeID: one.GetExchangeId(), RunID: one.GetRunId(), ThreadID: one.GetThreadId(), Offered: one.GetOffered(),
			SchemaHash: one.GetSchemaHash(), CallIDs: slices.Clone(one.GetCallIds()),
		}
	})
}

// ToolDrifts are where on a path a tool's schema is another one than before, nearest to the root first; of one tool, or of all where the
// name is empty.
func (c *Client) ToolDrifts(ctx context.Context, scope Scope, name string) iter.Seq2[Drift, error] {
	part, err := scopeOf(scope)
	if err != nil {
		return none[Drift](err)
	}
	asked := &pb.ListToolDriftsRequest{Scope: part, Name: name}
	raw := pages(ctx, c.tools.ListToolDrifts, asked, func(next string) { asked.PageToken = next }, (*pb.ListToolDriftsResponse).GetDrifts)
	return each(raw, driftOf)
}
