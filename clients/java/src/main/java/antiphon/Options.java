package antiphon;

import antiphon.gen.CostAmount;
import antiphon.gen.SpendLimit;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Options of a call. Each method gives another one that says more, and names the calls that take it; another call refuses it with an {@link
 * IllegalArgumentException} before it does anything.
 */
public final class Options implements Cloneable {
    /** What all calls that execute a turn take. */
    static final String[] TURN = {"timeout", "onDelta"};
    /** What all loops take. */
    static final String[] LOOP = {"beforeCall", "afterCall", "onDelta", "generate", "onToolDrift"};

    private static final Pattern COST = Pattern.compile("([0-9]{1,9}(?:\\.[0-9]{1,9})?) ([A-Z]{3})");

    Duration timeout;
    OnDelta onDelta;
    BeforeCall beforeCall;
    AfterCall afterCall;
    Generate generate;
    ToolDrift onToolDrift;
    Point after;
    Place thread;
    Boolean capture;
    boolean allowSideEffects;
    List<Tool> tools;
    Integer rounds;
    Long tokenLimit;
    CostAmount costLimit;
    Duration decisionTimeout;
    Instant deadline;
    OnDisconnect onDisconnect;
    String coordinationId = "";
    Map<String, String> labels = Map.of();
    boolean ephemeral;
    List<Facts> facts = List.of();
    String requestId = "";
    String pendingId = "";
    String expectedHead = "";
    Instant expires;
    String etag = "";
    String mediaType = "";
    Object metadata;
    String contentBlake3 = "";
    String prefix = "";
    boolean unified;
    private Set<String> said = Set.of();

    /** None yet. */
    public Options() {}

    /**
     * For the call with all of its tries: every call with options but {@code diff} and the loops, of which {@code coordinate} has a {@link
     * #deadline}.
     */
    public Options timeout(Duration timeout) {
        return with("timeout", made -> made.timeout = timeout);
    }

    /** Hears the answer as it comes: every call that executes a turn but {@code fork}. */
    public Options onDelta(OnDelta onDelta) {
        return with("onDelta", made -> made.onDelta = onDelta);
    }

    /** Sees each call of a tool before it is made: the loops and {@code conversation}. */
    public Options beforeCall(BeforeCall beforeCall) {
        return with("beforeCall", made -> made.beforeCall = beforeCall);
    }

    /** Sees each call of a tool with its result: the loops and {@code conversation}. */
    public Options afterCall(AfterCall afterCall) {
        return with("afterCall", made -> made.afterCall = afterCall);
    }

    /** The caller's own model: the loops. */
    public Options generate(Generate generate) {
        return with("generate", made -> made.generate = generate);
    }

    /** What happens when a tool's input schema is another one than before, in every request that does not say its own: the loops. */
    public Options onToolDrift(ToolDrift what) {
        return with("onToolDrift", made -> made.onToolDrift = what);
    }

    /**
     * What it goes on from: {@code stream}, {@code chain}, {@code record}, {@code explain} and {@code prepare}; a first turn, or
     * a whole transcript, when absent.
     */
    public Options after(Point point) {
        return with("after", made -> made.after = point);
    }

    /**
     * Where a first turn is executed: {@code capture}, {@code stream}, {@code chain}, {@code coordinate} and {@code explain}. With {@code
     * record} the thread that goes through the transcript; with {@code fork} the one to make, a {@link NewThread}.
     */
    public Options thread(Place thread) {
        return with("thread", made -> made.thread = thread);
    }

    /** Keeps what is said: {@code prompt}, {@code reply} and {@code prepare}. */
    public Options capture(boolean capture) {
        return with("capture", made -> made.capture = capture);
    }

    /** Lets a probe offer tools that have side effects: {@code forkOnce}. */
    public Options allowSideEffects() {
        return with("allowSideEffects", made -> made.allowSideEffects = true);
    }

    /**
     * Functions that the model may call in every turn whose request names none of its own: {@code coordinate}, {@code attach} and
     * conversations.
     */
    public Options tools(List<Tool> tools) {
        List<Tool> kept = List.copyOf(tools);
        return with("tools", made -> made.tools = kept);
    }

    /**
     * Functions that the model may call in every turn whose request names none of its own: {@code coordinate}, {@code attach} and
     * conversations.
     */
    public Options tools(Tool... tools) {
        return tools(List.of(tools));
    }

    /** How many rounds of tools a turn may have: {@code chain}, {@code coordinate} and conversations; 16 for a chain when absent. */
    public Options chainLimit(int rounds) {
        return with("chainLimit", made -> made.rounds = rounds);
    }

    /**
     * How many tokens all calls to models may read and write together, 1 or more: {@code coordinate} and {@code chain}, a conversation's too.
     * The call that reaches it is the last. An answer that asks for another one is refused with the reason SPEND_LIMIT, which is thrown and
     * never tried again by itself; what was pending stays so. What {@code generate} does is not counted.
     */
    public Options tokenLimit(long tokens) {
        if (tokens < 1) {
            throw new IllegalArgumentException("tokenLimit: " + tokens + " is less than 1; leave it out for no limit");
        }
        return with("tokenLimit", made -> made.tokenLimit = tokens);
    }

    /**
     * What they may cost by the prices of profiles: an amount over 0 with its currency, such as {@code 2.50 USD}, with up to 9 digits on each
     * side of the point. It is a limit like {@link #tokenLimit}, of the same calls, and there can be both. A model without prices in that
     * currency is refused with the same reason. Throws an {@link IllegalArgumentException} for a text that is no cost.
     */
    public Options costLimit(String cost) {
        Matcher said = COST.matcher(cost);
        if (!said.matches() || said.group(1).matches("[0.]+")) {
            throw new IllegalArgumentException(
                    "costLimit: '" + cost + "' is not an amount over 0 with its currency, such as '2.50 USD'");
        }
        CostAmount amount = CostAmount.newBuilder().setAmount(said.group(1)).setCurrency(said.group(2)).build();
        return with("costLimit", made -> made.costLimit = amount);
    }

    /** For how long a decision may take: {@code coordinate}. */
    public Options decisionTimeout(Duration timeout) {
        return with("decisionTimeout", made -> made.decisionTimeout = timeout);
    }

    /** When the server ends it: {@code coordinate}. */
    public Options deadline(Instant deadline) {
        return with("deadline", made -> made.deadline = deadline);
    }

    /** What happens to a turn when the stream breaks; it is finished when absent: {@code coordinate}. */
    public Options onDisconnect(OnDisconnect what) {
        return with("onDisconnect", made -> made.onDisconnect = what);
    }

    /** Names it, so that it can be attached to; made once when absent: {@code coordinate} and {@code chain}. */
    public Options coordinationId(String coordinationId) {
        return with("coordinationId", made -> made.coordinationId = coordinationId);
    }

    /** Names and texts of your own, to list by: {@code coordinate}, {@code chain} and {@code record}. */
    public Options labels(Map<String, String> labels) {
        Map<String, String> kept = Map.copyOf(labels);
        return with("labels", made -> made.labels = kept);
    }

    /** Nothing of it is kept: {@code coordinate} and {@code chain}. */
    public Options ephemeral() {
        return with("ephemeral", made -> made.ephemeral = true);
    }

    /** What is known of calls that the caller made: {@code record}. */
    public Options facts(Facts... facts) {
        return with("facts", made -> made.facts = List.of(facts));
    }

    /**
     * Names the change, so that it is made once; ours when absent: {@code fork}, {@code record}, {@code createThread}, {@code restore} and
     * all writes of a {@link Workspace}.
     */
    public Options requestId(String requestId) {
        return with("requestId", made -> made.requestId = requestId);
    }

    /** What the caller saw pending: {@code answer}. */
    public Options pendingId(String pendingId) {
        return with("pendingId", made -> made.pendingId = pendingId);
    }

    /** An exchange id; a thread that others moved is refused: {@code restore} and {@code Conversation.prompt}. */
    public Options expectedHead(String exchangeId) {
        return with("expectedHead", made -> made.expectedHead = exchangeId);
    }

    /** Until when it may be executed; as the server has it when absent: {@code prepare}. */
    public Options expires(Instant time) {
        return with("expires", made -> made.expires = time);
    }

    /** That of the {@link WorkspaceVersion} that was seen; one that changed meanwhile is refused: all writes of a {@link Workspace}. */
    public Options etag(String etag) {
        return with("etag", made -> made.etag = etag);
    }

    /** That of a document, {@code application/octet-stream} when absent: {@code write} and {@code writeStream}. */
    public Options mediaType(String mediaType) {
        return with("mediaType", made -> made.mediaType = mediaType);
    }

    /**
     * Data of your own beside a document, a map or a record, which becomes a JSON object as {@link Json} writes it: {@code write} and
     * {@code writeStream}.
     */
    public Options metadata(Object metadata) {
        return with("metadata", made -> made.metadata = metadata);
    }

    /** BLAKE3 of a document's content, in hexadecimal; another content is refused: {@code writeStream}. */
    public Options contentBlake3(String hash) {
        return with("contentBlake3", made -> made.contentBlake3 = hash);
    }

    /** Only documents whose name begins so: {@code diff} of {@link Documents}. */
    public Options prefix(String prefix) {
        return with("prefix", made -> made.prefix = prefix);
    }

    /** Tells how texts differ, as a unified diff: {@code diff} of {@link Documents}. */
    public Options unified() {
        return with("unified", made -> made.unified = true);
    }

    /** How much may be spent; null without a limit. */
    SpendLimit spendLimit() {
        SpendLimit.Builder raw = SpendLimit.newBuilder();
        if (tokenLimit != null) {
            raw.setTokens(tokenLimit);
        }
        if (costLimit != null) {
            raw.setCost(costLimit);
        }
        return tokenLimit == null && costLimit == null ? null : raw.build();
    }

    /** Refuses what a call does not take. */
    Options only(String call, String[] some, String... more) {
        Set<String> left = new LinkedHashSet<>(said);
        left.removeAll(Arrays.asList(some));
        left.removeAll(Arrays.asList(more));
        if (!left.isEmpty()) {
            List<String> taken = new ArrayList<>(Arrays.asList(some));
            taken.addAll(Arrays.asList(more));
            throw new IllegalArgumentException(call + " does not take " + String.join(", ", left) + "; it takes "
                    + (taken.isEmpty() ? "no options" : String.join(", ", taken)));
        }
        return this;
    }

    /** The same with something changed that the caller did not say. */
    Options with(Consumer<Options> change) {
        try {
            Options made = (Options) clone();
            change.accept(made);
            return made;
        } catch (CloneNotSupportedException never) {
            throw new AssertionError(never);
        }
    }

    private Options with(String name, Consumer<Options> change) {
        Set<String> more = new LinkedHashSet<>(said);
        more.add(name);
        return with(made -> {
            change.accept(made);
            made.said = more;
        });
    }
}
