package antiphon;

import java.io.InputStream;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The calls of {@link Workspace} with futures, as {@link AsyncClient} has those of a client. */
public final class AsyncWorkspace extends AsyncDocuments {
    private final Workspace workspace;

    AsyncWorkspace(Workspace workspace) {
        super(workspace);
        this.workspace = workspace;
    }

    /** The thread's id. */
    public String threadId() {
        return workspace.threadId();
    }

    /** As {@link Workspace#afterTurn(long)}; it asks for nothing yet. */
    public AsyncDocuments afterTurn(long turn) {
        return workspace.afterTurn(turn).async();
    }

    /** As {@link Workspace#afterRun(String)}; it asks for nothing yet. */
    public AsyncDocuments afterRun(String runId) {
        return workspace.afterRun(runId).async();
    }

    /** As {@link Workspace#write(String, String)}. */
    public CompletableFuture<Written> write(String name, String text) {
        return begin(() -> workspace.write(name, text));
    }

    /** As {@link Workspace#write(String, String, Options)}. */
    public CompletableFuture<Written> write(String name, String text, Options options) {
        return begin(() -> workspace.write(name, text, options));
    }

    /** As {@link Workspace#write(String, byte[])}. */
    public CompletableFuture<Written> write(String name, byte[] data) {
        return begin(() -> workspace.write(name, data));
    }

    /** As {@link Workspace#write(String, byte[], Options)}. */
    public CompletableFuture<Written> write(String name, byte[] data, Options options) {
        return begin(() -> workspace.write(name, data, options));
    }

    /** As {@link Workspace#writeStream(String, InputStream)}. */
    public CompletableFuture<Written> writeStream(String name, InputStream source) {
        return begin(() -> workspace.writeStream(name, source));
    }

    /** As {@link Workspace#writeStream(String, InputStream, Options)}. */
    public CompletableFuture<Written> writeStream(String name, InputStream source, Options options) {
        return begin(() -> workspace.writeStream(name, source, options));
    }

    /** As {@link Workspace#remove(String)}. */
    public CompletableFuture<Written> remove(String name) {
        return begin(() -> workspace.remove(name));
    }

    /** As {@link Workspace#remove(String, Options)}. */
    public CompletableFuture<Written> remove(String name, Options options) {
        return begin(() -> workspace.remove(name, options));
    }

    /** As {@link Workspace#copy(String, WorkspacePoint)}. */
    public CompletableFuture<Written> copy(String name, WorkspacePoint source) {
        return begin(() -> workspace.copy(name, source));
    }

    /** As {@link Workspace#copy(String, WorkspacePoint, String, Options)}. */
    public CompletableFuture<Written> copy(String name, WorkspacePoint source, String sourceName, Options options) {
        return begin(() -> workspace.copy(name, source, sourceName, options));
    }

    /** As {@link Workspace#edit(List)}. */
    public CompletableFuture<Written> edit(List<? extends DocumentEdit> edits) {
        return begin(() -> workspace.edit(edits));
    }

    /** As {@link Workspace#edit(List, Options)}. */
    public CompletableFuture<Written> edit(List<? extends DocumentEdit> edits, Options options) {
        return begin(() -> workspace.edit(edits, options));
    }
}
