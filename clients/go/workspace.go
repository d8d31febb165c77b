package antiphon

// Documents of threads: read as of any point, compared, written, whole and in pieces. Knows nothing of turns.

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"

	pb "antiphon/gen/antiphonv1"
)

// Documents are those at one point: as of an exchange or a turn, of a version, or what is live on a thread. Each call looks anew.
type Documents struct {
	client *Client
	at     WorkspacePoint
}

// Documents are those as of an exchange or a turn, or of a version, to read. It does not ask the server.
func (c *Client) Documents(at WorkspacePoint) *Documents { return &Documents{c, at} }

func (d *Documents) workspacePoint() (*pb.WorkspacePoint, error) {
	if d.at == nil {
		return nil, invalid("the point is nil: say where the documents are")
	}
	return d.at.workspacePoint()
}

// List gives the documents by name, or those whose name begins so; all of one version, whatever is written meanwhile.
func (d *Documents) List(ctx context.Context, prefix string) iter.Seq2[*Document, error] {
	at, err := d.workspacePoint()
	if err != nil {
		return none[*Document](err)
	}
	asked, list := &pb.ListDocumentsRequest{At: at, NamePrefix: prefix}, d.client.workspaces.ListDocuments
	raw := pages(ctx, list, asked, func(next string) { asked.PageToken = next }, (*pb.ListDocumentsResponse).GetDocuments)
	return each(raw, documentOf)
}

// Version is the one that is there: its name, how much is in it, and the etag for a write.
func (d *Documents) Version(ctx context.Context) (WorkspaceVersion, error) {
	at, err := d.workspacePoint()
	if err != nil {
		return WorkspaceVersion{}, err
	}
	answer, err := call(ctx, d.client.workspaces.ListDocuments, &pb.ListDocumentsRequest{At: at, PageSize: 1}, nil)
	return versionOf(answer.GetVersion()), err
}

// Read reads a document whole, of whatever size. One of more than 1 MiB takes a second call, which reads it in pieces.
func (d *Documents) Read(ctx context.Context, name string) (*DocumentContent, error) {
	at, err := d.workspacePoint()
	if err != nil {
		return nil, err
	}
	found, err := call(ctx, d.client.workspaces.ReadDocument, &pb.ReadDocumentRequest{At: at, Name: name}, nil)
	if err == nil {
		return &DocumentContent{documentOf(found.GetDocument()), found.GetData(), versionOf(found.GetVersion())}, nil
	}
	if ReasonOf(err) != "LIMIT_EXCEEDED" {
		return nil, err
	}
	reader, err := d.ReadStream(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }()
	data, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	return &DocumentContent{reader.Document, data, reader.Version}, nil
}

// DocumentQuery says which documents are compared, and how.
type DocumentQuery struct {
	// Prefix is what names begin with.
	Prefix string
	// Unified asks for what changed in texts.
	Unified bool
}

// Diff is in which documents the other side differs from this one, by name.
func (d *Documents) Diff(ctx context.Context, other WorkspacePoint, query DocumentQuery) iter.Seq2[DocumentChange, error] {
	asked := &pb.DiffDocumentsRequest{NamePrefix: query.Prefix, IncludeUnifiedDiff: query.Unified}
	var err error
	if asked.Left, err = d.workspacePoint(); err != nil {
		return none[DocumentChange](err)
	}
	if other == nil {
		return none[DocumentChange](invalid("the other side is nil: say with what to compare"))
	}
	if asked.Right, err = other.workspacePoint(); err != nil {
		return none[DocumentChange](err)
	}
	diff := d.client.workspaces.DiffDocuments
	raw := pages(ctx, diff, asked, func(next string) { asked.PageToken = next }, (*pb.DiffDocumentsResponse).GetDocuments)
	return each(raw, documentChangeOf)
}

// Workspace is the documents of a thread: what is live, to read and to write. What a turn started from is as of it; a fork has those of its
// point, and from then on its own.
type Workspace struct {
	*Documents
	// ThreadID is the thread's id.
	ThreadID string
}

// Workspace is the documents of a thread, to read and to write. It does not ask the server.
func (c *Client) Workspace(threadID string) *Workspace {
	return &Workspace{c.Documents(ThreadTurn{ThreadID: threadID}), threadID}
}

// AfterTurn is those after a turn on the thread's path, counted from 1: what the next one started from.
func (w *Workspace) AfterTurn(turn uint64) *Documents {
	return w.client.Documents(ThreadTurn{ThreadID: w.ThreadID, AfterTurn: &turn})
}

// AfterRun is those after a run on the thread's path.
func (w *Workspace) AfterRun(runID string) *Documents {
	return w.client.Documents(ThreadTurn{ThreadID: w.ThreadID, AfterRun: runID})
}

// Write writes a document of whatever size, new or over the one that is there; more than 1 MiB goes in pieces.
//
// It takes MediaType, Metadata, Etag and RequestID.
func (w *Workspace) Write(ctx context.Context, name string, data []byte, options ...Option) (*Written, error) {
	all, err := read("Write", options, writeOptions...)
	if err != nil {
		return nil, err
	}
	if len(data) <= wholeBytes {
		return w.edit(ctx, []DocumentEdit{PutDocument{name, data, all.mediaType, all.metadata}}, all)
	}
	opened, err := w.opened(name, all)
	if err != nil {
		return nil, err
	}
	count := newTries(nil)
	for {
		written, err := w.send(ctx, opened, bytes.NewReader(data), "")
		if err == nil {
			return written, nil
		}
		if err := count.pause(ctx, fromRPC(ctx, err)); err != nil {
			return nil, err
		}
	}
}

// WriteStream writes a document in pieces, up to the end of what is read.
//
// It is there whole or not at all: an error of the source comes out as itself, and nothing is written. Since a source is read once, the call is
// not repeated by itself. It takes MediaType, Metadata, Etag, RequestID and ContentBlake3.
func (w *Workspace) WriteStream(ctx context.Context, name string, source io.Reader, options ...Option) (*Written, error) {
	all, err := read("WriteStream", options, append([]string{"ContentBlake3"}, writeOptions...)...)
	if err != nil {
		return nil, err
	}
	opened, err := w.opened(name, all)
	if err != nil {
		return nil, err
	}
	return w.send(ctx, opened, source, all.contentBlake3)
}

// Remove removes a document, which must be there. It takes Etag and RequestID.
func (w *Workspace) Remove(ctx context.Context, name string, options ...Option) (*Written, error) {
	return w.Edit(ctx, []DocumentEdit{RemoveDocument{name}}, options...)
}

// Copy takes a document from another point, where it is called sourceName, the same when empty, without sending its content. It takes Etag and
// RequestID.
func (w *Workspace) Copy(ctx context.Context, name string, source WorkspacePoint, sourceName string, options ...Option) (*Written, error) {
	return w.Edit(ctx, []DocumentEdit{CopyDocument{name, source, sourceName}}, options...)
}

// Edit makes changes, in order, all or none. It takes Etag and RequestID.
func (w *Workspace) Edit(ctx context.Context, edits []DocumentEdit, options ...Option) (*Written, error) {
	all, err := read("Edit", options, "Etag", "RequestID")
	if err != nil {
		return nil, err
	}
	return w.edit(ctx, edits, all)
}

func (w *Workspace) edit(ctx context.Context, edits []DocumentEdit, all chosen) (*Written, error) {
	asked := &pb.WriteDocumentsRequest{ThreadId: w.ThreadID, Etag: all.etag, RequestId: all.named()}
	for _, edit := range edits {
		if edit == nil {
			return nil, invalid("a change is nil: give a PutDocument, a RemoveDocument or a CopyDocument")
		}
		raw, err := edit.toRaw()
		if err != nil {
			return nil, err
		}
		asked.Edits = append(asked.Edits, raw)
	}
	answer, err := call(ctx, w.client.workspaces.WriteDocuments, asked, nil)
	if err != nil {
		return nil, err
	}
	made := &Written{Version: versionOf(answer.GetVersion()), Replayed: answer.GetReplayed()}
	for _, document := range answer.GetDocuments() {
		made.Documents = append(made.Documents, documentOf(document))
	}
	return made, nil
}

func (w *Workspace) opened(name string, all chosen) (*pb.OpenDocument, error) {
	text, err := metadataJSON(all.metadata)
	return &pb.OpenDocument{
		ThreadId: w.ThreadID, Name: name, MediaType: all.mediaType, MetadataJson: text, Etag: all.etag, RequestId: all.named(),
	}, err
}

// send writes one document in pieces. A stream that ends without a commit writes nothing.
func (w *Workspace) send(ctx context.Context, opened *pb.OpenDocument, source io.Reader, blake3 string) (*Written, error) {
	own, release := context.WithCancel(ctx)
	defer release()
	stream, err := w.client.workspaces.StreamWriteDocument(own)
	if err != nil {
		return nil, fromRPC(ctx, err)
	}
	err = stream.Send(&pb.StreamWriteDocumentRequest{Part: &pb.StreamWriteDocumentRequest_Open{Open: opened}})
	for ended := false; err == nil && !ended; {
		// What was sent may still be on its way, so each piece has bytes of its own.
		piece := make([]byte, pieceBytes)
		length, failed := io.ReadFull(source, piece)
		ended = errors.Is(failed, io.EOF) || errors.Is(failed, io.ErrUnexpectedEOF)
		if failed != nil && !ended {
			return nil, failed
		}
		if length > 0 {
			chunk := &pb.StreamWriteDocumentRequest_Chunk{Chunk: &pb.DocumentChunk{Data: piece[:length]}}
			err = stream.Send(&pb.StreamWriteDocumentRequest{Part: chunk})
		}
	}
	if err == nil {
		commit := &pb.StreamWriteDocumentRequest_Commit{Commit: &pb.CommitDocument{ContentBlake3: blake3}}
		err = stream.Send(&pb.StreamWriteDocumentRequest{Part: commit})
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fromRPC(ctx, err)
	}
	// Where sending ended early, the answer says why.
	answer, err := stream.CloseAndRecv()
	if err != nil {
		return nil, fromRPC(ctx, err)
	}
	return &Written{versionOf(answer.GetVersion()), []*Document{documentOf(answer.GetDocument())}, answer.GetReplayed()}, nil
}
