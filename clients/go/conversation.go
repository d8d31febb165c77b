package antiphon

// A conversation: a thread with the caller's functions beside it. Knows nothing of how turns are made, and keeps nothing that the server
// lacks but those functions.

import (
	"context"
	"iter"
)

// Conversation is a thread to talk on, turn after turn. Its tools stand at the server; the functions behind them, and the hooks around
// them, are here.
type Conversation struct {
	// ThreadID is the thread's id, by which it is found again.
	ThreadID string

	client   *Client
	chosen   chosen
	standing bool
}

// Conversation is one on a thread that is there, a [ThreadPoint], or on a new one, a [NewThread]. Every turn offers its tools which says
// nothing else, and Chain runs them, with the hooks around them. On a new thread they stand for whoever else goes on with it.
//
// It takes WithTools, WithBeforeCall, WithAfterCall and ChainLimit.
func (c *Client) Conversation(ctx context.Context, thread Place, options ...Option) (*Conversation, error) {
	all, err := read("Conversation", options, "WithTools", "WithBeforeCall", "WithAfterCall", "ChainLimit")
	if err != nil {
		return nil, err
	}
	switch thread := thread.(type) {
	case ThreadPoint:
		return &Conversation{ThreadID: thread.ThreadID, client: c, chosen: all}, nil
	case NewThread:
		if all.tools != nil {
			thread.Tools = all.tools
		}
		made, err := c.CreateThread(ctx, thread, nil)
		if err != nil {
			return nil, err
		}
		return &Conversation{ThreadID: made.ThreadID, client: c, chosen: all, standing: true}, nil
	}
	return nil, invalid("a conversation is on a ThreadPoint or a NewThread, not %T", thread)
}

// Prompt is the next turn, of one call to the model: tools that it calls are left to the caller, who gives all [Results] to the next
// Prompt.
//
// It takes ExpectedHead and WithDeltas.
func (c *Conversation) Prompt(ctx context.Context, input Input, options ...Option) (*Exchange, error) {
	all, err := read("Prompt", options, append(turnOptions, "ExpectedHead")...)
	if err != nil {
		return nil, err
	}
	var heard []Option
	if all.onDelta != nil {
		heard = append(heard, WithDeltas(all.onDelta))
	}
	request, says := input.(Request)
	if says && request.Tools == nil && c.chosen.tools != nil && !c.standing {
		request.Tools = c.chosen.tools
	}
	if says {
		input = request
	}
	at := ThreadPoint{ThreadID: c.ThreadID, ExpectedHead: all.expectedHead}
	made, err := c.client.Continue(ctx, at, input, heard...)
	if says && ReasonOf(err) == "THREAD_EMPTY" {
		return c.client.Capture(ctx, request, append(heard, OnThread(at))...)
	}
	return made, err
}

// Chain is the next turn, with the tools that the model calls run here: the conversation's own, or for this turn those of WithTools.
//
// It takes WithTools, ChainLimit, TokenLimit, CostLimit, CoordinationID, WithDeltas and WithGenerate.
func (c *Conversation) Chain(ctx context.Context, request Request, options ...Option) (*Exchange, error) {
	all, err := read("Chain", options, append(turnOptions, "WithTools", "ChainLimit", "TokenLimit", "CostLimit", "CoordinationID",
		"WithGenerate")...)
	if err != nil {
		return nil, err
	}
	standing := all.tools == nil && c.standing
	if all.tools == nil {
		all.tools = c.chosen.tools
	}
	if all.roundLimit == nil {
		all.roundLimit = c.chosen.roundLimit
	}
	all.beforeCall, all.afterCall = c.chosen.beforeCall, c.chosen.afterCall
	thread, err := c.client.Thread(ctx, c.ThreadID)
	if err != nil {
		return nil, err
	}
	if thread.HeadExchangeID == "" {
		all.place = ThreadPoint{ThreadID: c.ThreadID}
	} else {
		all.after = ThreadPoint{ThreadID: c.ThreadID}
	}
	return c.client.chain(ctx, request, all, standing)
}

// Workspace is the thread's documents, to read and to write.
func (c *Conversation) Workspace() *Workspace { return c.client.Workspace(c.ThreadID) }

// Restore goes back to an earlier exchange, documents included; the next turn goes on from there. Nothing is lost, see Moves. It takes what
// [Client.Restore] does.
func (c *Conversation) Restore(ctx context.Context, to Source, options ...Option) (*Thread, error) {
	return c.client.Restore(ctx, c.ThreadID, to, options...)
}

// Moves are those of the head, the newest first.
func (c *Conversation) Moves(ctx context.Context) iter.Seq2[Move, error] {
	return c.client.Moves(ctx, c.ThreadID)
}

// Fork is a new conversation from here, or from another point of its thread where one is given. Its hooks are none and its tools stand
// without functions: give them to each Chain, or to [Client.Conversation].
func (c *Conversation) Fork(ctx context.Context, thread NewThread, afterTurn *uint64) (*Conversation, error) {
	return c.client.ForkConversation(ctx, ThreadTurn{ThreadID: c.ThreadID, AfterTurn: afterTurn}, OnThread(thread))
}

// ForkOnce asks something on the side, and leaves nothing behind. It takes what [Client.ForkOnce] does.
func (c *Conversation) ForkOnce(ctx context.Context, request Request, options ...Option) (*Probe, error) {
	return c.client.ForkOnce(ctx, ThreadTurn{ThreadID: c.ThreadID}, request, options...)
}
