package antiphon;

import antiphon.gen.DocumentOpened;
import antiphon.gen.StreamReadDocumentRequest;
import antiphon.gen.StreamReadDocumentResponse;
import antiphon.gen.WorkspaceServiceGrpc;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Objects;

/**
 * A document that is read in pieces, as they come. Where a connection breaks, it goes on from there, in the same version, whatever was
 * written meanwhile; where it cannot, reading throws an {@link AntiphonException}. One thread reads it; close it where it is not read to
 * its end. After that there is nothing more to read.
 */
public final class DocumentStream extends InputStream {
    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

    private final Calls calls;
    private final Tries tries;
    private StreamReadDocumentRequest asked;
    private Feed<StreamReadDocumentRequest, StreamReadDocumentResponse> feed;
    private DocumentOpened opened;
    private ByteBuffer piece = NOTHING;
    private boolean over;

    DocumentStream(Calls calls, StreamReadDocumentRequest asked, Duration timeout) {
        this.calls = calls;
        this.asked = asked;
        this.tries = new Tries(timeout, false);
        while (opened == null) {
            advance();
        }
    }

    /** What is read. */
    public Document document() {
        return new Document(opened.getDocument());
    }

    /** The version that it is of. */
    public WorkspaceVersion version() {
        return WorkspaceVersion.of(opened.getVersion());
    }

    @Override
    public int read() {
        return fill() ? piece.get() & 0xff : -1;
    }

    @Override
    public int read(byte[] into, int offset, int length) {
        Objects.checkFromIndexSize(offset, length, into.length);
        if (length == 0) {
            return 0;
        }
        if (!fill()) {
            return -1;
        }
        int count = Math.min(length, piece.remaining());
        piece.get(into, offset, count);
        return count;
    }

    @Override
    public int available() {
        return piece.remaining();
    }

    /** Reads no more. */
    @Override
    public void close() {
        over = true;
        piece = NOTHING;
        leave();
    }

    /** Waits until there is a byte; false at the end. */
    private boolean fill() {
        while (!piece.hasRemaining() && !over) {
            advance();
        }
        return piece.hasRemaining();
    }

    private void advance() {
        try {
            step();
        } catch (RuntimeException broken) {
            leave();
            Failures.unlessInterrupted();
            tries.pause(Failures.of(broken));
            calls.atOnce();
        } catch (InterruptedException left) {
            leave();
            throw Failures.gone(left);
        }
    }

    private void step() throws InterruptedException {
        if (feed == null) {
            Failures.unlessInterrupted();
            feed = calls.ask(WorkspaceServiceGrpc.getStreamReadDocumentMethod(), asked, tries.options());
        }
        StreamReadDocumentResponse said = feed.receive();
        if (said == null) {
            if (opened == null || asked.getOffset() < opened.getDocument().getSizeBytes()) {
                throw Failures.of(Code.UNAVAILABLE, "the stream closed before the document ended");
            }
            over = true;
            leave();
        } else if (said.hasOpened()) {
            if (opened == null) {
                opened = said.getOpened();
                // A later call goes on in this version, whatever is written meanwhile.
                StreamReadDocumentRequest.Builder again = asked.toBuilder();
                again.getAtBuilder().getRootBuilder().setWorkspaceRoot(opened.getVersion().getWorkspaceRoot());
                asked = again.build();
            }
        } else if (said.hasChunk()) {
            piece = said.getChunk().getData().asReadOnlyByteBuffer();
            asked = asked.toBuilder().setOffset(asked.getOffset() + piece.remaining()).build();
            tries.progressed();
        }
    }

    private void leave() {
        if (feed != null) {
            feed.close();
            feed = null;
        }
    }
}
