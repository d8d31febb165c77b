package antiphon;

import antiphon.gen.ContinueRequest;
import antiphon.gen.ExchangeServiceGrpc;
import antiphon.gen.ExecutionRequest;
import antiphon.gen.Role;
import antiphon.gen.RunRequest;
import antiphon.gen.RunResponse;
import antiphon.gen.ToolList;
import antiphon.gen.UncapturedPrefix;
import java.util.ArrayList;
import java.util.List;

/** Prompts and replies, whether or not anything is kept. Knows nothing of threads. */
abstract class Prompts extends Loops {
    Prompts(Connection connection) {
        super(connection);
    }

    /**
     * Executes a request, once: tools that the model calls are left to the caller, see {@link Client#chain(Request, List, Options)}.
     * Nothing is kept at the server but the run's state and usage, unless {@code capture} asks for it; the answer can be replied to all the
     * same.
     *
     * <p>It takes {@code timeout}, {@code onDelta} and {@code capture}.
     */
    public Exchange prompt(Request request, Options options) {
        options.only("prompt", Options.TURN, "capture");
        if (Boolean.TRUE.equals(options.capture)) {
            return capture(request, turn(options));
        }
        ExecutionRequest raw = request.toRaw();
        return uncaptured(raw, 0, standingAfter(raw, null), options);
    }

    /**
     * Goes on with the conversation that an exchange belongs to, by one turn, with the exchange's own profile and model unless the request
     * names another. No head moves.
     *
     * <p>A reply is kept where the exchange is. To one that is not, it is not kept either, and what was said is remembered here; {@code
     * capture} has both kept, and whatever else of the conversation was not, each once.
     *
     * <p>It takes {@code timeout}, {@code onDelta} and {@code capture}.
     */
    public Exchange reply(Exchange exchange, Input input, Options options) {
        options.only("reply", Options.TURN, "capture");
        if (!exchange.captured() && !Boolean.TRUE.equals(options.capture)) {
            return replyLoosely(exchange, input, options);
        }
        if (Boolean.FALSE.equals(options.capture)) {
            throw new IllegalArgumentException("a reply to an exchange on record is kept; forkOnce leaves nothing behind");
        }
        // The server takes one exchange along in the same write; several are stored before.
        Point point = !exchange.captured() && isLong(exchange) ? settled(exchange) : exchange;
        ContinueRequest raw = continuation(point, input);
        if (raw.hasRequest()) {
            raw = raw.toBuilder().setRequest(offering(own(raw.getRequest(), exchange), exchange)).build();
        }
        return continued(raw, turn(options));
    }

    /** Says all of it again, since no record has it. */
    private Exchange replyLoosely(Exchange exchange, Input input, Options options) {
        UncapturedPrefix prefix = exchange.prefix();
        ExecutionRequest again = input instanceof Request request
                ? request.toRaw()
                : ExecutionRequest.newBuilder()
                        .addMessages(Message.tool(((Results) input).results()).raw())
                        .build();
        if (again.hasPrompt()) {
            throw new IllegalArgumentException("a configured prompt would come before what was said: capture the reply, or the exchange");
        }
        again = own(again, exchange);
        ToolList standing = standingAfter(again, exchange.standing());
        List<antiphon.gen.Message> said = new ArrayList<>(prefix.getRenderedMessagesList());
        said.add(prefix.getAssistant());
        ExecutionRequest.Builder raw = offering(again, exchange).toBuilder().clearStandingTools().clearMessages();
        raw.addAllMessages(said).addAllMessages(again.getMessagesList());
        return uncaptured(raw.build(), said.size(), standing, options);
    }

    private Exchange uncaptured(ExecutionRequest request, int before, ToolList standing, Options options) {
        ExecutionRequest raw = named(request);
        if (options.onDelta == null) {
            RunRequest asked = RunRequest.newBuilder().setRequest(raw).setIncludeRenderedMessages(true).build();
            RunResponse answer = call(
                    ExchangeServiceGrpc.getRunMethod(),
                    asked,
                    options.timeout,
                    run -> run.toBuilder().setRequest(run.getRequest().toBuilder().setRetry(true)).build());
            return Exchange.uncaptured(answer, before, standing);
        }
        StringBuilder told = new StringBuilder();
        OnDelta hear = delta -> {
            if (delta.equals(Delta.ANEW)) {
                told.setLength(0);
            } else if (delta.kind().equals("text")) {
                told.append(delta.text());
            }
            options.onDelta.hear(delta);
        };
        antiphon.gen.Exchange made = ephemeral(raw, new Options().with(own -> {
            own.onDelta = hear;
            own.timeout = options.timeout;
        }));
        // An answer that was quick may be there before all of its pieces are told.
        if (made.getText().length() > told.length() && made.getText().startsWith(told.toString())) {
            options.onDelta.hear(new Delta("text", made.getText().substring(told.length())));
        }
        List<antiphon.gen.Message> all = made.getMessagesList();
        int count = Math.min(before, all.size());
        antiphon.gen.Exchange rest =
                made.toBuilder().clearMessages().addAllMessages(all.subList(count, all.size())).build();
        return Exchange.loose(rest, List.copyOf(all.subList(0, count)), standing);
    }

    /** What the call that does the work takes of what was said. */
    private static Options turn(Options options) {
        return new Options().with(made -> {
            made.timeout = options.timeout;
            made.onDelta = options.onDelta;
        });
    }

    /** Lets a request that names no profile have the exchange's, and its model. */
    private static ExecutionRequest own(ExecutionRequest raw, Exchange exchange) {
        if (!raw.getProfileId().isEmpty()) {
            return raw;
        }
        ExecutionRequest.Builder made = raw.toBuilder().setProfileId(exchange.textSetting("profile_id"));
        return raw.getModel().isEmpty() ? made.setModel(exchange.textSetting("model")).build() : made.build();
    }

    /**
     * Lets a request that names no tools have those that stand where no record tells. What is stored of an exchange may be that of another
     * with the same words and other tools, so they are not left to it.
     */
    private static ExecutionRequest offering(ExecutionRequest raw, Exchange exchange) {
        if (exchange.standing() == null) {
            return raw;
        }
        ExecutionRequest.Builder made = raw.toBuilder();
        if (!made.hasStandingTools()) {
            made.setStandingTools(exchange.standing());
        }
        if (!made.hasTools()) {
            made.setTools(made.getStandingTools());
        }
        return made.build();
    }

    /** Whether there are answers before that of an exchange, so that it is more than one when it is stored. */
    private static boolean isLong(Exchange exchange) {
        return exchange.prefix().getRenderedMessagesList().stream().anyMatch(message -> message.getRole() == Role.ROLE_ASSISTANT);
    }

    /** The tools that stand after a request, of which no record tells; null where none were ever said. */
    private static ToolList standingAfter(ExecutionRequest raw, ToolList before) {
        if (raw.hasStandingTools()) {
            return raw.getStandingTools();
        }
        if (before == null && raw.hasTools()) {
            return raw.getTools();
        }
        return before;
    }
}
