package antiphon;

import antiphon.gen.DocumentChunk;
import antiphon.gen.OpenDocument;
import antiphon.gen.StreamWriteDocumentRequest;
import antiphon.gen.StreamWriteDocumentResponse;
import antiphon.gen.WorkspaceServiceGrpc;
import antiphon.gen.WriteDocumentsRequest;
import com.google.protobuf.ByteString;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The documents of a thread: what is live, to read and to write. What a turn started from is as of it; a fork has those of its point, and
 * from then on its own.
 *
 * <p>Each write takes {@code etag}, that of the version that was seen: a workspace that changed meanwhile is refused then. Each has a
 * request id, yours with {@code requestId} or one that is made once, so that it is made once however often it is repeated.
 */
public final class Workspace extends Documents {
    // The server's limits: up to so many bytes go whole, in one message; a piece of more has at most so many.
    private static final int WHOLE_BYTES = 1 << 20;
    private static final int PIECE_BYTES = 256 * 1024;
    private static final String[] EDIT = {"timeout", "etag", "requestId"};

    private final String threadId;

    Workspace(Calls calls, String threadId) {
        super(calls, new ThreadTurn(threadId));
        this.threadId = threadId;
    }

    /** The thread's id. */
    public String threadId() {
        return threadId;
    }

    /** Those after a turn on the thread's path, counted from 1: what the next one started from. */
    public Documents afterTurn(long turn) {
        return new Documents(calls, new ThreadTurn(threadId).afterTurn(turn));
    }

    /** Those after a run on the thread's path. */
    public Documents afterRun(String runId) {
        return new Documents(calls, new ThreadTurn(threadId).afterRun(runId));
    }

    /** As {@link #write(String, byte[], Options)}, of a text, which goes as UTF-8. */
    public Written write(String name, String text) {
        return write(name, text, new Options());
    }

    /** As {@link #write(String, byte[], Options)}, of a text, which goes as UTF-8. */
    public Written write(String name, String text, Options options) {
        return write(name, text.getBytes(StandardCharsets.UTF_8), options);
    }

    /** As {@link #write(String, byte[], Options)}, without options. */
    public Written write(String name, byte[] data) {
        return write(name, data, new Options());
    }

    /**
     * Writes a document of whatever size, new or over the one that is there; more than 1 MiB goes in pieces.
     *
     * <p>It takes {@code timeout}, {@code etag}, {@code requestId}, {@code mediaType} and {@code metadata}.
     */
    public Written write(String name, byte[] data, Options options) {
        options.only("write", EDIT, "mediaType", "metadata");
        if (data.length <= WHOLE_BYTES) {
            PutDocument put = new PutDocument(name, data).mediaType(options.mediaType);
            return edited(List.of(options.metadata == null ? put : put.metadata(options.metadata)), options);
        }
        OpenDocument opened = opened(name, options);
        Tries tries = new Tries(calls.connection.within(options.timeout), false);
        for (;;) {
            Failures.unlessInterrupted();
            try {
                return sent(opened, new ByteArrayInputStream(data), "", tries);
            } catch (AntiphonException failed) {
                tries.pause(failed);
                calls.atOnce();
            } catch (IOException never) {
                throw new UncheckedIOException(never);
            }
        }
    }

    /** As {@link #writeStream(String, InputStream, Options)}, without options. */
    public Written writeStream(String name, InputStream source) throws IOException {
        return writeStream(name, source, new Options());
    }

    /**
     * Writes a document in pieces, as a source has them: from a file, or from what is made meanwhile. The source is read to its end, and
     * left open.
     *
     * <p>It is there whole or not at all: where the source throws, that comes out and nothing is written. Since a source is read once, the
     * call is not repeated by itself. With the {@code contentBlake3} of the content, in hexadecimal, another content is refused.
     *
     * <p>It takes {@code timeout}, {@code etag}, {@code requestId}, {@code mediaType}, {@code metadata} and {@code contentBlake3}.
     */
    public Written writeStream(String name, InputStream source, Options options) throws IOException {
        options.only("writeStream", EDIT, "mediaType", "metadata", "contentBlake3");
        Failures.unlessInterrupted();
        return sent(opened(name, options), source, options.contentBlake3, new Tries(calls.connection.within(options.timeout), false));
    }

    /** As {@link #remove(String, Options)}, without options. */
    public Written remove(String name) {
        return remove(name, new Options());
    }

    /** Removes a document, which must be there. It takes {@code timeout}, {@code etag} and {@code requestId}. */
    public Written remove(String name, Options options) {
        options.only("remove", EDIT);
        return edited(List.of(new RemoveDocument(name)), options);
    }

    /** Takes a document of the same name from another point, without sending its content. */
    public Written copy(String name, WorkspacePoint source) {
        return copy(name, source, "", new Options());
    }

    /**
     * Takes a document from another point, where it is called {@code sourceName}, without sending its content. It takes {@code timeout},
     * {@code etag} and {@code requestId}.
     */
    public Written copy(String name, WorkspacePoint source, String sourceName, Options options) {
        options.only("copy", EDIT);
        return edited(List.of(new CopyDocument(name, source, sourceName)), options);
    }

    /** As {@link #edit(List, Options)}, without options. */
    public Written edit(List<? extends DocumentEdit> edits) {
        return edit(edits, new Options());
    }

    /** Makes changes, in order, all or none. It takes {@code timeout}, {@code etag} and {@code requestId}. */
    public Written edit(List<? extends DocumentEdit> edits, Options options) {
        options.only("edit", EDIT);
        return edited(edits, options);
    }

    @Override
    public AsyncWorkspace async() {
        return new AsyncWorkspace(this);
    }

    private Written edited(List<? extends DocumentEdit> edits, Options options) {
        WriteDocumentsRequest.Builder raw =
                WriteDocumentsRequest.newBuilder().setThreadId(threadId).setEtag(options.etag).setRequestId(requestId(options));
        edits.forEach(edit -> raw.addEdits(raw(edit)));
        return Written.of(calls.call(WorkspaceServiceGrpc.getWriteDocumentsMethod(), raw.build(), options.timeout));
    }

    private OpenDocument opened(String name, Options options) {
        return OpenDocument.newBuilder()
                .setThreadId(threadId)
                .setName(name)
                .setMediaType(options.mediaType)
                .setMetadataJson(options.metadata == null ? "" : Json.write(options.metadata))
                .setEtag(options.etag)
                .setRequestId(requestId(options))
                .build();
    }

    private Written sent(OpenDocument opened, InputStream source, String contentBlake3, Tries tries) throws IOException {
        try (Upload<StreamWriteDocumentRequest, StreamWriteDocumentResponse> upload =
                new Upload<>(calls.raw(), WorkspaceServiceGrpc.getStreamWriteDocumentMethod(), tries.options())) {
            StreamWriteDocumentRequest.Builder frame = StreamWriteDocumentRequest.newBuilder();
            boolean listening = upload.send(frame.setOpen(opened).build());
            while (listening) {
                byte[] piece = source.readNBytes(PIECE_BYTES);
                if (piece.length == 0) {
                    frame.getCommitBuilder().setContentBlake3(contentBlake3);
                    upload.send(frame.build());
                    break;
                }
                DocumentChunk chunk = DocumentChunk.newBuilder().setData(ByteString.copyFrom(piece)).build();
                listening = upload.send(frame.setChunk(chunk).build());
            }
            return Written.of(upload.finish());
        } catch (InterruptedException left) {
            throw Failures.gone(left);
        }
    }

    private static String requestId(Options options) {
        return options.requestId.isEmpty() ? Words.fresh() : options.requestId;
    }

    private static antiphon.gen.DocumentEdit raw(DocumentEdit edit) {
        antiphon.gen.DocumentEdit.Builder raw = antiphon.gen.DocumentEdit.newBuilder();
        if (edit instanceof PutDocument put) {
            raw.setPut(put.toRaw());
        } else if (edit instanceof RemoveDocument remove) {
            raw.getRemoveBuilder().setName(remove.name());
        } else {
            CopyDocument copy = (CopyDocument) edit;
            raw.getCopyBuilder().setName(copy.name()).setSource(Documents.raw(copy.source())).setSourceName(copy.sourceName());
        }
        return raw.build();
    }
}
