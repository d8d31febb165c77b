package antiphon_test

// What every test has: a real server with scripted answers, and callbacks that say things in turn.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"antiphon"
	"antiphon/antiphontest"
)

const config = `
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"

[profiles.narrow]
backend = "narrow"
model = "canned-1"

[profiles.mine]
backend = "mine"
model = "mine-1"

[backends.mine]
kind = "client"
retry = { attempts = 3, base_ms = 1, max_ms = 2 }

[backends.script]
kind = "scripted"
retry = { attempts = 1 }
chunk_chars = 4

[[backends.script.rules]]
when = "down for good"
fault = { kind = "status", status = 503, message = "down" }

[[backends.script.rules]]
when = "slow"
text = "It took a while, and there is much to tell."
chunk_gap_ms = 50

[[backends.script.rules]]
when = "forecast"
on = "user"
tool_calls = [{ name = "weather", arguments = { city = "Lisbon" } }, { name = "tide", arguments = { city = "Lisbon" } }]

[[backends.script.rules]]
when = "forecast"
on = "tool"
text = "Done."

[[backends.script.rules]]
when = "endless"
on = "any"
tool_calls = [{ name = "weather", arguments = { city = "Lisbon" } }]

[[backends.script.rules]]
text = "{last_user}"

[backends.narrow]
kind = "scripted"
capacity = 1
queue_limit = 1

[[backends.narrow.rules]]
when = "hold"
text = "held"
delay_ms = 500
`

var shared *antiphontest.Server

func TestMain(m *testing.M) {
	var err error
	if shared, err = antiphontest.Run(antiphontest.Config{Config: config}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	if err := shared.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

var text = antiphon.Text

var count atomic.Int64

func fresh() string { return fmt.Sprintf("test-%d-%d", time.Now().UnixNano(), count.Add(1)) }

// script is a callback that says these things in turn, and remembers what it saw.
type script struct {
	actions []antiphon.Action
	seen    []*antiphon.Decision
}

func says(actions ...antiphon.Action) *script { return &script{actions: actions} }

func (s *script) next(_ context.Context, decision *antiphon.Decision) (antiphon.Action, error) {
	s.seen = append(s.seen, decision)
	if len(s.actions) == 0 {
		return nil, errors.New("the callback was called once more than expected")
	}
	action := s.actions[0]
	s.actions = s.actions[1:]
	return action, nil
}

func (s *script) texts() []string {
	made := []string{}
	for _, decision := range s.seen {
		made = append(made, decision.Exchange.Text)
	}
	return made
}

func more(said string) antiphon.Continue { return antiphon.Continue{Input: text(said)} }

// must is a value without its error.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func equal[T any](t *testing.T, found, wanted T) {
	t.Helper()
	if fmt.Sprintf("%#v", found) != fmt.Sprintf("%#v", wanted) {
		t.Fatalf("it is %#v, not %#v", found, wanted)
	}
}

// refused is the error of this package that a call must have given.
func refused(t *testing.T, err error, code codes.Code, reason string) *antiphon.Error {
	t.Helper()
	var found *antiphon.Error
	if !errors.As(err, &found) {
		t.Fatalf("it gave %v", err)
	}
	if found.Code != code || found.Reason != reason {
		t.Fatalf("it is %v, not %v %s", found, code, reason)
	}
	return found
}

// until asks again and again: only the attached stream is told of a coordination, and a test must not take it over.
func until(t *testing.T, state func() string, wanted string) {
	t.Helper()
	limit := time.Now().Add(10 * time.Second)
	for state() != wanted {
		if time.Now().After(limit) {
			t.Fatalf("it is still %s", state())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func runState(t *testing.T, client *antiphon.Client, runID string) func() string {
	return func() string {
		run, err := client.Run(t.Context(), runID)
		if err != nil {
			return "unknown"
		}
		return run.State
	}
}

func coordinationState(t *testing.T, client *antiphon.Client, id string) string {
	t.Helper()
	return must(client.Coordination(t.Context(), id))(t).State
}
