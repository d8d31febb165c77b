package antiphon;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

/** The calls of {@link Conversation} with futures, as {@link AsyncClient} has those of a client. */
public final class AsyncConversation {
    private final Client client;
    private final Conversation conversation;

    AsyncConversation(Client client, Conversation conversation) {
        this.client = client;
        this.conversation = conversation;
    }

    /** The thread's id, by which it is found again. */
    public String threadId() {
        return conversation.threadId();
    }

    /** As {@link Conversation#prompt(String)}. */
    public CompletableFuture<Exchange> prompt(String text) {
        return begin(() -> conversation.prompt(text));
    }

    /** As {@link Conversation#prompt(Input)}. */
    public CompletableFuture<Exchange> prompt(Input input) {
        return begin(() -> conversation.prompt(input));
    }

    /** As {@link Conversation#prompt(String, Options)}. */
    public CompletableFuture<Exchange> prompt(String text, Options options) {
        return begin(() -> conversation.prompt(text, options));
    }

    /** As {@link Conversation#prompt(Input, Options)}. */
    public CompletableFuture<Exchange> prompt(Input input, Options options) {
        return begin(() -> conversation.prompt(input, options));
    }

    /** As {@link Conversation#chain(String)}. */
    public CompletableFuture<Exchange> chain(String text) {
        return begin(() -> conversation.chain(text));
    }

    /** As {@link Conversation#chain(Request)}. */
    public CompletableFuture<Exchange> chain(Request request) {
        return begin(() -> conversation.chain(request));
    }

    /** As {@link Conversation#chain(String, Options)}. */
    public CompletableFuture<Exchange> chain(String text, Options options) {
        return begin(() -> conversation.chain(text, options));
    }

    /** As {@link Conversation#chain(Request, Options)}. */
    public CompletableFuture<Exchange> chain(Request request, Options options) {
        return begin(() -> conversation.chain(request, options));
    }

    /** The thread's documents, to read and to write. */
    public AsyncWorkspace workspace() {
        return conversation.workspace().async();
    }

    /** As {@link Conversation#restore(OnRecord)}. */
    public CompletableFuture<NamedThread> restore(OnRecord to) {
        return begin(() -> conversation.restore(to));
    }

    /** As {@link Conversation#restore(OnRecord, Options)}. */
    public CompletableFuture<NamedThread> restore(OnRecord to, Options options) {
        return begin(() -> conversation.restore(to, options));
    }

    /** As {@link Conversation#moves()}. */
    public CompletableFuture<List<Move>> moves() {
        return begin(() -> conversation.moves().toList());
    }

    /** As {@link Conversation#fork(String)}. */
    public CompletableFuture<AsyncConversation> fork(String name) {
        return begin(() -> conversation.fork(name).async());
    }

    /** As {@link Conversation#fork(String, long)}. */
    public CompletableFuture<AsyncConversation> fork(String name, long afterTurn) {
        return begin(() -> conversation.fork(name, afterTurn).async());
    }

    /** As {@link Conversation#forkOnce(String)}. */
    public CompletableFuture<Probe> forkOnce(String text) {
        return begin(() -> conversation.forkOnce(text));
    }

    /** As {@link Conversation#forkOnce(Request, Options)}. */
    public CompletableFuture<Probe> forkOnce(Request request, Options options) {
        return begin(() -> conversation.forkOnce(request, options));
    }

    private <T> CompletableFuture<T> begin(Callable<T> call) {
        return Background.begin(client.workers(), call);
    }
}
