package antiphon;

import antiphon.gen.ExchangeServiceGrpc;
import antiphon.gen.ExecutionRequest;
import antiphon.gen.ForkBranch;
import antiphon.gen.ForkRequest;
import antiphon.gen.ForkResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** New threads from points of history, and conversations on threads. Knows nothing of what goes on there. */
abstract class Forks extends Prompts {
    Forks(Connection connection) {
        super(connection);
    }

    /**
     * A new thread from an exchange or a point of a thread, with its first turn: of a request, or of the results of the calls that are
     * pending there. Nothing is copied, and the source stays as it is. The thread uses the profile and model of its source unless {@code
     * thread} says otherwise. Hooks and functions do not go along.
     *
     * <p>It takes {@code timeout}, {@code requestId} and {@code thread}, a {@link NewThread}.
     */
    public Exchange fork(Source source, Input input, Options options) {
        options.only("fork", new String[] {"timeout", "requestId", "thread"});
        ForkRequest raw = request(source, List.of(branch(source, made(options.thread), input)), options);
        ForkResponse answer = input instanceof Request
                ? call(ExchangeServiceGrpc.getForkMethod(), raw, options.timeout, Forks::again)
                : call(ExchangeServiceGrpc.getForkMethod(), raw, options.timeout);
        return Exchange.of(answer.getResults(0).getExchange());
    }

    /**
     * A new thread from an exchange or a point of a thread, without a turn, as a conversation to go on with.
     *
     * <p>It takes {@code timeout}, {@code requestId} and {@code thread}, a {@link NewThread}.
     */
    public Conversation fork(Source source, Options options) {
        options.only("fork", new String[] {"timeout", "requestId", "thread"});
        ForkRequest raw = request(source, List.of(branch(source, made(options.thread), null)), options);
        ForkResponse answer = call(ExchangeServiceGrpc.getForkMethod(), raw, options.timeout);
        return new Conversation((Client) this, answer.getResults(0).getThread().getThreadId(), new Options(), false);
    }

    /**
     * Several threads from one point, one for each input, whose first turns are executed at once. One that fails has its error, and takes
     * no other with it. {@code threads} may say of the first ones what they are.
     *
     * <p>It takes {@code timeout} and {@code requestId}.
     */
    public List<Branch> forkAll(Source source, List<? extends Input> inputs, List<NewThread> threads, Options options) {
        options.only("forkAll", new String[] {"timeout", "requestId"});
        if (threads.size() > inputs.size()) {
            throw new IllegalArgumentException("there are " + threads.size() + " threads for " + inputs.size() + " inputs");
        }
        List<ForkBranch> branches = new ArrayList<>();
        for (int index = 0; index < inputs.size(); index++) {
            branches.add(branch(source, index < threads.size() ? threads.get(index) : new NewThread(), inputs.get(index)));
        }
        try {
            ForkRequest raw = request(source, branches, options);
            return call(ExchangeServiceGrpc.getForkMethod(), raw, options.timeout).getResultsList().stream().map(Branch::of).toList();
        } catch (AntiphonException error) {
            // The answer says so for several only; a single failure is the call's own.
            String threadId = error.metadata().get("thread_id");
            if (inputs.size() != 1 || threadId == null) {
                throw error;
            }
            return List.of(new Branch(threadId, Optional.empty(), Optional.of(error)));
        }
    }

    /**
     * A conversation on a new thread, a {@link NewThread}, or on one that is there, a {@link ThreadPoint}. Every turn offers its {@code
     * tools} which says nothing else, and {@code chain} runs them, with the hooks around them. On a new thread they stand for whoever else
     * goes on with it.
     *
     * <p>It takes {@code tools}, {@code beforeCall}, {@code afterCall} and {@code chainLimit}.
     */
    public Conversation conversation(Place thread, Options options) {
        options.only("conversation", new String[] {"tools", "beforeCall", "afterCall", "chainLimit"});
        if (thread instanceof ThreadPoint there) {
            return new Conversation((Client) this, there.threadId(), options, false);
        }
        NewThread asked = (NewThread) thread;
        NamedThread made = createThread(options.tools == null ? asked : asked.tools(options.tools));
        return new Conversation((Client) this, made.threadId(), options, true);
    }

    private static NewThread made(Place thread) {
        if (thread instanceof ThreadPoint) {
            throw new IllegalArgumentException("a fork makes a thread: give a NewThread");
        }
        return thread == null ? new NewThread() : (NewThread) thread;
    }

    private static ForkRequest request(Source source, List<ForkBranch> branches, Options options) {
        ForkRequest.Builder raw = ForkRequest.newBuilder()
                .setRequestId(options.requestId.isEmpty() ? Words.fresh() : options.requestId)
                .addAllBranches(branches);
        if (source instanceof ThreadTurn turn) {
            return raw.setThread(turn.toRaw()).build();
        }
        return raw.setExchange(point((OnRecord) source)).build();
    }

    private static ForkBranch branch(Source source, NewThread thread, Input input) {
        ForkBranch.Builder raw = ForkBranch.newBuilder().setThread(thread.likeSource(source).toRaw());
        if (input instanceof Results results) {
            raw.setToolResults(results.toRaw());
        } else if (input != null) {
            raw.setRequest(named(((Request) input).toRaw()));
        }
        return raw.build();
    }

    private static ForkRequest again(ForkRequest raw) {
        ForkRequest.Builder made = raw.toBuilder();
        ExecutionRequest.Builder request = made.getBranchesBuilder(0).getRequestBuilder();
        request.setRetry(true);
        return made.build();
    }
}
