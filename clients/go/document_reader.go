package antiphon

// A document that is read in pieces, over connections that break. Knows nothing of where it is put.

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	pb "antiphon/gen/antiphonv1"
)

// DocumentReader reads a document in pieces, one goroutine at a time. Where a connection breaks, it goes on from there, in the same version,
// whatever was written meanwhile. Close it where it is not read to its end.
type DocumentReader struct {
	// Document is what is read.
	Document *Document
	// Version is the one that it is of.
	Version WorkspaceVersion

	client  *Client
	ctx     context.Context
	release func()
	asked   *pb.StreamReadDocumentRequest
	stream  grpc.ServerStreamingClient[pb.StreamReadDocumentResponse]
	tries   *tries
	rest    []byte
	// failed is what it ended with, once and for all; the end of the document is one.
	failed error
}

// ReadStream reads a document in pieces, with so many bytes left out at its beginning. The context is that of all of it.
func (d *Documents) ReadStream(ctx context.Context, name string, offset uint64) (*DocumentReader, error) {
	at, err := d.workspacePoint()
	if err != nil {
		return nil, err
	}
	made := &DocumentReader{
		client: d.client, asked: &pb.StreamReadDocumentRequest{At: at, Name: name, Offset: offset}, tries: newTries(nil),
	}
	made.ctx, made.release = context.WithCancel(ctx)
	for made.Document == nil && made.failed == nil {
		made.next()
	}
	if made.Document == nil {
		made.release()
		return nil, made.failed
	}
	return made, nil
}

// Read gives the next bytes; [io.EOF] at the end of the document.
func (r *DocumentReader) Read(into []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.failed != nil {
			return 0, r.failed
		}
		r.next()
	}
	count := copy(into, r.rest)
	r.rest = r.rest[count:]
	return count, nil
}

// Close reads no more.
func (r *DocumentReader) Close() error {
	r.end(&Error{Code: codes.Canceled, Message: "the document was closed: read it again"})
	r.rest = nil
	return nil
}

func (r *DocumentReader) end(failed error) {
	r.failed = failed
	r.release()
}

// next takes one part of the stream, or what it ended with, and makes the call anew where it broke.
func (r *DocumentReader) next() {
	var err error
	if r.stream == nil {
		r.stream, err = r.client.workspaces.StreamReadDocument(r.ctx, r.asked)
	}
	var part *pb.StreamReadDocumentResponse
	if err == nil {
		part, err = r.stream.Recv()
	}
	switch {
	case errors.Is(err, io.EOF) && r.Document != nil && r.asked.GetOffset() >= r.Document.SizeBytes:
		r.end(io.EOF)
		return
	case errors.Is(err, io.EOF):
		err = &Error{Code: codes.Unavailable, Message: "the stream closed before the document ended"}
	}
	if err != nil {
		r.stream = nil
		if err := r.tries.pause(r.ctx, fromRPC(r.ctx, err)); err != nil {
			r.end(err)
		}
		return
	}
	if opened := part.GetOpened(); opened != nil && r.Document == nil {
		r.Document, r.Version = documentOf(opened.GetDocument()), versionOf(opened.GetVersion())
		// A later call goes on in this version, whatever is written meanwhile.
		r.asked.At, _ = r.Version.Root.workspacePoint()
	}
	if data := part.GetChunk().GetData(); len(data) > 0 {
		r.rest, r.tries = data, newTries(nil)
		r.asked.Offset += uint64(len(data))
	}
}
