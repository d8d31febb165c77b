package antiphon_test

// Steps of scenarios that change nothing and read more than one thing, and their results. Knows nothing of loops.

import (
	"context"
	"encoding/json"
	"fmt"

	"antiphon"
)

func (p *player) look(ctx context.Context, verb string, said object) (any, error) {
	c := p.client
	switch verb {
	case "ancestors":
		return all(c.Ancestors(ctx, source(said["of"])))
	case "children":
		return all(c.Children(ctx, source(said["of"])))
	case "common_ancestor":
		return c.CommonAncestor(ctx, sources(said)...)
	case "search":
		return all(c.Search(ctx, antiphon.SearchQuery{Text: word(said, "text"), Labels: labels(said)}))
	case "diff":
		return c.Diff(ctx, source(said["left"]), source(said["right"]))
	case "usage":
		query := antiphon.UsageQuery{Labels: labels(said)}
		for _, one := range sources(said) {
			query.Scopes = append(query.Scopes, one.(antiphon.Scope))
		}
		return c.Usage(ctx, query)
	case "explain":
		if said["exchange"] != nil {
			return c.ExplainExchange(ctx, source(said["exchange"]))
		}
		return c.Explain(ctx, p.request(said), after(said)...)
	case "prepare":
		return c.Prepare(ctx, p.request(said), append(after(said), antiphon.Keep(said["capture"] == true))...)
	case "execute":
		return c.Execute(ctx, said["prepared"].(*antiphon.Prepared))
	case "call_tools":
		return c.CallTools(ctx, source(said["of"]))
	case "tool_occurrences":
		return all(c.ToolOccurrences(ctx, word(said, "name"), antiphon.ToolQuery{Kind: word(said, "kind")}))
	case "tool_drifts":
		return all(c.ToolDrifts(ctx, source(said["of"]).(antiphon.Scope), ""))
	case "prompts":
		return all(c.Prompts(ctx))
	case "profiles":
		return all(c.Profiles(ctx))
	case "backends":
		return all(c.Backends(ctx))
	}
	return nil, fmt.Errorf("there is no step %q", verb)
}

func sources(said object) []antiphon.Source {
	list, _ := said["of"].([]any)
	var made []antiphon.Source
	for _, one := range list {
		made = append(made, source(one))
	}
	return made
}

// looked is what was found in the words of the scenarios.
func looked(found any) any {
	switch found := found.(type) {
	case *antiphon.Node:
		return object{"exchange_id": found.ExchangeID, "turn": found.Turn, "user": found.User, "assistant": found.Assistant}
	case *antiphon.Hit:
		return object{"exchange_id": found.Exchange.ExchangeID, "run_id": found.RunID}
	case *antiphon.Difference:
		return difference(found)
	case *antiphon.UsageSum:
		return object{"run_count": found.RunCount, "input_tokens": found.Usage.InputTokens, "output_tokens": found.Usage.OutputTokens}
	case *antiphon.Explanation:
		settings := object{}
		for name, setting := range found.Settings {
			settings[name] = setting.Value
		}
		return object{"messages": transcript(found.Messages), "settings": settings, "tools": names(found.Tools), "matches": found.Matches}
	case *antiphon.Prepared:
		return object{"run_id": found.RunID, "messages": transcript(found.Explanation.Messages)}
	case *antiphon.CallTools:
		drifts := []string{}
		for _, drift := range found.Drifts {
			drifts = append(drifts, drift.Name)
		}
		called := append([]string{}, found.Called...)
		return object{"offered": names(found.Offered), "standing": names(found.Standing), "called": called, "drifts": drifts}
	case antiphon.ToolOccurrence:
		return object{"exchange_id": found.ExchangeID, "offered": found.Offered}
	case antiphon.Drift:
		return object{"name": found.Name, "previous_exchange_id": found.PreviousExchangeID, "exchange_id": found.ExchangeID}
	case *antiphon.ConfiguredPrompt:
		return object{"id": found.PromptID, "description": found.Description, "variables": found.Variables, "required": found.Required}
	case *antiphon.ConfiguredProfile:
		return object{"id": found.ProfileID, "backend": found.BackendID, "model": found.Model, "default": found.IsDefault}
	case *antiphon.ConfiguredBackend:
		return object{"id": found.BackendID, "kind": found.Kind, "capacity": found.Capacity}
	}
	return kept(found)
}

func difference(found *antiphon.Difference) object {
	said, settings, tools, documents := []any{}, object{}, object{}, object{}
	for _, change := range found.Messages {
		one := object{"kind": change.Kind}
		if change.Left != nil {
			one["left"] = change.Left.Text
		}
		if change.Right != nil {
			one["right"] = change.Right.Text
		}
		said = append(said, one)
	}
	value := func(side *json.RawMessage) any {
		if side == nil {
			return nil
		}
		return *side
	}
	for _, change := range found.Settings {
		settings[change.Name] = object{"kind": change.Kind, "left": value(change.Left), "right": value(change.Right)}
	}
	for _, change := range found.Tools {
		tools[change.Name] = object{"kind": change.Kind}
	}
	for _, change := range found.Documents {
		documents[change.Name] = object{"kind": change.Kind}
	}
	return object{
		"common_ancestor_exchange_id": found.CommonAncestorExchangeID, "left_count": found.LeftCount, "right_count": found.RightCount,
		"messages": said, "settings": settings, "tools": tools, "documents": documents,
	}
}
