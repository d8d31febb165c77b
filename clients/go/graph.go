package antiphon

// The graph of exchanges: walked, compared, drawn, searched, summed. Knows nothing of how turns are made.

import (
	"context"
	"iter"
	"maps"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "antiphon/gen/antiphonv1"
)

// Scope is a part of the graph: a *[Exchange] or an [ExchangeID], which is the path from the root to it, a [Subtree], a [ThreadPath] or a
// [ThreadTree].
type Scope interface{ scope() }

// Subtree is an exchange and all that follows from it, or at most so many steps.
type Subtree struct {
	Exchange ExchangeID
	MaxSteps *uint64
}

// ThreadPath is the path from the root to the head of a thread, which it names.
type ThreadPath string

// ThreadTree is the whole tree that the path of a thread is in, with its siblings.
type ThreadTree string

func (*Exchange) scope()  {}
func (ExchangeID) scope() {}
func (Subtree) scope()    {}
func (ThreadPath) scope() {}
func (ThreadTree) scope() {}

func scopeOf(scope Scope) (*pb.GraphScope, error) {
	switch scope := scope.(type) {
	case Subtree:
		part := &pb.SubtreeScope{ExchangeId: string(scope.Exchange), MaxSteps: scope.MaxSteps}
		return &pb.GraphScope{Scope: &pb.GraphScope_Subtree{Subtree: part}}, nil
	case ThreadPath:
		return &pb.GraphScope{Scope: &pb.GraphScope_ThreadPath{ThreadPath: &pb.ThreadPathScope{ThreadId: string(scope)}}}, nil
	case ThreadTree:
		return &pb.GraphScope{Scope: &pb.GraphScope_ThreadTree{ThreadTree: &pb.ThreadTreeScope{ThreadId: string(scope)}}}, nil
	}
	at, err := exchangePoint(scope)
	return &pb.GraphScope{Scope: &pb.GraphScope_Path{Path: &pb.PathScope{ExchangeId: at.GetExchangeId()}}}, err
}

// Node is an exchange in the graph, without its content; [Client.Inspect] has that.
type Node struct {
	ExchangeID       string
	ParentExchangeID string
	RunID            string
	// ThreadID is the thread that it was made on; empty without one.
	ThreadID string
	// Turn is the number of its turn on its path.
	Turn uint64
	// Depth is how many exchanges are on the path to it, itself included.
	Depth uint64
	// EndsTurn is whether it is the last exchange of a completed run.
	EndsTurn bool
	// Origin is how it came to be here: "executed", "recorded" or "imported".
	Origin string
	// Model is the one that was asked for; empty where the caller did not say.
	Model      string
	StopReason string
	Usage      Usage
	Labels     map[string]string
	// User is the beginning of what was asked.
	User string
	// Assistant is the beginning of the answer.
	Assistant string
	// ChildCount is how many exchanges follow from it.
	ChildCount uint64

	raw *pb.ExchangeNode
}

// Raw is the message behind it.
func (n *Node) Raw() *pb.ExchangeNode { return n.raw }

func nodeOf(raw *pb.ExchangeNode) *Node {
	if raw == nil {
		return nil
	}
	return &Node{
		ExchangeID: raw.GetExchangeId(), ParentExchangeID: raw.GetParentExchangeId(), RunID: raw.GetRunId(), ThreadID: raw.GetThreadId(),
		Turn: raw.GetTurn(), Depth: raw.GetDepth(), EndsTurn: raw.GetEndsTurn(), Origin: word(raw.GetOrigin()),
		Model: raw.GetResponder().GetModel(), StopReason: word(raw.GetStopReason()), Usage: usageOf(raw.GetUsage()),
		Labels: maps.Clone(raw.GetLabels()), User: raw.GetUserPreview(), Assistant: raw.GetAssistantPreview(),
		ChildCount: raw.GetChildCount(), raw: raw,
	}
}

// Ancestors are the exchanges before one, the parent first and the root last.
func (c *Client) Ancestors(ctx context.Context, exchange Source) iter.Seq2[*Node, error] {
	at, err := exchangePoint(exchange)
	if err != nil {
		return none[*Node](err)
	}
	asked := &pb.ListAncestorsRequest{ExchangeId: at.GetExchangeId()}
	raw := pages(ctx, c.graph.ListAncestors, asked, func(next string) { asked.PageToken = next }, (*pb.ListAncestorsResponse).GetExchanges)
	return each(raw, nodeOf)
}

// Children are the exchanges that follow from one, oldest first.
func (c *Client) Children(ctx context.Context, exchange Source) iter.Seq2[*Node, error] {
	at, err := exchangePoint(exchange)
	if err != nil {
		return none[*Node](err)
	}
	asked := &pb.ListChildrenRequest{ExchangeId: at.GetExchangeId()}
	raw := pages(ctx, c.graph.ListChildren, asked, func(next string) { asked.PageToken = next }, (*pb.ListChildrenResponse).GetExchanges)
	return each(raw, nodeOf)
}

// CommonAncestor is the last exchange that is on the paths of all; nil where they have none in common.
func (c *Client) CommonAncestor(ctx context.Context, exchanges ...Source) (*Node, error) {
	asked := &pb.GetCommonAncestorRequest{}
	for _, exchange := range exchanges {
		at, err := exchangePoint(exchange)
		if err != nil {
			return nil, err
		}
		asked.Exchanges = append(asked.Exchanges, at)
	}
	found, err := call(ctx, c.graph.GetCommonAncestor, asked, nil)
	return nodeOf(found.GetExchange()), err
}

// Drawing says how a part of the graph is drawn.
type Drawing struct {
	// Form is "text", for a terminal, "dot" or "mermaid"; text when absent.
	Form string
	// Detail is "turns", "exchanges" or "forks"; turns when absent.
	Detail string
	// Previews shows the beginnings of messages, too.
	Previews bool
}

// Graph is a part of the graph, drawn.
func (c *Client) Graph(ctx context.Context, scope Scope, how Drawing) (string, error) {
	asked := &pb.GetGraphRequest{IncludePreviews: how.Previews, Format: pb.GraphFormat_GRAPH_FORMAT_TEXT}
	var err error
	if asked.Scope, err = scopeOf(scope); err != nil {
		return "", err
	}
	if how.Form != "" {
		if asked.Format, err = number[pb.GraphFormat]("form", how.Form); err != nil {
			return "", err
		}
	}
	if asked.Detail, err = number[pb.GraphDetail]("detail", how.Detail); err != nil {
		return "", err
	}
	var drawn strings.Builder
	whole := func(page *pb.GetGraphResponse) []string { return []string{page.GetText()} }
	for part, err := range pages(ctx, c.graph.GetGraph, asked, func(next string) { asked.PageToken = next }, whole) {
		if err != nil {
			return "", err
		}
		drawn.WriteString(part)
	}
	return drawn.String(), nil
}

// SearchQuery says what is looked for; all that is said must hold.
type SearchQuery struct {
	// Text is in its own messages, upper and lower case alike.
	Text string
	// Scope is the part of the graph that it lies in; all of it when nil.
	Scope        Scope
	Labels       map[string]string
	Models       []string
	OfferedTools []string
	CalledTools  []string
	// States are those that its run may be in.
	States    []string
	RootsOnly bool
	Since     time.Time
	Before    time.Time
}

// Hit is something that was found.
type Hit struct {
	RunID    string
	RunState string
	// Exchange is nil for a run that has none.
	Exchange *Node
	// Snippet is the text that was looked for, with what is around it; empty without a search for text.
	Snippet string

	raw *pb.SearchHit
}

// Raw is the message behind it.
func (h *Hit) Raw() *pb.SearchHit { return h.raw }

// Search is all that a query holds for, newest first.
func (c *Client) Search(ctx context.Context, query SearchQuery) iter.Seq2[*Hit, error] {
	asked := &pb.SearchRequest{
		Text: query.Text, Labels: query.Labels, Models: query.Models, OfferedTools: query.OfferedTools, CalledTools: query.CalledTools,
		RootsOnly: query.RootsOnly,
	}
	var err error
	if query.Scope != nil {
		if asked.Scope, err = scopeOf(query.Scope); err != nil {
			return none[*Hit](err)
		}
	}
	for _, said := range query.States {
		state, err := number[pb.RunState]("states", said)
		if err != nil {
			return none[*Hit](err)
		}
		asked.RunStates = append(asked.RunStates, state)
	}
	if !query.Since.IsZero() {
		asked.FromTime = timestamppb.New(query.Since)
	}
	if !query.Before.IsZero() {
		asked.BeforeTime = timestamppb.New(query.Before)
	}
	raw := pages(ctx, c.graph.Search, asked, func(next string) { asked.PageToken = next }, (*pb.SearchResponse).GetHits)
	return each(raw, func(hit *pb.SearchHit) *Hit {
		return &Hit{
			RunID: hit.GetRunId(), RunState: word(hit.GetRunState()), Exchange: nodeOf(hit.GetExchange()), Snippet: hit.GetSnippet(), raw: hit,
		}
	})
}

// UsageQuery says whose usage is summed: of all runs that any of it names.
type UsageQuery struct {
	Scopes []Scope
	RunIDs []string
	Labels map[string]string
}

// UsageSum is what runs consumed, each counted once.
type UsageSum struct {
	Usage    Usage
	RunCount uint64
	Models   []ModelUsage
	// Costs are what it may have cost, by currency, as decimal numbers in text; empty without prices.
	Costs map[string]string

	raw *pb.SumUsageResponse
}

// Raw is the message behind it.
func (s *UsageSum) Raw() *pb.SumUsageResponse { return s.raw }

// ModelUsage is what the calls to one model consumed.
type ModelUsage struct {
	// BackendID is empty where callers made the calls.
	BackendID string
	Model     string
	Usage     Usage
	// Calls are how many, those that failed included.
	Calls uint64
}

// Usage is what runs consumed, each counted once however many branches share it.
func (c *Client) Usage(ctx context.Context, query UsageQuery) (*UsageSum, error) {
	asked := &pb.SumUsageRequest{}
	for _, scope := range query.Scopes {
		part, err := scopeOf(scope)
		if err != nil {
			return nil, err
		}
		asked.Scopes = append(asked.Scopes, &pb.UsageScope{Runs: &pb.UsageScope_Graph{Graph: part}})
	}
	if len(query.RunIDs) > 0 {
		runs := &pb.UsageScope_RunSet{RunSet: &pb.RunSet{RunIds: query.RunIDs}}
		asked.Scopes = append(asked.Scopes, &pb.UsageScope{Runs: runs})
	}
	if len(query.Labels) > 0 {
		labels := &pb.UsageScope_LabelSet{LabelSet: &pb.LabelSet{Labels: query.Labels}}
		asked.Scopes = append(asked.Scopes, &pb.UsageScope{Runs: labels})
	}
	found, err := call(ctx, c.graph.SumUsage, asked, nil)
	if err != nil {
		return nil, err
	}
	made := &UsageSum{Usage: usageOf(found.GetUsage()), RunCount: found.GetRunCount(), Costs: map[string]string{}, raw: found}
	for _, one := range found.GetModels() {
		model := ModelUsage{BackendID: one.GetBackendId(), Model: one.GetModel(), Usage: usageOf(one.GetUsage()), Calls: one.GetAttemptCount()}
		made.Models = append(made.Models, model)
	}
	for _, estimate := range found.GetCostEstimates() {
		made.Costs[estimate.GetCurrency()] = estimate.GetAmount()
	}
	return made, nil
}
