package antiphon

// What is on record: exchanges, threads, runs, coordinations, read and named. Knows nothing of how turns are made.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	pb "antiphon/gen/antiphonv1"
)

// Inspect gives one exchange with everything known of it, and the whole history up to its answer.
func (c *Client) Inspect(ctx context.Context, exchange Source) (*Inspection, error) {
	return c.inspect(ctx, exchange, pb.HistoryScope_HISTORY_SCOPE_FULL)
}

// Exchange reads one exchange without its history.
func (c *Client) Exchange(ctx context.Context, id ExchangeID) (*Exchange, error) {
	found, err := c.inspect(ctx, id, pb.HistoryScope_HISTORY_SCOPE_NONE)
	if err != nil {
		return nil, err
	}
	return found.Exchange, nil
}

func (c *Client) inspect(ctx context.Context, exchange Source, scope pb.HistoryScope) (*Inspection, error) {
	at, err := exchangePoint(exchange)
	if err != nil {
		return nil, err
	}
	asked := &pb.InspectRequest{ExchangeId: at.GetExchangeId(), History: scope}
	found := &Inspection{}
	whole := func(page *pb.InspectResponse) []*pb.InspectResponse { return []*pb.InspectResponse{page} }
	for page, err := range pages(ctx, c.exchanges.Inspect, asked, func(next string) { asked.PageToken = next }, whole) {
		if err != nil {
			return nil, err
		}
		if found.Exchange == nil {
			found.Exchange = exchangeOf(page.GetExchange())
		}
		found.Messages = append(found.Messages, messagesOf(page.GetMessages())...)
		for _, step := range page.GetPath() {
			// An exchange that two pages share is in both.
			if last := len(found.Path) - 1; last < 0 || found.Path[last] != step.GetExchangeId() {
				found.Path = append(found.Path, step.GetExchangeId())
			}
		}
	}
	return found, nil
}

// Thread reads a thread.
func (c *Client) Thread(ctx context.Context, threadID string) (*Thread, error) {
	answer, err := call(ctx, c.threads.Get, &pb.ThreadServiceGetRequest{ThreadId: threadID}, nil)
	if err != nil {
		return nil, err
	}
	return threadOf(answer.GetThread()), nil
}

// Threads lists all threads by id, or those that have all these labels.
func (c *Client) Threads(ctx context.Context, labels map[string]string) iter.Seq2[*Thread, error] {
	asked := &pb.ThreadServiceListRequest{Labels: labels}
	raw := pages(ctx, c.threads.List, asked, func(next string) { asked.PageToken = next }, (*pb.ThreadServiceListResponse).GetThreads)
	return each(raw, threadOf)
}

// CreateThread makes a thread, empty, or with its head at an exchange where one is given. It takes RequestID.
func (c *Client) CreateThread(ctx context.Context, thread NewThread, head Source, options ...Option) (*Thread, error) {
	all, err := read("CreateThread", options, "RequestID")
	if err != nil {
		return nil, err
	}
	asked := &pb.ThreadServiceCreateRequest{RequestId: all.requestID}
	if asked.RequestId == "" {
		asked.RequestId = fresh()
	}
	if asked.Thread, err = thread.toRaw(); err != nil {
		return nil, err
	}
	if head != nil {
		if asked.Head, err = exchangePoint(head); err != nil {
			return nil, err
		}
	}
	answer, err := call(ctx, c.threads.Create, asked, nil)
	if err != nil {
		return nil, err
	}
	return threadOf(answer.GetThread()), nil
}

// ThreadChange is what changes of a thread; what is nil stays.
type ThreadChange struct {
	Name      *string
	Labels    map[string]string
	Metadata  any
	ProfileID *string
	Model     *string
	// Etag of a thread that was read refuses the change where others made one meanwhile.
	Etag string
}

// UpdateThread changes what is given, and leaves the rest and the head.
func (c *Client) UpdateThread(ctx context.Context, threadID string, change ThreadChange) (*Thread, error) {
	asked := &pb.ThreadServiceUpdateRequest{
		ThreadId: threadID, Etag: change.Etag, RequestId: fresh(), UpdateMask: &fieldmaskpb.FieldMask{},
		Thread: &pb.NewThread{Labels: change.Labels, Defaults: &pb.ThreadDefaults{}},
	}
	changed := func(path string) { asked.UpdateMask.Paths = append(asked.UpdateMask.Paths, path) }
	if change.Name != nil {
		asked.Thread.Name = *change.Name
		changed("name")
	}
	if change.Labels != nil {
		changed("labels")
	}
	if change.Metadata != nil {
		text, err := json.Marshal(change.Metadata)
		if err != nil {
			return nil, invalid("metadata: %v", err)
		}
		asked.Thread.MetadataJson = string(text)
		changed("metadata_json")
	}
	if change.ProfileID != nil {
		asked.Thread.Defaults.ProfileId = *change.ProfileID
		changed("defaults.profile_id")
	}
	if change.Model != nil {
		asked.Thread.Defaults.Model = *change.Model
		changed("defaults.model")
	}
	answer, err := call(ctx, c.threads.Update, asked, nil)
	if err != nil {
		return nil, err
	}
	return threadOf(answer.GetThread()), nil
}

// DeleteThread removes the bookmark; exchanges stay, and so do threads forked from it. With the etag of a thread that was read, one that
// changed meanwhile is refused.
func (c *Client) DeleteThread(ctx context.Context, threadID, etag string) error {
	asked := &pb.ThreadServiceDeleteRequest{ThreadId: threadID, Etag: etag, RequestId: fresh()}
	_, err := call(ctx, c.threads.Delete, asked, nil)
	return err
}

// Turns are those on a thread's path, first to last.
func (c *Client) Turns(ctx context.Context, threadID string) iter.Seq2[Turn, error] {
	asked := &pb.ListTurnsRequest{ThreadId: threadID}
	raw := pages(ctx, c.threads.ListTurns, asked, func(next string) { asked.PageToken = next }, (*pb.ListTurnsResponse).GetTurns)
	return each(raw, func(turn *pb.Turn) Turn {
		return Turn{
			Number: turn.GetTurn(), RunID: turn.GetRunId(), ExchangeID: turn.GetExchangeId(), User: turn.GetUserPreview(),
			Assistant: turn.GetAssistantPreview(), StopReason: word(turn.GetStopReason()),
		}
	})
}

// Run reads a run, with what it consumed.
func (c *Client) Run(ctx context.Context, runID string) (*Run, error) {
	answer, err := call(ctx, c.runs.Get, &pb.RunServiceGetRequest{RunId: runID}, nil)
	if err != nil {
		return nil, err
	}
	return readRun(answer.GetRun()), nil
}

// RunQuery says which runs: in one of these states, of this thread, with all these labels.
type RunQuery struct {
	States   []string
	ThreadID string
	Labels   map[string]string
}

// Runs lists runs by id.
func (c *Client) Runs(ctx context.Context, query RunQuery) iter.Seq2[*Run, error] {
	asked := &pb.RunServiceListRequest{ThreadId: query.ThreadID, Labels: query.Labels}
	for _, said := range query.States {
		state, err := number[pb.RunState]("states", said)
		if err != nil {
			return none[*Run](err)
		}
		asked.States = append(asked.States, state)
	}
	raw := pages(ctx, c.runs.List, asked, func(next string) { asked.PageToken = next }, (*pb.RunServiceListResponse).GetRuns)
	return each(raw, readRun)
}

// CancelRun ends a run that is at work or waits for results. Ending one that has ended changes nothing.
func (c *Client) CancelRun(ctx context.Context, runID string) (*Run, error) {
	answer, err := call(ctx, c.runs.Cancel, &pb.RunServiceCancelRequest{RunId: runID}, nil)
	if err != nil {
		return nil, err
	}
	return readRun(answer.GetRun()), nil
}

// Watch follows a run until it is over, over connections that break: its states, each once, and what is told of its answer on the way.
// It only looks: leaving cancels nothing. After a break the text comes again, as "text_so_far".
func (c *Client) Watch(ctx context.Context, runID string, afterSequence uint64) iter.Seq2[RunEvent, error] {
	return func(yield func(RunEvent, error) bool) {
		ctx, release := context.WithCancel(ctx)
		defer release()
		asked, count := &pb.WatchRequest{RunId: runID, AfterSequence: afterSequence}, newTries(nil)
		for {
			stream, err := c.runs.Watch(ctx, asked)
			for err == nil {
				var raw *pb.WatchResponse
				if raw, err = stream.Recv(); err == nil {
					asked.AfterSequence = max(asked.GetAfterSequence(), raw.GetSequence())
					if !yield(eventOf(raw), nil) {
						return
					}
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err := count.pause(ctx, fromRPC(ctx, err)); err != nil {
				yield(RunEvent{}, err)
				return
			}
		}
	}
}

// Coordination reads a coordination, with what it waits for.
func (c *Client) Coordination(ctx context.Context, coordinationID string) (*Coordination, error) {
	asked := &pb.CoordinationServiceGetRequest{CoordinationId: coordinationID}
	answer, err := call(ctx, c.coordinations.Get, asked, nil)
	if err != nil {
		return nil, err
	}
	return coordinationOf(answer.GetCoordination()), nil
}

// CoordinationQuery says which coordinations: in one of these states, with or without a stream, on this thread, with all these labels.
type CoordinationQuery struct {
	States   []string
	Attached *bool
	ThreadID string
	Labels   map[string]string
}

// Coordinations lists coordinations by id.
func (c *Client) Coordinations(ctx context.Context, query CoordinationQuery) iter.Seq2[*Coordination, error] {
	asked := &pb.CoordinationServiceListRequest{Attached: query.Attached, ThreadId: query.ThreadID, Labels: query.Labels}
	for _, said := range query.States {
		state, err := number[pb.CoordinationState]("states", said)
		if err != nil {
			return none[*Coordination](err)
		}
		asked.States = append(asked.States, state)
	}
	list := c.coordinations.List
	raw := pages(ctx, list, asked, func(next string) { asked.PageToken = next }, (*pb.CoordinationServiceListResponse).GetCoordinations)
	return each(raw, coordinationOf)
}

// Cancel ends a coordination, wherever it is. Ending one that has ended changes nothing.
func (c *Client) Cancel(ctx context.Context, coordinationID, message string) error {
	asked := &pb.CoordinationServiceCancelRequest{CoordinationId: coordinationID, Message: message}
	_, err := call(ctx, c.coordinations.Cancel, asked, nil)
	return err
}

// Answer gives the answer that a coordination waits for, from anywhere and without a stream: [Results] of tool calls, a next action, or
// what a model said, a [Generated].
//
// It takes PendingID.
func (c *Client) Answer(ctx context.Context, coordinationID string, answer Answer, options ...Option) (*Coordination, error) {
	all, err := read("Answer", options, "PendingID")
	if err != nil {
		return nil, err
	}
	if all.pendingID == "" {
		found, err := c.Coordination(ctx, coordinationID)
		if err != nil {
			return nil, err
		}
		all.pendingID = found.PendingID
	}
	asked := &pb.AnswerRequest{CoordinationId: coordinationID}
	switch answer := answer.(type) {
	case Results:
		batch := &pb.BatchResults{BatchId: all.pendingID, Results: rawResults(answer)}
		asked.Answer = &pb.AnswerRequest_ToolResults{ToolResults: batch}
	case Generated:
		frame, err := generatedFrame(all.pendingID, answer)
		if err != nil {
			return nil, err
		}
		asked.Answer = &pb.AnswerRequest_Generated{Generated: frame.GetGenerated()}
	case Suspend:
		return nil, invalid("there is no stream to suspend; a coordination that nobody answers waits by itself")
	case Action:
		frame, err := actionFrame(all.pendingID, answer, Request.toRaw)
		if err != nil {
			return nil, err
		}
		asked.Answer = &pb.AnswerRequest_NextAction{NextAction: frame.GetNextAction()}
	default:
		return nil, &Error{Code: codes.InvalidArgument, Message: "the answer is nil: give Results, an Action or Generated"}
	}
	changed, err := call(ctx, c.coordinations.Answer, asked, nil)
	if err != nil {
		return nil, err
	}
	return coordinationOf(changed.GetCoordination()), nil
}

func eventOf(raw *pb.WatchResponse) RunEvent {
	made := RunEvent{Sequence: raw.GetSequence(), Kind: "unknown"}
	switch event := raw.GetEvent().(type) {
	case *pb.WatchResponse_Run:
		made.Kind, made.Run = "run", readRun(event.Run)
	case *pb.WatchResponse_TextSoFar:
		made.Kind, made.Text = "text_so_far", event.TextSoFar.GetText()
	case *pb.WatchResponse_Progress:
		message := event.Progress.ProtoReflect()
		if which := message.WhichOneof(message.Descriptor().Oneofs().ByName("event")); which != nil {
			made.Kind = string(which.Name())
		}
		if delta, ok := deltaOf(event.Progress.GetDelta()); ok && delta.Kind == "text" {
			made.Text = delta.Text
		}
	}
	return made
}

// each wraps every item of a list.
func each[Raw, Item any](items iter.Seq2[Raw, error], wrap func(Raw) Item) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for raw, err := range items {
			var item Item
			if err == nil {
				item = wrap(raw)
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// none is a list that could not be asked for.
func none[Item any](err error) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		var item Item
		yield(item, err)
	}
}
