package antiphon;

import antiphon.gen.DiffDocumentsRequest;
import antiphon.gen.DiffDocumentsResponse;
import antiphon.gen.ListDocumentsRequest;
import antiphon.gen.ListDocumentsResponse;
import antiphon.gen.ReadDocumentRequest;
import antiphon.gen.ReadDocumentResponse;
import antiphon.gen.StreamReadDocumentRequest;
import antiphon.gen.WorkspaceServiceGrpc;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.stream.Stream;

/**
 * The documents at one point: as of an exchange or a turn, of a version, or what is live on a thread. Each call looks anew. Nothing here
 * writes; see {@link Workspace}.
 */
public sealed class Documents implements WorkspacePoint permits Workspace {
    /** Whose calls they are. */
    final Calls calls;

    private final antiphon.gen.WorkspacePoint point;

    Documents(Calls calls, WorkspacePoint point) {
        this.calls = calls;
        this.point = raw(point);
    }

    /** All of them by name; of one version, whatever is written meanwhile. */
    public Stream<Document> list() {
        return list("");
    }

    /** Those whose name begins so, by name; of one version, whatever is written meanwhile. */
    public Stream<Document> list(String prefix) {
        ListDocumentsRequest.Builder asked = ListDocumentsRequest.newBuilder().setAt(point).setNamePrefix(prefix);
        return calls.pages(
                        WorkspaceServiceGrpc.getListDocumentsMethod(),
                        token -> asked.setPageToken(token).build(),
                        ListDocumentsResponse::getNextPageToken,
                        ListDocumentsResponse::getDocumentsList)
                .stream()
                .map(Document::new);
    }

    /** The version that is there: its name, how much is in it, and the etag for a write. */
    public WorkspaceVersion version() {
        ListDocumentsRequest asked = ListDocumentsRequest.newBuilder().setAt(point).setPageSize(1).build();
        return WorkspaceVersion.of(calls.call(WorkspaceServiceGrpc.getListDocumentsMethod(), asked, null).getVersion());
    }

    /** A document whole, of whatever size memory holds. One of more than 1 MiB takes a second call, which reads it in pieces. */
    public DocumentContent read(String name) {
        ReadDocumentRequest asked = ReadDocumentRequest.newBuilder().setAt(point).setName(name).build();
        try {
            ReadDocumentResponse found = calls.call(WorkspaceServiceGrpc.getReadDocumentMethod(), asked, null);
            return new DocumentContent(
                    new Document(found.getDocument()), found.getData().toByteArray(), WorkspaceVersion.of(found.getVersion()));
        } catch (AntiphonException large) {
            if (!large.reason().equals("LIMIT_EXCEEDED")) {
                throw large;
            }
        }
        try (DocumentStream stream = readStream(name)) {
            return new DocumentContent(stream.document(), stream.readAllBytes(), stream.version());
        } catch (IOException never) {
            throw new UncheckedIOException(never);
        }
    }

    /** A document in pieces, as they come. */
    public DocumentStream readStream(String name) {
        return readStream(name, 0);
    }

    /** A document in pieces, with so many bytes left out at its beginning. */
    public DocumentStream readStream(String name, long offset) {
        StreamReadDocumentRequest asked =
                StreamReadDocumentRequest.newBuilder().setAt(point).setName(name).setOffset(offset).build();
        return new DocumentStream(calls, asked, calls.connection.within(null));
    }

    /** In which documents the other side differs from this one, by name. */
    public Stream<DocumentChange> diff(WorkspacePoint other) {
        return diff(other, new Options());
    }

    /**
     * In which documents the other side differs from this one, by name. It takes {@code prefix}, for those whose name begins so, and {@code
     * unified}, which tells how their texts differ.
     */
    public Stream<DocumentChange> diff(WorkspacePoint other, Options options) {
        options.only("diff", new String[] {"prefix", "unified"});
        DiffDocumentsRequest.Builder asked = DiffDocumentsRequest.newBuilder()
                .setLeft(point)
                .setRight(raw(other))
                .setNamePrefix(options.prefix)
                .setIncludeUnifiedDiff(options.unified);
        return calls.pages(
                        WorkspaceServiceGrpc.getDiffDocumentsMethod(),
                        token -> asked.setPageToken(token).build(),
                        DiffDocumentsResponse::getNextPageToken,
                        DiffDocumentsResponse::getDocumentsList)
                .stream()
                .map(DocumentChange::of);
    }

    /** The same calls with futures, over the same connection. */
    public AsyncDocuments async() {
        return new AsyncDocuments(this);
    }

    /** A point, as it goes out. */
    static antiphon.gen.WorkspacePoint raw(WorkspacePoint point) {
        if (point instanceof Documents there) {
            return there.point;
        }
        antiphon.gen.WorkspacePoint.Builder raw = antiphon.gen.WorkspacePoint.newBuilder();
        if (point instanceof ThreadTurn turn) {
            raw.setThread(turn.toRaw());
        } else if (point instanceof WorkspaceVersion version) {
            raw.getRootBuilder().setWorkspaceRoot(version.root());
        } else if (point instanceof WorkspaceRoot root) {
            raw.getRootBuilder().setWorkspaceRoot(root.root());
        } else if (point instanceof BeforeExchange before) {
            raw.getExchangeBuilder().setExchangeId(Library.point(before.exchange()).getExchangeId()).setBefore(true);
        } else {
            raw.getExchangeBuilder().setExchangeId(Library.point((OnRecord) point).getExchangeId());
        }
        return raw.build();
    }
}
