package antiphon

// New threads from points of history. Knows nothing of what goes on there.

import (
	"context"
	"errors"

	pb "antiphon/gen/antiphonv1"
)

// Branch is a new thread with its first exchange, or why there is none; the thread is there all the same, at the fork point.
type Branch struct {
	ThreadID string
	Exchange *Exchange
	Err      error
}

// Fork makes a new thread from an exchange or a point of a thread and executes its first turn there, with a request or the [Results] of
// the calls that are pending. Nothing is copied, and the source stays as it is. The thread uses the profile and model of its source
// unless [OnThread] says otherwise. Hooks and functions do not go along.
//
// It takes OnThread, with a NewThread, and RequestID.
func (c *Client) Fork(ctx context.Context, from Source, input Input, options ...Option) (*Exchange, error) {
	raw, err := forkOf("Fork", from, []Input{input}, options, "OnThread")
	if err != nil {
		return nil, err
	}
	var run repeatable
	if request := raw.GetBranches()[0].GetRequest(); request != nil {
		run = request
	}
	answer, err := call(ctx, c.exchanges.Fork, raw, run)
	if err != nil {
		return nil, err
	}
	if len(answer.GetResults()) != 1 {
		return nil, invalid("the server answered with %d branches in place of one", len(answer.GetResults()))
	}
	return exchangeOf(answer.GetResults()[0].GetExchange()), nil
}

// ForkConversation makes a new thread and gives the conversation, to go on with. It takes what Fork does.
func (c *Client) ForkConversation(ctx context.Context, from Source, options ...Option) (*Conversation, error) {
	raw, err := forkOf("ForkConversation", from, []Input{nil}, options, "OnThread")
	if err != nil {
		return nil, err
	}
	answer, err := call(ctx, c.exchanges.Fork, raw, nil)
	if err != nil {
		return nil, err
	}
	if len(answer.GetResults()) != 1 {
		return nil, invalid("the server answered with %d branches in place of one", len(answer.GetResults()))
	}
	return &Conversation{client: c, ThreadID: answer.GetResults()[0].GetThread().GetThreadId()}, nil
}

// ForkAll makes several threads from one point, one for each input, whose first turns are executed at once. One that fails has its
// error, and takes no other with it.
//
// It takes OnThreads and RequestID.
func (c *Client) ForkAll(ctx context.Context, from Source, inputs []Input, options ...Option) ([]Branch, error) {
	raw, err := forkOf("ForkAll", from, inputs, options, "OnThreads")
	if err != nil {
		return nil, err
	}
	answer, err := call(ctx, c.exchanges.Fork, raw, nil)
	if err != nil {
		// The answer says so for several only; a single failure is the call's own.
		var failed *Error
		if len(inputs) == 1 && errors.As(err, &failed) && failed.Metadata["thread_id"] != "" {
			return []Branch{{ThreadID: failed.Metadata["thread_id"], Err: failed}}, nil
		}
		return nil, err
	}
	made := make([]Branch, len(answer.GetResults()))
	for i, result := range answer.GetResults() {
		made[i].ThreadID = result.GetThread().GetThreadId()
		if result.GetExchange() != nil {
			made[i].Exchange = exchangeOf(result.GetExchange())
		}
		if result.GetError() != nil {
			made[i].Err = fromStatus(result.GetError())
		}
	}
	return made, nil
}

func forkOf(name string, from Source, inputs []Input, options []Option, threads string) (*pb.ForkRequest, error) {
	all, err := read(name, options, threads, "RequestID")
	if err != nil {
		return nil, err
	}
	if made, ok := all.place.(NewThread); ok {
		all.threads = []NewThread{made}
	} else if all.place != nil {
		return nil, invalid("a fork makes its thread: OnThread takes a NewThread here, not %T", all.place)
	}
	if len(all.threads) > len(inputs) {
		return nil, invalid("there are %d threads for %d inputs", len(all.threads), len(inputs))
	}
	raw := &pb.ForkRequest{RequestId: all.requestID}
	if raw.RequestId == "" {
		raw.RequestId = fresh()
	}
	if turn, ok := from.(ThreadTurn); ok {
		at, err := turn.toRaw()
		if err != nil {
			return nil, err
		}
		raw.Source = &pb.ForkRequest_Thread{Thread: at}
	} else {
		at, err := exchangePoint(from)
		if err != nil {
			return nil, err
		}
		raw.Source = &pb.ForkRequest_Exchange{Exchange: at}
	}
	exchange, known := from.(*Exchange)
	for i, input := range inputs {
		var thread NewThread
		if i < len(all.threads) {
			thread = all.threads[i]
		}
		if known && thread.ProfileID == "" {
			thread.ProfileID = exchange.Profile()
			if thread.Model == "" {
				thread.Model = exchange.Model()
			}
		}
		branch := &pb.ForkBranch{}
		if branch.Thread, err = thread.toRaw(); err != nil {
			return nil, err
		}
		raw.Branches = append(raw.Branches, branch)
		if input == nil {
			continue
		}
		request, results, err := written(input)
		if err != nil {
			return nil, err
		}
		if request != nil {
			if request.GetRunId() == "" {
				request.RunId = fresh()
			}
			branch.Input = &pb.ForkBranch_Request{Request: request}
		} else {
			branch.Input = &pb.ForkBranch_ToolResults{ToolResults: results}
		}
	}
	return raw, nil
}
