package antiphon;

import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

/**
 * The calls of {@link Client} with futures: each is made on a thread of its own, where its callbacks are called, too. Cancelling a future,
 * or letting it time out, ends its call at the server, down to the provider. What a call throws is what its future completes with.
 *
 * <p>What is read piece after piece has no twin here: {@code onDelta} hears an answer as it comes, in place of {@link Client#stream(Input,
 * Options)}.
 */
public final class AsyncClient {
    private final Client client;

    AsyncClient(Client client) {
        this.client = client;
    }

    /** As {@link Client#prompt(Request, Options)}. */
    public CompletableFuture<Exchange> prompt(Request request, Options options) {
        return begin(() -> client.prompt(request, options));
    }

    /** As {@link Client#reply(Exchange, Input, Options)}. */
    public CompletableFuture<Exchange> reply(Exchange exchange, Input input, Options options) {
        return begin(() -> client.reply(exchange, input, options));
    }

    /** As {@link Client#capture(Request, Options)}. */
    public CompletableFuture<Exchange> capture(Request request, Options options) {
        return begin(() -> client.capture(request, options));
    }

    /** As {@link Client#continueFrom(Point, Input, Options)}. */
    public CompletableFuture<Exchange> continueFrom(Point point, Input input, Options options) {
        return begin(() -> client.continueFrom(point, input, options));
    }

    /** As {@link Client#forkOnce(Source, Request, Options)}. */
    public CompletableFuture<Probe> forkOnce(Source source, Request request, Options options) {
        return begin(() -> client.forkOnce(source, request, options));
    }

    /** As {@link Client#record(List, Options)}. */
    public CompletableFuture<Recorded> record(List<Message> messages, Options options) {
        return begin(() -> client.record(messages, options));
    }

    /** As {@link Client#record(Probe, Options)}. */
    public CompletableFuture<Recorded> record(Probe probe, Options options) {
        return begin(() -> client.record(probe, options));
    }

    /** As {@link Client#fork(Source, Input, Options)}. */
    public CompletableFuture<Exchange> fork(Source source, Input input, Options options) {
        return begin(() -> client.fork(source, input, options));
    }

    /** As {@link Client#fork(Source, Options)}. */
    public CompletableFuture<AsyncConversation> fork(Source source, Options options) {
        return begin(() -> client.fork(source, options).async());
    }

    /** As {@link Client#forkAll(Source, List, List, Options)}. */
    public CompletableFuture<List<Branch>> forkAll(Source source, List<? extends Input> inputs, List<NewThread> threads, Options options) {
        return begin(() -> client.forkAll(source, inputs, threads, options));
    }

    /** As {@link Client#conversation(Place, Options)}. */
    public CompletableFuture<AsyncConversation> conversation(Place thread, Options options) {
        return begin(() -> client.conversation(thread, options).async());
    }

    /** As {@link Client#coordinate(Start, int, NextAction, Options)}. */
    public CompletableFuture<Outcome> coordinate(Start start, int additionalTurns, NextAction<?> nextAction, Options options) {
        return begin(() -> client.coordinate(start, additionalTurns, nextAction, options));
    }

    /** As {@link Client#attach(String, NextAction, Options)}. */
    public CompletableFuture<Outcome> attach(String coordinationId, NextAction<?> nextAction, Options options) {
        return begin(() -> client.attach(coordinationId, nextAction, options));
    }

    /** As {@link Client#chain(Request, List, Options)}. */
    public CompletableFuture<Exchange> chain(Request request, List<Tool> tools, Options options) {
        return begin(() -> client.chain(request, tools, options));
    }

    /** As {@link Client#resume(String, List, Options)}. */
    public CompletableFuture<Exchange> resume(String coordinationId, List<Tool> tools, Options options) {
        return begin(() -> client.resume(coordinationId, tools, options));
    }

    /** As {@link Client#answer(String, Answer, Options)}. */
    public CompletableFuture<Coordination> answer(String coordinationId, Answer answer, Options options) {
        return begin(() -> client.answer(coordinationId, answer, options));
    }

    /** As {@link Client#cancel(String)}. */
    public CompletableFuture<Void> cancel(String coordinationId) {
        return begin(() -> {
            client.cancel(coordinationId);
            return null;
        });
    }

    /** As {@link Client#cancel(String, String)}. */
    public CompletableFuture<Void> cancel(String coordinationId, String message) {
        return begin(() -> {
            client.cancel(coordinationId, message);
            return null;
        });
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

    /** As {@link Client#inspect(OnRecord)}. */
    public CompletableFuture<Inspection> inspect(OnRecord exchange) {
        return begin(() -> client.inspect(exchange));
    }

    /** As {@link Client#exchange(String)}. */
    public CompletableFuture<Exchange> exchange(String exchangeId) {
        return begin(() -> client.exchange(exchangeId));
    }

    /** As {@link Client#diff(OnRecord, OnRecord)}. */
    public CompletableFuture<Difference> diff(OnRecord left, OnRecord right) {
        return begin(() -> client.diff(left, right));
    }

    /** As {@link Client#usage(OnRecord)}. */
    public CompletableFuture<UsageSum> usage(OnRecord exchange) {
        return begin(() -> client.usage(exchange));
    }

    /** As {@link Client#usage(Map)}. */
    public CompletableFuture<UsageSum> usage(Map<String, String> labels) {
        return begin(() -> client.usage(labels));
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

    /** As {@link Client#prompt(String)}. */
    public CompletableFuture<Exchange> prompt(String text) {
        return begin(() -> client.prompt(text));
    }

    /** As {@link Client#prompt(Request)}. */
    public CompletableFuture<Exchange> prompt(Request request) {
        return begin(() -> client.prompt(request));
    }

    /** As {@link Client#prompt(String, Options)}. */
    public CompletableFuture<Exchange> prompt(String text, Options options) {
        return begin(() -> client.prompt(text, options));
    }

    /** As {@link Client#reply(Exchange, String)}. */
    public CompletableFuture<Exchange> reply(Exchange exchange, String text) {
        return begin(() -> client.reply(exchange, text));
    }

    /** As {@link Client#reply(Exchange, Input)}. */
    public CompletableFuture<Exchange> reply(Exchange exchange, Input input) {
        return begin(() -> client.reply(exchange, input));
    }

    /** As {@link Client#reply(Exchange, String, Options)}. */
    public CompletableFuture<Exchange> reply(Exchange exchange, String text, Options options) {
        return begin(() -> client.reply(exchange, text, options));
    }

    /** As {@link Client#capture(String)}. */
    public CompletableFuture<Exchange> capture(String text) {
        return begin(() -> client.capture(text));
    }

    /** As {@link Client#capture(Request)}. */
    public CompletableFuture<Exchange> capture(Request request) {
        return begin(() -> client.capture(request));
    }

    /** As {@link Client#capture(String, Options)}. */
    public CompletableFuture<Exchange> capture(String text, Options options) {
        return begin(() -> client.capture(text, options));
    }

    /** As {@link Client#continueFrom(Point, String)}. */
    public CompletableFuture<Exchange> continueFrom(Point point, String text) {
        return begin(() -> client.continueFrom(point, text));
    }

    /** As {@link Client#continueFrom(Point, Input)}. */
    public CompletableFuture<Exchange> continueFrom(Point point, Input input) {
        return begin(() -> client.continueFrom(point, input));
    }

    /** As {@link Client#continueFrom(Point, String, Options)}. */
    public CompletableFuture<Exchange> continueFrom(Point point, String text, Options options) {
        return begin(() -> client.continueFrom(point, text, options));
    }

    /** As {@link Client#forkOnce(Source, String)}. */
    public CompletableFuture<Probe> forkOnce(Source source, String text) {
        return begin(() -> client.forkOnce(source, text));
    }

    /** As {@link Client#forkOnce(Source, Request)}. */
    public CompletableFuture<Probe> forkOnce(Source source, Request request) {
        return begin(() -> client.forkOnce(source, request));
    }

    /** As {@link Client#forkOnce(Source, String, Options)}. */
    public CompletableFuture<Probe> forkOnce(Source source, String text, Options options) {
        return begin(() -> client.forkOnce(source, text, options));
    }

    /** As {@link Client#fork(Source, String)}. */
    public CompletableFuture<Exchange> fork(Source source, String text) {
        return begin(() -> client.fork(source, text));
    }

    /** As {@link Client#fork(Source, Input)}. */
    public CompletableFuture<Exchange> fork(Source source, Input input) {
        return begin(() -> client.fork(source, input));
    }

    /** As {@link Client#fork(Source, String, Options)}. */
    public CompletableFuture<Exchange> fork(Source source, String text, Options options) {
        return begin(() -> client.fork(source, text, options));
    }

    /** As {@link Client#chain(String, List)}. */
    public CompletableFuture<Exchange> chain(String text, List<Tool> tools) {
        return begin(() -> client.chain(text, tools));
    }

    /** As {@link Client#chain(Request, List)}. */
    public CompletableFuture<Exchange> chain(Request request, List<Tool> tools) {
        return begin(() -> client.chain(request, tools));
    }

    /** As {@link Client#chain(String, List, Options)}. */
    public CompletableFuture<Exchange> chain(String text, List<Tool> tools, Options options) {
        return begin(() -> client.chain(text, tools, options));
    }

    /** As {@link Client#fork(Source)}. */
    public CompletableFuture<AsyncConversation> fork(Source source) {
        return begin(() -> client.fork(source).async());
    }

    /** As {@link Client#forkAll(Source, List)}. */
    public CompletableFuture<List<Branch>> forkAll(Source source, List<? extends Input> inputs) {
        return begin(() -> client.forkAll(source, inputs));
    }

    /** As {@link Client#conversation()}. */
    public CompletableFuture<AsyncConversation> conversation() {
        return begin(() -> client.conversation().async());
    }

    /** As {@link Client#conversation(Place)}. */
    public CompletableFuture<AsyncConversation> conversation(Place thread) {
        return begin(() -> client.conversation(thread).async());
    }

    /** As {@link Client#coordinate(Start, int, NextAction)}. */
    public CompletableFuture<Outcome> coordinate(Start start, int additionalTurns, NextAction<?> nextAction) {
        return begin(() -> client.coordinate(start, additionalTurns, nextAction));
    }

    /** As {@link Client#attach(String, NextAction)}. */
    public CompletableFuture<Outcome> attach(String coordinationId, NextAction<?> nextAction) {
        return begin(() -> client.attach(coordinationId, nextAction));
    }

    /** As {@link Client#resume(String, List)}. */
    public CompletableFuture<Exchange> resume(String coordinationId, List<Tool> tools) {
        return begin(() -> client.resume(coordinationId, tools));
    }

    /** As {@link Client#answer(String, Answer)}. */
    public CompletableFuture<Coordination> answer(String coordinationId, Answer answer) {
        return begin(() -> client.answer(coordinationId, answer));
    }

    /** As {@link Client#record(List)}. */
    public CompletableFuture<Recorded> record(List<Message> messages) {
        return begin(() -> client.record(messages));
    }

    /** As {@link Client#record(Probe)}. */
    public CompletableFuture<Recorded> record(Probe probe) {
        return begin(() -> client.record(probe));
    }

    private <T> CompletableFuture<T> begin(Callable<T> call) {
        return Background.begin(client.workers(), call);
    }
}
