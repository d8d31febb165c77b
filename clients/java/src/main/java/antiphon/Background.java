package antiphon;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.FutureTask;

/** A call on a thread of its own, as a future. Knows nothing of what is called. */
final class Background {
    private Background() {}

    /** Begins a call. Whoever cancels its future, or completes it otherwise, interrupts the thread, which ends the call at the server. */
    static <T> CompletableFuture<T> begin(ExecutorService workers, Callable<T> call) {
        CompletableFuture<T> made = new CompletableFuture<>();
        FutureTask<Void> task = new FutureTask<>(() -> {
            try {
                made.complete(call.call());
            } catch (Throwable thrown) {
                made.completeExceptionally(thrown);
            }
            return null;
        });
        made.whenComplete((result, thrown) -> task.cancel(true));
        workers.execute(task);
        return made;
    }
}
