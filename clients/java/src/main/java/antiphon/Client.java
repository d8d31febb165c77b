package antiphon;

import java.time.Duration;
import java.util.List;

/**
 * Talks to one server: everything that can be asked of it, here also in short. Several threads may use it at once. Close it when it is done
 * with.
 *
 * <p>Interrupting a thread that waits here ends its call, and its run at the server, down to the provider: it gets an {@link
 * AntiphonException} with the code CANCELLED, and stays interrupted. {@link #async} has the same calls with futures.
 */
public final class Client extends Forks {
    private static final String USUAL_ADDRESS = "127.0.0.1:7373";

    private Client(Connection connection) {
        super(connection);
    }

    /** A client of the server at host and port, or the same after {@code http://} or {@code https://}. It connects when it is used. */
    public static Client connect(String address) {
        return connect(address, new ClientOptions());
    }

    /** A client of a server, with a key for instance. */
    public static Client connect(String address, ClientOptions options) {
        return new Client(Connection.to(address, options));
    }

    /**
     * A client of the server that ANTIPHON_SERVER names, else of the one at its usual place on this machine, with the key in ANTIPHON_TOKEN
     * if there is one. Nothing else here reads the environment.
     */
    public static Client fromEnv() {
        return fromEnv(new ClientOptions());
    }

    /** The same with other options; a token among them comes before that of the environment. */
    public static Client fromEnv(ClientOptions options) {
        String server = System.getenv().getOrDefault("ANTIPHON_SERVER", USUAL_ADDRESS);
        String token = System.getenv("ANTIPHON_TOKEN");
        return connect(server, token == null || options.token().isPresent() ? options : options.token(token));
    }

    /**
     * The same client for calls whose provider gets this key in place of the server's own, those of one user for instance. It shares the
     * connection: closing one closes both.
     */
    public Client withProviderCredential(String credential) {
        return new Client(connection.withProviderCredential(credential));
    }

    /**
     * The same client whose calls end with the code DEADLINE_EXCEEDED when they take longer, reads among them; the {@code timeout} of a
     * call's own options comes before it. What lists takes it for each page, and a document in pieces for all of it. The loops and {@code
     * watch}, which may wait for people, take none. It shares the connection: closing one closes both.
     */
    public Client withTimeout(Duration timeout) {
        return new Client(connection.withTimeout(timeout));
    }

    /** The same calls with futures, over the same connection. */
    public AsyncClient async() {
        return new AsyncClient(this);
    }

    /** As {@link #prompt(Request, Options)}, with a text. */
    public Exchange prompt(String text) {
        return prompt(Request.of(text), new Options());
    }

    /** As {@link #prompt(Request, Options)}, without options. */
    public Exchange prompt(Request request) {
        return prompt(request, new Options());
    }

    /** As {@link #prompt(Request, Options)}, with a text. */
    public Exchange prompt(String text, Options options) {
        return prompt(Request.of(text), options);
    }

    /** As {@link #reply(Exchange, Input, Options)}, with a text. */
    public Exchange reply(Exchange exchange, String text) {
        return reply(exchange, Request.of(text), new Options());
    }

    /** As {@link #reply(Exchange, Input, Options)}, without options. */
    public Exchange reply(Exchange exchange, Input input) {
        return reply(exchange, input, new Options());
    }

    /** As {@link #reply(Exchange, Input, Options)}, with a text. */
    public Exchange reply(Exchange exchange, String text, Options options) {
        return reply(exchange, Request.of(text), options);
    }

    /** As {@link #capture(Request, Options)}, with a text. */
    public Exchange capture(String text) {
        return capture(Request.of(text), new Options());
    }

    /** As {@link #capture(Request, Options)}, without options. */
    public Exchange capture(Request request) {
        return capture(request, new Options());
    }

    /** As {@link #capture(Request, Options)}, with a text. */
    public Exchange capture(String text, Options options) {
        return capture(Request.of(text), options);
    }

    /** As {@link #continueFrom(Point, Input, Options)}, with a text. */
    public Exchange continueFrom(Point point, String text) {
        return continueFrom(point, Request.of(text), new Options());
    }

    /** As {@link #continueFrom(Point, Input, Options)}, without options. */
    public Exchange continueFrom(Point point, Input input) {
        return continueFrom(point, input, new Options());
    }

    /** As {@link #continueFrom(Point, Input, Options)}, with a text. */
    public Exchange continueFrom(Point point, String text, Options options) {
        return continueFrom(point, Request.of(text), options);
    }

    /** As {@link #stream(Input, Options)}, with a text. */
    public Response<Exchange> stream(String text) {
        return stream(Request.of(text), new Options());
    }

    /** As {@link #stream(Input, Options)}, without options. */
    public Response<Exchange> stream(Input input) {
        return stream(input, new Options());
    }

    /** As {@link #stream(Input, Options)}, with a text. */
    public Response<Exchange> stream(String text, Options options) {
        return stream(Request.of(text), options);
    }

    /** As {@link #explain(Input, Options)}, with a text. */
    public Explanation explain(String text) {
        return explain(Request.of(text), new Options());
    }

    /** As {@link #explain(Input, Options)}, without options. */
    public Explanation explain(Input input) {
        return explain(input, new Options());
    }

    /** As {@link #explain(Input, Options)}, with a text. */
    public Explanation explain(String text, Options options) {
        return explain(Request.of(text), options);
    }

    /** As {@link #prepare(Request, Options)}, with a text. */
    public Prepared prepare(String text) {
        return prepare(Request.of(text), new Options());
    }

    /** As {@link #prepare(Request, Options)}, without options. */
    public Prepared prepare(Request request) {
        return prepare(request, new Options());
    }

    /** As {@link #prepare(Request, Options)}, with a text. */
    public Prepared prepare(String text, Options options) {
        return prepare(Request.of(text), options);
    }

    /** As {@link #execute(Prepared, Options)}, without options. */
    public Exchange execute(Prepared prepared) {
        return execute(prepared, new Options());
    }

    /** As {@link #forkOnce(Source, Request, Options)}, with a text. */
    public Probe forkOnce(Source source, String text) {
        return forkOnce(source, Request.of(text), new Options());
    }

    /** As {@link #forkOnce(Source, Request, Options)}, without options. */
    public Probe forkOnce(Source source, Request request) {
        return forkOnce(source, request, new Options());
    }

    /** As {@link #forkOnce(Source, Request, Options)}, with a text. */
    public Probe forkOnce(Source source, String text, Options options) {
        return forkOnce(source, Request.of(text), options);
    }

    /** As {@link #fork(Source, Input, Options)}, with a text. */
    public Exchange fork(Source source, String text) {
        return fork(source, Request.of(text), new Options());
    }

    /** As {@link #fork(Source, Input, Options)}, without options. */
    public Exchange fork(Source source, Input input) {
        return fork(source, input, new Options());
    }

    /** As {@link #fork(Source, Input, Options)}, with a text. */
    public Exchange fork(Source source, String text, Options options) {
        return fork(source, Request.of(text), options);
    }

    /** As {@link #chain(Request, List, Options)}, with a text. */
    public Exchange chain(String text, List<Tool> tools) {
        return chain(Request.of(text), tools, new Options());
    }

    /** As {@link #chain(Request, List, Options)}, without options. */
    public Exchange chain(Request request, List<Tool> tools) {
        return chain(request, tools, new Options());
    }

    /** As {@link #chain(Request, List, Options)}, with a text. */
    public Exchange chain(String text, List<Tool> tools, Options options) {
        return chain(Request.of(text), tools, options);
    }

    /** As {@link #fork(Source, Options)}, without options. */
    public Conversation fork(Source source) {
        return fork(source, new Options());
    }

    /** As {@link #forkAll(Source, List, List, Options)}, on threads that say nothing of their own. */
    public List<Branch> forkAll(Source source, List<? extends Input> inputs) {
        return forkAll(source, inputs, List.of(), new Options());
    }

    /** As {@link #conversation(Place, Options)}, on a new thread and without tools. */
    public Conversation conversation() {
        return conversation(new NewThread(), new Options());
    }

    /** As {@link #conversation(Place, Options)}, without tools. */
    public Conversation conversation(Place thread) {
        return conversation(thread, new Options());
    }

    /** As {@link #coordinate(Start, int, NextAction, Options)}, without options. */
    public <X extends Exception> Outcome coordinate(Start start, int additionalTurns, NextAction<X> nextAction) throws X {
        return coordinate(start, additionalTurns, nextAction, new Options());
    }

    /** As {@link #attach(String, NextAction, Options)}, without options. */
    public <X extends Exception> Outcome attach(String coordinationId, NextAction<X> nextAction) throws X {
        return attach(coordinationId, nextAction, new Options());
    }

    /** As {@link #resume(String, List, Options)}, without options. */
    public Exchange resume(String coordinationId, List<Tool> tools) {
        return resume(coordinationId, tools, new Options());
    }

    /** As {@link #answer(String, Answer, Options)}, to what is pending. */
    public Coordination answer(String coordinationId, Answer answer) {
        return answer(coordinationId, answer, new Options());
    }

    /** As {@link #record(List, Options)}, without options. */
    public Recorded record(List<Message> messages) {
        return record(messages, new Options());
    }

    /** As {@link #record(Probe, Options)}, without options. */
    public Recorded record(Probe probe) {
        return record(probe, new Options());
    }
}
