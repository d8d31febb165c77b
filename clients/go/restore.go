package antiphon

// Going back on a thread, and where its head was. Knows nothing of how turns are made.

import (
	"context"
	"iter"
	"time"

	pb "antiphon/gen/antiphonv1"
)

// Move is one move of a thread's head.
type Move struct {
	// FromExchangeID is the head before; empty when there was none.
	FromExchangeID string
	// ToExchangeID is the head after.
	ToExchangeID string
	// RunID is the run that moved it; empty for a restore.
	RunID string
	Time  time.Time
	// FromRoot is the version of the documents before, and ToRoot the one after; empty for none.
	FromRoot WorkspaceRoot
	ToRoot   WorkspaceRoot
}

// Restore moves a thread's head to an exchange on its path, or one that its head once was, and its documents to those that were there then.
// Nothing is lost: the way back is a restore, too.
//
// It takes ExpectedHead, which refuses a thread that others moved, and RequestID.
func (c *Client) Restore(ctx context.Context, threadID string, to Source, options ...Option) (*Thread, error) {
	all, err := read("Restore", options, "ExpectedHead", "RequestID")
	if err != nil {
		return nil, err
	}
	asked := &pb.RestoreRequest{ThreadId: threadID, RequestId: all.named()}
	if asked.To, err = exchangePoint(to); err != nil {
		return nil, err
	}
	if all.expectedHead != "" {
		head := &pb.ExpectedHead_Exchange{Exchange: &pb.ExchangePoint{ExchangeId: all.expectedHead}}
		asked.ExpectedHead = &pb.ExpectedHead{Head: head}
	}
	answer, err := call(ctx, c.threads.Restore, asked, nil)
	if err != nil {
		return nil, err
	}
	return threadOf(answer.GetThread()), nil
}

// Moves are those of a thread's head, the newest first.
func (c *Client) Moves(ctx context.Context, threadID string) iter.Seq2[Move, error] {
	asked := &pb.ListMovesRequest{ThreadId: threadID}
	raw := pages(ctx, c.threads.ListMoves, asked, func(next string) { asked.PageToken = next }, (*pb.ListMovesResponse).GetMoves)
	return each(raw, func(move *pb.ThreadMove) Move {
		return Move{
			FromExchangeID: move.GetFromExchangeId(), ToExchangeID: move.GetToExchangeId(), RunID: move.GetRunId(), Time: move.GetTime().AsTime(),
			FromRoot: WorkspaceRoot(move.GetFromWorkspaceRoot()), ToRoot: WorkspaceRoot(move.GetToWorkspaceRoot()),
		}
	})
}
