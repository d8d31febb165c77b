package antiphon_test

// What scenarios say, as the client takes it. Knows nothing of steps.

import (
	"context"
	"encoding/json"

	"antiphon"
)

func (p *player) request(said object) antiphon.Request {
	given := said["request"].(object)
	made := antiphon.Request{
		Text: word(given, "text"), System: word(given, "system"), PromptID: word(given, "prompt"), ProfileID: word(given, "profile"),
		Model: word(given, "model"), ToolChoice: word(given, "tool_choice"), RunID: word(given, "run_id"), Labels: labels(given),
		OnToolDrift: word(given, "on_tool_drift"), Messages: messages(given["messages"]),
	}
	if repair, ok := given["repair"].(int); ok {
		made.Repair = antiphon.Ptr(uint32(repair))
	}
	if view, ok := given["history_view"].(object); ok {
		last, _ := view["last_turns"].(int)
		budget, _ := view["token_budget"].(int)
		made.HistoryView = antiphon.HistoryView{LastTurns: uint32(last), FromExchange: word(view, "from_exchange"), TokenBudget: uint64(budget)}
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
	if limit, ok := said["token_limit"].(int); ok {
		options = append(options, antiphon.TokenLimit(uint64(limit)))
	}
	if limit := word(said, "cost_limit"); limit != "" {
		options = append(options, antiphon.CostLimit(limit))
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

// heard is what was told of an answer, and how often it began anew.
type heard struct {
	text string
	anew int
}

func (p *player) hears(said object) []antiphon.Option {
	if said["deltas"] != true {
		return nil
	}
	told := &heard{}
	p.heard = told
	return []antiphon.Option{antiphon.WithDeltas(func(_ context.Context, delta antiphon.Delta) error {
		if delta.Kind == "attempt" {
			*told = heard{anew: told.anew + 1}
		}
		told.text += delta.Text
		return nil
	})}
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
