package antiphon_test

// Results in the words of the scenarios, and whether what is expected is a part of them. Knows nothing of how they came about.

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"

	"antiphon"
)

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
		made := object{
			"id": found.CoordinationID, "state": found.State, "exchange_id": found.ExchangeID, "turns_started": found.TurnsStarted,
			"turns_remaining": found.TurnsRemaining, "token_limit": found.TokenLimit, "cost_limit": nil,
			"spent": object{"tokens": found.Spent.Tokens, "costs": found.Spent.Costs},
		}
		if found.CostLimit != "" {
			made["cost_limit"] = found.CostLimit
		}
		return made
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
	return looked(found)
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

// failure is an error in the words of the scenarios.
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
