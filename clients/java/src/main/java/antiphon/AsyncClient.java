package antiphon;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The calls of {@link Client} with futures: each is made on a thread of its own, where its callbacks are called, too. Cancelling a future,
 * or letting it time out, ends its call at the server, down to the provider. What a call throws is what its future completes with.
 *
 * <p>What is read piece after piece has no twin here: {@code onDelta} hears an answer as it comes, in place of {@link Client#stream(Input,
 * Options)}.
 */
public final class AsyncClient extends AsyncLibrary {
    AsyncClient(Client client) {
        super(client);
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

    /** As {@link Client#explain(Input, Options)}. */
    public CompletableFuture<Explanation> explain(Input input, Options options) {
        return begin(() -> client.explain(input, options));
    }

    /** As {@link Client#explainExchange(OnRecord)}. */
    public CompletableFuture<Explanation> explainExchange(OnRecord exchange) {
        return begin(() -> client.explainExchange(exchange));
    }

    /** As {@link Client#prepare(Request, Options)}. */
    public CompletableFuture<Prepared> prepare(Request request, Options options) {
        return begin(() -> client.prepare(request, options));
    }

    /** As {@link Client#execute(Prepared, Options)}. */
    public CompletableFuture<Exchange> execute(Prepared prepared, Options options) {
        return begin(() -> client.execute(prepared, options));
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

    /** As {@link Client#explain(String)}. */
    public CompletableFuture<Explanation> explain(String text) {
        return begin(() -> client.explain(text));
    }

    /** As {@link Client#explain(Input)}. */
    public CompletableFuture<Explanation> explain(Input input) {
        return begin(() -> client.explain(input));
    }

    /** As {@link Client#explain(String, Options)}. */
    public CompletableFuture<Explanation> explain(String text, Options options) {
        return begin(() -> client.explain(text, options));
    }

    /** As {@link Client#prepare(String)}. */
    public CompletableFuture<Prepared> prepare(String text) {
        return begin(() -> client.prepare(text));
    }

    /** As {@link Client#prepare(Request)}. */
    public CompletableFuture<Prepared> prepare(Request request) {
        return begin(() -> client.prepare(request));
    }

    /** As {@link Client#prepare(String, Options)}. */
    public CompletableFuture<Prepared> prepare(String text, Options options) {
        return begin(() -> client.prepare(text, options));
    }

    /** As {@link Client#execute(Prepared)}. */
    public CompletableFuture<Exchange> execute(Prepared prepared) {
        return begin(() -> client.execute(prepared));
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
}
