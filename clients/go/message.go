package antiphon

// Messages of a history. Knows nothing of where they are kept.

import (
	"strings"

	pb "antiphon/gen/antiphonv1"
)

// Message is one message. Raw has all of its parts; images, files and what a provider attached are only there.
type Message struct {
	// Role is "system", "user", "assistant" or "tool".
	Role string
	// Text is its text parts, joined.
	Text string
	// ToolCalls are the calls in it.
	ToolCalls []ToolCall
	// ToolResults are the results in it.
	ToolResults []ToolResult

	raw *pb.Message
}

// System makes a system message.
func System(text string) Message { return Message{Role: "system", Text: text} }

// User makes a user message.
func User(text string) Message { return Message{Role: "user", Text: text} }

// Assistant makes an assistant message, with calls if there are some.
func Assistant(text string, calls ...ToolCall) Message {
	return Message{Role: "assistant", Text: text, ToolCalls: calls}
}

// MessageOf wraps a message with parts that the fields cannot say. It goes out as it is.
func MessageOf(raw *pb.Message) Message {
	made := Message{Role: word(raw.GetRole()), raw: raw}
	var text strings.Builder
	for _, part := range raw.GetParts() {
		switch kind := part.GetKind().(type) {
		case *pb.Part_Text:
			text.WriteString(kind.Text.GetText())
		case *pb.Part_ToolCall:
			made.ToolCalls = append(made.ToolCalls, toolCallOf(kind.ToolCall))
		case *pb.Part_ToolResult:
			made.ToolResults = append(made.ToolResults, toolResultOf(kind.ToolResult))
		}
	}
	made.Text = text.String()
	return made
}

// Raw is the message as it was read; nil for one that was made here.
func (m Message) Raw() *pb.Message { return m.raw }

func (m Message) toRaw() (*pb.Message, error) {
	if m.raw != nil {
		return m.raw, nil
	}
	role, err := number[pb.Role]("role", m.Role)
	if err != nil {
		return nil, err
	}
	made := &pb.Message{Role: role}
	alone := len(m.ToolCalls) == 0 && len(m.ToolResults) == 0 && role != pb.Role_ROLE_ASSISTANT
	if m.Text != "" || alone {
		made.Parts = append(made.Parts, textPart(m.Text))
	}
	for _, call := range m.ToolCalls {
		made.Parts = append(made.Parts, &pb.Part{Kind: &pb.Part_ToolCall{ToolCall: call.toRaw()}})
	}
	for _, result := range m.ToolResults {
		made.Parts = append(made.Parts, &pb.Part{Kind: &pb.Part_ToolResult{ToolResult: result.toRaw()}})
	}
	return made, nil
}

func messagesOf(raw []*pb.Message) []Message {
	made := make([]Message, len(raw))
	for i, message := range raw {
		made[i] = MessageOf(message)
	}
	return made
}

func rawMessages(messages []Message) ([]*pb.Message, error) {
	made := make([]*pb.Message, len(messages))
	for i, message := range messages {
		raw, err := message.toRaw()
		if err != nil {
			return nil, err
		}
		made[i] = raw
	}
	return made, nil
}

func textPart(text string) *pb.Part {
	return &pb.Part{Kind: &pb.Part_Text{Text: &pb.TextPart{Text: text}}}
}
