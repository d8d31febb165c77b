package antiphon

// What is asked of a model. Knows nothing of which call takes it.

import (
	"encoding/json"

	pb "antiphon/gen/antiphonv1"
)

// Request is one turn. Text("Hello") is enough of one.
type Request struct {
	// Text is one user message, after all others.
	Text string
	// System is one system message, before all others.
	System string
	// Messages are as they are, between the two.
	Messages []Message
	// PromptID names a configured prompt to render.
	PromptID string
	// Vars are the values of its variables.
	Vars      map[string]any
	ProfileID string
	Model     string
	// Parameters that are absent are left to the profile, then to the provider.
	Parameters Parameters
	// Contract is what form the answer must have; the prompt's when absent.
	Contract Contract
	// Repair is how often at most the model is asked again where its answer misses the contract, zero for never; as configured when
	// absent.
	Repair *uint32
	// HistoryView narrows the history that is sent; what is stored is the whole one in any case.
	HistoryView HistoryView
	// Tools are offered in this turn: nil offers what stands, an empty list, [NoTools], none.
	Tools []*Tool
	// StandingTools stand from this turn on; nil leaves them as they are.
	StandingTools []*Tool
	// ToolChoice is "auto", "none", "required", or the name of a tool.
	ToolChoice string
	SessionID  string
	Labels     map[string]string
	// RunID names the run, so that it can be found again; ours when absent.
	RunID string
	// Retry, where the run of this id failed, was cancelled or interrupted, tries again under the same id.
	Retry bool
	// OnDisconnect is what happens when nobody waits any more: "cancel" or "finish". A single turn is cancelled and one of a
	// coordination finished when absent.
	OnDisconnect string
	// OnToolDrift is what happens when an offered tool has another input schema than the history had under its name: "warn" or
	// "refuse"; a warning when absent.
	OnToolDrift string
}

// Text is a request with that text.
func Text(text string) Request { return Request{Text: text} }

// HistoryView is how much of a history is sent, in whole turns: one of the three, or all of it.
type HistoryView struct {
	// LastTurns is how many turns before this one.
	LastTurns uint32
	// FromExchange is the first exchange, with which a turn must begin.
	FromExchange string
	// TokenBudget is as many turns as fit, counted by the server's own estimate.
	TokenBudget uint64
}

func (v HistoryView) toRaw() (*pb.HistoryView, error) {
	switch v {
	case HistoryView{}:
		return nil, nil
	case HistoryView{LastTurns: v.LastTurns}:
		return &pb.HistoryView{View: &pb.HistoryView_LastTurns{LastTurns: &pb.LastTurns{Turns: v.LastTurns}}}, nil
	case HistoryView{FromExchange: v.FromExchange}:
		return &pb.HistoryView{View: &pb.HistoryView_FromExchange{FromExchange: &pb.FromExchange{ExchangeId: v.FromExchange}}}, nil
	case HistoryView{TokenBudget: v.TokenBudget}:
		return &pb.HistoryView{View: &pb.HistoryView_TokenBudget{TokenBudget: &pb.TokenBudget{Tokens: v.TokenBudget}}}, nil
	}
	return nil, invalid("history_view: it is the last turns, from an exchange on, or a budget of tokens, one of them")
}

// Parameters of a call. A nil one is absent, which is not zero; see [Ptr].
type Parameters struct {
	Temperature       *float64
	TopP              *float64
	MaxOutputTokens   *uint32
	StopSequences     []string
	Seed              *int64
	ReasoningEffort   string
	ParallelToolCalls *bool
	// ExtraJSON is what the provider alone knows, a JSON object.
	ExtraJSON string
}

// Ptr is a value as a parameter or usage takes it.
func Ptr[T any](value T) *T { return &value }

func (p Parameters) toRaw() *pb.Parameters {
	empty := p.Temperature == nil && p.TopP == nil && p.MaxOutputTokens == nil && len(p.StopSequences) == 0 && p.Seed == nil &&
		p.ReasoningEffort == "" && p.ParallelToolCalls == nil && p.ExtraJSON == ""
	if empty {
		return nil
	}
	return &pb.Parameters{
		Temperature: p.Temperature, TopP: p.TopP, MaxOutputTokens: p.MaxOutputTokens, StopSequences: p.StopSequences,
		Seed: p.Seed, ReasoningEffort: p.ReasoningEffort, ParallelToolCalls: p.ParallelToolCalls, ExtraJson: p.ExtraJSON,
	}
}

func parametersOf(raw *pb.Parameters) Parameters {
	if raw == nil {
		return Parameters{}
	}
	return Parameters{
		Temperature: raw.Temperature, TopP: raw.TopP, MaxOutputTokens: raw.MaxOutputTokens, StopSequences: raw.GetStopSequences(),
		Seed: raw.Seed, ReasoningEffort: raw.GetReasoningEffort(), ParallelToolCalls: raw.ParallelToolCalls, ExtraJSON: raw.GetExtraJson(),
	}
}

// Contract is what form an answer must have. The zero value says nothing of it.
type Contract struct{ raw *pb.Contract }

// AnyText asks for a text, whatever a prompt says.
func AnyText() Contract {
	return Contract{&pb.Contract{Form: &pb.Contract_Text{Text: &pb.TextContract{}}}}
}

// JSON asks for JSON of any shape.
func JSON() Contract {
	return Contract{&pb.Contract{Form: &pb.Contract_Json{Json: &pb.JsonContract{}}}}
}

// Schema asks for JSON that follows a JSON Schema.
func Schema(schema string) Contract {
	return Contract{&pb.Contract{Form: &pb.Contract_JsonSchema{JsonSchema: &pb.JsonSchemaContract{SchemaJson: schema}}}}
}

// NamedContract asks for what a configured contract says.
func NamedContract(id string) Contract {
	return Contract{&pb.Contract{Form: &pb.Contract_Named{Named: &pb.NamedContract{ContractId: id}}}}
}

// SchemaOf asks for JSON that follows the type of a struct, as with [NewTool].
func SchemaOf[T any]() (Contract, error) {
	found, err := shapeOf[T]()
	if err != nil {
		return Contract{}, invalid("contract: %v", err)
	}
	return Schema(string(found.text)), nil
}

func (r Request) toRaw() (*pb.ExecutionRequest, error) {
	made := &pb.ExecutionRequest{
		RunId: r.RunID, Text: r.Text, ProfileId: r.ProfileID, Model: r.Model, Parameters: r.Parameters.toRaw(),
		Contract: r.Contract.raw, ToolChoice: toolChoice(r.ToolChoice), SessionId: r.SessionID, Labels: r.Labels, Retry: r.Retry,
	}
	if r.Repair != nil {
		made.Repair = &pb.Repair{Attempts: *r.Repair}
	}
	messages := r.Messages
	if r.System != "" {
		messages = append([]Message{System(r.System)}, messages...)
	}
	var err error
	if made.HistoryView, err = r.HistoryView.toRaw(); err != nil {
		return nil, err
	}
	if made.Messages, err = rawMessages(messages); err != nil {
		return nil, err
	}
	if r.PromptID != "" || r.Vars != nil {
		made.Prompt = &pb.PromptInput{PromptId: r.PromptID}
	}
	if r.Vars != nil {
		text, err := json.Marshal(r.Vars)
		if err != nil {
			return nil, invalid("vars: %v", err)
		}
		made.Prompt.VarsJson = string(text)
	}
	if r.Tools != nil {
		if made.Tools, err = toolList(r.Tools); err != nil {
			return nil, err
		}
	}
	if r.StandingTools != nil {
		if made.StandingTools, err = toolList(r.StandingTools); err != nil {
			return nil, err
		}
	}
	if made.OnDisconnect, err = number[pb.OnDisconnect]("on_disconnect", r.OnDisconnect); err != nil {
		return nil, err
	}
	made.OnToolDrift, err = number[pb.ToolDriftPolicy]("on_tool_drift", r.OnToolDrift)
	return made, err
}

func toolChoice(said string) *pb.ToolChoice {
	switch said {
	case "":
		return nil
	case "auto":
		return &pb.ToolChoice{Choice: &pb.ToolChoice_Auto{Auto: &pb.ToolChoiceAuto{}}}
	case "none":
		return &pb.ToolChoice{Choice: &pb.ToolChoice_None{None: &pb.ToolChoiceNone{}}}
	case "required":
		return &pb.ToolChoice{Choice: &pb.ToolChoice_Required{Required: &pb.ToolChoiceRequired{}}}
	}
	return &pb.ToolChoice{Choice: &pb.ToolChoice_Named{Named: &pb.ToolChoiceNamed{Name: said}}}
}

// chosenTool is how freely tools may be called, as a request says it.
func chosenTool(raw *pb.ToolChoice) string {
	switch choice := raw.GetChoice().(type) {
	case *pb.ToolChoice_Auto:
		return "auto"
	case *pb.ToolChoice_None:
		return "none"
	case *pb.ToolChoice_Required:
		return "required"
	case *pb.ToolChoice_Named:
		return choice.Named.GetName()
	}
	return ""
}

// Input is what a turn is made with: a [Request], or the [Results] of the calls that are pending.
type Input interface{ input() }

// Results are of all calls that are pending, in place of a request.
type Results []ToolResult

func (Request) input() {}
func (Results) input() {}

// written is an input as it goes out, one of the two.
func written(input Input) (*pb.ExecutionRequest, *pb.ToolResults, error) {
	switch input := input.(type) {
	case Request:
		raw, err := input.toRaw()
		return raw, nil, err
	case Results:
		return nil, &pb.ToolResults{Results: rawResults(input)}, nil
	}
	return nil, nil, invalid("a turn takes a Request or Results, not %T", input)
}
