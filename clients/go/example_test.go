package antiphon_test

// What the README shows, and that it runs: every piece of Go in it stands here, line by line.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"antiphon"
	"antiphon/antiphontest"
)

// run runs an example against the server of the tests.
func run(example func(context.Context, *antiphon.Client) error) {
	client, err := antiphon.Dial(shared.Address)
	if err == nil {
		defer client.Close()
		err = example(context.Background(), client)
	}
	if err != nil {
		fmt.Println(err)
	}
}

func loop(ctx context.Context) error {
	client, err := antiphon.Dial(shared.Address)
	if err != nil {
		return err
	}
	defer client.Close()
	start, err := client.Capture(ctx, antiphon.Text("Draft a notice about the new opening hours."))
	if err != nil {
		return err
	}

	nextAction := func(ctx context.Context, decision *antiphon.Decision) (antiphon.Action, error) {
		fmt.Println(decision.TurnsRemaining, decision.Exchange.Text)
		if strings.Contains(decision.Exchange.Text, "Sunday") {
			return antiphon.Stop{}, nil
		}
		return antiphon.Continue{Input: antiphon.Text("Mention Sundays, too.")}, nil
	}

	outcome, err := client.Coordinate(ctx, start, 3, nextAction)
	if err != nil {
		return err
	}
	fmt.Println(outcome.State) // Stopped or Exhausted: neither is an error
	return nil
}

func ExampleClient_Coordinate() {
	if err := loop(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 3 Draft a notice about the new opening hours.
	// 2 Mention Sundays, too.
	// stopped
}

func ExampleClient_Attach() {
	run(func(ctx context.Context, client *antiphon.Client) error {
		coordinationID, nextAction := fresh(), says(antiphon.Suspend{}, antiphon.Stop{}).next
		_, err := client.Coordinate(ctx, antiphon.Text("zero"), 3, nextAction, antiphon.CoordinationID(coordinationID))
		if err != nil {
			return err
		}
		outcome, err := client.Attach(ctx, coordinationID, nextAction)
		if err != nil {
			return err
		}
		fmt.Println(outcome.State)
		return nil
	})
	// Output: stopped
}

func ExampleWithGenerate() {
	run(func(ctx context.Context, client *antiphon.Client) error {
		generate := func(ctx context.Context, generation *antiphon.Generation) (antiphon.Generated, error) {
			question := generation.Messages[len(generation.Messages)-1].Text // and .Model, .Tools, .Parameters, .Schema ...
			return antiphon.Generated{Text: strings.ToUpper(question), StopReason: "stop"}, nil
		}

		request := antiphon.Request{Text: "Hello", ProfileID: "mine"}
		answer, err := client.Chain(ctx, request, nil, antiphon.WithGenerate(generate))
		if err != nil {
			return err
		}
		fmt.Println(answer.Text)
		return nil
	})
	// Output: HELLO
}

func ExampleNewTool() {
	run(func(ctx context.Context, client *antiphon.Client) error {
		type place struct {
			City string `json:"city" description:"The name of a city"`
		}
		getWeather := antiphon.NewTool("get_weather", "The weather in a city.",
			func(ctx context.Context, in place) (string, error) { return "22 degrees and clear", nil })

		answer, err := client.Chain(ctx, antiphon.Text("What is the weather in Lisbon?"), []*antiphon.Tool{getWeather})
		if err != nil {
			return err
		}
		fmt.Println(answer.Text)
		return nil
	})
	// Output: What is the weather in Lisbon?
}

func ExampleClient_Reply() {
	run(func(ctx context.Context, client *antiphon.Client) error {
		getWeather := both()[0]
		// nothing is kept but the run's state and usage
		answer, err := client.Prompt(ctx, antiphon.Request{Text: "Hello", System: "Be brief."})
		if err != nil {
			return err
		}
		// what was said is remembered here
		if answer, err = client.Reply(ctx, answer, antiphon.Text("And goodbye?")); err != nil {
			return err
		}
		// now all of it is on record, once
		kept, err := client.Reply(ctx, answer, antiphon.Text("In French?"), antiphon.Keep(true))
		if err != nil {
			return err
		}

		// a thread, whose head moves, and a reply, which moves nothing
		thread := antiphon.NewThread{ThreadID: "greetings"}
		if _, err = client.Capture(ctx, antiphon.Text("Hello"), antiphon.OnThread(thread)); err != nil {
			return err
		}
		second, err := client.Continue(ctx, antiphon.ThreadPoint{ThreadID: "greetings"}, antiphon.Text("And goodbye?"))
		if err != nil {
			return err
		}
		shorter, err := client.Reply(ctx, second, antiphon.Request{Text: "Shorter.", Tools: antiphon.NoTools})
		if err != nil {
			return err
		}

		// a thread of its own, with a first turn; or a conversation to go on with
		branch, err := client.Fork(ctx, shorter, antiphon.Text("In Welsh?"), antiphon.OnThread(antiphon.NewThread{Name: "a try"}))
		if err != nil {
			return err
		}
		other, err := client.ForkConversation(ctx, antiphon.ThreadTurn{ThreadID: "greetings", AfterTurn: antiphon.Ptr(uint64(1))})
		if err != nil {
			return err
		}
		breton, err := other.Prompt(ctx, antiphon.Text("And in Breton?"))
		if err != nil {
			return err
		}
		// leaves nothing behind; RecordProbe keeps it
		aside, err := client.ForkOnce(ctx, shorter, antiphon.Text("Which language was that?"))
		if err != nil {
			return err
		}

		// a new thread; its tools stand, and Chain runs them
		talk, err := client.Conversation(ctx, antiphon.NewThread{}, antiphon.WithTools(getWeather))
		if err != nil {
			return err
		}
		weather, err := talk.Chain(ctx, antiphon.Text("What is the weather in Lisbon?"))
		if err != nil {
			return err
		}
		fmt.Println(kept.Turn, branch.Turn, breton.Turn, aside.Text, weather.Turn)
		return nil
	})
	// Output: 3 4 2 Which language was that? 1
}

func ExampleClient_Workspace() {
	run(func(ctx context.Context, client *antiphon.Client) error {
		hello, second, err := greeted(ctx, client)
		if err != nil {
			return err
		}
		docs := client.Workspace("greetings") // of a conversation: talk.Workspace()
		written, err := docs.Write(ctx, "plan", []byte("By ship.\n"), antiphon.MediaType("text/plain"))
		if err != nil {
			return err
		}
		// refused, ETAG_MISMATCH, where others wrote meanwhile
		if _, err = docs.Write(ctx, "plan", []byte("By train.\n"), antiphon.Etag(written.Version.Etag)); err != nil {
			return err
		}
		plan, err := docs.Read(ctx, "plan")
		if err != nil {
			return err
		}
		fmt.Print(string(plan.Data))
		// from what was there after a turn to what is live; client.Documents(exchange) is as of an exchange
		for change, err := range docs.AfterTurn(1).Diff(ctx, docs, antiphon.DocumentQuery{Unified: true}) {
			if err != nil {
				return err
			}
			fmt.Println(change.Kind, change.Name)
		}

		// goes back, documents included; the next turn goes on from there
		thread, err := client.Restore(ctx, "greetings", hello)
		if err != nil {
			return err
		}
		// nothing is lost: the newest move comes first, and the way back is a restore, too
		for move, err := range client.Moves(ctx, "greetings") {
			if err != nil {
				return err
			}
			fmt.Println(move.FromExchangeID == second.ExchangeID, move.ToExchangeID == thread.HeadExchangeID)
			break
		}
		return nil
	})
	// Output:
	// By train.
	// added plan
	// true true
}

// greeted is a thread of two turns, anew, with both exchanges.
func greeted(ctx context.Context, client *antiphon.Client) (*antiphon.Exchange, *antiphon.Exchange, error) {
	var there *antiphon.Error
	if err := client.DeleteThread(ctx, "greetings", ""); err != nil && (!errors.As(err, &there) || there.Reason != "THREAD_NOT_FOUND") {
		return nil, nil, err
	}
	hello, err := client.Capture(ctx, antiphon.Text("Hello"), antiphon.OnThread(antiphon.NewThread{ThreadID: "greetings"}))
	if err != nil {
		return nil, nil, err
	}
	second, err := client.Continue(ctx, antiphon.ThreadPoint{ThreadID: "greetings"}, antiphon.Text("And goodbye?"))
	return hello, second, err
}

func ExampleClient_Stream() {
	run(func(ctx context.Context, client *antiphon.Client) error {
		response, err := client.Stream(antiphon.Text("Tell me a story.")) // or with After(exchange)
		if err != nil {
			return err
		}
		for delta, err := range response.Deltas(ctx) {
			if err != nil {
				return err
			}
			fmt.Print(delta.Text)
		}
		story, err := response.Result(ctx)
		if err != nil {
			return err
		}
		fmt.Println("", story.StopReason)
		return nil
	})
	// Output: Tell me a story. stop
}

func TestGreeting(t *testing.T) {
	server := antiphontest.Start(t, antiphontest.Config{}) // ANTIPHON_BINARY, else antiphon on the PATH
	client, err := antiphon.Dial(server.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	hello, err := client.Capture(t.Context(), antiphon.Text("Hello"))
	if err != nil || hello.Text == "" {
		t.Fatal(hello, err)
	}
}

func TestWhatTheReadmeShowsStandsHere(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	stands(t, string(readme), "example_test.go", 8)
}

// stands tells whether every piece of Go of a page is in a file.
func stands(t *testing.T, page, file string, wanted int) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pieces := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1)
	equal(t, len(pieces), wanted)
	here := unindented(string(source))
	for _, piece := range pieces {
		said := unindented(strings.ReplaceAll(piece[1], `"127.0.0.1:7373"`, "shared.Address"))
		if !strings.Contains(here, said) {
			t.Errorf("no example has this:\n%s", piece[1])
		}
	}
}

// unindented is lines without what is before and after them.
func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}
