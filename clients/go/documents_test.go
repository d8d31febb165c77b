package antiphon_test

// Steps of scenarios about documents of threads, and about going back, and their results. Knows nothing of turns.

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing/iotest"

	"antiphon"
)

// keep plays one; it is not ok where the step is of another kind.
func (p *player) keep(ctx context.Context, verb string, said object) (found any, ok bool, err error) {
	c := p.client
	workspace := c.Workspace(word(said, "thread"))
	switch verb {
	case "documents":
		found, err = all(p.place(said["at"]).List(ctx, word(said, "prefix")))
	case "version":
		found, err = p.place(said["at"]).Version(ctx)
	case "read":
		found, err = p.place(said["at"]).Read(ctx, word(said, "name"))
	case "stream_read":
		found, err = p.streamed(ctx, said)
	case "write":
		found, err = workspace.Write(ctx, word(said, "name"), []byte(word(said, "text")), given(said)...)
	case "stream_write":
		// Nothing that is read has the size of what a message carries.
		source := iotest.HalfReader(strings.NewReader(word(said, "text")))
		found, err = workspace.WriteStream(ctx, word(said, "name"), source, given(said)...)
	case "edit":
		var edits []antiphon.DocumentEdit
		for _, one := range said["edits"].([]any) {
			edits = append(edits, edit(one.(object)))
		}
		found, err = workspace.Edit(ctx, edits, given(said)...)
	case "diff_documents":
		query := antiphon.DocumentQuery{Prefix: word(said, "prefix"), Unified: said["unified"] == true}
		found, err = all(p.place(said["left"]).Diff(ctx, spot(said["right"]), query))
	case "restore":
		options := given(said)
		switch head := said["expected_head"].(type) {
		case string:
			options = append(options, antiphon.ExpectedHead(head))
		case *antiphon.Exchange:
			options = append(options, antiphon.ExpectedHead(head.ExchangeID))
		}
		found, err = c.Restore(ctx, word(said, "thread"), source(said["to"]), options...)
	case "moves":
		found, err = all(c.Moves(ctx, word(said, "thread")))
	default:
		return nil, false, nil
	}
	return found, true, err
}

func (p *player) streamed(ctx context.Context, said object) (any, error) {
	offset, _ := said["offset"].(int)
	reader, err := p.place(said["at"]).ReadStream(ctx, word(said, "name"), uint64(offset))
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }()
	data, err := io.ReadAll(reader)
	return &antiphon.DocumentContent{Document: reader.Document, Data: data, Version: reader.Version}, err
}

// place is the documents there; a thread's by its own way.
func (p *player) place(at any) *antiphon.Documents {
	said, ok := at.(object)
	if !ok || said["thread"] == nil {
		return p.client.Documents(spot(at))
	}
	workspace := p.client.Workspace(word(said, "thread"))
	if turn, ok := said["after_turn"].(int); ok {
		return workspace.AfterTurn(uint64(turn))
	}
	if run := word(said, "after_run"); run != "" {
		return workspace.AfterRun(run)
	}
	return workspace.Documents
}

// spot is a point as calls take it.
func spot(at any) antiphon.WorkspacePoint {
	switch at := at.(type) {
	case string:
		return antiphon.ExchangeID(at)
	case object:
		if at["before"] != nil {
			return antiphon.BeforeExchange{Exchange: source(at["before"])}
		}
		if root, ok := at["root"].(string); ok {
			return antiphon.WorkspaceRoot(root)
		}
		made := source(at).(antiphon.ThreadTurn)
		made.AfterRun = word(at, "after_run")
		return made
	}
	return at.(*antiphon.Exchange)
}

func edit(said object) antiphon.DocumentEdit {
	if name := word(said, "put"); name != "" {
		return antiphon.PutDocument{Name: name, Data: []byte(word(said, "text")), MediaType: word(said, "media_type"), Metadata: said["metadata"]}
	}
	if name := word(said, "copy"); name != "" {
		return antiphon.CopyDocument{Name: name, Source: spot(said["from"]), SourceName: word(said, "name")}
	}
	return antiphon.RemoveDocument{Name: word(said, "remove")}
}

func given(said object) []antiphon.Option {
	var options []antiphon.Option
	known := map[string]func(string) antiphon.Option{
		"media_type": antiphon.MediaType, "etag": antiphon.Etag, "request_id": antiphon.RequestID, "content_blake3": antiphon.ContentBlake3,
	}
	for name, option := range known {
		if value := word(said, name); value != "" {
			options = append(options, option(value))
		}
	}
	if metadata := said["metadata"]; metadata != nil {
		options = append(options, antiphon.Metadata(metadata))
	}
	return options
}

// kept is what was found in the words of the scenarios.
func kept(found any) any {
	switch found := found.(type) {
	case *antiphon.Document:
		if found == nil {
			return nil
		}
		var metadata any
		if found.Metadata != nil {
			if err := json.Unmarshal(found.Metadata, &metadata); err != nil {
				panic(err)
			}
		}
		return object{
			"name": found.Name, "media_type": found.MediaType, "size_bytes": found.SizeBytes, "content_blake3": found.ContentBlake3,
			"metadata": metadata,
		}
	case antiphon.WorkspaceVersion:
		return object{"root": found.Root, "document_count": found.DocumentCount, "size_bytes": found.SizeBytes, "etag": found.Etag}
	case *antiphon.DocumentContent:
		return object{"text": string(found.Data), "document": kept(found.Document), "version": kept(found.Version)}
	case *antiphon.Written:
		documents := []any{}
		for _, document := range found.Documents {
			documents = append(documents, kept(document))
		}
		return object{"version": kept(found.Version), "documents": documents, "replayed": found.Replayed}
	case antiphon.DocumentChange:
		return object{
			"name": found.Name, "kind": found.Kind, "left": kept(found.Left), "right": kept(found.Right), "unified_diff": found.UnifiedDiff,
		}
	case antiphon.Move:
		return object{
			"from": found.FromExchangeID, "to": found.ToExchangeID, "run_id": found.RunID, "from_root": found.FromRoot, "to_root": found.ToRoot,
		}
	}
	return found
}
