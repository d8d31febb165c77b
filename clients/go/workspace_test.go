package antiphon_test

// Documents of threads, and going back: what the scenarios do not play.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"google.golang.org/grpc/codes"

	"antiphon"
)

var large = bytes.Repeat([]byte("0123456789abcdef"), 192_000)

func documents(t *testing.T, client *antiphon.Client) *antiphon.Workspace {
	t.Helper()
	return client.Workspace(must(client.CreateThread(t.Context(), antiphon.NewThread{}, nil))(t).ThreadID)
}

// S1-3, S1-4, S1-5.
func TestAConversationHasItsDocumentsAndGoesBack(t *testing.T) {
	client, ctx := dial(t, shared), t.Context()
	talk := must(client.Conversation(ctx, antiphon.NewThread{}))(t)
	empty := must(talk.Workspace().Version(ctx))(t)
	if empty.Etag == "" {
		t.Fatal("what is live has an etag")
	}
	equal(t, empty, antiphon.WorkspaceVersion{Etag: empty.Etag})
	metadata := antiphon.Metadata(json.RawMessage(`{"n":12345678901234567890}`))
	written := must(talk.Workspace().Write(ctx, "bytes", []byte{0, 255}, metadata))(t)
	equal(t, string(written.Documents[0].Metadata), `{"n":12345678901234567890}`)
	if since := time.Since(written.Documents[0].UpdateTime); since.Abs() > 5*time.Minute {
		t.Fatalf("it was written %v ago", since)
	}
	first := must(talk.Prompt(ctx, text("one")))(t)
	must(talk.Workspace().Copy(ctx, "kept", written.Version.Root, "bytes"))(t)
	seen := must(talk.Workspace().Version(ctx))(t)
	must(talk.Workspace().Remove(ctx, "bytes", antiphon.Etag(seen.Etag)))(t)
	second := must(talk.Prompt(ctx, text("two")))(t)
	found := must(talk.Workspace().Read(ctx, "kept"))(t)
	equal(t, found.Data, []byte{0, 255})
	equal(t, found.Version, must(talk.Workspace().Version(ctx))(t))
	var changes []string
	for _, change := range listed(t, client.Documents(first).Diff(ctx, talk.Workspace(), antiphon.DocumentQuery{})) {
		changes = append(changes, change.Kind+" "+change.Name)
	}
	equal(t, changes, []string{"removed bytes", "added kept"})
	_, err := talk.Restore(ctx, first, antiphon.ExpectedHead(first.ExchangeID))
	refused(t, err, codes.Aborted, "HEAD_MOVED")
	back := must(talk.Restore(ctx, first, antiphon.ExpectedHead(second.ExchangeID)))(t)
	equal(t, back.HeadExchangeID, first.ExchangeID)
	third := must(talk.Prompt(ctx, text("three")))(t)
	equal(t, third.ParentExchangeID, first.ExchangeID)
	moves := listed(t, talk.Moves(ctx))
	var told []string
	for _, move := range moves {
		told = append(told, move.ToExchangeID+" "+move.RunID)
	}
	equal(t, told, []string{
		third.ExchangeID + " " + third.RunID, first.ExchangeID + " ", second.ExchangeID + " " + second.RunID, first.ExchangeID + " " + first.RunID,
	})
	equal(t, moves[1].FromRoot, found.Version.Root)
	if moves[0].Time.Before(moves[3].Time) {
		t.Fatal("the newest comes first")
	}
	equal(t, must(client.Documents(moves[1].FromRoot).Read(ctx, "kept"))(t).Data, []byte{0, 255})
}

func TestManyDocumentsComeInPagesOfOneVersion(t *testing.T) {
	client, ctx := dial(t, shared), t.Context()
	docs := documents(t, client)
	var edits []antiphon.DocumentEdit
	var wanted, found []string
	for number := range 120 {
		wanted = append(wanted, fmt.Sprintf("n/%03d", number))
		edits = append(edits, antiphon.PutDocument{Name: wanted[number], Data: []byte("x")})
	}
	must(docs.Edit(ctx, edits))(t)
	for document, err := range docs.List(ctx, "n/") {
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			must(docs.Remove(ctx, "n/100"))(t)
		}
		found = append(found, document.Name)
	}
	equal(t, found, wanted)
	equal(t, must(docs.Version(ctx))(t).DocumentCount, 119)
}

func TestContentComesFromWhateverIsRead(t *testing.T) {
	client, ctx := dial(t, shared), t.Context()
	docs := documents(t, client)
	hashes := map[string]bool{}
	for name, source := range map[string]io.Reader{
		"whole": bytes.NewReader(large), "halves": iotest.HalfReader(bytes.NewReader(large)),
		"with the end": iotest.DataErrReader(bytes.NewReader(large)),
	} {
		hashes[must(docs.WriteStream(ctx, name, source))(t).Documents[0].ContentBlake3] = true
	}
	equal(t, len(hashes), 1)
	reader := must(docs.ReadStream(ctx, "whole", 0))(t)
	if err := iotest.TestReader(reader, large); err != nil {
		t.Fatal(err)
	}
	for hash := range hashes {
		_, err := docs.WriteStream(ctx, "whole", strings.NewReader("short"), antiphon.ContentBlake3(hash))
		refused(t, err, codes.InvalidArgument, "INVALID_FIELDS")
	}
}

func TestASourceThatFailsAndACallerWhoHasGoneWriteNothing(t *testing.T) {
	client := dial(t, shared)
	docs, failed := documents(t, client), errors.New("the disk is gone")
	source := io.MultiReader(bytes.NewReader(large), iotest.ErrReader(failed))
	if _, err := docs.WriteStream(t.Context(), "a", source); err != failed {
		t.Fatalf("it gave %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	source = io.MultiReader(bytes.NewReader(large), calls(cancel), bytes.NewReader(large))
	if _, err := docs.WriteStream(ctx, "a", source); !errors.Is(err, context.Canceled) {
		t.Fatalf("it gave %v", err)
	}
	equal(t, len(listed(t, docs.List(t.Context(), ""))), 0)
}

// calls is a reader without content that calls something.
type calls func()

func (c calls) Read([]byte) (int, error) {
	c()
	return 0, io.EOF
}

// It goes on where it was, in the same version, whatever was written meanwhile.
func TestACutWhileADocumentIsReadLeavesNothingOut(t *testing.T) {
	proxy, ctx := newProxy(t, shared.Address), t.Context()
	docs := documents(t, dial(t, shared))
	written := must(docs.Write(ctx, "large", large))(t)
	reader := must(through(t, proxy).Workspace(docs.ThreadID).ReadStream(ctx, "large", 7))(t)
	equal(t, reader.Document.ContentBlake3, written.Documents[0].ContentBlake3)
	equal(t, reader.Version, written.Version)
	begun := make([]byte, 100)
	if _, err := io.ReadFull(reader, begun); err != nil {
		t.Fatal(err)
	}
	proxy.cut()
	must(docs.Write(ctx, "large", []byte("other")))(t)
	rest := must(io.ReadAll(reader))(t)
	if !bytes.Equal(append(begun, rest...), large[7:]) {
		t.Fatalf("it gave %d bytes", len(rest))
	}
}

func TestWhatWasClosedIsReadNoMore(t *testing.T) {
	client, ctx := dial(t, shared), t.Context()
	docs := documents(t, client)
	must(docs.Write(ctx, "large", large))(t)
	reader := must(docs.ReadStream(ctx, "large", 0))(t)
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := reader.Read(make([]byte, 1))
	refused(t, err, codes.Canceled, "")
	proxy := newProxy(t, shared.Address)
	away := through(t, proxy)
	proxy.close()
	soon, release := context.WithTimeout(ctx, 500*time.Millisecond)
	defer release()
	if _, err := away.Workspace(docs.ThreadID).ReadStream(soon, "large", 0); err == nil {
		t.Fatal("there is nobody")
	}
}

func TestACutWhileADocumentIsWrittenWholeWritesItOnce(t *testing.T) {
	proxy := newProxy(t, shared.Address)
	docs, ctx := documents(t, through(t, proxy)), t.Context()
	proxy.cutAfter(1 << 20)
	written := must(docs.Write(ctx, "large", large))(t)
	equal(t, written.Documents[0].SizeBytes, uint64(len(large)))
	equal(t, written.Replayed, false)
	if left := proxy.left(); left > 0 {
		t.Fatalf("it was not cut: %d bytes were left", left)
	}
	if found := must(docs.Read(ctx, "large"))(t); !bytes.Equal(found.Data, large) {
		t.Fatalf("it has %d bytes", len(found.Data))
	}
}

// first is the error that a list begins with.
func first[T any](items iter.Seq2[T, error]) error {
	for _, err := range items {
		return err
	}
	return nil
}

func TestWhatCannotBeAPointIsSaidBeforeAnyCall(t *testing.T) {
	client, ctx := dial(t, shared), t.Context()
	docs := client.Workspace("any")
	var nothing *antiphon.Exchange
	for _, at := range []antiphon.WorkspacePoint{nil, nothing, antiphon.BeforeExchange{}, &antiphon.Exchange{}} {
		code, reason := codes.InvalidArgument, ""
		if exchange, ok := at.(*antiphon.Exchange); ok && exchange != nil {
			code, reason = codes.FailedPrecondition, "NOT_CAPTURED"
		}
		there := client.Documents(at)
		_, err := there.Read(ctx, "a")
		refused(t, err, code, reason)
		_, err = there.ReadStream(ctx, "a", 0)
		refused(t, err, code, reason)
		_, err = there.Version(ctx)
		refused(t, err, code, reason)
		_, err = docs.Copy(ctx, "a", at, "")
		refused(t, err, code, reason)
		refused(t, first(there.List(ctx, "")), code, reason)
		refused(t, first(there.Diff(ctx, docs, antiphon.DocumentQuery{})), code, reason)
		refused(t, first(docs.Diff(ctx, at, antiphon.DocumentQuery{})), code, reason)
	}
	_, err := docs.Edit(ctx, []antiphon.DocumentEdit{nil})
	refused(t, err, codes.InvalidArgument, "")
	_, err = docs.Write(ctx, "a", nil, antiphon.Metadata(func() {}))
	refused(t, err, codes.InvalidArgument, "")
	_, err = docs.Remove(ctx, "a", antiphon.MediaType("text/plain"))
	refused(t, err, codes.InvalidArgument, "")
}
