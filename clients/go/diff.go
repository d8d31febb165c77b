package antiphon

// In what two exchanges differ. Knows nothing of why.

import (
	"context"
	"encoding/json"
	"strconv"

	pb "antiphon/gen/antiphonv1"
)

// Change is one thing that differs.
type Change[Item any] struct {
	// Name is that of a setting or a tool; of a message its place after the common ancestor, counted from 0.
	Name string
	// Kind is "added", "removed" or "changed", from left to right.
	Kind string
	// Left is nil where only the right has it, and Right where only the left does.
	Left  *Item
	Right *Item
}

// Difference is in what two exchanges and their histories differ.
type Difference struct {
	// CommonAncestorExchangeID is the last exchange on both paths; empty where there is none.
	CommonAncestorExchangeID string
	// LeftCount is how many exchanges only the left path has, RightCount how many only the right one has.
	LeftCount  uint64
	RightCount uint64
	Messages   []Change[Message]
	// Settings have their values as JSON.
	Settings []Change[json.RawMessage]
	Tools    []Change[OfferedTool]
	// Documents are those of the workspaces as of the two.
	Documents []DocumentChange

	raw []*pb.DiffResponse
}

// Raw is the pages that it was read from.
func (d *Difference) Raw() []*pb.DiffResponse { return d.raw }

// Diff is in what two exchanges with their histories differ; what is the same stays out.
func (c *Client) Diff(ctx context.Context, left, right Source) (*Difference, error) {
	asked := &pb.DiffRequest{OmitSameMessages: true}
	var err error
	if asked.Left, err = exchangePoint(left); err != nil {
		return nil, err
	}
	if asked.Right, err = exchangePoint(right); err != nil {
		return nil, err
	}
	made := &Difference{}
	whole := func(page *pb.DiffResponse) []*pb.DiffResponse { return []*pb.DiffResponse{page} }
	for page, err := range pages(ctx, c.graph.Diff, asked, func(next string) { asked.PageToken = next }, whole) {
		if err != nil {
			return nil, err
		}
		made.read(page)
	}
	return made, nil
}

func (d *Difference) read(page *pb.DiffResponse) {
	if len(d.raw) == 0 {
		d.CommonAncestorExchangeID = page.GetCommonAncestorExchangeId()
		d.LeftCount, d.RightCount = page.GetLeftCount(), page.GetRightCount()
	}
	d.raw = append(d.raw, page)
	for _, one := range page.GetMessages() {
		name := strconv.FormatUint(one.GetIndex(), 10)
		d.Messages = append(d.Messages, change(name, one.GetKind(), one.GetLeft(), one.GetRight(), MessageOf))
	}
	value := func(setting *pb.EffectiveSetting) json.RawMessage { return json.RawMessage(setting.GetValueJson()) }
	for _, one := range page.GetSettings() {
		d.Settings = append(d.Settings, change(one.GetName(), one.GetKind(), one.GetLeft(), one.GetRight(), value))
	}
	for _, one := range page.GetTools() {
		d.Tools = append(d.Tools, change(one.GetName(), one.GetKind(), one.GetLeft(), one.GetRight(), offeredTool))
	}
	for _, one := range page.GetDocuments() {
		d.Documents = append(d.Documents, documentChangeOf(one))
	}
}

func change[Raw, Item any](name string, kind pb.ChangeKind, left, right *Raw, read func(*Raw) Item) Change[Item] {
	side := func(raw *Raw) *Item {
		if raw == nil {
			return nil
		}
		return Ptr(read(raw))
	}
	return Change[Item]{Name: name, Kind: word(kind), Left: side(left), Right: side(right)}
}
