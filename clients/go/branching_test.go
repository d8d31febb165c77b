package antiphon_test

// What docs/continuing-and-branching.md shows, and that it is so: every piece of Go in it stands here, line by line.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"antiphon"
)

func branching(ctx context.Context) error {
	client, err := antiphon.Dial(shared.Address)
	if err != nil {
		return err
	}
	defer client.Close()
	first, err := client.Capture(ctx, antiphon.Text("Name a city by the sea."))
	if err != nil {
		return err
	}

	second, err := client.Reply(ctx, first, antiphon.Text("What is it known for?"))
	if err != nil {
		return err
	}
	other, err := client.Reply(ctx, first, antiphon.Request{Text: "What is it known for?", Model: "a-larger-model"})
	if err != nil {
		return err
	}

	byShip, err := client.Fork(ctx, second, antiphon.Text("How do I get there by ship?"), antiphon.OnThread(antiphon.NewThread{Name: "by ship"}))
	if err != nil {
		return err
	}
	byTrain, err := client.ForkConversation(ctx, second, antiphon.OnThread(antiphon.NewThread{Name: "by train"}))
	if err != nil {
		return err
	}
	if _, err = byTrain.Prompt(ctx, antiphon.Text("How do I get there by train?")); err != nil {
		return err
	}

	type place struct {
		City string `json:"city"`
	}
	getWeather := antiphon.NewTool("get_weather", "The weather in a city.",
		func(ctx context.Context, in place) (string, error) { return "22 degrees and clear in " + in.City, nil })
	weather, err := client.Chain(ctx, antiphon.Text("What is the weather there?"), []*antiphon.Tool{getWeather}, antiphon.After(second))
	if err != nil {
		return err
	}

	talk, err := client.Conversation(ctx, antiphon.NewThread{ThreadID: "trip"}, antiphon.WithTools(getWeather))
	if err != nil {
		return err
	}
	if _, err = talk.Prompt(ctx, antiphon.Text("Name a city by the sea.")); err != nil {
		return err
	}
	answer, err := talk.Chain(ctx, antiphon.Text("What is the weather there?"))
	if err != nil {
		return err
	}

	if _, err = talk.Workspace().Write(ctx, "plan", []byte("By ship.\n")); err != nil {
		return err
	}
	again, err := talk.Prompt(ctx, antiphon.Text("And by train?"))
	if err != nil {
		return err
	}
	if _, err = talk.Workspace().Write(ctx, "plan", []byte("By train.\n")); err != nil {
		return err
	}
	if _, err = talk.Restore(ctx, answer); err != nil {
		return err
	}
	plan, err := talk.Workspace().Read(ctx, "plan") // By ship.
	if err != nil {
		return err
	}
	for move, err := range talk.Moves(ctx) {
		if err != nil {
			return err
		}
		if _, err = talk.Restore(ctx, antiphon.ExchangeID(move.FromExchangeID)); err != nil {
			return err
		}
		break
	}
	back, err := talk.Workspace().Read(ctx, "plan")
	if err != nil {
		return err
	}
	fmt.Println(second.Turn, other.Model(), byShip.Turn, byTrain.ThreadID != "", weather.Turn, again.Turn)
	fmt.Print(string(plan.Data), string(back.Data))
	return nil
}

// S0-42.
func Example_continuingAndBranching() {
	if err := branching(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 2 a-larger-model 3 true 3 3
	// By ship.
	// By train.
}

func TestWhatThePageOnContinuingAndBranchingShowsStandsHere(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "continuing-and-branching.md"))
	if err != nil {
		t.Fatal(err)
	}
	stands(t, string(page), "branching_test.go", 6)
}
