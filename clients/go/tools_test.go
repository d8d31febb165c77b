package antiphon_test

// Tools as plain functions, and models of the caller's own.

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"antiphon"
)

type city struct {
	City string `json:"city"`
}

func weather(_ context.Context, in city) (string, error) { return "22 degrees in " + in.City, nil }

func tide(_ context.Context, in city) (map[string]any, error) {
	return map[string]any{"city": in.City, "high": []int{3, 15}}, nil
}

func both() []*antiphon.Tool {
	return []*antiphon.Tool{
		antiphon.NewTool("weather", "The weather in a city.", weather), antiphon.NewTool("tide", "High water there.", tide),
	}
}

// resultsOf are the results that the exchange's call was made with: of the weather, then of the tide.
func resultsOf(t *testing.T, exchange *antiphon.Exchange) []antiphon.ToolResult {
	t.Helper()
	var found []antiphon.ToolResult
	for _, message := range exchange.Messages {
		found = append(found, message.ToolResults...)
	}
	if len(found) != 2 {
		t.Fatalf("there are %d results", len(found))
	}
	return found
}

// S0-26, S0-T8.
func TestAChainRunsWhatTheModelCalls(t *testing.T) {
	var lock sync.Mutex
	var before, after []string
	answer := must(dial(t, shared).Chain(t.Context(), text("the forecast"), both(),
		antiphon.WithBeforeCall(func(_ context.Context, call antiphon.ToolCall) error {
			lock.Lock()
			defer lock.Unlock()
			before = append(before, call.Name)
			return nil
		}),
		antiphon.WithAfterCall(func(_ context.Context, call antiphon.ToolCall, result antiphon.ToolResult) error {
			lock.Lock()
			defer lock.Unlock()
			after = append(after, call.Name+": "+result.Text)
			return nil
		})))(t)
	equal(t, answer.Text, "Done.")
	slices.Sort(before)
	slices.Sort(after)
	equal(t, before, []string{"tide", "weather"})
	equal(t, after, []string{`tide: {"city":"Lisbon","high":[3,15]}`, "weather: 22 degrees in Lisbon"})
}

func TestTheCallsOfOneAnswerRunAtOnce(t *testing.T) {
	var meet sync.WaitGroup
	meet.Add(2)
	one := func(_ context.Context, in city) (string, error) {
		meet.Done()
		meet.Wait()
		return in.City, nil
	}
	tools := []*antiphon.Tool{antiphon.NewTool("weather", "", one), antiphon.NewTool("tide", "", one)}
	for _, result := range resultsOf(t, must(dial(t, shared).Chain(t.Context(), text("the forecast"), tools))(t)) {
		equal(t, result.IsError, false)
	}
}

// S3x-13: its siblings keep theirs.
func TestAFailingOrUnknownOrRefusedCallIsAnErrorResult(t *testing.T) {
	client := dial(t, shared)
	broken := func(context.Context, city) (string, error) { return "", errors.New("no barometer") }
	failed := resultsOf(t, must(client.Chain(t.Context(), text("the forecast"), []*antiphon.Tool{
		antiphon.NewTool("weather", "", broken), both()[1],
	}))(t))
	equal(t, failed[0].Text, "no barometer")
	equal(t, []bool{failed[0].IsError, failed[1].IsError}, []bool{true, false})

	unknown := resultsOf(t, must(client.Chain(t.Context(), text("the forecast"), both()[1:]))(t))
	equal(t, unknown[0].Text, `there is no tool "weather"`)
	equal(t, []bool{unknown[0].IsError, unknown[1].IsError}, []bool{true, false})

	hook := func(_ context.Context, call antiphon.ToolCall) error {
		if call.Name == "tide" {
			return errors.New("not today")
		}
		return nil
	}
	hooked := resultsOf(t, must(client.Chain(t.Context(), text("the forecast"), both(), antiphon.WithBeforeCall(hook)))(t))
	equal(t, hooked[1].Text, "not today")
	equal(t, []bool{hooked[0].IsError, hooked[1].IsError}, []bool{false, true})
}

func TestAHookThatFailsAfterwardsComesBackAsItself(t *testing.T) {
	client, name, own := dial(t, shared), fresh(), errors.New("the audit log is full")
	audit := func(context.Context, antiphon.ToolCall, antiphon.ToolResult) error { return own }
	_, err := client.Chain(t.Context(), text("the forecast"), both(), antiphon.WithAfterCall(audit), antiphon.CoordinationID(name))
	if err != own {
		t.Fatalf("it gave %v", err)
	}
	equal(t, coordinationState(t, client, name), "cancelled")
}

// S3-27 to S3-31: the answer comes later, and what is done is not done again.
func TestAChainWaitsForAPersonAndGoesOnElsewhere(t *testing.T) {
	client, name := dial(t, shared), fresh()
	var lock sync.Mutex
	called := map[string]int{}
	note := func(key string) {
		lock.Lock()
		defer lock.Unlock()
		called[key]++
	}
	ask := antiphon.NewTool("weather", "", func(context.Context, city) (string, error) {
		note("weather")
		return "", &antiphon.Pause{}
	})
	ask.RequiresHuman = true
	count := antiphon.NewTool("tide", "", func(context.Context, city) (string, error) {
		note("tide")
		return "high", nil
	})
	_, err := client.Chain(t.Context(), text("the forecast"), []*antiphon.Tool{ask, count}, antiphon.CoordinationID(name))
	var pause *antiphon.Pause
	if !errors.As(err, &pause) || pause.CoordinationID != name || len(pause.Calls) != 1 || pause.Calls[0].Name != "weather" {
		t.Fatalf("it gave %v", err)
	}
	waiting := must(client.Coordination(t.Context(), name))(t)
	equal(t, waiting.State, "awaiting_tools")
	equal(t, waiting.ToolCalls[0].Name, "weather")
	result := must(dial(t, shared).Resume(t.Context(), name, []*antiphon.Tool{both()[0], count}))(t)
	equal(t, result.Text, "Done.")
	equal(t, called, map[string]int{"weather": 1, "tide": 1})
}

// S3-29.
func TestAnAnswerByIDNeedsNoStream(t *testing.T) {
	client, name := dial(t, shared), fresh()
	later := func(context.Context, antiphon.ToolCall) error { return &antiphon.Pause{} }
	_, err := client.Chain(t.Context(), text("the forecast"), both(), antiphon.WithBeforeCall(later), antiphon.CoordinationID(name))
	var pause *antiphon.Pause
	if !errors.As(err, &pause) {
		t.Fatal(err)
	}
	batch := must(client.Coordination(t.Context(), name))(t).PendingID
	var results antiphon.Results
	for _, call := range pause.Calls {
		results = append(results, antiphon.ToolResult{CallID: call.CallID, Text: "fine"})
	}
	must(client.Answer(t.Context(), name, results[:1], antiphon.PendingID(batch)))(t)
	must(client.Answer(t.Context(), name, results[1:]))(t)
	until(t, func() string { return coordinationState(t, client, name) }, "awaiting_decision")
	equal(t, must(client.Resume(t.Context(), name, nil))(t).Text, "Done.")

	other, start := fresh(), must(client.Capture(t.Context(), text("one")))(t)
	must(client.Coordinate(t.Context(), start, 1, says(antiphon.Suspend{}).next, antiphon.CoordinationID(other)))(t)
	equal(t, must(client.Answer(t.Context(), other, antiphon.Stop{}))(t).State, "stopped")
	_, err = client.Answer(t.Context(), other, antiphon.Suspend{}, antiphon.PendingID("any"))
	refused(t, err, codes.InvalidArgument, "")
}

type stay struct {
	Where  *city              `json:"where"`
	Nights int                `json:"nights" description:"How many"`
	Kind   string             `json:"kind,omitempty" enum:"room,bed"`
	Guests []string           `json:"guests,omitempty"`
	Notes  map[string]float64 `json:"notes,omitempty"`
	When   time.Time          `json:"when"`
	hidden int
}

func TestASchemaComesFromTheStruct(t *testing.T) {
	var booked stay
	tool := antiphon.NewTool("book", "Books a stay.", func(_ context.Context, in stay) (string, error) {
		booked = in
		return "booked", nil
	})
	place := `{"additionalProperties":false,"properties":{"city":{"type":"string"}},"required":["city"],"type":"object"}`
	equal(t, string(tool.Schema), `{"additionalProperties":false,"properties":{`+
		`"guests":{"items":{"type":"string"},"type":"array"},"kind":{"enum":["room","bed"],"type":"string"},`+
		`"nights":{"description":"How many","type":"integer"},"notes":{"additionalProperties":{"type":"number"},"type":"object"},`+
		`"when":{"format":"date-time","type":"string"},"where":`+place+`},"required":["nights","when"],"type":"object"}`)
	good := `{"nights": 2, "when": "2026-01-02T03:04:05Z", "where": {"city": "Lisbon"}}`
	equal(t, must(tool.Function(t.Context(), json.RawMessage(good)))(t), "booked")
	equal(t, booked.Where.City, "Lisbon")
	equal(t, booked.hidden, 0)
	for _, bad := range []string{
		`{"when": "2026-01-02T03:04:05Z"}`, `{"nights": "two", "when": "2026-01-02T03:04:05Z"}`, `[]`, `nonsense`,
		`{"nights": 2, "when": "2026-01-02T03:04:05Z", "pets": 1}`,
	} {
		if _, err := tool.Function(t.Context(), json.RawMessage(bad)); err == nil {
			t.Fatalf("%s was taken", bad)
		}
	}
}

type tree struct {
	Children []tree `json:"children"`
}

func TestATypeWithoutASchemaIsRefusedBeforeAnyCall(t *testing.T) {
	client := dial(t, shared)
	for _, tool := range []*antiphon.Tool{
		antiphon.NewTool("grow", "", func(context.Context, tree) (string, error) { return "", nil }),
		antiphon.NewTool("listen", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil }),
		antiphon.NewTool("say", "", func(context.Context, string) (string, error) { return "", nil }),
	} {
		_, err := client.Chain(t.Context(), text("hello"), []*antiphon.Tool{tool})
		refused(t, err, codes.InvalidArgument, "")
	}
}

func TestAPlainFunctionIsTheModel(t *testing.T) {
	client := dial(t, shared)
	var asked []*antiphon.Generation
	said := []antiphon.Generated{
		{ToolCalls: []antiphon.ToolCall{{CallID: "provider-1", Name: "weather", Arguments: `{"city": "Lisbon"}`}}},
		{Text: "It is fine.", Usage: &antiphon.Usage{InputTokens: antiphon.Ptr(uint64(7)), OutputTokens: antiphon.Ptr(uint64(2))}, Provider: "acme"},
	}
	model := func(_ context.Context, generation *antiphon.Generation) (antiphon.Generated, error) {
		asked = append(asked, generation)
		return said[len(asked)-1], nil
	}
	request := antiphon.Request{Text: "weather?", System: "Be brief.", ProfileID: "mine"}
	answer := must(client.Chain(t.Context(), request, both(), antiphon.WithGenerate(model)))(t)
	equal(t, answer.Text, "It is fine.")
	equal(t, *answer.Usage.InputTokens, 7)
	equal(t, asked[0].Kind, "first")
	equal(t, asked[0].Tools[0].Name, "weather")
	last := asked[1].Messages[len(asked[1].Messages)-1]
	equal(t, last.ToolResults[0].Text, "22 degrees in Lisbon")
}

type leak struct{ secret string }

func (l *leak) Error() string { return l.secret }

func TestWhatTheModelFailsWithComesBackAndIsToldToNobody(t *testing.T) {
	client, name, own := dial(t, shared), fresh(), &leak{"sk-secret is wrong"}
	request := antiphon.Request{Text: "zero", ProfileID: "mine"}
	fails := func(context.Context, *antiphon.Generation) (antiphon.Generated, error) {
		return antiphon.Generated{}, own
	}
	_, err := client.Coordinate(t.Context(), request, 0, says().next, antiphon.WithGenerate(fails), antiphon.CoordinationID(name))
	if err != error(own) {
		t.Fatalf("it gave %v", err)
	}
	found := must(client.Coordination(t.Context(), name))(t)
	if said := found.Raw().String(); contains(said, "sk-secret", "") == nil {
		t.Fatal("what the error says is on record")
	}

	tries := 0
	busy := func(context.Context, *antiphon.Generation) (antiphon.Generated, error) {
		if tries++; tries == 1 {
			return antiphon.Generated{}, &antiphon.Error{Code: codes.Unavailable, Message: "the model is loading"}
		}
		return antiphon.Generated{Text: "here"}, nil
	}
	equal(t, must(client.Chain(t.Context(), request, nil, antiphon.WithGenerate(busy)))(t).Text, "here")
	equal(t, tries, 2)
}
