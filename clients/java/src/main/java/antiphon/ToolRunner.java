package antiphon;

import antiphon.gen.NeededToolCall;
import antiphon.gen.ToolsNeeded;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/** Calls tools, those of one answer at once, with the hooks around each call. Knows nothing of streams. */
final class ToolRunner {
    private final ExecutorService workers;
    private final Options hooks;
    private final Memory memory;
    private final Map<String, Tool> tools = new ConcurrentHashMap<>();
    private final Set<String> paused = ConcurrentHashMap.newKeySet();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    // The caller no longer waits, so that what a tool says of being interrupted is no result.
    private volatile boolean gone;

    ToolRunner(ExecutorService workers, Options hooks, Memory memory) {
        this.workers = workers;
        this.hooks = hooks;
        this.memory = memory;
        if (hooks.tools != null) {
            learn(hooks.tools);
        }
    }

    void learn(List<Tool> more) {
        more.forEach(tool -> tools.put(tool.name(), tool));
    }

    /** What a callback threw first; null while none has. */
    Throwable failure() {
        return failure.get();
    }

    void fail(Throwable thrown) {
        failure.compareAndSet(null, thrown);
    }

    boolean hasPaused() {
        return !paused.isEmpty();
    }

    /** Makes the calls that have no result yet, and tells each result as it comes. */
    void run(ToolsNeeded needed, Consumer<antiphon.gen.ToolResult> tell) throws InterruptedException {
        List<Future<?>> all = new ArrayList<>();
        for (NeededToolCall call : needed.getCallsList()) {
            all.add(workers.submit(() -> {
                antiphon.gen.ToolResult result = result(call);
                if (result != null && !gone) {
                    tell.accept(result);
                }
            }));
        }
        try {
            for (Future<?> one : all) {
                one.get();
            }
        } catch (ExecutionException broken) {
            fail(broken.getCause());
        } catch (InterruptedException left) {
            gone = true;
            all.forEach(one -> one.cancel(true));
            throw left;
        }
    }

    /** What came of a call, now or before; null where the answer comes later, a hook failed, or the caller has gone. */
    private antiphon.gen.ToolResult result(NeededToolCall needed) {
        ToolCall call = ToolCall.of(needed.getCall());
        antiphon.gen.ToolResult known = memory.result(call.callId());
        if (known != null || paused.contains(call.callId())) {
            return known;
        }
        ToolResult result;
        try {
            result = new ToolResult(call.callId(), invoke(needed, call));
        } catch (Pause later) {
            paused.add(call.callId());
            return null;
        } catch (Throwable thrown) {
            if (gone) {
                return null;
            }
            // What a failed call says is for the model, which may do better; its siblings keep their results.
            String message = thrown.getMessage() == null ? "" : ": " + thrown.getMessage();
            result = new ToolResult(call.callId(), thrown.getClass().getSimpleName() + message, true);
        }
        try {
            if (hooks.afterCall != null) {
                hooks.afterCall.see(call, result);
            }
        } catch (Throwable thrown) {
            fail(thrown);
            return null;
        }
        antiphon.gen.ToolResult raw = result.toRaw();
        memory.keep(raw);
        return raw;
    }

    private String invoke(NeededToolCall needed, ToolCall call) throws Exception {
        Tool tool = tools.get(call.name());
        if (!needed.hasTool() || tool == null) {
            throw new IllegalArgumentException("there is no tool `" + call.name() + "`");
        }
        if (hooks.beforeCall != null) {
            hooks.beforeCall.see(call);
        }
        return tool.call(call.argumentsJson());
    }

    /** Ends what a callback was asked for where the caller has gone meanwhile. */
    static void unlessInterrupted() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException("the caller was interrupted");
        }
    }

    /** The same where what was thrown may be the callback's way to say so. */
    static void unlessInterrupted(Throwable thrown) throws InterruptedException {
        if (Thread.interrupted() || thrown instanceof InterruptedException) {
            InterruptedException left = new InterruptedException("the caller was interrupted");
            left.initCause(thrown);
            throw left;
        }
    }
}
