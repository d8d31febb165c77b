package antiphon;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

/** The calls of a client that read, with futures; what lists gives the whole list. Knows nothing of calls to a model. */
abstract class AsyncLibrary {
    /** Whose calls they are. */
    final Client client;

    AsyncLibrary(Client client) {
        this.client = client;
    }

    /** As {@link Client#thread(String)}. */
    public CompletableFuture<NamedThread> thread(String threadId) {
        return begin(() -> client.thread(threadId));
    }

    /** As {@link Client#threads()}. */
    public CompletableFuture<List<NamedThread>> threads() {
        return begin(() -> client.threads().toList());
    }

    /** As {@link Client#threads(Map)}. */
    public CompletableFuture<List<NamedThread>> threads(Map<String, String> labels) {
        return begin(() -> client.threads(labels).toList());
    }

    /** As {@link Client#createThread(NewThread)}. */
    public CompletableFuture<NamedThread> createThread(NewThread thread) {
        return begin(() -> client.createThread(thread));
    }

    /** As {@link Client#createThread(NewThread, Options)}. */
    public CompletableFuture<NamedThread> createThread(NewThread thread, Options options) {
        return begin(() -> client.createThread(thread, options));
    }

    /** As {@link Client#createThread(NewThread, OnRecord)}. */
    public CompletableFuture<NamedThread> createThread(NewThread thread, OnRecord head) {
        return begin(() -> client.createThread(thread, head));
    }

    /** As {@link Client#createThread(NewThread, OnRecord, Options)}. */
    public CompletableFuture<NamedThread> createThread(NewThread thread, OnRecord head, Options options) {
        return begin(() -> client.createThread(thread, head, options));
    }

    /** As {@link Client#updateThread(String, ThreadChange)}. */
    public CompletableFuture<NamedThread> updateThread(String threadId, ThreadChange change) {
        return begin(() -> client.updateThread(threadId, change));
    }

    /** As {@link Client#updateThread(NamedThread, ThreadChange)}. */
    public CompletableFuture<NamedThread> updateThread(NamedThread thread, ThreadChange change) {
        return begin(() -> client.updateThread(thread, change));
    }

    /** As {@link Client#deleteThread(String)}. */
    public CompletableFuture<Void> deleteThread(String threadId) {
        return begin(() -> {
            client.deleteThread(threadId);
            return null;
        });
    }

    /** As {@link Client#deleteThread(NamedThread)}. */
    public CompletableFuture<Void> deleteThread(NamedThread thread) {
        return begin(() -> {
            client.deleteThread(thread);
            return null;
        });
    }

    /** As {@link Client#turns(String)}. */
    public CompletableFuture<List<Turn>> turns(String threadId) {
        return begin(() -> client.turns(threadId).toList());
    }

    /** As {@link Client#restore(String, OnRecord)}. */
    public CompletableFuture<NamedThread> restore(String threadId, OnRecord to) {
        return begin(() -> client.restore(threadId, to));
    }

    /** As {@link Client#restore(String, OnRecord, Options)}. */
    public CompletableFuture<NamedThread> restore(String threadId, OnRecord to, Options options) {
        return begin(() -> client.restore(threadId, to, options));
    }

    /** As {@link Client#moves(String)}. */
    public CompletableFuture<List<Move>> moves(String threadId) {
        return begin(() -> client.moves(threadId).toList());
    }

    /** As {@link Client#workspace(String)}; it asks for nothing yet. */
    public AsyncWorkspace workspace(String threadId) {
        return client.workspace(threadId).async();
    }

    /** As {@link Client#documents(WorkspacePoint)}; it asks for nothing yet. */
    public AsyncDocuments documents(WorkspacePoint point) {
        return client.documents(point).async();
    }

    /** As {@link Client#inspect(OnRecord)}. */
    public CompletableFuture<Inspection> inspect(OnRecord exchange) {
        return begin(() -> client.inspect(exchange));
    }

    /** As {@link Client#exchange(String)}. */
    public CompletableFuture<Exchange> exchange(String exchangeId) {
        return begin(() -> client.exchange(exchangeId));
    }

    /** As {@link Client#run(String)}. */
    public CompletableFuture<Run> run(String runId) {
        return begin(() -> client.run(runId));
    }

    /** As {@link Client#runs()}. */
    public CompletableFuture<List<Run>> runs() {
        return begin(() -> client.runs().toList());
    }

    /** As {@link Client#runs(Which)}. */
    public CompletableFuture<List<Run>> runs(Which which) {
        return begin(() -> client.runs(which).toList());
    }

    /** As {@link Client#cancelRun(String)}. */
    public CompletableFuture<Run> cancelRun(String runId) {
        return begin(() -> client.cancelRun(runId));
    }

    /** As {@link Client#coordination(String)}. */
    public CompletableFuture<Coordination> coordination(String coordinationId) {
        return begin(() -> client.coordination(coordinationId));
    }

    /** As {@link Client#coordinations()}. */
    public CompletableFuture<List<Coordination>> coordinations() {
        return begin(() -> client.coordinations().toList());
    }

    /** As {@link Client#coordinations(Which)}. */
    public CompletableFuture<List<Coordination>> coordinations(Which which) {
        return begin(() -> client.coordinations(which).toList());
    }

    /** As {@link Client#ancestors(OnRecord)}. */
    public CompletableFuture<List<Node>> ancestors(OnRecord exchange) {
        return begin(() -> client.ancestors(exchange).toList());
    }

    /** As {@link Client#children(OnRecord)}. */
    public CompletableFuture<List<Node>> children(OnRecord exchange) {
        return begin(() -> client.children(exchange).toList());
    }

    /** As {@link Client#commonAncestor(OnRecord...)}. */
    public CompletableFuture<Optional<Node>> commonAncestor(OnRecord... exchanges) {
        return begin(() -> client.commonAncestor(exchanges));
    }

    /** As {@link Client#diff(OnRecord, OnRecord)}. */
    public CompletableFuture<Difference> diff(OnRecord left, OnRecord right) {
        return begin(() -> client.diff(left, right));
    }

    /** As {@link Client#graph(Scope)}. */
    public CompletableFuture<String> graph(Scope scope) {
        return begin(() -> client.graph(scope));
    }

    /** As {@link Client#graph(Scope, Drawing)}. */
    public CompletableFuture<String> graph(Scope scope, Drawing drawing) {
        return begin(() -> client.graph(scope, drawing));
    }

    /** As {@link Client#search(String)}. */
    public CompletableFuture<List<Hit>> search(String text) {
        return begin(() -> client.search(text).toList());
    }

    /** As {@link Client#search(SearchQuery)}. */
    public CompletableFuture<List<Hit>> search(SearchQuery query) {
        return begin(() -> client.search(query).toList());
    }

    /** As {@link Client#usage(Scope...)}. */
    public CompletableFuture<UsageSum> usage(Scope... scopes) {
        return begin(() -> client.usage(scopes));
    }

    /** As {@link Client#usage(UsageQuery)}. */
    public CompletableFuture<UsageSum> usage(UsageQuery query) {
        return begin(() -> client.usage(query));
    }

    /** As {@link Client#callTools(OnRecord)}. */
    public CompletableFuture<CallTools> callTools(OnRecord exchange) {
        return begin(() -> client.callTools(exchange));
    }

    /** As {@link Client#toolOccurrences(String)}. */
    public CompletableFuture<List<ToolOccurrence>> toolOccurrences(String name) {
        return begin(() -> client.toolOccurrences(name).toList());
    }

    /** As {@link Client#toolOccurrences(String, ToolQuery)}. */
    public CompletableFuture<List<ToolOccurrence>> toolOccurrences(String name, ToolQuery query) {
        return begin(() -> client.toolOccurrences(name, query).toList());
    }

    /** As {@link Client#toolDrifts(Scope)}. */
    public CompletableFuture<List<Drift>> toolDrifts(Scope scope) {
        return begin(() -> client.toolDrifts(scope).toList());
    }

    /** As {@link Client#toolDrifts(Scope, String)}. */
    public CompletableFuture<List<Drift>> toolDrifts(Scope scope, String name) {
        return begin(() -> client.toolDrifts(scope, name).toList());
    }

    /** As {@link Client#prompts()}. */
    public CompletableFuture<List<ConfiguredPrompt>> prompts() {
        return begin(() -> client.prompts().toList());
    }

    /** As {@link Client#inspectPrompt(String)}. */
    public CompletableFuture<ConfiguredPrompt> inspectPrompt(String promptId) {
        return begin(() -> client.inspectPrompt(promptId));
    }

    /** As {@link Client#profiles()}. */
    public CompletableFuture<List<ConfiguredProfile>> profiles() {
        return begin(() -> client.profiles().toList());
    }

    /** As {@link Client#inspectProfile(String)}. */
    public CompletableFuture<ConfiguredProfile> inspectProfile(String profileId) {
        return begin(() -> client.inspectProfile(profileId));
    }

    /** As {@link Client#backends()}. */
    public CompletableFuture<List<ConfiguredBackend>> backends() {
        return begin(() -> client.backends().toList());
    }

    /** As {@link Client#inspectBackend(String)}. */
    public CompletableFuture<ConfiguredBackend> inspectBackend(String backendId) {
        return begin(() -> client.inspectBackend(backendId));
    }

    /** As {@link Client#contracts()}. */
    public CompletableFuture<List<ConfiguredContract>> contracts() {
        return begin(() -> client.contracts().toList());
    }

    /** As {@link Client#inspectContract(String)}. */
    public CompletableFuture<ConfiguredContract> inspectContract(String contractId) {
        return begin(() -> client.inspectContract(contractId));
    }

    <T> CompletableFuture<T> begin(Callable<T> call) {
        return Background.begin(client.workers(), call);
    }
}
