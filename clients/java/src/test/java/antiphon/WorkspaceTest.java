package antiphon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import antiphon.testing.Server;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Documents of threads, and going back: what the scenarios do not play. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class WorkspaceTest {
    private static final byte[] LARGE = new byte[3_000_000];

    private static Server server;
    private static Proxy proxy;
    // Past the connection that is cut, and over it.
    private static Client client;
    private static Client cut;

    @TempDir
    Path folder;

    /** A source without an end. */
    private static class Endless extends InputStream {
        @Override
        public int read() throws IOException {
            return 1;
        }
    }

    @BeforeAll
    static void begin() {
        for (int index = 0; index < LARGE.length; index++) {
            LARGE[index] = (byte) (index % 251);
        }
        server = Server.start(new Server.Config().config(Fixture.CONFIG));
        proxy = new Proxy(server.address());
        client = Client.connect(server.address());
        cut = Client.connect(proxy.address());
    }

    @AfterAll
    static void end() {
        client.close();
        cut.close();
        proxy.close();
        server.close();
    }

    /** One of these tests interrupts itself. */
    @AfterEach
    void goOn() {
        Thread.interrupted();
    }

    private static String made() {
        return client.createThread(new NewThread(Words.fresh())).threadId();
    }

    /** S1-3, S1-4, S1-5. */
    @Test
    void aConversationHasItsDocumentsAndGoesBack() {
        Conversation talk = client.conversation();
        WorkspaceVersion empty = talk.workspace().version();
        assertEquals(new WorkspaceVersion("", 0, 0, empty.etag()), empty);
        assertFalse(empty.etag().isEmpty());
        BigInteger big = new BigInteger("12345678901234567890");
        Written written = talk.workspace().write("bytes", new byte[] {0, -1}, new Options().metadata(Map.of("n", big)));
        assertEquals(Optional.of(Map.of("n", big)), written.documents().get(0).metadata());
        Duration ago = Duration.between(written.documents().get(0).updateTime(), Instant.now()).abs();
        assertTrue(ago.compareTo(Duration.ofMinutes(5)) < 0, ago::toString);
        Exchange first = talk.prompt("one");
        talk.workspace().copy("kept", written.version(), "bytes", new Options());
        talk.workspace().copy("bytes", talk.workspace().afterTurn(1));
        talk.workspace().remove("bytes", new Options().etag(talk.workspace().version().etag()));
        Exchange second = talk.prompt("two");
        DocumentContent found = talk.workspace().read("kept");
        assertArrayEquals(new byte[] {0, -1}, found.data());
        assertEquals(talk.workspace().version(), found.version());
        assertEquals(talk.workspace().read("kept"), found);
        assertEquals(talk.workspace().read("kept").hashCode(), found.hashCode());
        assertTrue(found.toString().contains("bytes=2"), found::toString);
        assertThrows(IllegalArgumentException.class, found::text);
        List<String> changes = client.documents(first)
                .diff(talk.workspace())
                .map(change -> change.name() + " " + change.kind())
                .toList();
        assertEquals(List.of("bytes removed", "kept added"), changes);
        assertEquals(List.of("kept"), names(client.documents(new WorkspaceRoot(found.version().root()))));
        assertEquals(List.of(), names(client.documents(empty)));
        Options seen = new Options().expectedHead(first.exchangeId());
        Fixture.refused(Code.ABORTED, "HEAD_MOVED", () -> talk.restore(first, seen));
        NamedThread back = talk.restore(first, new Options().expectedHead(second.exchangeId()));
        assertEquals(first.exchangeId(), back.headExchangeId());
        Exchange third = talk.prompt("three");
        assertEquals(first.exchangeId(), third.parentExchangeId());
        List<Move> moves = talk.moves().toList();
        assertEquals(
                List.of(third.exchangeId(), first.exchangeId(), second.exchangeId(), first.exchangeId()),
                moves.stream().map(Move::toExchangeId).toList());
        assertEquals(
                List.of(third.runId(), "", second.runId(), first.runId()), moves.stream().map(Move::runId).toList());
        assertEquals(found.version().root(), moves.get(1).fromRoot());
        assertFalse(moves.get(0).time().isBefore(moves.get(3).time()));
        assertEquals(second.exchangeId(), talk.restore(second).headExchangeId());
    }

    private static List<String> names(Documents documents) {
        return documents.list().map(Document::name).toList();
    }

    @Test
    void manyDocumentsComeInPagesOfOneVersion() {
        Workspace workspace = client.workspace(made());
        List<String> all = IntStream.range(0, 120).mapToObj(number -> "n/%03d".formatted(number)).toList();
        workspace.edit(all.stream().map(name -> new PutDocument(name, "x")).toList());
        List<String> names = new ArrayList<>();
        for (Iterator<Document> documents = workspace.list("n/").iterator(); documents.hasNext(); ) {
            names.add(documents.next().name());
            if (names.size() == 1) {
                workspace.edit(List.of(new RemoveDocument("n/100")));
            }
        }
        assertEquals(all, names);
        assertEquals(119, workspace.version().documentCount());
    }

    @Test
    void contentComesFromAFileAndGoesToOne() throws IOException {
        Workspace workspace = client.workspace(made());
        Path file = Files.write(folder.resolve("from"), LARGE);
        Written written;
        try (InputStream source = Files.newInputStream(file)) {
            written = workspace.writeStream("a", source, new Options().mediaType("text/plain"));
        }
        String hash = written.documents().get(0).contentBlake3();
        assertEquals(hash, workspace.write("b", LARGE).documents().get(0).contentBlake3());
        try (DocumentStream stream = workspace.readStream("b")) {
            Files.copy(stream, folder.resolve("to"));
        }
        assertArrayEquals(LARGE, Files.readAllBytes(folder.resolve("to")));
        assertArrayEquals(LARGE, workspace.read("a").data());
        // From one thread to another, in pieces.
        try (DocumentStream stream = workspace.readStream("a")) {
            assertEquals(hash, client.workspace(made()).writeStream("c", stream).documents().get(0).contentBlake3());
        }
        InputStream other = new ByteArrayInputStream("short".getBytes(StandardCharsets.UTF_8));
        Options same = new Options().contentBlake3(hash);
        Fixture.refused(Code.INVALID_ARGUMENT, "INVALID_FIELDS", () -> workspace.writeStream("a", other, same));
    }

    @Test
    void aDocumentThatIsReadInPiecesIsAnInputStream() throws IOException {
        Workspace workspace = client.workspace(made());
        workspace.write("letters", "abcdef");
        DocumentStream stream = workspace.readStream("letters", 1);
        assertEquals('b', stream.read());
        assertEquals(0, stream.read(new byte[1], 0, 0));
        byte[] two = new byte[4];
        assertEquals(2, stream.read(two, 1, 2));
        assertArrayEquals(new byte[] {0, 'c', 'd', 0}, two);
        assertEquals(2, stream.available());
        assertThrows(IndexOutOfBoundsException.class, () -> stream.read(two, 3, 2));
        assertEquals("ef", new String(stream.readAllBytes(), StandardCharsets.UTF_8));
        assertEquals(-1, stream.read());
        DocumentStream left = workspace.readStream("letters");
        left.close();
        assertEquals(-1, left.read(), "what was closed is read no more");
        workspace.write("none", "");
        assertEquals("", workspace.read("none").text());
        assertEquals(-1, workspace.readStream("none").read());
    }

    @Test
    void aSourceThatFailsWritesNothing() {
        Workspace workspace = client.workspace(made());
        IOException gone = new IOException("the disk is gone");
        InputStream failing = new Endless() {
            private int count;

            @Override
            public int read() throws IOException {
                if (count++ > 1_000_000) {
                    throw gone;
                }
                return 1;
            }
        };
        assertSame(gone, assertThrows(IOException.class, () -> workspace.writeStream("a", failing)));
        assertEquals(List.of(), names(workspace));
    }

    @Test
    void whoeverIsInterruptedOrRunsOutOfTimeWritesNothing() {
        Workspace workspace = client.workspace(made());
        Client brief = client.withTimeout(Duration.ofMillis(200));
        Options soon = new Options().timeout(Duration.ofMillis(200));
        for (Executable write : List.<Executable>of(
                () -> brief.workspace(workspace.threadId()).writeStream("a", new Endless()),
                () -> workspace.writeStream("a", new Endless(), soon))) {
            assertEquals(Code.DEADLINE_EXCEEDED, assertThrows(AntiphonException.class, write).code());
        }
        InputStream interrupting = new Endless() {
            @Override
            public int read() {
                Thread.currentThread().interrupt();
                return 1;
            }
        };
        Fixture.refused(Code.CANCELLED, "", () -> workspace.writeStream("a", interrupting));
        assertTrue(Thread.interrupted(), "it stays interrupted");
        assertEquals(List.of(), names(workspace));
    }

    /** It goes on where it was, in the same version, whatever was written meanwhile. */
    @Test
    void aCutWhileADocumentIsReadLeavesNothingOut() throws IOException {
        String thread = made();
        Written written = client.workspace(thread).write("large", LARGE);
        ByteArrayOutputStream read = new ByteArrayOutputStream();
        try (DocumentStream stream = cut.workspace(thread).readStream("large", 7)) {
            assertEquals(written.documents().get(0), stream.document());
            assertEquals(written.version(), stream.version());
            byte[] piece = new byte[100_000];
            for (int count = stream.read(piece); count >= 0; count = stream.read(piece)) {
                read.write(piece, 0, count);
                if (read.size() < 1_000_000) {
                    proxy.cut();
                    client.workspace(thread).write("large", "other");
                }
            }
        }
        assertEquals(LARGE.length - 7, read.size());
        byte[] rest = new byte[LARGE.length - 7];
        System.arraycopy(LARGE, 7, rest, 0, rest.length);
        assertArrayEquals(rest, read.toByteArray());
    }

    @Test
    void aCutWhileADocumentIsWrittenWholeWritesItOnce() {
        Workspace workspace = cut.workspace(made());
        long before = workspace.version().documentCount();
        proxy.cutAfter(1_000_000);
        Written written = workspace.write("large", LARGE);
        assertEquals(LARGE.length, written.documents().get(0).sizeBytes());
        assertFalse(written.replayed());
        assertEquals(before + 1, workspace.version().documentCount());
    }

    /** A source is read once, so that nobody says it again by itself. */
    @Test
    void aCutWhileADocumentIsWrittenInPiecesIsTold() {
        Workspace workspace = cut.workspace(made());
        assertEquals(0, workspace.version().documentCount());
        proxy.cutAfter(1_000_000);
        Fixture.refused(Code.UNAVAILABLE, "", () -> workspace.writeStream("large", new ByteArrayInputStream(LARGE)));
        assertEquals(0, workspace.version().documentCount());
    }

    @Test
    void theTwinsDoTheSame() {
        AsyncWorkspace workspace = client.async().workspace(made());
        Written written = workspace.write("a", "text").join();
        assertEquals("text", workspace.read("a").join().text());
        assertEquals(1, workspace.list().join().size());
        workspace.write("a", "other", new Options().etag(written.version().etag())).join();
        DocumentChange change = client.async()
                .documents(written.version())
                .diff(new ThreadTurn(workspace.threadId()), new Options().unified())
                .join()
                .get(0);
        assertTrue(change.unifiedDiff().contains("-text\n"), change::unifiedDiff);
        CompletionException failed = assertThrows(CompletionException.class, () -> workspace.remove("nothing").join());
        assertEquals("DOCUMENT_NOT_FOUND", ((AntiphonException) failed.getCause()).reason());
        assertThrows(IllegalArgumentException.class, () -> client.workspace("t").remove("a", new Options().mediaType("x")));
    }
}
