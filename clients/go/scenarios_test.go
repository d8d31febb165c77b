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
	heard  *heard
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
	if p.heard != nil {
		told.(object)["told"], told.(object)["anew"] = p.heard.text, p.heard.anew
		p.heard = nil
	}
	if wanted, ok := said["expect"]; ok {
		return compare(p.value(wanted), told, verbs[0])
	}
	return nil
}

var named = regexp.MustCompile(`^\$[a-z_0-9.]+$`)

// value is what is said, with what was kept in place of its names.
func (p *player) value(said any) any {
	switch said := said.(type) {
	case object:
		if times, ok := said["times"].(int); ok && len(said) == 2 && said["repeated"] != nil {
			return strings.Repeat(word(said, "repeated"), times)
		}
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
		return c.Capture(ctx, p.request(said), append(p.thread(said), p.hears(said)...)...)
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
	if found, ok, err := p.keep(ctx, verb, said); ok {
		return found, err
	}
	return p.look(ctx, verb, said)
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
