package antiphon

// Exchanges as they are read. Knows nothing of how they came about.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	pb "antiphon/gen/antiphonv1"
)

// Warning is something that the caller should know and that stopped nothing.
type Warning struct {
	// Code is a stable word for programs, such as "tool_schema_drift".
	Code string
	// Message is what it is about, for people.
	Message string
}

func warningsOf(raw []*pb.Warning) []Warning {
	made := make([]Warning, len(raw))
	for i, warning := range raw {
		made[i] = Warning{Code: warning.GetCode(), Message: warning.GetMessage()}
	}
	return made
}

// Exchange is one completed model call. What is on record never changes; changing the fields changes only this copy.
type Exchange struct {
	// ExchangeID is empty when it is not on record.
	ExchangeID string
	// ParentExchangeID is the model call before it; empty at a root.
	ParentExchangeID string
	// RunID is the run that made it.
	RunID string
	// ThreadID is the thread that it was made on; empty without one.
	ThreadID string
	// Turn is the number of its turn on its path.
	Turn uint64
	// Messages are what the call added to the history before the answer.
	Messages []Message
	// Assistant is the answer.
	Assistant Message
	// Text is the text parts of the answer, joined.
	Text string
	// StopReason is why the model stopped, such as "stop", "max_tokens" or "tool_calls".
	StopReason string
	// Validation is whether the answer has its form: "valid", "invalid" or "not_applicable".
	Validation string
	// Violations are what is wrong with the form of the answer, each with where.
	Violations []string
	// ToolCalls are the calls of the answer that nothing answers yet.
	ToolCalls []ToolCall
	// Tools are those that this very call offered.
	Tools []OfferedTool
	// StandingTools are those that the next call offers when it says nothing.
	StandingTools []OfferedTool
	// Usage is what it consumed.
	Usage Usage
	// Warnings are of this call and those before it in the turn, each said once.
	Warnings []Warning
	// Labels are those of the request.
	Labels map[string]string
	// Captured is whether it is on record. One that is not can be replied to, from what is in memory here, and nothing else.
	Captured bool

	raw *pb.Exchange
	// What was said before it, where it is on no record; known tells whether that is all of it.
	before []*pb.Message
	known  bool
	// The tools that a reply offers when it says nothing, where it is on no record.
	standing *pb.ToolList
}

// Raw is the message behind it.
func (e *Exchange) Raw() *pb.Exchange { return e.raw }

// Decode reads the answer as JSON: the value that was found valid where the answer had to have a form, else its text.
func (e *Exchange) Decode(into any) error { return decode(e.raw.GetValidation(), e.Text, into) }

func decode(checked *pb.Validation, text string, into any) error {
	if found := checked.GetValueJson(); found != "" {
		text = found
	}
	return json.Unmarshal([]byte(text), into)
}

// violations are what is wrong, in a line each: where, as a JSON Pointer, and what.
func violations(raw *pb.Validation) []string {
	var made []string
	for _, found := range raw.GetViolations() {
		made = append(made, strings.TrimPrefix(found.GetInstancePath()+": "+found.GetMessage(), ": "))
	}
	return made
}

// Setting is a setting as it was used, such as "model", read as JSON; nil when there was none.
func (e *Exchange) Setting(name string) any {
	for _, setting := range e.raw.GetEffectiveSettings() {
		if setting.GetName() == name {
			var found any
			if json.Unmarshal([]byte(setting.GetValueJson()), &found) == nil {
				return found
			}
		}
	}
	return nil
}

// Profile is the profile that was used.
func (e *Exchange) Profile() string { return e.word("profile_id") }

// Model is the model that was asked.
func (e *Exchange) Model() string { return e.word("model") }

func (e *Exchange) word(name string) string {
	found, _ := e.Setting(name).(string)
	return found
}

func exchangeOf(raw *pb.Exchange) *Exchange {
	made := &Exchange{
		ExchangeID: raw.GetExchangeId(), ParentExchangeID: raw.GetParentExchangeId(), RunID: raw.GetRunId(),
		ThreadID: raw.GetThreadId(), Turn: raw.GetTurn(), Messages: messagesOf(raw.GetMessages()),
		Assistant: MessageOf(raw.GetAssistant()), Text: raw.GetText(), StopReason: word(raw.GetStopReason()),
		Validation: word(raw.GetValidation().GetStatus()), Violations: violations(raw.GetValidation()), ToolCalls: toolCallsOf(raw.GetPendingToolCalls()),
		Tools:         offeredOf(raw.GetTools().GetOffered().GetTools()),
		StandingTools: offeredOf(raw.GetTools().GetStanding().GetTools()), Usage: usageOf(raw.GetUsage()),
		Labels: maps.Clone(raw.GetLabels()), Captured: true, raw: raw,
	}
	made.warn(warningsOf(raw.GetWarnings()))
	return made
}

// warn adds warnings that are not there.
func (e *Exchange) warn(warnings []Warning) {
	for _, warning := range warnings {
		if !slices.Contains(e.Warnings, warning) {
			e.Warnings = append(e.Warnings, warning)
		}
	}
}

// loose is one that is on no record, with what was said before it where that is known.
func loose(raw *pb.Exchange, before []*pb.Message, known bool, standing *pb.ToolList) *Exchange {
	made := exchangeOf(raw)
	made.ExchangeID, made.Captured, made.before, made.known, made.standing = "", false, before, known, standing
	return made
}

// uncaptured is what a run said that was not captured; so many of its messages were said before it.
func uncaptured(raw *pb.RunResponse, before int, standing *pb.ToolList) *Exchange {
	run, rendered := raw.GetRun(), raw.GetRenderedMessages()
	before = min(before, len(rendered))
	made := &pb.Exchange{
		RunId: run.GetRunId(), Messages: rendered[before:], Assistant: raw.GetAssistant(), Text: raw.GetText(),
		StopReason: raw.GetStopReason(), StopReasonRaw: raw.GetStopReasonRaw(), EffectiveSettings: raw.GetEffectiveSettings(),
		Validation: raw.GetValidation(), Usage: run.GetUsage(), Observations: run.GetObservations(), Warnings: raw.GetWarnings(),
		Labels: run.GetLabels(),
	}
	for _, part := range raw.GetAssistant().GetParts() {
		if call := part.GetToolCall(); call != nil {
			made.PendingToolCalls = append(made.PendingToolCalls, call)
		}
	}
	return loose(made, rendered[:before], true, standing)
}

// prefix is all of an exchange that is on no record, as it goes out.
func (e *Exchange) prefix() (*pb.UncapturedPrefix, error) {
	if !e.known {
		return nil, e.notCaptured("what was said before it is known to nobody any more")
	}
	return &pb.UncapturedPrefix{
		RenderedMessages: slices.Concat(e.before, e.raw.GetMessages()),
		Assistant:        e.raw.GetAssistant(), RunId: e.RunID,
		Facts: &pb.RecordedFacts{
			Model: e.Model(), StopReason: e.raw.GetStopReason(), Usage: e.Usage.toRaw(), Tools: e.standing,
		},
	}, nil
}

// notCaptured is the error of a call that needs it on record.
func (e *Exchange) notCaptured(why string) *Error {
	return &Error{
		Code: codes.FailedPrecondition, Reason: "NOT_CAPTURED", Metadata: map[string]string{"run_id": e.RunID},
		Message: fmt.Sprintf("run %s was not captured, and %s: capture it, or reply to it where a branch is not needed", e.RunID, why),
	}
}

// Probe is what a probe brought. Nothing of it is on record; [Client.RecordProbe] makes it so.
type Probe struct {
	// Text is all text of the answer, joined.
	Text string
	// Messages are what the probe added, the answer included; not what was before it.
	Messages []Message
	// StopReason is why the model stopped.
	StopReason string
	// Validation is whether the answer has its form.
	Validation string
	// Violations are what is wrong with the form of the answer, each with where.
	Violations []string
	// Usage is what it consumed.
	Usage Usage
	// RunID is a fresh id, which is on no record.
	RunID string
	// Warnings are what the caller should know.
	Warnings []Warning

	raw *pb.ProbeResponse
}

// Raw is the message behind it.
func (p *Probe) Raw() *pb.ProbeResponse { return p.raw }

// Decode reads the answer as JSON, as that of an exchange is.
func (p *Probe) Decode(into any) error { return decode(p.raw.GetValidation(), p.Text, into) }

func probeOf(raw *pb.ProbeResponse) *Probe {
	return &Probe{
		Text: raw.GetText(), Messages: messagesOf(raw.GetMessages()), StopReason: word(raw.GetStopReason()),
		Validation: word(raw.GetValidation().GetStatus()), Violations: violations(raw.GetValidation()), Usage: usageOf(raw.GetUsage()), RunID: raw.GetRunId(),
		Warnings: warningsOf(raw.GetWarnings()), raw: raw,
	}
}

// Delta is more of an answer on its way.
type Delta struct {
	// Kind is "text", "reasoning", "tool_call" or "refusal"; or "attempt" where the answer begins anew, since what was told of it before
	// was of a call that failed or whose answer missed its form.
	Kind string
	// Text is more of that; of a tool call, more of its arguments.
	Text string
}

// anew tells whether a call to the model takes the place of one before it.
func anew(raw *pb.AttemptStarted) bool {
	return raw.GetKind() == pb.AttemptKind_ATTEMPT_KIND_RETRY || raw.GetKind() == pb.AttemptKind_ATTEMPT_KIND_REPAIR
}

// deltaOf reads one; false for a kind that this package does not know.
func deltaOf(raw *pb.Delta) (Delta, bool) {
	switch delta := raw.GetDelta().(type) {
	case *pb.Delta_Text:
		return Delta{"text", delta.Text.GetText()}, true
	case *pb.Delta_Reasoning:
		return Delta{"reasoning", delta.Reasoning.GetText()}, true
	case *pb.Delta_ToolCall:
		return Delta{"tool_call", delta.ToolCall.GetArgumentsJson()}, true
	case *pb.Delta_Refusal:
		return Delta{"refusal", delta.Refusal.GetText()}, true
	}
	return Delta{}, false
}
