package antiphon

// Prompts and replies, whether or not anything is kept. Knows nothing of threads.

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "antiphon/gen/antiphonv1"
)

// Prompt executes a request, once: tools that the model calls are left to the caller, see [Client.Chain]. Nothing is kept at the server
// but the run's state and usage, unless [Keep] asks for it; the answer can be replied to all the same.
//
// It takes Keep and WithDeltas.
func (c *Client) Prompt(ctx context.Context, request Request, options ...Option) (*Exchange, error) {
	all, err := read("Prompt", options, append(turnOptions, "Keep")...)
	if err != nil {
		return nil, err
	}
	if all.capture != nil && *all.capture {
		var heard []Option
		if all.onDelta != nil {
			heard = append(heard, WithDeltas(all.onDelta))
		}
		return c.Capture(ctx, request, heard...)
	}
	raw, err := request.toRaw()
	if err != nil {
		return nil, err
	}
	return c.uncapturedTurn(ctx, raw, 0, standingAfter(raw, nil), all.onDelta)
}

// Reply goes on with the conversation that an exchange belongs to, by one turn, with the exchange's own profile and model unless the
// request names another. No head moves.
//
// A reply is kept where the exchange is. To one that is not, it is not kept either, and what was said is remembered here; Keep(true)
// has both kept, and whatever else of the conversation was not, each once.
//
// It takes Keep and WithDeltas.
func (c *Client) Reply(ctx context.Context, to *Exchange, input Input, options ...Option) (*Exchange, error) {
	all, err := read("Reply", options, append(turnOptions, "Keep")...)
	if err != nil {
		return nil, err
	}
	if to == nil {
		return nil, invalid("there is no exchange to reply to")
	}
	keep := all.capture != nil && *all.capture
	if !to.Captured && !keep {
		return c.replyLoosely(ctx, to, input, all.onDelta)
	}
	if all.capture != nil && !keep {
		return nil, invalid("a reply to an exchange on record is kept; ForkOnce leaves nothing behind")
	}
	var from Point = to
	if !to.Captured && answered(to) {
		// The server takes one exchange along in the same write; several are stored before.
		id, err := c.settled(ctx, to)
		if err != nil {
			return nil, err
		}
		from = id
	}
	raw, err := continuation(from, input)
	if err != nil {
		return nil, err
	}
	if request := raw.GetRequest(); request != nil {
		own(request, to)
		offer(request, to)
	}
	return c.continueWith(ctx, raw, all.onDelta)
}

// replyLoosely says all of it again, since no record has it.
func (c *Client) replyLoosely(ctx context.Context, to *Exchange, input Input, hear OnDelta) (*Exchange, error) {
	prefix, err := to.prefix()
	if err != nil {
		return nil, err
	}
	again, results, err := written(input)
	if err != nil {
		return nil, err
	}
	if again == nil {
		message := &pb.Message{Role: pb.Role_ROLE_TOOL}
		for _, result := range results.GetResults() {
			message.Parts = append(message.Parts, &pb.Part{Kind: &pb.Part_ToolResult{ToolResult: result}})
		}
		again = &pb.ExecutionRequest{Messages: []*pb.Message{message}}
	}
	if again.GetPrompt() != nil {
		return nil, invalid("a configured prompt would come before what was said: keep the reply, or the exchange")
	}
	own(again, to)
	standing := standingAfter(again, to.standing)
	offer(again, to)
	again.StandingTools = nil
	said := append(prefix.GetRenderedMessages(), prefix.GetAssistant())
	again.Messages = slices.Concat(said, again.GetMessages())
	return c.uncapturedTurn(ctx, again, len(said), standing, hear)
}

func (c *Client) uncapturedTurn(ctx context.Context, raw *pb.ExecutionRequest, before int, standing *pb.ToolList, hear OnDelta) (*Exchange, error) {
	if raw.GetRunId() == "" {
		raw.RunId = fresh()
	}
	if hear == nil {
		asked := &pb.RunRequest{Execution: &pb.RunRequest_Request{Request: raw}, IncludeRenderedMessages: true}
		answer, err := call(ctx, c.exchanges.Run, asked, raw)
		if err != nil {
			return nil, err
		}
		return uncaptured(answer, before, standing), nil
	}
	told := ""
	found, err := c.ephemeralPrompt(ctx, raw, func(ctx context.Context, delta Delta) error {
		switch delta.Kind {
		case "attempt":
			told = ""
		case "text":
			told += delta.Text
		}
		return hear(ctx, delta)
	})
	if err != nil {
		return nil, err
	}
	if rest, ok := strings.CutPrefix(found.GetText(), told); ok && rest != "" {
		// An answer that was quick may be there before all of its pieces are told.
		if err := hear(ctx, Delta{"text", rest}); err != nil {
			return nil, err
		}
	}
	made := proto.CloneOf(found)
	before = min(before, len(made.GetMessages()))
	said := made.GetMessages()[:before]
	made.Messages = made.GetMessages()[before:]
	return loose(made, said, true, standing), nil
}

// own lets a request that names no profile have the exchange's, and its model.
func own(raw *pb.ExecutionRequest, exchange *Exchange) {
	if raw.GetProfileId() == "" {
		raw.ProfileId = exchange.Profile()
		if raw.GetModel() == "" {
			raw.Model = exchange.Model()
		}
	}
}

// offer lets a request that names no tools have those that stand where no record tells. What is stored of an exchange may be that of
// another with the same words and other tools, so they are not left to it.
func offer(raw *pb.ExecutionRequest, exchange *Exchange) {
	if exchange.standing == nil {
		return
	}
	if raw.GetStandingTools() == nil {
		raw.StandingTools = exchange.standing
	}
	if raw.GetTools() == nil {
		raw.Tools = raw.GetStandingTools()
	}
}

// answered tells whether there are answers before that of an exchange, so that it is more than one when it is stored.
func answered(exchange *Exchange) bool {
	is := func(message *pb.Message) bool { return message.GetRole() == pb.Role_ROLE_ASSISTANT }
	return slices.ContainsFunc(exchange.before, is) || slices.ContainsFunc(exchange.raw.GetMessages(), is)
}

// standingAfter is the tools that stand after a request, of which no record tells.
func standingAfter(raw *pb.ExecutionRequest, before *pb.ToolList) *pb.ToolList {
	if raw.GetStandingTools() != nil {
		return raw.GetStandingTools()
	}
	if before == nil && raw.GetTools() != nil {
		return raw.GetTools()
	}
	return before
}
