package antiphon_test

// Plays clients/scenarios, each with a server of its own.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"gopkg.in/yaml.v3"

	"antiphon"
	"antiphon/antiphontest"
)

// unplayed are the scenarios that this client cannot play, each with a reason.
var unplayed = map[string]string{}

type object = map[string]any

type scenario struct {
	About  string
	Covers []string
	Rules  string
	Config string
	Files  map[string]string
	Tools  map[string]object
	Steps  []object
}

// raised is an error of a callback's own.
type raised struct{ text string }

func (r *raised) Error() string { return r.text }

func TestScenarios(t *testing.T) {
	folder := filepath.Join("..", "scenarios")
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(paths) < 15 {
		t.Fatalf("there are %d scenarios: %v", len(paths), err)
	}
	base, err := os.ReadFile(filepath.Join(folder, "default.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			if why, ok := unplayed[name]; ok {
				t.Skip(why)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var story scenario
			if err := yaml.Unmarshal(text, &story); err != nil {
				t.Fatal(err)
			}
			config := story.Config
			if config == "" {
				config = strings.Replace(string(base), "\n# rules\n", "\n"+story.Rules+"\n", 1)
			}
			server := antiphontest.Start(t, antiphontest.Config{Config: config, Files: story.Files})
			play(t, dial(t, server), story)
		})
	}
}

func dial(t *testing.T, server *antiphontest.Server, options ...antiphon.DialOption) *antiphon.Client {
	t.Helper()
	client, err := antiphon.Dial(server.Address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

type player struct {
	client *antiphon.Client
	kept   object
	tools  map[string]*antiphon.Tool
	lock   sync.Mutex
	called map[string]int
}

func play(t *testing.T, client *antiphon.Client, story scenario) {
	p := &player{client: client, kept: object{}, tools: map[string]*antiphon.Tool{}}
	for key, said := range story.Tools {
		p.tools[key] = p.tool(key, said)
	}
	for number, step := range story.Steps {
		if err := p.step(t.Context(), step); err != nil {
			t.Fatalf("step %d: %v", number+1, err)
		}
	}
}

func (p *player) tool(key string, said object) *antiphon.Tool {
	schema, err := json.Marshal(said["schema"])
	if err != nil {
		panic(err)
	}
	name := key
	if other := word(said, "name"); other != "" {
		name = other
	}
	function := func(context.Context, json.RawMessage) (string, error) {
		p.lock.Lock()
		p.called[key]++
		p.lock.Unlock()
		if said["pauses"] == true {
			return "", &antiphon.Pause{}
		}
		if why, ok := said["fails"].(string); ok {
			return "", errors.New(why)
		}
		return fmt.Sprint(said["returns"]), nil
	}
	return &antiphon.Tool{
		Name: name, Description: key, Schema: schema, Function: function,
		SideEffects: said["side_effects"] == true, RequiresHuman: said["requires_human"] == true,
	}
}

func (p *player) step(ctx context.Context, said object) error {
	verbs := slices.DeleteFunc(slices.Collect(maps.Keys(said)), func(key string) bool {
		return key == "as" || key == "expect" || key == "error"
	})
	if len(verbs) != 1 {
		return fmt.Errorf("a step has one verb, not %v", verbs)
	}
	p.called = map[string]int{}
	found, err := p.call(ctx, verbs[0], said[verbs[0]].(object))
	expected, fails := said["error"]
	if err != nil {
		if !fails {
			return err
		}
		told, other := failure(err)
		if other != nil {
			return other
		}
		return compare(p.value(expected), told, "error")
	}
	told := shown(found)
	if fails {
		return fmt.Errorf("it gave %v", told)
	}
	if name := word(said, "as"); name != "" {
		p.kept[name] = found
	}
	switch found.(type) {
	case *antiphon.Exchange, *antiphon.Outcome:
		told.(object)["called"] = p.called
	}
	if wanted, ok := said["expect"]; ok {
		return compare(p.value(wanted), told, verbs[0])
	}
	return nil
}

func failure(err error) (object, error) {
	var own *raised
	var pause *antiphon.Pause
	var known *antiphon.Error
	switch {
	case errors.As(err, &own):
		if err != error(own) {
			return nil, fmt.Errorf("the callback's error came out as %T", err)
		}
		return object{"raised": own.text}, nil
	case errors.As(err, &pause):
		return object{"paused": pause.CoordinationID}, nil
	case errors.As(err, &known):
		return object{
			"code": code.Code(known.Code).String(), "reason": known.Reason, "metadata": known.Metadata, "message": known.Message,
		}, nil
	}
	return nil, err
}

var named = regexp.MustCompile(`^\$[a-z_0-9.]+$`)

// value is what is said, with what was kept in place of its names.
func (p *player) value(said any) any {
	switch said := said.(type) {
	case object:
		made := object{}
		for key, value := range said {
			made[key] = p.value(value)
		}
		return made
	case []any:
		made := make([]any, len(said))
		for i, value := range said {
			made[i] = p.value(value)
		}
		return made
	case string:
		if !named.MatchString(said) {
			return said
		}
		name, rest, deeper := strings.Cut(said[1:], ".")
		found, ok := p.kept[name]
		if !ok {
			panic("nothing was kept as " + name)
		}
		if !deeper {
			return found
		}
		found = normal(shown(found))
		for key := range strings.SplitSeq(rest, ".") {
			if list, ok := found.([]any); ok {
				at, err := strconv.Atoi(key)
				if err != nil {
					panic(said)
				}
				found = list[at]
			} else {
				found = found.(object)[key]
			}
		}
		return found
	}
	return said
}

func (p *player) call(ctx context.Context, verb string, raw object) (any, error) {
	said := object{}
	for key, value := range raw {
		// The callbacks' own words are looked at when their time has come.
		if key != "decisions" {
			value = p.value(value)
		}
		said[key] = value
	}
	c := p.client
	switch verb {
	case "prompt":
		return c.Prompt(ctx, p.request(said), antiphon.Keep(said["capture"] == true))
	case "capture":
		return c.Capture(ctx, p.request(said), p.thread(said)...)
	case "continue":
		return c.Continue(ctx, point(said["from"]), p.input(said))
	case "reply":
		var options []antiphon.Option
		if keep, ok := said["capture"].(bool); ok {
			options = append(options, antiphon.Keep(keep))
		}
		return c.Reply(ctx, said["to"].(*antiphon.Exchange), p.input(said), options...)
	case "fork":
		if said["request"] == nil && said["results"] == nil {
			made, err := c.ForkConversation(ctx, source(said["from"]), p.thread(said)...)
			if err != nil {
				return nil, err
			}
			return c.Thread(ctx, made.ThreadID)
		}
		return c.Fork(ctx, source(said["from"]), p.input(said), p.thread(said)...)
	case "fork_once":
		var options []antiphon.Option
		if said["allow_side_effects"] == true {
			options = append(options, antiphon.AllowSideEffects())
		}
		return c.ForkOnce(ctx, source(said["from"]), p.request(said), options...)
	case "record":
		return c.Record(ctx, messages(said["messages"]), append(p.thread(said), after(said)...)...)
	case "chain":
		options := append(p.thread(said), after(said)...)
		return c.Chain(ctx, p.request(said), p.list(said), append(options, p.loop(said)...)...)
	case "resume":
		return c.Resume(ctx, word(said, "id"), p.list(said))
	case "coordinate":
		var start antiphon.Start
		switch from := said["start"].(type) {
		case nil:
			start = p.request(said)
		default:
			start = point(from).(antiphon.Start)
		}
		options := append(p.thread(said), p.loop(said)...)
		if said["tools"] != nil {
			options = append(options, antiphon.WithTools(p.list(said)...))
		}
		return p.decided(ctx, said, func(ctx context.Context, next antiphon.NextAction) (*antiphon.Outcome, error) {
			return c.Coordinate(ctx, start, uint32(said["turns"].(int)), next, options...)
		})
	case "attach":
		var options []antiphon.Option
		if said["tools"] != nil {
			options = append(options, antiphon.WithTools(p.list(said)...))
		}
		return p.decided(ctx, said, func(ctx context.Context, next antiphon.NextAction) (*antiphon.Outcome, error) {
			return c.Attach(ctx, word(said, "id"), next, options...)
		})
	case "cancel":
		return nil, c.Cancel(ctx, word(said, "id"), "")
	case "inspect":
		return c.Inspect(ctx, source(said["exchange"]))
	case "thread":
		return c.Thread(ctx, word(said, "id"))
	case "run":
		return c.Run(ctx, word(said, "id"))
	case "coordination":
		return c.Coordination(ctx, word(said, "id"))
	case "runs":
		return all(c.Runs(ctx, antiphon.RunQuery{Labels: labels(said)}))
	case "threads":
		return all(c.Threads(ctx, labels(said)))
	}
	return nil, fmt.Errorf("there is no step %q", verb)
}

func all[T any](items iter.Seq2[T, error]) (any, error) {
	made := []any{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		made = append(made, item)
	}
	return made, nil
}

func (p *player) decided(ctx context.Context, said object, begin func(context.Context, antiphon.NextAction) (*antiphon.Outcome, error)) (any, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	left, wrong := said["decisions"].([]any), error(nil)
	found, err := begin(ctx, func(_ context.Context, decision *antiphon.Decision) (antiphon.Action, error) {
		if len(left) == 0 {
			wrong = fmt.Errorf("the callback was called once more, with %v", shown(decision))
			return nil, wrong
		}
		step := left[0].(object)
		left = left[1:]
		p.kept["decision"] = decision
		if see, ok := step["see"]; ok {
			if err := compare(p.value(see), shown(decision), "see"); err != nil {
				wrong = err
				return nil, err
			}
		}
		return p.action(p.value(step["do"]), cancel)
	})
	if wrong != nil {
		return nil, fmt.Errorf("it went wrong: %s", wrong)
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("the callback was not called for %v: %v", left, err)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

func (p *player) action(said any, cancel func()) (antiphon.Action, error) {
	switch said {
	case "stop":
		return antiphon.Stop{}, nil
	case "suspend":
		return antiphon.Suspend{}, nil
	case "cancel":
		cancel()
		return antiphon.Stop{}, nil
	}
	for verb, what := range said.(object) {
		switch verb {
		case "continue":
			return antiphon.Continue{Input: p.request(object{"request": what})}, nil
		case "results":
			return antiphon.Continue{Input: results(what)}, nil
		case "raise":
			return nil, &raised{what.(string)}
		case "fail":
			fail := what.(object)
			made := antiphon.Fail{Message: word(fail, "message"), Reason: word(fail, "reason"), Code: codes.Code(code.Code_value[word(fail, "code")])}
			if metadata, ok := fail["metadata"].(object); ok {
				made.Metadata = words(metadata)
			}
			return made, nil
		}
	}
	return nil, fmt.Errorf("there is no action %v", said)
}

func (p *player) request(said object) antiphon.Request {
	given := said["request"].(object)
	made := antiphon.Request{
		Text: word(given, "text"), System: word(given, "system"), PromptID: word(given, "prompt"), ProfileID: word(given, "profile"),
		Model: word(given, "model"), ToolChoice: word(given, "tool_choice"), RunID: word(given, "run_id"), Labels: labels(given),
		OnToolDrift: word(given, "on_tool_drift"), Messages: messages(given["messages"]),
	}
	if vars, ok := given["vars"].(object); ok {
		made.Vars = vars
	}
	if given["tools"] != nil {
		made.Tools = p.list(given)
	}
	switch form := given["contract"].(type) {
	case object:
		schema, err := json.Marshal(form)
		if err != nil {
			panic(err)
		}
		made.Contract = antiphon.Schema(string(schema))
	case string:
		made.Contract = antiphon.NamedContract(form)
		if form == "json" {
			made.Contract = antiphon.JSON()
		} else if form == "text" {
			made.Contract = antiphon.AnyText()
		}
	}
	switch temperature := given["temperature"].(type) {
	case int:
		made.Parameters.Temperature = antiphon.Ptr(float64(temperature))
	case float64:
		made.Parameters.Temperature = &temperature
	}
	return made
}

func (p *player) input(said object) antiphon.Input {
	if said["request"] != nil {
		return p.request(said)
	}
	return results(said["results"])
}

func (p *player) list(said object) []*antiphon.Tool {
	made := []*antiphon.Tool{}
	names, _ := said["tools"].([]any)
	for _, name := range names {
		made = append(made, p.tools[name.(string)])
	}
	return made
}

func (p *player) loop(said object) []antiphon.Option {
	var options []antiphon.Option
	if id := word(said, "id"); id != "" {
		options = append(options, antiphon.CoordinationID(id))
	}
	if said["ephemeral"] == true {
		options = append(options, antiphon.Ephemeral())
	}
	for _, name := range []string{"chain_limit", "tool_round_limit"} {
		if limit, ok := said[name].(int); ok {
			options = append(options, antiphon.ChainLimit(uint32(limit)))
		}
	}
	if texts, ok := said["generate"].([]any); ok {
		options = append(options, antiphon.WithGenerate(func(context.Context, *antiphon.Generation) (antiphon.Generated, error) {
			text := texts[0].(string)
			texts = texts[1:]
			return antiphon.Generated{Text: text}, nil
		}))
	}
	return options
}

func (p *player) thread(said object) []antiphon.Option {
	thread, ok := said["thread"].(object)
	if !ok {
		return nil
	}
	made := antiphon.NewThread{ThreadID: word(thread, "id"), Name: word(thread, "name"), Labels: labels(thread)}
	return []antiphon.Option{antiphon.OnThread(made)}
}

func after(said object) []antiphon.Option {
	if said["after"] == nil {
		return nil
	}
	return []antiphon.Option{antiphon.After(point(said["after"]))}
}

func point(said any) antiphon.Point {
	switch said := said.(type) {
	case object:
		return antiphon.ThreadPoint{ThreadID: word(said, "thread"), ExpectedHead: word(said, "expected_head")}
	case string:
		return antiphon.ExchangeID(said)
	}
	return said.(*antiphon.Exchange)
}

func source(said any) antiphon.Source {
	switch said := said.(type) {
	case object:
		made := antiphon.ThreadTurn{ThreadID: word(said, "thread")}
		if turn, ok := said["after_turn"].(int); ok {
			made.AfterTurn = antiphon.Ptr(uint64(turn))
		}
		return made
	case string:
		return antiphon.ExchangeID(said)
	}
	return said.(*antiphon.Exchange)
}

func messages(said any) []antiphon.Message {
	list, _ := said.([]any)
	var made []antiphon.Message
	for _, message := range list {
		made = append(made, antiphon.Message{Role: word(message.(object), "role"), Text: word(message.(object), "text")})
	}
	return made
}

func results(said any) antiphon.Results {
	var made antiphon.Results
	for _, result := range said.([]any) {
		one := result.(object)
		made = append(made, antiphon.ToolResult{CallID: word(one, "call_id"), Text: word(one, "text"), IsError: one["is_error"] == true})
	}
	return made
}

func word(said object, name string) string {
	text, _ := said[name].(string)
	return text
}

func words(said object) map[string]string {
	made := map[string]string{}
	for key, value := range said {
		made[key] = value.(string)
	}
	return made
}

func labels(said object) map[string]string {
	if given, ok := said["labels"].(object); ok {
		return words(given)
	}
	return nil
}

// shown is a result in the words of the scenarios.
func shown(found any) any {
	switch found := found.(type) {
	case *antiphon.Exchange:
		calls := []any{}
		for _, call := range found.ToolCalls {
			calls = append(calls, object{"call_id": call.CallID, "name": call.Name, "arguments_json": call.Arguments})
		}
		warnings := []string{}
		for _, warning := range found.Warnings {
			warnings = append(warnings, warning.Code)
		}
		return object{
			"exchange_id": found.ExchangeID, "parent_exchange_id": found.ParentExchangeID, "run_id": found.RunID, "thread_id": found.ThreadID,
			"turn": found.Turn, "text": found.Text, "stop_reason": found.StopReason, "validation": found.Validation, "captured": found.Captured,
			"tool_calls": calls, "tools": names(found.Tools), "standing_tools": names(found.StandingTools), "warnings": warnings,
			"profile": found.Profile(), "model": found.Model(), "messages": transcript(found.Messages),
		}
	case *antiphon.Probe:
		return object{"text": found.Text, "stop_reason": found.StopReason, "run_id": found.RunID, "messages": transcript(found.Messages)}
	case *antiphon.Recorded:
		return object{"exchange_id": found.ExchangeID, "exchange_ids": found.ExchangeIDs, "stored": found.Stored, "matched": found.Matched}
	case *antiphon.Inspection:
		return object{"messages": transcript(found.Messages), "path": found.Path}
	case *antiphon.Outcome:
		made := object{"state": string(found.State), "undelivered": nil}
		if found.Undelivered != nil {
			made["undelivered"] = found.Undelivered.Text
		}
		return made
	case *antiphon.Thread:
		return object{"id": found.ThreadID, "name": found.Name, "head": found.HeadExchangeID, "turn_count": found.TurnCount}
	case *antiphon.Run:
		return object{
			"id": found.RunID, "state": found.State, "exchange_id": found.ExchangeID, "captured": found.Captured, "attempt": found.Attempt,
			"model_calls": found.ModelCalls,
		}
	case *antiphon.Coordination:
		return object{
			"id": found.CoordinationID, "state": found.State, "exchange_id": found.ExchangeID, "turns_started": found.TurnsStarted,
			"turns_remaining": found.TurnsRemaining,
		}
	case *antiphon.Decision:
		return object{
			"exchange": shown(found.Exchange), "starting": found.Starting, "stop_reason": found.StopReason, "turns_started": found.TurnsStarted,
			"turns_remaining": found.TurnsRemaining, "thread_id": found.ThreadID,
		}
	case []any:
		made := []any{}
		for _, item := range found {
			made = append(made, shown(item))
		}
		return made
	}
	return found
}

func names(tools []antiphon.OfferedTool) []string {
	made := []string{}
	for _, tool := range tools {
		made = append(made, tool.Name)
	}
	return made
}

func transcript(messages []antiphon.Message) []any {
	made := []any{}
	for _, message := range messages {
		text := message.Text
		for _, result := range message.ToolResults {
			text += result.Text
		}
		made = append(made, object{"role": message.Role, "text": text})
	}
	return made
}

// normal is a value as JSON has it, so that numbers of all kinds are equal.
func normal(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var made any
	if err := json.Unmarshal(text, &made); err != nil {
		panic(err)
	}
	return made
}

// compare tells whether what is expected is a part of what was found.
func compare(expected, found any, where string) error {
	return part(normal(expected), normal(found), where)
}

func part(expected, found any, where string) error {
	switch expected := expected.(type) {
	case object:
		return partOfObject(expected, found, where)
	case []any:
		items, ok := found.([]any)
		if !ok || len(items) != len(expected) {
			return fmt.Errorf("%s: %v has not %d items", where, found, len(expected))
		}
		for i := range expected {
			if err := part(expected[i], items[i], fmt.Sprintf("%s.%d", where, i)); err != nil {
				return err
			}
		}
		return nil
	}
	if !reflect.DeepEqual(expected, found) {
		return fmt.Errorf("%s: it is %v, not %v", where, found, expected)
	}
	return nil
}

func partOfObject(expected object, found any, where string) error {
	if len(expected) == 1 {
		if value, ok := expected["contains"]; ok {
			return contains(found, value, where)
		}
		if value, ok := expected["length"]; ok {
			if items, is := found.([]any); !is || float64(len(items)) != value {
				return fmt.Errorf("%s: %v has not %v items", where, found, value)
			}
			return nil
		}
		if value, ok := expected["differs"]; ok {
			if reflect.DeepEqual(value, found) {
				return fmt.Errorf("%s: it is %v", where, found)
			}
			return nil
		}
	}
	fields, ok := found.(object)
	if !ok || (len(expected) == 0 && len(fields) > 0) {
		return fmt.Errorf("%s: it is %v, not %v", where, found, expected)
	}
	for name, value := range expected {
		one, ok := fields[name]
		if !ok {
			return fmt.Errorf("%s: there is no %q in %v", where, name, found)
		}
		if err := part(value, one, where+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func contains(found, wanted any, where string) error {
	switch found := found.(type) {
	case string:
		if text, ok := wanted.(string); ok && strings.Contains(found, text) {
			return nil
		}
	case []any:
		if slices.ContainsFunc(found, func(item any) bool { return reflect.DeepEqual(item, wanted) }) {
			return nil
		}
	}
	return fmt.Errorf("%s: %v has no %v", where, found, wanted)
}
