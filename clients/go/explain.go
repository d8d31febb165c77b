package antiphon

// What would be sent, before it is: looked at, and kept for one execution. Knows nothing of loops.

import (
	"context"
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "antiphon/gen/antiphonv1"
)

// Setting is a setting with its source.
type Setting struct {
	// Value is JSON.
	Value json.RawMessage
	// Source is who said so: "request", "prompt", "thread", "profile", "default" or "inherited".
	Source string
}

// Explanation is a request as a provider gets it. Nothing in it is a credential.
type Explanation struct {
	// Messages are what is sent, in order.
	Messages []Message
	// Settings are by name, such as "model" or "parameters.temperature".
	Settings map[string]Setting
	// Tools are what is offered.
	Tools []OfferedTool
	// BodyJSON is the body as it goes out, of a call whose answer comes whole; empty where none can be told.
	BodyJSON string
	// Adaptations are what is sent otherwise than it was said, and why.
	Adaptations []Warning
	// Warnings are what the caller should know, as the exchange has it.
	Warnings []Warning
	// Matches is, of an exchange, whether this is the body that went out; nil of what was not sent.
	Matches *bool
	// Difference is why it is another one; empty when it is the same.
	Difference string

	raw *pb.Explanation
}

// Raw is the message behind it.
func (e *Explanation) Raw() *pb.Explanation { return e.raw }

func explanationOf(raw *pb.Explanation, sent *pb.SentBody) *Explanation {
	made := &Explanation{
		Messages: messagesOf(raw.GetMessages()), Settings: map[string]Setting{}, Tools: offeredOf(raw.GetTools().GetOffered().GetTools()),
		BodyJSON: raw.GetBodyJson(), Adaptations: warningsOf(raw.GetAdaptations()), Warnings: warningsOf(raw.GetWarnings()), raw: raw,
	}
	for _, one := range raw.GetEffectiveSettings() {
		made.Settings[one.GetName()] = Setting{Value: json.RawMessage(one.GetValueJson()), Source: word(one.GetSource())}
	}
	if sent != nil {
		made.Matches, made.Difference = Ptr(sent.GetMatches()), sent.GetDifference()
	}
	return made
}

// Explain is what Capture, or Continue where [After] says from what, would send. It calls nobody.
//
// It takes After and OnThread.
func (c *Client) Explain(ctx context.Context, input Input, options ...Option) (*Explanation, error) {
	all, err := read("Explain", options, "After", "OnThread")
	if err != nil {
		return nil, err
	}
	asked := &pb.ExplainRequest{}
	if all.after != nil {
		turn, err := turnOf(all.after, input)
		if err != nil {
			return nil, err
		}
		asked.Subject = &pb.ExplainRequest_Turn{Turn: turn}
	} else {
		request, ok := input.(Request)
		if !ok {
			return nil, invalid("results of tool calls need After, the exchange or thread with the calls")
		}
		capture, err := captureOf(request, all.place)
		if err != nil {
			return nil, err
		}
		asked.Subject = &pb.ExplainRequest_Capture{Capture: capture}
	}
	found, err := call(ctx, c.exchanges.Explain, asked, nil)
	if err != nil {
		return nil, err
	}
	return explanationOf(found.GetExplanation(), nil), nil
}

// ExplainExchange is what was sent for an exchange, derived again from what is stored; Matches says whether that is what went out.
func (c *Client) ExplainExchange(ctx context.Context, exchange Source) (*Explanation, error) {
	at, err := exchangePoint(exchange)
	if err != nil {
		return nil, err
	}
	asked := &pb.ExplainRequest{Subject: &pb.ExplainRequest_Exchange{Exchange: at}}
	found, err := call(ctx, c.exchanges.Explain, asked, nil)
	if err != nil {
		return nil, err
	}
	return explanationOf(found.GetExplanation(), found.GetSent()), nil
}

// Prepared is a request that is ready to be executed once, exactly as it was shown.
type Prepared struct {
	PreparedID string
	// RunID is the run that it will be.
	RunID       string
	Expires     time.Time
	Explanation *Explanation
}

// Prepare resolves and renders a request, shows what would be sent, and keeps that for one Execute. Whether the exchange is kept then is
// said now.
//
// It takes After, Keep and Expires.
func (c *Client) Prepare(ctx context.Context, request Request, options ...Option) (*Prepared, error) {
	all, err := read("Prepare", options, "After", "Keep", "Expires")
	if err != nil {
		return nil, err
	}
	asked := &pb.PrepareRequest{Capture: all.capture != nil && *all.capture}
	if asked.Request, err = request.toRaw(); err != nil {
		return nil, err
	}
	if asked.Request.GetRunId() == "" {
		asked.Request.RunId = fresh()
	}
	if !all.expires.IsZero() {
		asked.ExpireTime = timestamppb.New(all.expires)
	}
	if thread, ok := all.after.(ThreadPoint); ok {
		at, err := thread.toRaw()
		if err != nil {
			return nil, err
		}
		asked.From = &pb.PrepareRequest_Thread{Thread: at}
	} else if all.after != nil {
		at, err := exchangePoint(all.after)
		if err != nil {
			return nil, err
		}
		asked.From = &pb.PrepareRequest_Exchange{Exchange: at}
	}
	found, err := call(ctx, c.exchanges.Prepare, asked, nil)
	if err != nil {
		return nil, err
	}
	return &Prepared{
		PreparedID: found.GetPreparedId(), RunID: asked.GetRequest().GetRunId(), Expires: found.GetExpireTime().AsTime(),
		Explanation: explanationOf(found.GetExplanation(), nil),
	}, nil
}

// Execute executes what was prepared, exactly as it was shown. Once: again gives the same answer.
func (c *Client) Execute(ctx context.Context, prepared *Prepared) (*Exchange, error) {
	execution := &pb.PreparedExecution{PreparedId: prepared.PreparedID, RunId: prepared.RunID}
	asked := &pb.RunRequest{Execution: &pb.RunRequest_Prepared{Prepared: execution}, IncludeRenderedMessages: true}
	answer, err := call(ctx, c.exchanges.Run, asked, nil)
	if err != nil {
		return nil, err
	}
	if answer.GetExchange() != nil {
		return exchangeOf(answer.GetExchange()), nil
	}
	return uncaptured(answer, 0, nil), nil
}
