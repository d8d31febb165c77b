package antiphon_test

// What breaks: connections, servers, and the patience of the caller. No callback and no tool is called twice for one thing.

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"antiphon"
	"antiphon/antiphontest"
)

func through(t *testing.T, proxy *proxy, options ...antiphon.DialOption) *antiphon.Client {
	t.Helper()
	return dial(t, &antiphontest.Server{Address: proxy.address}, options...)
}

func TestACutWhileTheCallbackThinksChangesNothing(t *testing.T) {
	proxy := newProxy(t, shared.Address)
	client := through(t, proxy)
	start := must(client.Capture(t.Context(), text("zero")))(t)
	var seen []string
	ids := map[string]bool{}
	outcome := must(client.Coordinate(t.Context(), start, 2, func(_ context.Context, decision *antiphon.Decision) (antiphon.Action, error) {
		seen = append(seen, decision.Exchange.Text)
		ids[decision.DecisionID] = true
		proxy.cut()
		return more([]string{"one", "two", "three"}[len(seen)-1]), nil
	}))(t)
	equal(t, outcome.State, antiphon.Exhausted)
	equal(t, seen, []string{"zero", "one", "two"})
	equal(t, len(ids), 3)
}

func TestACutInATurnLetsItFinish(t *testing.T) {
	proxy := newProxy(t, shared.Address)
	client := through(t, proxy)
	var once sync.Once
	callback := says(more("slow"), antiphon.Stop{})
	hear := func(context.Context, antiphon.Delta) error {
		once.Do(proxy.cut)
		return nil
	}
	must(client.Coordinate(t.Context(), must(client.Capture(t.Context(), text("zero")))(t), 1, callback.next, antiphon.WithDeltas(hear)))(t)
	equal(t, callback.texts(), []string{"zero", "It took a while, and there is much to tell."})
}

func TestACutWhileToolsRunCallsNoneAgain(t *testing.T) {
	proxy := newProxy(t, shared.Address)
	client := through(t, proxy)
	var lock sync.Mutex
	called := map[string]int{}
	tool := func(name string, then func()) *antiphon.Tool {
		return antiphon.NewTool(name, "", func(context.Context, city) (string, error) {
			lock.Lock()
			called[name]++
			lock.Unlock()
			then()
			return "fine", nil
		})
	}
	tools := []*antiphon.Tool{tool("weather", func() {}), tool("tide", proxy.cut)}
	answer := must(client.Chain(t.Context(), text("the forecast"), tools))(t)
	equal(t, answer.Text, "Done.")
	equal(t, called, map[string]int{"weather": 1, "tide": 1})
}

func TestAFailureOfTheCallbackIsToldAfterACut(t *testing.T) {
	proxy := newProxy(t, shared.Address)
	client, name, own := through(t, proxy), fresh(), errors.New("no")
	start := must(client.Capture(t.Context(), text("zero")))(t)
	_, err := client.Coordinate(t.Context(), start, 1, func(context.Context, *antiphon.Decision) (antiphon.Action, error) {
		proxy.cut()
		return nil, own
	}, antiphon.CoordinationID(name))
	if err != own {
		t.Fatalf("it gave %v", err)
	}
	equal(t, coordinationState(t, client, name), "failed")
}

func TestAServerThatStaysAwayIsAnErrorInTheEnd(t *testing.T) {
	proxy := newProxy(t, shared.Address)
	client := through(t, proxy, antiphon.WithAttachFor(300*time.Millisecond))
	start := must(client.Capture(t.Context(), text("zero")))(t)
	_, err := client.Coordinate(t.Context(), start, 1, func(context.Context, *antiphon.Decision) (antiphon.Action, error) {
		proxy.close()
		return antiphon.Stop{}, nil
	})
	refused(t, err, codes.Unavailable, "")
}

func TestAServerThatCrashesBetweenDecisionAndAnswerGoesOn(t *testing.T) {
	folder := t.TempDir()
	server := antiphontest.Start(t, antiphontest.Config{Config: config, Data: folder})
	proxy := newProxy(t, server.Address)
	client := through(t, proxy)
	var seen []string
	start := must(client.Capture(t.Context(), text("zero")))(t)
	outcome := must(client.Coordinate(t.Context(), start, 2, func(_ context.Context, decision *antiphon.Decision) (antiphon.Action, error) {
		seen = append(seen, decision.Exchange.Text)
		if len(seen) == 2 {
			if err := server.Kill(); err != nil {
				t.Error(err)
			}
			proxy.point(antiphontest.Start(t, antiphontest.Config{Config: config, Data: folder}).Address)
		}
		return more([]string{"one", "two", "three"}[len(seen)-1]), nil
	}))(t)
	equal(t, outcome.State, antiphon.Exhausted)
	equal(t, seen, []string{"zero", "one", "two"})
	_ = client.Close()
}

func TestAServerThatStopsInGoodOrderSaysSoAndTheAnswerIsKept(t *testing.T) {
	folder, name := t.TempDir(), fresh()
	first := antiphontest.Start(t, antiphontest.Config{Config: config, Data: folder})
	proxy := newProxy(t, first.Address)
	client := through(t, proxy)
	var seen []string
	stopping := func(_ context.Context, decision *antiphon.Decision) (antiphon.Action, error) {
		seen = append(seen, decision.Exchange.Text)
		if len(seen) > 1 {
			return antiphon.Stop{}, nil
		}
		if err := first.Stop(); err != nil {
			t.Error(err)
		}
		return more("one"), nil
	}
	start := must(client.Capture(t.Context(), text("zero")))(t)
	_, err := client.Coordinate(t.Context(), start, 1, stopping, antiphon.CoordinationID(name))
	refused(t, err, codes.Unavailable, "DRAINING")
	proxy.point(antiphontest.Start(t, antiphontest.Config{Config: config, Data: folder}).Address)
	equal(t, must(client.Attach(t.Context(), name, stopping))(t).State, antiphon.Stopped)
	// The first decision was answered with what the callback had said.
	equal(t, seen, []string{"zero", "one"})
	_ = client.Close()
}

// S4-68, S4-71: whatever is at work then.
func TestAContextThatEndsEndsTheCoordination(t *testing.T) {
	client := dial(t, shared)
	start := must(client.Capture(t.Context(), text("zero")))(t)
	why := errors.New("the review was called off")
	for _, where := range []string{"callback", "turn", "tool"} {
		t.Run(where, func(t *testing.T) {
			name := fresh()
			ctx, cancel := context.WithCancelCause(t.Context())
			callback := func(ctx context.Context, _ *antiphon.Decision) (antiphon.Action, error) {
				if where == "callback" {
					cancel(why)
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return more(map[string]string{"turn": "slow", "tool": "the forecast"}[where]), nil
			}
			hear := func(context.Context, antiphon.Delta) error {
				if where == "turn" {
					cancel(why)
				}
				return nil
			}
			slow := func(ctx context.Context, _ city) (string, error) {
				cancel(why)
				<-ctx.Done()
				return "", ctx.Err()
			}
			tools := antiphon.WithTools(antiphon.NewTool("weather", "", slow), antiphon.NewTool("tide", "", slow))
			_, err := client.Coordinate(ctx, start, 1, callback, antiphon.WithDeltas(hear), tools, antiphon.CoordinationID(name))
			refused(t, err, codes.Canceled, "")
			if !errors.Is(err, why) {
				t.Fatalf("it gave %v, which does not have the context's cause", err)
			}
			equal(t, coordinationState(t, client, name), "cancelled")
		})
	}
}

func TestACancellationIsToldOverAnotherConnectionWhenTheStreamIsCut(t *testing.T) {
	proxy := newProxy(t, shared.Address)
	client, name := through(t, proxy), fresh()
	start := must(client.Capture(t.Context(), text("zero")))(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := client.Coordinate(ctx, start, 1, func(context.Context, *antiphon.Decision) (antiphon.Action, error) {
		proxy.cut()
		cancel()
		return antiphon.Stop{}, nil
	}, antiphon.CoordinationID(name))
	refused(t, err, codes.Canceled, "")
	equal(t, coordinationState(t, client, name), "cancelled")
}

func TestNothingIsStartedForACallerThatHasGone(t *testing.T) {
	client, name := dial(t, shared), fresh()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := client.Chain(ctx, text("zero"), nil, antiphon.CoordinationID(name))
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("it gave %v", err)
	}
	_, err = client.Coordination(t.Context(), name)
	refused(t, err, codes.NotFound, "COORDINATION_NOT_FOUND")
}

func TestADeadlineIsTheWholeCallsAndEndsItsRun(t *testing.T) {
	client, name := dial(t, shared), fresh()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := client.Capture(ctx, antiphon.Request{Text: "hold", ProfileID: "narrow", RunID: name})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("it gave %v", err)
	}
	equal(t, status.Code(err), codes.DeadlineExceeded)
	limit := time.Now().Add(10 * time.Second)
	for state := runState(t, client, name); state() != "cancelled" && state() != "failed"; {
		if time.Now().After(limit) {
			t.Fatalf("the run is still %s", state())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestACancelledCallEndsItsRun(t *testing.T) {
	client, name := dial(t, shared), fresh()
	ctx, cancel := context.WithCancel(t.Context())
	hear := func(context.Context, antiphon.Delta) error {
		cancel()
		return nil
	}
	_, err := client.Capture(ctx, antiphon.Request{Text: "slow", RunID: name}, antiphon.WithDeltas(hear))
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("it gave %v", err)
	}
	until(t, runState(t, client, name), "cancelled")
}

func TestAStreamThatBreaksIsJoinedAgainWithoutSayingAnythingTwice(t *testing.T) {
	proxy := newProxy(t, shared.Address)
	client := through(t, proxy)
	response := must(client.Stream(antiphon.Request{Text: "slow", OnDisconnect: "finish"}))(t)
	var pieces []string
	for delta, err := range response.Deltas(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if pieces = append(pieces, delta.Text); len(pieces) == 2 {
			proxy.cut()
		}
	}
	exchange := must(response.Result(t.Context()))(t)
	equal(t, strings.Join(pieces, ""), exchange.Text)
	equal(t, exchange.Text, "It took a while, and there is much to tell.")
	// The model was called once.
	equal(t, must(client.Run(t.Context(), response.RunID()))(t).ModelCalls, 1)
}

func TestACallWhoseConnectionBreaksIsMadeAgainUnderItsID(t *testing.T) {
	proxy := newProxy(t, shared.Address)
	client, direct, name := through(t, proxy), dial(t, shared), fresh()
	type made struct {
		exchange *antiphon.Exchange
		err      error
	}
	asked := make(chan made, 1)
	go func() {
		exchange, err := client.Capture(t.Context(), antiphon.Request{Text: "hold", ProfileID: "narrow", RunID: name})
		asked <- made{exchange, err}
	}()
	until(t, runState(t, direct, name), "running")
	proxy.cut()
	found := <-asked
	equal(t, must(found.exchange, found.err)(t).RunID, name)
	equal(t, found.exchange.Text, "held")
}

func TestACutWhileTheModelThinksAsksItOnce(t *testing.T) {
	proxy := newProxy(t, shared.Address)
	asked, callback := 0, says(antiphon.Stop{})
	thinks := func(context.Context, *antiphon.Generation) (antiphon.Generated, error) {
		asked++
		proxy.cut()
		return antiphon.Generated{Text: "still here"}, nil
	}
	request := antiphon.Request{Text: "zero", ProfileID: "mine"}
	must(through(t, proxy).Coordinate(t.Context(), request, 0, callback.next, antiphon.WithGenerate(thinks)))(t)
	equal(t, callback.texts(), []string{"still here"})
	equal(t, asked, 1)
}
