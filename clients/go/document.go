package antiphon

// Documents of threads as they are read and written: points, versions, contents, changes. Knows nothing of how they are asked for.

import (
	"encoding/json"
	"time"

	pb "antiphon/gen/antiphonv1"
)

const (
	// wholeBytes is what a document may have that goes whole, in one message; the server's limit.
	wholeBytes = 1 << 20
	// pieceBytes is what a piece of a larger one may have; the server's limit.
	pieceBytes = 256 * 1024
)

// Document is a document, without its content.
type Document struct {
	// Name is one in its workspace.
	Name      string
	MediaType string
	// SizeBytes is the length of its content.
	SizeBytes uint64
	// ContentBlake3 is BLAKE3 of its content, in hexadecimal.
	ContentBlake3 string
	// Metadata is the caller's own data, JSON; nil when there is none.
	Metadata json.RawMessage
	// UpdateTime is when this version of it was written.
	UpdateTime time.Time

	raw *pb.Document
}

// Raw is the message behind it.
func (d *Document) Raw() *pb.Document { return d.raw }

func documentOf(raw *pb.Document) *Document {
	made := &Document{
		Name: raw.GetName(), MediaType: raw.GetMediaType(), SizeBytes: raw.GetSizeBytes(), ContentBlake3: raw.GetContentBlake3(),
		UpdateTime: raw.GetUpdateTime().AsTime(), raw: raw,
	}
	if raw.GetMetadataJson() != "" {
		made.Metadata = json.RawMessage(raw.GetMetadataJson())
	}
	return made
}

// WorkspaceVersion is one version of a workspace: a set of documents that never changes, named by its content.
type WorkspaceVersion struct {
	// Root is its name, by which it is read again; empty without documents.
	Root          WorkspaceRoot
	DocumentCount uint64
	// SizeBytes is the sum of the lengths of its documents.
	SizeBytes uint64
	// Etag is what a write must have seen; empty unless it is what is live on a thread.
	Etag string
}

func versionOf(raw *pb.WorkspaceVersion) WorkspaceVersion {
	return WorkspaceVersion{WorkspaceRoot(raw.GetWorkspaceRoot()), raw.GetDocumentCount(), raw.GetSizeBytes(), raw.GetEtag()}
}

// WorkspaceRoot is a version of a workspace by its name; empty is the one without documents.
type WorkspaceRoot string

// BeforeExchange is what the run of an exchange started from; the exchange alone is what was there when it was complete. Exchange is a
// *[Exchange] or an [ExchangeID].
type BeforeExchange struct{ Exchange Source }

// WorkspacePoint is where documents are read: as of a *[Exchange] or an [ExchangeID], or a [BeforeExchange]; a [ThreadTurn], which is what is
// live where neither turn nor run is said; a [WorkspaceRoot]; or where other [Documents] are.
type WorkspacePoint interface {
	workspacePoint() (*pb.WorkspacePoint, error)
}

func (e *Exchange) workspacePoint() (*pb.WorkspacePoint, error)  { return ofExchange(e, false) }
func (e ExchangeID) workspacePoint() (*pb.WorkspacePoint, error) { return ofExchange(e, false) }
func (b BeforeExchange) workspacePoint() (*pb.WorkspacePoint, error) {
	return ofExchange(b.Exchange, true)
}

func (t ThreadTurn) workspacePoint() (*pb.WorkspacePoint, error) {
	thread, err := t.toRaw()
	return &pb.WorkspacePoint{Point: &pb.WorkspacePoint_Thread{Thread: thread}}, err
}

func (r WorkspaceRoot) workspacePoint() (*pb.WorkspacePoint, error) {
	return &pb.WorkspacePoint{Point: &pb.WorkspacePoint_Root{Root: &pb.WorkspaceRoot{WorkspaceRoot: string(r)}}}, nil
}

func ofExchange(exchange any, before bool) (*pb.WorkspacePoint, error) {
	at, err := exchangePoint(exchange)
	of := &pb.ExchangeWorkspace{ExchangeId: at.GetExchangeId(), Before: before}
	return &pb.WorkspacePoint{Point: &pb.WorkspacePoint_Exchange{Exchange: of}}, err
}

// DocumentContent is a document with its content.
type DocumentContent struct {
	Document *Document
	Data     []byte
	// Version is the one that it is of.
	Version WorkspaceVersion
}

// DocumentChange is a document in which two versions differ.
type DocumentChange struct {
	Name string
	// Kind is "added", "removed" or "changed", from left to right.
	Kind string
	// Left is nil where only the right has it, and Right where only the left does.
	Left  *Document
	Right *Document
	// UnifiedDiff is what changed, where it was asked for and both sides are texts of up to 1 MiB; else empty.
	UnifiedDiff string
}

func documentChangeOf(raw *pb.DocumentDiff) DocumentChange {
	side := func(raw *pb.Document) *Document {
		if raw == nil {
			return nil
		}
		return documentOf(raw)
	}
	return DocumentChange{raw.GetName(), word(raw.GetKind()), side(raw.GetLeft()), side(raw.GetRight()), raw.GetUnifiedDiff()}
}

// Written is what came of a write.
type Written struct {
	// Version is what is live now, or was right after an earlier call of the same id.
	Version WorkspaceVersion
	// Documents are those that were written and are there now, in the order of the changes.
	Documents []*Document
	// Replayed says that it is the stored result of an earlier call.
	Replayed bool
}

// DocumentEdit is one change to a workspace: a [PutDocument], a [RemoveDocument] or a [CopyDocument].
type DocumentEdit interface {
	toRaw() (*pb.DocumentEdit, error)
}

// PutDocument writes a document, new or over the one that is there.
type PutDocument struct {
	Name string
	// Data has up to 1 MiB.
	Data []byte
	// MediaType is application/octet-stream when absent.
	MediaType string
	// Metadata is data of your own, which becomes a JSON object.
	Metadata any
}

// RemoveDocument removes a document, which must be there.
type RemoveDocument struct{ Name string }

// CopyDocument takes a document from another point, without sending its content.
type CopyDocument struct {
	// Name is what it is called here.
	Name   string
	Source WorkspacePoint
	// SourceName is what it is called there; the same when absent.
	SourceName string
}

func (p PutDocument) toRaw() (*pb.DocumentEdit, error) {
	text, err := metadataJSON(p.Metadata)
	put := &pb.PutDocument{Name: p.Name, MediaType: p.MediaType, Data: p.Data, MetadataJson: text}
	return &pb.DocumentEdit{Edit: &pb.DocumentEdit_Put{Put: put}}, err
}

func (r RemoveDocument) toRaw() (*pb.DocumentEdit, error) {
	return &pb.DocumentEdit{Edit: &pb.DocumentEdit_Remove{Remove: &pb.RemoveDocument{Name: r.Name}}}, nil
}

func (c CopyDocument) toRaw() (*pb.DocumentEdit, error) {
	if c.Source == nil {
		return nil, invalid("the source of a copy is nil: say from where it is taken")
	}
	source, err := c.Source.workspacePoint()
	made := &pb.CopyDocument{Name: c.Name, Source: source, SourceName: c.SourceName}
	return &pb.DocumentEdit{Edit: &pb.DocumentEdit_Copy{Copy: made}}, err
}

func metadataJSON(metadata any) (string, error) {
	if metadata == nil {
		return "", nil
	}
	text, err := json.Marshal(metadata)
	if err != nil {
		return "", invalid("metadata: %v", err)
	}
	return string(text), nil
}
