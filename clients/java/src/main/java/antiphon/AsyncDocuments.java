package antiphon;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

/** The calls of {@link Documents} with futures, as {@link AsyncClient} has those of a client; what is read in pieces has no twin here. */
public sealed class AsyncDocuments permits AsyncWorkspace {
    private final Documents documents;

    AsyncDocuments(Documents documents) {
        this.documents = documents;
    }

    /** As {@link Documents#list()}. */
    public CompletableFuture<List<Document>> list() {
        return begin(() -> documents.list().toList());
    }

    /** As {@link Documents#list(String)}. */
    public CompletableFuture<List<Document>> list(String prefix) {
        return begin(() -> documents.list(prefix).toList());
    }

    /** As {@link Documents#version()}. */
    public CompletableFuture<WorkspaceVersion> version() {
        return begin(() -> documents.version());
    }

    /** As {@link Documents#read(String)}. */
    public CompletableFuture<DocumentContent> read(String name) {
        return begin(() -> documents.read(name));
    }

    /** As {@link Documents#diff(WorkspacePoint)}. */
    public CompletableFuture<List<DocumentChange>> diff(WorkspacePoint other) {
        return begin(() -> documents.diff(other).toList());
    }

    /** As {@link Documents#diff(WorkspacePoint, Options)}. */
    public CompletableFuture<List<DocumentChange>> diff(WorkspacePoint other, Options options) {
        return begin(() -> documents.diff(other, options).toList());
    }

    <T> CompletableFuture<T> begin(Callable<T> call) {
        return Background.begin(documents.calls.workers(), call);
    }
}
