package antiphon_test

// Coordinations and conversations, and what is on record of them.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"antiphon"
)

func listed[T any](t *testing.T, items iter.Seq2[T, error]) []T {
	t.Helper()
	var made []T
	for item, err := range items {
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, item)
	}
	return made
}

type reviewerGone struct{}

func (reviewerGone) Error() string { return "the reviewer has left" }

// S4-60, S4-73, S4-77.
func TestWhatTheCallbackReturnsAsAnErrorComesBackAsItself(t *testing.T) {
	client, name := dial(t, shared), fresh()
	own := fmt.Errorf("review: %w", reviewerGone{})
	_, err := client.Coordinate(t.Context(), text("zero"), 2, func(context.Context, *antiphon.Decision) (antiphon.Action, error) {
		return nil, own
	}, antiphon.CoordinationID(name))
	if err != own || !errors.Is(err, reviewerGone{}) {
		t.Fatalf("it gave %v", err)
	}
	failure := must(client.Coordination(t.Context(), name))(t).Raw().GetEnded().GetFailed().GetCallerFailure()
	equal(t, []string{failure.GetReason(), failure.GetMessage()}, []string{"REVIEWER_GONE", "review: the reviewer has left"})
	_, err = client.Coordinate(t.Context(), text("zero"), 2, func(context.Context, *antiphon.Decision) (antiphon.Action, error) {
		return nil, nil
	})
	refused(t, err, codes.InvalidArgument, "")
}

// S4-43, S4-45, S4-46.
func TestACallbackMayCallTheSameBackendAtCapacityOne(t *testing.T) {
	client := dial(t, shared)
	narrow := func(said string) antiphon.Request { return antiphon.Request{Text: said, ProfileID: "narrow"} }
	start := must(client.Capture(t.Context(), narrow("zero")))(t)
	outcome := must(client.Coordinate(t.Context(), start, 2, func(ctx context.Context, decision *antiphon.Decision) (antiphon.Action, error) {
		if _, err := client.Reply(ctx, decision.Exchange, text("good?")); err != nil {
			return nil, err
		}
		return antiphon.Continue{Input: narrow("more")}, nil
	}))(t)
	equal(t, outcome.State, antiphon.Exhausted)
}

func TestWhoeverIsOvertakenIsTold(t *testing.T) {
	client, other, name := dial(t, shared), dial(t, shared), fresh()
	_, err := client.Coordinate(t.Context(), text("zero"), 1, func(ctx context.Context, _ *antiphon.Decision) (antiphon.Action, error) {
		_, err := other.Attach(ctx, name, says(antiphon.Suspend{}).next)
		return antiphon.Stop{}, err
	}, antiphon.CoordinationID(name))
	refused(t, err, codes.Aborted, "TAKEN_OVER")
}

// S4-71: the callback is not killed, and its answer starts nothing.
func TestTimeRunsOutForADecisionAndForTheWhole(t *testing.T) {
	client := dial(t, shared)
	late := func(_ context.Context, decision *antiphon.Decision) (antiphon.Action, error) {
		until(t, func() string { return coordinationState(t, client, decision.CoordinationID) }, "cancelled")
		return more("too late"), nil
	}
	for _, option := range []antiphon.Option{antiphon.DecisionTimeout(100 * time.Millisecond), antiphon.Deadline(time.Now().Add(time.Second))} {
		_, err := client.Coordinate(t.Context(), text("zero"), 1, late, option)
		var found *antiphon.Error
		if !errors.As(err, &found) || found.Code != codes.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("it gave %v", err)
		}
	}
}

// S0-1, S0-2, S0-3, S0-5, S0-7, S0-13.
func TestAConversationGoesOnWithItsToolsAndHooks(t *testing.T) {
	client := dial(t, shared)
	called := make(chan string, 8)
	hook := func(_ context.Context, call antiphon.ToolCall) error {
		called <- call.Name
		return nil
	}
	talk := must(client.Conversation(t.Context(), antiphon.NewThread{Name: "a talk"}, antiphon.WithTools(both()...), antiphon.WithBeforeCall(hook)))(t)
	first := must(talk.Prompt(t.Context(), text("one")))(t)
	second := must(talk.Chain(t.Context(), text("the forecast")))(t)
	equal(t, []any{second.Text, second.Turn, len(called)}, []any{"Done.", uint64(2), 2})
	_, err := talk.Prompt(t.Context(), text("late"), antiphon.ExpectedHead(first.ExchangeID))
	refused(t, err, codes.Aborted, "HEAD_MOVED")
	asked := must(talk.Prompt(t.Context(), text("the forecast")))(t)
	var results antiphon.Results
	for _, call := range asked.ToolCalls {
		results = append(results, antiphon.ToolResult{CallID: call.CallID, Text: "by hand"})
	}
	equal(t, must(talk.Prompt(t.Context(), results))(t).Text, "Done.")
	once := must(talk.Chain(t.Context(), text("hello"), antiphon.WithTools()))(t)
	equal(t, []int{len(once.Tools), len(once.StandingTools)}, []int{0, 2})
	again := must(client.Conversation(t.Context(), antiphon.ThreadPoint{ThreadID: talk.ThreadID}, antiphon.WithTools(both()[1])))(t)
	equal(t, names(must(again.Prompt(t.Context(), text("hello")))(t).Tools), []string{"tide"})
	turns := listed(t, client.Turns(t.Context(), talk.ThreadID))
	equal(t, turns[0].User+" "+turns[0].Assistant+" "+turns[0].StopReason, "one one stop")
	branch := must(talk.Fork(t.Context(), antiphon.NewThread{Name: "another way"}, antiphon.Ptr(uint64(1))))(t)
	equal(t, must(branch.Prompt(t.Context(), text("three")))(t).ParentExchangeID, first.ExchangeID)
	equal(t, must(talk.ForkOnce(t.Context(), text("aside")))(t).Text, "aside")
}

func TestThreadsAreMadeChangedListedAndRemoved(t *testing.T) {
	client, name := dial(t, shared), fresh()
	start, labels := must(client.Capture(t.Context(), text("one")))(t), map[string]string{"kind": name}
	made := must(client.CreateThread(t.Context(), antiphon.NewThread{ThreadID: name, Labels: labels, Metadata: map[string]int{"a": 1}}, start))(t)
	equal(t, made.HeadExchangeID, start.ExchangeID)
	change := antiphon.ThreadChange{Name: antiphon.Ptr("new"), Metadata: json.RawMessage(`{"b":12345678901234567890}`), Etag: made.Etag}
	changed := must(client.UpdateThread(t.Context(), name, change))(t)
	equal(t, []string{changed.Name, string(changed.Metadata), changed.Labels["kind"]}, []string{"new", `{"b":12345678901234567890}`, name})
	_, err := client.UpdateThread(t.Context(), name, change)
	refused(t, err, codes.Aborted, "ETAG_MISMATCH")
	must(client.UpdateThread(t.Context(), name, antiphon.ThreadChange{ProfileID: antiphon.Ptr("narrow")}))(t)
	moved := must(client.Continue(t.Context(), antiphon.ThreadPoint{ThreadID: name, ExpectedHead: start.ExchangeID, OnBusy: "enqueue"}, text("two")))(t)
	equal(t, moved.Profile(), "narrow")
	equal(t, len(listed(t, client.Threads(t.Context(), labels))), 1)
	if err := client.DeleteThread(t.Context(), name, ""); err != nil {
		t.Fatal(err)
	}
	_, err = client.Thread(t.Context(), name)
	refused(t, err, codes.NotFound, "THREAD_NOT_FOUND")
}

func TestRunsAreReadListedWatchedAndEnded(t *testing.T) {
	client, name := dial(t, shared), fresh()
	labels := map[string]string{"kind": name}
	done := must(client.Capture(t.Context(), antiphon.Request{Text: "slow", Labels: labels}))(t)
	_, err := client.Capture(t.Context(), antiphon.Request{Text: "down for good", Labels: labels})
	refused(t, err, codes.Unavailable, "PROVIDER_UNAVAILABLE")
	failed := listed(t, client.Runs(t.Context(), antiphon.RunQuery{States: []string{"failed"}, Labels: labels}))
	equal(t, failed[0].Err.Reason, "PROVIDER_UNAVAILABLE")
	equal(t, len(listed(t, client.Runs(t.Context(), antiphon.RunQuery{Labels: labels}))), 2)
	events := listed(t, client.Watch(t.Context(), done.RunID, 0))
	equal(t, []string{events[0].Run.State, events[len(events)-1].Run.State}, []string{"running", "completed"})
	equal(t, len(listed(t, client.Watch(t.Context(), done.RunID, events[0].Sequence))), 1)
	called := must(client.Capture(t.Context(), antiphon.Request{Text: "the forecast", Tools: both()}))(t)
	equal(t, must(client.CancelRun(t.Context(), called.RunID))(t).State, "cancelled")
	for _, err := range client.Runs(t.Context(), antiphon.RunQuery{States: []string{"asleep"}}) {
		refused(t, err, codes.InvalidArgument, "")
	}
}

func TestCoordinationsAreListedByWhatTheyWaitFor(t *testing.T) {
	client, name := dial(t, shared), fresh()
	labels := map[string]string{"kind": name}
	for i, action := range []antiphon.Action{antiphon.Suspend{}, antiphon.Stop{}} {
		id := antiphon.CoordinationID(fmt.Sprintf("%s-%d", name, i))
		must(client.Coordinate(t.Context(), text("one"), 1, says(action).next, id, antiphon.Labels(labels)))(t)
	}
	query := antiphon.CoordinationQuery{States: []string{"awaiting_decision"}, Attached: antiphon.Ptr(false), Labels: labels}
	waiting := listed(t, client.Coordinations(t.Context(), query))
	equal(t, len(waiting), 1)
	equal(t, []any{waiting[0].CoordinationID, waiting[0].TurnsRemaining}, []any{name + "-0", uint32(1)})
	if err := client.Cancel(t.Context(), name+"-0", "no longer needed"); err != nil {
		t.Fatal(err)
	}
	_, err := client.Attach(t.Context(), name+"-0", says().next)
	var found *antiphon.Error
	if !errors.As(err, &found) || found.Code != codes.Canceled {
		t.Fatalf("it gave %v", err)
	}
}

func TestALongHistoryComesWhole(t *testing.T) {
	client := dial(t, shared)
	var said []antiphon.Message
	for i := range 250 {
		said = append(said, antiphon.User(fmt.Sprint(i)), antiphon.Assistant("yes"))
	}
	recorded := must(client.Record(t.Context(), said))(t)
	found := must(client.Inspect(t.Context(), antiphon.ExchangeID(recorded.ExchangeID)))(t)
	equal(t, []int{len(found.Messages), len(found.Path), int(found.Exchange.Turn)}, []int{500, 250, 250})
	equal(t, found.Messages[498].Text, "249")
}
