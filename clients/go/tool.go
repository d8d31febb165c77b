package antiphon

// Tools as plain functions, their calls and results. Knows nothing of when they are called.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	pb "antiphon/gen/antiphonv1"
)

// ToolCall says that a model asks for a tool.
type ToolCall struct {
	CallID string
	Name   string
	// Arguments are as the model wrote them, which need not be JSON.
	Arguments string

	raw *pb.ToolCall
}

func toolCallOf(raw *pb.ToolCall) ToolCall {
	return ToolCall{CallID: raw.GetCallId(), Name: raw.GetName(), Arguments: raw.GetArgumentsJson(), raw: raw}
}

func toolCallsOf(raw []*pb.ToolCall) []ToolCall {
	made := make([]ToolCall, len(raw))
	for i, call := range raw {
		made[i] = toolCallOf(call)
	}
	return made
}

func (c ToolCall) toRaw() *pb.ToolCall {
	arguments := c.Arguments
	if arguments == "" {
		arguments = "{}"
	}
	return &pb.ToolCall{
		CallId: c.CallID, Name: c.Name, ArgumentsJson: arguments, ProviderCallId: c.raw.GetProviderCallId(),
	}
}

// ToolResult is what came of a tool call.
type ToolResult struct {
	CallID  string
	Text    string
	IsError bool
}

func toolResultOf(raw *pb.ToolResult) ToolResult {
	var text strings.Builder
	for _, part := range raw.GetParts() {
		text.WriteString(part.GetText().GetText())
	}
	return ToolResult{CallID: raw.GetCallId(), Text: text.String(), IsError: raw.GetIsError()}
}

func (r ToolResult) toRaw() *pb.ToolResult {
	return &pb.ToolResult{CallId: r.CallID, Parts: []*pb.Part{textPart(r.Text)}, IsError: r.IsError}
}

func rawResults(results []ToolResult) []*pb.ToolResult {
	made := make([]*pb.ToolResult, len(results))
	for i, result := range results {
		made[i] = result.toRaw()
	}
	return made
}

// Pause is returned by a tool, or by a [BeforeCall], whose answer comes later, from a person for instance: the coordination is
// left for that, and the loop returns one that says where to go on, once the other calls have their results. Give the answer
// with [Client.Answer], or by the tool itself after [Client.Resume] or [Client.Attach].
type Pause struct {
	// CoordinationID is of what was left; to attach to, or to answer.
	CoordinationID string
	// Calls have no result yet.
	Calls []ToolCall
}

// Error says what waits.
func (p *Pause) Error() string {
	if p.CoordinationID == "" {
		return "antiphon: the answer comes later"
	}
	return fmt.Sprintf("antiphon: coordination %s waits for the results of %d calls", p.CoordinationID, len(p.Calls))
}

// OfferedTool is a tool as it was offered to a model.
type OfferedTool struct {
	Name        string
	Description string
	Schema      json.RawMessage
	// SchemaHash tells whether two schemas are one.
	SchemaHash    string
	SideEffects   bool
	RequiresHuman bool
}

func offeredOf(raw []*pb.Tool) []OfferedTool {
	made := make([]OfferedTool, len(raw))
	for i, tool := range raw {
		made[i] = offeredTool(tool)
	}
	return made
}

func offeredTool(raw *pb.Tool) OfferedTool {
	return OfferedTool{
		Name: raw.GetName(), Description: raw.GetDescription(), Schema: json.RawMessage(raw.GetInputSchemaJson()),
		SchemaHash: raw.GetSchemaHash(), SideEffects: raw.GetSideEffects(), RequiresHuman: raw.GetRequiresHuman(),
	}
}

// Tool is a function that a model may call. [NewTool] makes one of a function that takes a struct.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON Schema of its arguments, an object. Equal schemas should be equal bytes, so that a change is told.
	Schema json.RawMessage
	// Function gets the arguments as the model wrote them. Nil for a tool that is only offered.
	Function func(ctx context.Context, arguments json.RawMessage) (string, error)
	// SideEffects keeps probes from offering it unless they are told to.
	SideEffects bool
	// RequiresHuman says that its answer may take days, so that a probe never offers it.
	RequiresHuman bool

	err error
}

// NoTools offers none. Tools that are absent, nil, offer what stands in the conversation.
var NoTools = []*Tool{}

// NewTool makes a tool of a function whose arguments are the fields of a struct. Names are those of their json tags, and a tag
// description:"..." says what a field is for, enum:"a,b" which words it takes. Fields with omitempty, omitzero or a pointer may be
// left out. A string that it returns is the result as it is, everything else as JSON; an error is a result for the model, which
// may do better.
//
// A type that JSON has no word for is an error of the call that offers the tool.
func NewTool[In, Out any](name, description string, function func(ctx context.Context, arguments In) (Out, error)) *Tool {
	shape, err := shapeOf[In]()
	made := &Tool{Name: name, Description: description, Schema: shape.text}
	if err != nil {
		made.err = invalid("tool %s: %v", name, err)
	}
	made.Function = func(ctx context.Context, said json.RawMessage) (string, error) {
		var arguments In
		if err := shape.read(said, &arguments); err != nil {
			return "", fmt.Errorf("the arguments of %s do not fit: %w", name, err)
		}
		found, err := function(ctx, arguments)
		if err != nil {
			return "", err
		}
		return textOf(found)
	}
	return made
}

// textOf is what a tool returned as text.
func textOf(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

func toolList(tools []*Tool) (*pb.ToolList, error) {
	made := &pb.ToolList{}
	for _, tool := range tools {
		if tool.err != nil {
			return nil, tool.err
		}
		made.Tools = append(made.Tools, &pb.Tool{
			Name: tool.Name, Description: tool.Description, InputSchemaJson: string(tool.Schema),
			SideEffects: tool.SideEffects, RequiresHuman: tool.RequiresHuman,
		})
	}
	return made, nil
}

// listed is tools of a call that was made, as a request offers them again.
func listed(tools *pb.ToolSet) *pb.ToolList {
	made := &pb.ToolList{}
	for _, tool := range tools.GetTools() {
		made.Tools = append(made.Tools, &pb.Tool{
			Name: tool.GetName(), Description: tool.GetDescription(), InputSchemaJson: tool.GetInputSchemaJson(),
			SideEffects: tool.GetSideEffects(), RequiresHuman: tool.GetRequiresHuman(),
		})
	}
	return made
}
