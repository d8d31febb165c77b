package antiphon;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;

/** A call on a thread of its own, as a future. Knows nothing of what is called. */
final class Background {
    private Background() {}

    /** Begins a call. Whoever cancels its future, or completes it otherwise, interrupts the thread, which ends the call at the server. */
    static <T> CompletableFuture<T> begin(ExecutorService workers, Callable<T> call) {
        CompletableFuture<T> made = new CompletableFuture<>();
        AtomicBoolean over = new AtomicBoolean();
        FutureTask<Void> task = new FutureTask<>(() -> {
            try {
                T result = call.call();
                over.set(true);
                made.complete(result);
            } catch (Throwable thrown) {
                over.set(true);
                made.completeExceptionally(thrown);
            }
            return null;
        });
        made.whenComplete((result, thrown) -> {
            // What the caller does next with a result may run on this very thread, which must not be interrupted for that.
            if (!over.get()) {
                task.cancel(true);
            }
        });
        workers.execute(task);
        return made;
    }
}
