package antiphon_test

// Single turns: prompts, replies, forks, probes, records, and what is refused before anything is sent.

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"antiphon"
)

// S0-28, S0-38.
func TestAPromptKeepsNothingButItsRun(t *testing.T) {
	client := dial(t, shared)
	answer := must(client.Prompt(t.Context(), antiphon.Request{Text: "hello", Tools: both()}))(t)
	equal(t, []any{answer.Text, answer.Captured, answer.ExchangeID, answer.Model()}, []any{"hello", false, "", "canned-1"})
	run := must(client.Run(t.Context(), answer.RunID))(t)
	equal(t, []any{run.State, run.Captured, run.ExchangeID}, []any{"completed", false, ""})
	called := must(client.Prompt(t.Context(), antiphon.Request{Text: "the forecast", Tools: both()}))(t)
	equal(t, called.StopReason, "tool_calls")
	var results antiphon.Results
	for _, call := range called.ToolCalls {
		results = append(results, antiphon.ToolResult{CallID: call.CallID, Text: "fine"})
	}
	equal(t, must(client.Reply(t.Context(), called, results))(t).Text, "Done.")
	equal(t, must(client.Reply(t.Context(), called, results, antiphon.Keep(true)))(t).Captured, true)
}

// S0-11, S0-12, S0-T4, S0-5 to S0-7: of what was never captured, too.
func TestAReplyToWhatWasNeverCapturedKeepsContextAndTools(t *testing.T) {
	client := dial(t, shared)
	first := must(client.Prompt(t.Context(), antiphon.Request{Text: "one", System: "Be brief.", Tools: both()[:1]}))(t)
	second := must(client.Reply(t.Context(), first, antiphon.Request{Text: "two", Tools: antiphon.NoTools}))(t)
	third := must(client.Reply(t.Context(), second, text("three"), antiphon.Keep(true)))(t)
	equal(t, names(third.Tools), []string{"weather"})
	found := must(client.Inspect(t.Context(), third))(t)
	var said []string
	for _, message := range found.Messages {
		said = append(said, message.Role+" "+message.Text)
	}
	equal(t, said, []string{"system Be brief.", "user one", "assistant one", "user two", "assistant two", "user three", "assistant three"})
	equal(t, len(found.Path), 3)
	other := must(client.Reply(t.Context(), second, text("another"), antiphon.Keep(true)))(t)
	equal(t, other.ParentExchangeID, third.ParentExchangeID)
	kept := must(client.Chain(t.Context(), text("more"), nil, antiphon.After(second)))(t)
	equal(t, kept.ParentExchangeID, third.ParentExchangeID)
}

func TestEveryTurnCanBeHeard(t *testing.T) {
	client := dial(t, shared)
	var heard []string
	hear := antiphon.WithDeltas(func(_ context.Context, delta antiphon.Delta) error {
		heard = append(heard, delta.Text)
		return nil
	})
	loose, kept := must(client.Prompt(t.Context(), text("one")))(t), must(client.Capture(t.Context(), text("one")))(t)
	for _, ask := range []func() (*antiphon.Exchange, error){
		func() (*antiphon.Exchange, error) { return client.Prompt(t.Context(), text("slow"), hear) },
		func() (*antiphon.Exchange, error) {
			return client.Prompt(t.Context(), text("slow"), hear, antiphon.Keep(true))
		},
		func() (*antiphon.Exchange, error) { return client.Reply(t.Context(), loose, text("slow"), hear) },
		func() (*antiphon.Exchange, error) { return client.Reply(t.Context(), kept, text("slow"), hear) },
		func() (*antiphon.Exchange, error) { return client.Chain(t.Context(), text("slow"), nil, hear) },
	} {
		heard = nil
		answer := must(ask())(t)
		equal(t, strings.Join(heard, ""), answer.Text)
		if len(heard) < 2 {
			t.Fatalf("it came in %d pieces", len(heard))
		}
	}
	heard = nil
	probe := must(client.ForkOnce(t.Context(), kept, text("slow"), hear))(t)
	equal(t, strings.Join(heard, ""), probe.Text)
	own := errors.New("the terminal is gone")
	_, err := client.Capture(t.Context(), text("slow"), antiphon.WithDeltas(func(context.Context, antiphon.Delta) error { return own }))
	if err != own {
		t.Fatalf("it gave %v", err)
	}
}

func TestAStreamThatIsLeftEndsItsRunAndOneThatIsCancelledSaysSo(t *testing.T) {
	client := dial(t, shared)
	left := must(client.Stream(text("slow")))(t)
	for range left.Deltas(t.Context()) {
		break
	}
	until(t, runState(t, client, left.RunID()), "cancelled")
	cancelled := must(client.Stream(text("slow")))(t)
	var last error
	for _, err := range cancelled.Deltas(t.Context()) {
		if last = err; err == nil {
			if err := cancelled.Cancel(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	refused(t, last, codes.Canceled, "RUN_CANCELLED")
	_, err := cancelled.Result(t.Context())
	refused(t, err, codes.Canceled, "RUN_CANCELLED")
}

func TestAStreamThatWasLeftHalfReadGivesItsResultAllTheSame(t *testing.T) {
	response := must(dial(t, shared).Stream(antiphon.Request{Text: "slow", OnDisconnect: "finish"}))(t)
	var pieces []string
	for range 2 {
		for delta, err := range response.Deltas(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if pieces = append(pieces, delta.Text); len(pieces) == 1 {
				break
			}
		}
	}
	equal(t, strings.Join(pieces, ""), must(response.Result(t.Context()))(t).Text)
}

func TestSeveralBranchesRunAtOnceAndOneThatFailsTakesNoOtherAlong(t *testing.T) {
	client := dial(t, shared)
	start := must(client.Capture(t.Context(), text("one")))(t)
	branches := must(client.ForkAll(t.Context(), start, []antiphon.Input{text("two"), text("down for good")}))(t)
	equal(t, branches[0].Exchange.Text, "two")
	equal(t, antiphon.ReasonOf(branches[1].Err), "PROVIDER_UNAVAILABLE")
	equal(t, must(client.Thread(t.Context(), branches[1].ThreadID))(t).HeadExchangeID, start.ExchangeID)
	alone := must(client.ForkAll(t.Context(), start, []antiphon.Input{text("down for good")}))(t)
	equal(t, antiphon.ReasonOf(alone[0].Err), "PROVIDER_UNAVAILABLE")
}

func TestAProbeMayBeKept(t *testing.T) {
	client := dial(t, shared)
	start := must(client.Capture(t.Context(), text("one")))(t)
	probe := must(client.ForkOnce(t.Context(), start, text("aside")))(t)
	_, err := client.Run(t.Context(), probe.RunID)
	refused(t, err, codes.NotFound, "RUN_NOT_FOUND")
	recorded := must(client.RecordProbe(t.Context(), probe))(t)
	equal(t, recorded.Stored, 1)
	found := must(client.Inspect(t.Context(), antiphon.ExchangeID(recorded.ExchangeID)))(t)
	equal(t, found.Path, []string{start.ExchangeID, recorded.ExchangeID})
}

// S0-12.
func TestATranscriptIsRecordedOnceWithItsFacts(t *testing.T) {
	client, name := dial(t, shared), fresh()
	said := []antiphon.Message{antiphon.User(name), antiphon.Assistant("yes"), antiphon.User("more"), antiphon.Assistant("no")}
	facts := antiphon.Facts{MessageIndex: 1, Model: "theirs-1", StopReason: "stop", Usage: &antiphon.Usage{InputTokens: antiphon.Ptr(uint64(3))}, Tools: both()[:1]}
	labels := antiphon.Labels(map[string]string{"from": "import"})
	first := must(client.Record(t.Context(), said, antiphon.WithFacts(facts), labels, antiphon.OnThread(antiphon.NewThread{ThreadID: name})))(t)
	equal(t, []any{first.Stored, first.Matched, first.ThreadID}, []any{uint32(2), uint32(0), name})
	again := must(client.Record(t.Context(), said[:2]))(t)
	equal(t, []any{again.Stored, again.Matched, again.ExchangeID}, []any{uint32(0), uint32(1), first.ExchangeIDs[0]})
	found := must(client.Exchange(t.Context(), antiphon.ExchangeID(first.ExchangeIDs[0])))(t)
	equal(t, *found.Usage.InputTokens, 3)
	equal(t, []any{found.Usage.Reported, names(found.Tools)[0], found.Labels["from"]}, []any{true, "weather", "import"})
	on := must(client.Record(t.Context(), []antiphon.Message{antiphon.User("third"), antiphon.Assistant("maybe")},
		antiphon.After(antiphon.ThreadPoint{ThreadID: name})))(t)
	equal(t, must(client.Thread(t.Context(), name))(t).HeadExchangeID, on.ExchangeID)
}

func TestWhatCannotBeIsSaidBeforeAnyCall(t *testing.T) {
	client := dial(t, shared)
	loose, kept := must(client.Prompt(t.Context(), text("one")))(t), must(client.Capture(t.Context(), text("one")))(t)
	try := func(what string, ask func() error) {
		t.Run(what, func(t *testing.T) { refused(t, ask(), codes.InvalidArgument, "") })
	}
	try("a reply that is not kept", func() error {
		_, err := client.Reply(t.Context(), kept, text("two"), antiphon.Keep(false))
		return err
	})
	try("a configured prompt after what was said", func() error {
		_, err := client.Reply(t.Context(), loose, antiphon.Request{PromptID: "greet"})
		return err
	})
	try("results without calls", func() error {
		_, err := client.Stream(antiphon.Results{{CallID: "call"}})
		return err
	})
	try("an option of another call", func() error {
		_, err := client.Capture(t.Context(), text("two"), antiphon.ChainLimit(3))
		return err
	})
	try("two points in one", func() error {
		_, err := client.Fork(t.Context(), antiphon.ThreadTurn{ThreadID: "t", AfterTurn: antiphon.Ptr(uint64(1)), AfterRun: "r"}, text("two"))
		return err
	})
	try("a word that is none", func() error {
		_, err := client.Capture(t.Context(), antiphon.Request{Text: "two", OnDisconnect: "perhaps"})
		return err
	})
	try("no exchange", func() error {
		_, err := client.Continue(t.Context(), (*antiphon.Exchange)(nil), text("two"))
		return err
	})
	try("a callback that is none", func() error {
		_, err := client.Coordinate(t.Context(), kept, 1, nil)
		return err
	})
	// S0-21, S0-T7: with the way out.
	_, fork := client.Fork(t.Context(), loose, text("two"))
	_, once := client.ForkOnce(t.Context(), loose, text("two"))
	_, turn := client.Continue(t.Context(), loose, text("two"))
	for _, err := range []error{fork, once, turn} {
		found := refused(t, err, codes.FailedPrecondition, "NOT_CAPTURED")
		equal(t, found.Metadata["run_id"], loose.RunID)
		if !strings.Contains(err.Error(), "capture it, or reply to it") {
			t.Fatal(err)
		}
	}
}

func TestACostThatIsNoneIsRefusedBeforeAnyCall(t *testing.T) {
	client, name := dial(t, shared), fresh()
	talk := must(client.Conversation(t.Context(), antiphon.NewThread{}))(t)
	stop := func(context.Context, *antiphon.Decision) (antiphon.Action, error) { return antiphon.Stop{}, nil }
	for _, cost := range []string{
		"", "2.50", "USD 2.50", "2,50 USD", "1e3 USD", "0.00 USD", "-1 USD", "1 usd", "1  USD", "1 USD\n", "1.0000000001 USD",
	} {
		options := []antiphon.Option{antiphon.CostLimit(cost), antiphon.CoordinationID(name)}
		_, coordinated := client.Coordinate(t.Context(), text("one"), 1, stop, options...)
		_, chained := client.Chain(t.Context(), text("one"), nil, options...)
		_, talked := talk.Chain(t.Context(), text("one"), options...)
		for _, err := range []error{coordinated, chained, talked} {
			if refused(t, err, codes.InvalidArgument, ""); !strings.Contains(err.Error(), "CostLimit") {
				t.Fatal(err)
			}
		}
	}
	_, err := client.Coordination(t.Context(), name)
	refused(t, err, codes.NotFound, "COORDINATION_NOT_FOUND")
}

func TestATurnOfAConversationTakesTheLimitsOfSpending(t *testing.T) {
	client := dial(t, shared)
	talk := must(client.Conversation(t.Context(), antiphon.NewThread{}))(t)
	must(talk.Chain(t.Context(), text("one"), antiphon.TokenLimit(1000)))(t)
	_, err := talk.Chain(t.Context(), text("two"), antiphon.TokenLimit(0))
	refused(t, err, codes.InvalidArgument, "INVALID_FIELDS")
	// The model of these tests has no prices.
	_, err = talk.Chain(t.Context(), text("two"), antiphon.CostLimit("1 USD"))
	refused(t, err, codes.ResourceExhausted, "SPEND_LIMIT")
}

func TestARefusedCallSaysWhy(t *testing.T) {
	_, err := dial(t, shared).Continue(t.Context(), antiphon.ExchangeID("00000000-0000-7000-8000-000000000000"), text("hello"))
	found := refused(t, err, codes.NotFound, "EXCHANGE_NOT_FOUND")
	if found.RequestID == "" || !strings.Contains(err.Error(), "EXCHANGE_NOT_FOUND") {
		t.Fatal(err)
	}
}

func TestAFormIsCheckedAndRead(t *testing.T) {
	type verdict struct {
		Good bool `json:"good"`
	}
	client, contract := dial(t, shared), must(antiphon.SchemaOf[verdict]())(t)
	found := must(client.Capture(t.Context(), antiphon.Request{Text: `{"good": true}`, Contract: contract}))(t)
	var read verdict
	if err := found.Decode(&read); err != nil || !read.Good || found.Validation != "valid" {
		t.Fatal(found.Validation, err)
	}
	wrong := must(client.Capture(t.Context(), antiphon.Request{Text: `{"good": 1}`, Contract: contract}))(t)
	equal(t, wrong.Validation, "invalid")
	equal(t, len(wrong.Violations) == 1 && strings.HasPrefix(wrong.Violations[0], "/good: "), true)
}

func TestAnAnswerThatMissedItsFormIsToldAnew(t *testing.T) {
	client := dial(t, shared)
	request := antiphon.Request{Text: "in its form", Contract: antiphon.JSON(), Repair: antiphon.Ptr(uint32(1))}
	var read struct{ Good bool }
	said, kinds := "", map[string]int{}
	found := must(client.Capture(t.Context(), request, antiphon.WithDeltas(func(_ context.Context, delta antiphon.Delta) error {
		if kinds[delta.Kind]++; delta.Kind == "attempt" {
			said = ""
		}
		said += delta.Text
		return nil
	})))(t)
	equal(t, []any{said, kinds["attempt"]}, []any{found.Text, 1})
	if err := found.Decode(&read); err != nil || !read.Good {
		t.Fatal(found.Text, err)
	}
}

func TestAHistoryMayBeNarrowed(t *testing.T) {
	client := dial(t, shared)
	first := must(client.Capture(t.Context(), text("one")))(t)
	second := must(client.Reply(t.Context(), first, text("two")))(t)
	for _, view := range []antiphon.HistoryView{{LastTurns: 1}, {FromExchange: second.ExchangeID}, {TokenBudget: 1}} {
		third := must(client.Reply(t.Context(), second, antiphon.Request{Text: "three", HistoryView: view}))(t)
		equal(t, third.Turn, 3)
		equal(t, third.Warnings[0].Code, "history_narrowed")
	}
	_, err := client.Reply(t.Context(), second, antiphon.Request{Text: "three", HistoryView: antiphon.HistoryView{LastTurns: 1, TokenBudget: 1}})
	refused(t, err, codes.InvalidArgument, "")
}
