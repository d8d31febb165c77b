package antiphon;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.charset.StandardCharsets;
import java.util.Enumeration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/** Steps of scenarios about documents of threads, and about going back, and their results in words. Knows nothing of turns. */
final class Keeps {
    static final Set<String> VERBS = Set.of(
            "documents", "version", "read", "stream_read", "write", "stream_write", "edit", "diff_documents", "restore", "moves");
    // Of no size that a message carries, nor a part of one.
    private static final int PIECE_BYTES = 300_000;

    private Keeps() {}

    /** Plays one. */
    static Object keep(Client client, String verb, Map<String, Object> said) throws IOException {
        String name = (String) said.get("name");
        String thread = (String) said.get("thread");
        return switch (verb) {
            case "documents" -> place(client, said.get("at")).list((String) said.getOrDefault("prefix", "")).toList();
            case "version" -> place(client, said.get("at")).version();
            case "read" -> place(client, said.get("at")).read(name);
            case "stream_read" -> streamed(place(client, said.get("at")), name, (int) said.getOrDefault("offset", 0));
            case "write" -> client.workspace(thread).write(name, (String) said.get("text"), given(said));
            case "stream_write" -> client.workspace(thread).writeStream(name, pieces((String) said.get("text")), given(said));
            case "edit" -> client.workspace(thread)
                    .edit(((List<?>) said.get("edits")).stream().map(Plain::mapping).map(Keeps::edit).toList(), given(said));
            case "diff_documents" -> place(client, said.get("left")).diff(point(said.get("right")), given(said)).toList();
            case "restore" -> client.restore(thread, Looks.exchange(said.get("to")), given(said));
            case "moves" -> client.moves(thread).toList();
            default -> throw new AssertionError("there is no step `" + verb + "`");
        };
    }

    private static DocumentContent streamed(Documents there, String name, int offset) throws IOException {
        try (DocumentStream stream = there.readStream(name, offset)) {
            return new DocumentContent(stream.document(), stream.readAllBytes(), stream.version());
        }
    }

    /** The documents there; a thread's by its own way. */
    private static Documents place(Client client, Object at) {
        if (!(at instanceof Map<?, ?> named) || !named.containsKey("thread")) {
            return client.documents(point(at));
        }
        Workspace workspace = client.workspace((String) named.get("thread"));
        if (named.containsKey("after_turn")) {
            return workspace.afterTurn((int) named.get("after_turn"));
        }
        return named.containsKey("after_run") ? workspace.afterRun((String) named.get("after_run")) : workspace;
    }

    private static WorkspacePoint point(Object at) {
        if (!(at instanceof Map<?, ?> named)) {
            return Looks.exchange(at);
        }
        if (named.containsKey("before")) {
            return new BeforeExchange(Looks.exchange(named.get("before")));
        }
        if (named.containsKey("root")) {
            return new WorkspaceRoot((String) named.get("root"));
        }
        ThreadTurn turn = new ThreadTurn((String) named.get("thread"));
        if (named.containsKey("after_turn")) {
            return turn.afterTurn((int) named.get("after_turn"));
        }
        return named.containsKey("after_run") ? turn.afterRun((String) named.get("after_run")) : turn;
    }

    private static DocumentEdit edit(Map<String, Object> said) {
        if (said.containsKey("put")) {
            PutDocument put = new PutDocument((String) said.get("put"), (String) said.get("text"));
            put = said.containsKey("media_type") ? put.mediaType((String) said.get("media_type")) : put;
            return said.containsKey("metadata") ? put.metadata(said.get("metadata")) : put;
        }
        if (said.containsKey("copy")) {
            return new CopyDocument((String) said.get("copy"), point(said.get("from")), (String) said.getOrDefault("name", ""));
        }
        return new RemoveDocument((String) said.get("remove"));
    }

    private static Options given(Map<String, Object> said) {
        Options made = new Options();
        for (Map.Entry<String, Object> entry : said.entrySet()) {
            Object value = entry.getValue();
            made = switch (entry.getKey()) {
                case "media_type" -> made.mediaType((String) value);
                case "metadata" -> made.metadata(value);
                case "etag" -> made.etag((String) value);
                case "request_id" -> made.requestId((String) value);
                case "content_blake3" -> made.contentBlake3((String) value);
                case "prefix" -> made.prefix((String) value);
                case "unified" -> Boolean.TRUE.equals(value) ? made.unified() : made;
                case "expected_head" -> made.expectedHead(value instanceof Exchange head ? head.exchangeId() : (String) value);
                default -> made;
            };
        }
        return made;
    }

    /** Content in several pieces. */
    private static InputStream pieces(String text) {
        byte[] data = text.getBytes(StandardCharsets.UTF_8);
        int step = Math.max(1, Math.min(data.length / 2, PIECE_BYTES));
        Iterator<InputStream> all = IntStream.range(0, (data.length + step - 1) / step)
                .<InputStream>mapToObj(at -> new ByteArrayInputStream(data, at * step, Math.min(step, data.length - at * step)))
                .iterator();
        return new SequenceInputStream(new Enumeration<>() {
            @Override
            public boolean hasMoreElements() {
                return all.hasNext();
            }

            @Override
            public InputStream nextElement() {
                return all.next();
            }
        });
    }

    /** A result of such a step, or whatever else there is, in the words of the scenarios. */
    static Object kept(Object found) {
        if (found instanceof Document document) {
            Map<String, Object> made = Plain.fields("name", document.name(), "media_type", document.mediaType());
            made.putAll(Plain.fields("size_bytes", document.sizeBytes(), "content_blake3", document.contentBlake3()));
            made.put("metadata", document.metadata().orElse(null));
            return made;
        }
        if (found instanceof WorkspaceVersion version) {
            Map<String, Object> made = Plain.fields("root", version.root(), "document_count", version.documentCount());
            made.putAll(Plain.fields("size_bytes", version.sizeBytes(), "etag", version.etag()));
            return made;
        }
        if (found instanceof DocumentContent content) {
            return Plain.fields("text", content.text(), "document", kept(content.document()), "version", kept(content.version()));
        }
        if (found instanceof Written written) {
            List<Object> documents = written.documents().stream().map(Keeps::kept).toList();
            return Plain.fields("version", kept(written.version()), "documents", documents, "replayed", written.replayed());
        }
        if (found instanceof DocumentChange change) {
            Map<String, Object> made = Plain.fields("name", change.name(), "kind", change.kind());
            made.putAll(Plain.fields("left", change.left().map(Keeps::kept).orElse(null)));
            made.putAll(Plain.fields("right", change.right().map(Keeps::kept).orElse(null), "unified_diff", change.unifiedDiff()));
            return made;
        }
        if (found instanceof Move move) {
            Map<String, Object> made = Plain.fields("from", move.fromExchangeId(), "to", move.toExchangeId(), "run_id", move.runId());
            made.putAll(Plain.fields("from_root", move.fromRoot(), "to_root", move.toRoot()));
            return made;
        }
        return found;
    }
}
