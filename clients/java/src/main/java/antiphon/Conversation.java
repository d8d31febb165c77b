package antiphon;

import java.util.stream.Stream;

/**
 * A conversation: a thread to talk on, turn after turn. Its tools stand at the server; the functions behind them, and the hooks around
 * them, are here. It keeps nothing else that the server lacks.
 */
public final class Conversation {
    private final Client client;
    private final String threadId;
    private final Options own;
    private final boolean standing;

    Conversation(Client client, String threadId, Options own, boolean standing) {
        this.client = client;
        this.threadId = threadId;
        this.own = own;
        this.standing = standing;
    }

    /** The thread's id, by which it is found again. */
    public String threadId() {
        return threadId;
    }

    /** The next turn, of a text. */
    public Exchange prompt(String text) {
        return prompt(Request.of(text), new Options());
    }

    /** The next turn. */
    public Exchange prompt(Input input) {
        return prompt(input, new Options());
    }

    /** The next turn, of a text, with options. */
    public Exchange prompt(String text, Options options) {
        return prompt(Request.of(text), options);
    }

    /**
     * The next turn, of one call to the model: tools that it calls are left to the caller, who gives all {@link Results} to the next {@code
     * prompt}.
     *
     * <p>It takes {@code timeout}, {@code onDelta} and {@code expectedHead}.
     */
    public Exchange prompt(Input input, Options options) {
        options.only("prompt", Options.TURN, "expectedHead");
        ThreadPoint point = new ThreadPoint(threadId).expectedHead(options.expectedHead);
        Options turn = new Options().with(made -> {
            made.timeout = options.timeout;
            made.onDelta = options.onDelta;
        });
        if (!(input instanceof Request request)) {
            return client.continueFrom(point, input, turn);
        }
        boolean offers = own.tools != null && !standing && request.ownTools() == null;
        Request offering = offers ? request.tools(own.tools) : request;
        try {
            return client.continueFrom(point, offering, turn);
        } catch (AntiphonException refused) {
            if (!refused.reason().equals("THREAD_EMPTY")) {
                throw refused;
            }
        }
        return client.capture(offering, turn.thread(point));
    }

    /** The next turn, of a text, with the conversation's tools run here. */
    public Exchange chain(String text) {
        return chain(Request.of(text), new Options());
    }

    /** The next turn, with the conversation's tools run here. */
    public Exchange chain(Request request) {
        return chain(request, new Options());
    }

    /** The next turn, of a text, with options. */
    public Exchange chain(String text, Options options) {
        return chain(Request.of(text), options);
    }

    /**
     * The next turn, with the tools that the model calls run here: the conversation's own, or for this turn those of {@code tools}.
     *
     * <p>It takes {@code tools}, {@code chainLimit}, {@code tokenLimit}, {@code costLimit}, {@code coordinationId}, {@code onDelta} and {@code
     * generate}.
     */
    public Exchange chain(Request request, Options options) {
        options.only(
                "chain",
                new String[] {"tools", "chainLimit", "tokenLimit", "costLimit", "coordinationId", "onDelta", "generate"});
        ThreadPoint point = new ThreadPoint(threadId);
        boolean empty = client.thread(threadId).headExchangeId().isEmpty();
        Options all = options.with(made -> {
            made.tools = options.tools == null ? own.tools : options.tools;
            made.rounds = options.rounds == null ? own.rounds : options.rounds;
            made.beforeCall = own.beforeCall;
            made.afterCall = own.afterCall;
            made.thread = empty ? point : null;
            made.after = empty ? null : point;
        });
        return client.chained(request, all, options.tools == null && standing);
    }

    /** The thread's documents, to read and to write. */
    public Workspace workspace() {
        return client.workspace(threadId);
    }

    /** Goes back to an earlier exchange, documents included; the next turn goes on from there. Nothing is lost, see {@link #moves}. */
    public NamedThread restore(OnRecord to) {
        return client.restore(threadId, to);
    }

    /** Goes back to an earlier exchange. It takes what {@link Client#restore(String, OnRecord, Options)} does. */
    public NamedThread restore(OnRecord to, Options options) {
        return client.restore(threadId, to, options);
    }

    /** Where the head was, the newest move first. */
    public Stream<Move> moves() {
        return client.moves(threadId);
    }

    /**
     * A new conversation from here, with a name for people. Its hooks are none and its tools stand without functions: give them to each
     * chain, or to another.
     */
    public Conversation fork(String name) {
        return client.fork(new ThreadTurn(threadId), new Options().thread(new NewThread().name(name)));
    }

    /** A new conversation from after an earlier turn. */
    public Conversation fork(String name, long afterTurn) {
        return client.fork(new ThreadTurn(threadId).afterTurn(afterTurn), new Options().thread(new NewThread().name(name)));
    }

    /** Asks something on the side, and leaves nothing behind. */
    public Probe forkOnce(String text) {
        return client.forkOnce(new ThreadTurn(threadId), Request.of(text), new Options());
    }

    /** Asks something on the side, and leaves nothing behind. It takes what {@link Client#forkOnce(Source, Request, Options)} does. */
    public Probe forkOnce(Request request, Options options) {
        return client.forkOnce(new ThreadTurn(threadId), request, options);
    }

    /** The same, with futures. */
    public AsyncConversation async() {
        return new AsyncConversation(client, this);
    }
}
