package antiphon

// Calls to a model that the client makes: what is asked for, and what came of it. Knows nothing of streams.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "antiphon/gen/antiphonv1"
)

// Generation says that a model is to be called, by a profile whose backend is of the kind client.
type Generation struct {
	GenerationID string
	RunID        string
	// CoordinationID is empty when it is ephemeral.
	CoordinationID string
	// Number is which call of the run, counted from 1.
	Number uint32
	// Kind is "first", or "retry" after a failure.
	Kind string
	// Messages are what to send, the whole history.
	Messages  []Message
	Model     string
	BackendID string
	// Tools are what to offer.
	Tools []OfferedTool
	// Parameters are those that are set.
	Parameters Parameters
	// ToolChoice is "auto", "none", "required" or a tool's name; empty leaves it to the model.
	ToolChoice string
	// Schema is the JSON Schema that the answer must follow, nil without one; it is checked by the server in any case.
	Schema json.RawMessage

	raw *pb.GenerationNeeded
}

// Raw is the message behind it.
func (g *Generation) Raw() *pb.GenerationNeeded { return g.raw }

// Generated is what a model said, whole.
type Generated struct {
	Text string
	// ToolCalls have the provider's id as their CallID.
	ToolCalls []ToolCall
	// StopReason is "stop", or "tool_calls" where there are some, when absent.
	StopReason    string
	StopReasonRaw string
	Usage         *Usage
	Provider      string
	API           string
	ResponseModel string
	ResponseID    string
	// Message is the answer with parts that a text and calls cannot say, in place of both.
	Message *Message
}

func generationOf(raw *pb.GenerationNeeded, coordinationID string) *Generation {
	made := &Generation{
		GenerationID: raw.GetGenerationId(), RunID: raw.GetRunId(), CoordinationID: coordinationID, Number: raw.GetNumber(),
		Kind: word(raw.GetKind()), Messages: messagesOf(raw.GetMessages()), Model: raw.GetModel(), BackendID: raw.GetBackendId(),
		Tools: offeredOf(raw.GetTools().GetTools()), Parameters: parametersOf(raw.GetParameters()),
		ToolChoice: chosenTool(raw.GetToolChoice()), raw: raw,
	}
	if text := raw.GetContract().GetJsonSchema().GetSchemaJson(); text != "" {
		made.Schema = json.RawMessage(text)
	}
	return made
}

func generatedFrame(id string, answer Generated) (*pb.CoordinateRequest, error) {
	message := Assistant(answer.Text, answer.ToolCalls...)
	if answer.Message != nil {
		message = *answer.Message
	}
	said, err := message.toRaw()
	if err != nil {
		return nil, err
	}
	why := answer.StopReason
	if why == "" {
		why = "stop"
		if len(message.ToolCalls) > 0 {
			why = "tool_calls"
		}
	}
	reason, err := number[pb.StopReason]("stop_reason", why)
	if err != nil {
		return nil, err
	}
	outcome := &pb.Generated_Answer{Answer: &pb.GeneratedAnswer{
		Assistant: said, StopReason: reason, StopReasonRaw: answer.StopReasonRaw, Usage: answer.Usage.toRaw(), Provider: answer.Provider,
		Api: answer.API, ResponseModel: answer.ResponseModel, ResponseId: answer.ResponseID,
	}}
	return &pb.CoordinateRequest{Frame: &pb.CoordinateRequest_Generated{Generated: &pb.Generated{GenerationId: id, Outcome: outcome}}}, nil
}

// failedFrame is the frame of a call that failed. An Error says its own code, Unavailable for instance where another try may help; of
// everything else only the type is told, since its text may have what must not be on record.
func failedFrame(id string, failure error) *pb.CoordinateRequest {
	raw := &pb.GenerationFailure{Code: int32(codes.Unknown), Message: strings.TrimLeft(fmt.Sprintf("%T", failure), "*")}
	var known *Error
	if errors.As(failure, &known) && known.Code != codes.OK {
		raw = &pb.GenerationFailure{Code: int32(known.Code), Message: clip(known.Message, 1024), ProviderCode: known.Reason}
		if known.RetryAfter != nil {
			raw.RetryAfter = durationpb.New(*known.RetryAfter)
		}
	}
	outcome := &pb.Generated_Failure{Failure: raw}
	return &pb.CoordinateRequest{Frame: &pb.CoordinateRequest_Generated{Generated: &pb.Generated{GenerationId: id, Outcome: outcome}}}
}
