package antiphon_test

// The graph, what is on record of tools, what is configured, and what would be sent.

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"antiphon"
	"antiphon/antiphontest"
)

const configured = `
prompts_dir = "prompts"
contracts_dir = "contracts"
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"
parameters = { temperature = 0.5 }

[backends.script]
kind = "scripted"
capacity = 3

[[backends.script.rules]]
text = "{last_user}"
usage = { input_tokens = 10, output_tokens = 5 }
`

var configuredFiles = map[string]string{
	"prompts/greet.prompt": "---\ndescription: Greets\nvariables:\n  - { name: name }\n  - { name: tone, default: kind }\n---\n" +
		"I am {{ name }}, {{ tone }}.",
	"contracts/verdict.json": `{"description": "Yes or no", "type": "object"}`,
}

func collect[T any](items iter.Seq2[T, error]) func(testing.TB) []T {
	var made []T
	var failed error
	for item, err := range items {
		if failed = err; err == nil {
			made = append(made, item)
		}
	}
	return must(made, failed)
}

func nodes(found []*antiphon.Node) []string {
	var made []string
	for _, node := range found {
		made = append(made, node.ExchangeID)
	}
	return made
}

func TestTheGraphIsWalkedComparedAndDrawn(t *testing.T) {
	ctx, client, trunk := t.Context(), dial(t, shared), fresh()
	weather := antiphon.NewTool("weather", "", func(context.Context, struct{}) (string, error) { return "fine", nil })
	root := must(client.Capture(ctx, text("one"), antiphon.OnThread(antiphon.NewThread{ThreadID: trunk})))(t)
	left := must(client.Continue(ctx, antiphon.ThreadPoint{ThreadID: trunk}, text("left")))(t)
	right := must(client.Reply(ctx, root, antiphon.Request{Text: "right", Model: "canned-2"}))(t)
	deeper := must(client.Reply(ctx, right, antiphon.Request{Text: "deeper", Tools: []*antiphon.Tool{weather}}))(t)

	above := collect(client.Ancestors(ctx, deeper))(t)
	equal(t, nodes(above), []string{right.ExchangeID, root.ExchangeID})
	equal(t, []string{above[0].User, above[0].Assistant, above[0].Model}, []string{"right", "right", "canned-2"})
	equal(t, nodes(collect(client.Children(ctx, root))(t)), []string{left.ExchangeID, right.ExchangeID})
	common := must(client.CommonAncestor(ctx, left, antiphon.ExchangeID(deeper.ExchangeID)))(t)
	equal(t, common.ExchangeID, root.ExchangeID)
	equal(t, common.ChildCount, 2)
	alone := must(client.Capture(ctx, text("alone")))(t)
	equal(t, must(client.CommonAncestor(ctx, left, alone))(t) == nil, true)

	found := must(client.Diff(ctx, left, deeper))(t)
	equal(t, found.CommonAncestorExchangeID, root.ExchangeID)
	equal(t, []uint64{found.LeftCount, found.RightCount}, []uint64{1, 2})
	equal(t, len(found.Messages), 4)
	equal(t, []string{found.Messages[0].Kind, found.Messages[0].Left.Text, found.Messages[0].Right.Text}, []string{"changed", "left", "right"})
	equal(t, found.Messages[2].Left == nil && found.Messages[2].Right.Text == "deeper", true)
	for _, setting := range found.Settings {
		if setting.Name == "model" {
			equal(t, string(*setting.Left)+string(*setting.Right), `"canned-1""canned-2"`)
		}
	}
	equal(t, found.Tools[0].Name+" "+found.Tools[0].Kind, "weather added")
	equal(t, found.Tools[0].Left == nil && found.Tools[0].Right.Name == "weather", true)

	tree := must(client.Graph(ctx, antiphon.ThreadTree(trunk), antiphon.Drawing{Form: "mermaid", Previews: true}))(t)
	path := must(client.Graph(ctx, antiphon.ThreadPath(trunk), antiphon.Drawing{Previews: true}))(t)
	equal(t, []bool{strings.Contains(tree, "deeper"), strings.Contains(path, "left"), strings.Contains(path, "deeper")}, []bool{true, true, false})
	part := antiphon.Subtree{Exchange: antiphon.ExchangeID(right.ExchangeID), MaxSteps: antiphon.Ptr(uint64(1))}
	dot := must(client.Graph(ctx, part, antiphon.Drawing{Form: "dot", Detail: "exchanges"}))(t)
	equal(t, strings.Contains(dot, "digraph"), true)
}

func TestWhatIsOnRecordIsFound(t *testing.T) {
	ctx, client := t.Context(), dial(t, shared)
	label := map[string]string{"story": fresh()}
	root := must(client.Capture(ctx, antiphon.Request{Text: "A needle in the hay", Labels: label}))(t)
	hay := must(client.Reply(ctx, root, antiphon.Request{Text: "hay", Labels: label}))(t)
	part := antiphon.Subtree{Exchange: antiphon.ExchangeID(root.ExchangeID)}
	hits := collect(client.Search(ctx, antiphon.SearchQuery{Text: "NEEDLE", Scope: part}))(t)
	equal(t, len(hits), 1)
	equal(t, []string{hits[0].RunID, hits[0].RunState, hits[0].Exchange.Labels["story"]}, []string{root.RunID, "completed", label["story"]})
	equal(t, strings.Contains(hits[0].Snippet, "needle"), true)
	all := collect(client.Search(ctx, antiphon.SearchQuery{Labels: label, States: []string{"completed"}}))(t)
	equal(t, []string{all[0].RunID, all[1].RunID}, []string{hay.RunID, root.RunID})
	hour := time.Now().Add(-time.Hour)
	equal(t, len(collect(client.Search(ctx, antiphon.SearchQuery{Labels: label, Before: hour}))(t)), 0)
	equal(t, len(collect(client.Search(ctx, antiphon.SearchQuery{Labels: label, Since: hour, RootsOnly: true}))(t)), 1)
}

func TestSharedWorkIsCountedOnce(t *testing.T) {
	ctx, client := t.Context(), dial(t, antiphontest.Start(t, antiphontest.Config{Config: configured, Files: configuredFiles}))
	labels := map[string]string{"story": "usage"}
	root := must(client.Capture(ctx, antiphon.Request{Text: "one", Labels: labels}))(t)
	left := must(client.Reply(ctx, root, antiphon.Request{Text: "left", Labels: labels}))(t)
	right := must(client.Reply(ctx, root, antiphon.Request{Text: "right", Labels: labels}))(t)
	path := must(client.Usage(ctx, antiphon.UsageQuery{Scopes: []antiphon.Scope{left}}))(t)
	equal(t, []uint64{path.RunCount, *path.Usage.InputTokens, *path.Usage.OutputTokens}, []uint64{2, 20, 10})
	both := must(client.Usage(ctx, antiphon.UsageQuery{Scopes: []antiphon.Scope{left, right}}))(t)
	equal(t, []uint64{both.RunCount, *both.Usage.InputTokens}, []uint64{3, 30})
	equal(t, *must(client.Usage(ctx, antiphon.UsageQuery{Labels: labels}))(t).Usage.InputTokens, 30)
	equal(t, must(client.Usage(ctx, antiphon.UsageQuery{RunIDs: []string{root.RunID, left.RunID}}))(t).RunCount, 2)
	equal(t, []string{both.Models[0].BackendID, both.Models[0].Model}, []string{"script", "canned-1"})
	equal(t, both.Models[0].Calls, 3)
}

func TestWhichToolsCallsHadIsOnRecord(t *testing.T) {
	ctx, client, name := t.Context(), dial(t, shared), "t"+fresh()[5:12]
	before := antiphon.NewTool(name, "", func(_ context.Context, in struct {
		City string `json:"city"`
	}) (string, error) {
		return in.City, nil
	})
	after := antiphon.NewTool(name, "", func(_ context.Context, in struct {
		Place string `json:"place"`
	}) (string, error) {
		return in.Place, nil
	})
	first := must(client.Capture(ctx, antiphon.Request{Text: "one", Tools: []*antiphon.Tool{before}, ToolChoice: "none"}))(t)
	found := must(client.CallTools(ctx, first))(t)
	equal(t, []string{found.Offered[0].Name, found.Standing[0].Name, found.ToolChoice}, []string{name, name, "none"})
	equal(t, len(found.Called)+len(found.Drifts), 0)
	second := must(client.Reply(ctx, first, antiphon.Request{Text: "two", Tools: []*antiphon.Tool{after}}))(t)
	occurrences := collect(client.ToolOccurrences(ctx, name, antiphon.ToolQuery{}))(t)
	equal(t, []string{occurrences[0].ExchangeID, occurrences[1].ExchangeID}, []string{second.ExchangeID, first.ExchangeID})
	query := antiphon.ToolQuery{Kind: "offered", SchemaHash: first.Tools[0].SchemaHash, Scope: second}
	only := collect(client.ToolOccurrences(ctx, name, query))(t)
	equal(t, len(only) == 1 && only[0].RunID == first.RunID && only[0].Offered, true)
	drifts := collect(client.ToolDrifts(ctx, second, name))(t)
	equal(t, []string{drifts[0].Name, drifts[0].PreviousExchangeID, drifts[0].ExchangeID}, []string{name, first.ExchangeID, second.ExchangeID})
	equal(t, strings.Contains(string(drifts[0].Previous.Schema), "city") && strings.Contains(string(drifts[0].Current.Schema), "place"), true)
	equal(t, must(client.CallTools(ctx, second))(t).Drifts[0].Name, name)
}

func TestWhatIsConfiguredCanBeRead(t *testing.T) {
	ctx, client := t.Context(), dial(t, antiphontest.Start(t, antiphontest.Config{Config: configured, Files: configuredFiles}))
	listed := collect(client.Prompts(ctx))(t)[0]
	equal(t, []string{listed.PromptID, listed.Description, listed.Template}, []string{"greet", "Greets", ""})
	equal(t, [][]string{listed.Variables, listed.Required}, [][]string{{"name", "tone"}, {"name"}})
	equal(t, strings.Contains(must(client.InspectPrompt(ctx, "greet"))(t).Template, "{{ name }}"), true)
	profile := collect(client.Profiles(ctx))(t)[0]
	equal(t, []string{profile.ProfileID, profile.BackendID, profile.Model}, []string{"canned", "script", "canned-1"})
	equal(t, must(client.InspectProfile(ctx, "canned"))(t).IsDefault && *profile.Parameters.Temperature == 0.5, true)
	backend := collect(client.Backends(ctx))(t)[0]
	equal(t, []string{backend.BackendID, backend.Kind}, []string{"script", "scripted"})
	equal(t, must(client.InspectBackend(ctx, "script"))(t).Capacity, 3)
	for _, contract := range collect(client.Contracts(ctx))(t) {
		equal(t, contract.Schema == nil, true)
	}
	equal(t, must(client.InspectContract(ctx, "verdict"))(t).Schema == nil, false)
	_, err := client.InspectPrompt(ctx, "nothing")
	var failed *antiphon.Error
	if failed = refused(t, err, codes.NotFound, antiphon.ReasonOf(err)); failed.Reason == "" {
		t.Fatal(failed)
	}
}

func TestWhatWouldBeSentIsShownBeforeAnybodyIsAsked(t *testing.T) {
	ctx, client := t.Context(), dial(t, shared)
	start := must(client.Capture(ctx, antiphon.Request{Text: "one", System: "Be brief."}))(t)
	two := antiphon.Request{Text: "two", Parameters: antiphon.Parameters{Temperature: antiphon.Ptr(0.5)}}
	shown := must(client.Explain(ctx, two, antiphon.After(start)))(t)
	equal(t, len(shown.Messages), 4)
	equal(t, string(shown.Settings["model"].Value)+shown.Settings["model"].Source, `"canned-1"profile`)
	equal(t, string(shown.Settings["parameters.temperature"].Value)+shown.Settings["parameters.temperature"].Source, "0.5request")
	equal(t, shown.Matches == nil && strings.Contains(shown.BodyJSON, "two"), true)
	equal(t, len(collect(client.Children(ctx, start))(t)), 0)
	sent := must(client.ExplainExchange(ctx, start))(t)
	equal(t, *sent.Matches && sent.Difference == "", true)
	_, err := client.Explain(ctx, antiphon.Results{})
	refused(t, err, codes.InvalidArgument, "")
}

func TestWhatWasPreparedIsExecutedOnceAsItWasShown(t *testing.T) {
	ctx, client, thread := t.Context(), dial(t, shared), fresh()
	must(client.Capture(ctx, text("one"), antiphon.OnThread(antiphon.NewThread{ThreadID: thread})))(t)
	at := antiphon.After(antiphon.ThreadPoint{ThreadID: thread})
	prepared := must(client.Prepare(ctx, text("two"), at, antiphon.Keep(true)))(t)
	equal(t, len(prepared.Explanation.Messages), 3)
	equal(t, prepared.Expires.After(time.Now()), true)
	answer := must(client.Execute(ctx, prepared))(t)
	equal(t, []string{answer.Text, answer.ThreadID, answer.RunID}, []string{"two", thread, prepared.RunID})
	equal(t, must(client.Execute(ctx, prepared))(t).ExchangeID, answer.ExchangeID)
	equal(t, must(client.Run(ctx, answer.RunID))(t).ModelCalls, 1)

	soon := antiphon.Expires(time.Now().Add(time.Minute))
	loose := must(client.Execute(ctx, must(client.Prepare(ctx, text("three"), soon))(t)))(t)
	equal(t, loose.Captured, false)
	equal(t, must(client.Reply(ctx, loose, text("four"), antiphon.Keep(true)))(t).Turn, 2)
}

func TestBranchesHaveTheirNames(t *testing.T) {
	ctx, client := t.Context(), dial(t, shared)
	start := must(client.Capture(ctx, text("one")))(t)
	id := fresh()
	named := antiphon.OnThreads(antiphon.NewThread{ThreadID: id, Name: "to the left"})
	made := must(client.ForkAll(ctx, start, []antiphon.Input{text("left"), text("right")}, named))(t)
	equal(t, []string{made[0].ThreadID, must(client.Thread(ctx, id))(t).Name}, []string{id, "to the left"})
	_, err := client.ForkAll(ctx, start, nil, named)
	refused(t, err, codes.InvalidArgument, "")
}
