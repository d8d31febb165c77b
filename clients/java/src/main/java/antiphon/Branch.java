package antiphon;

import antiphon.gen.ForkResult;
import java.util.Optional;

/**
 * A new thread with its first exchange, or why there is none; the thread is there all the same, at the fork point.
 *
 * @param threadId the thread's
 * @param exchange its first exchange
 * @param error why there is none
 */
public record Branch(String threadId, Optional<Exchange> exchange, Optional<AntiphonException> error) {
    static Branch of(ForkResult raw) {
        return new Branch(
                raw.getThread().getThreadId(),
                raw.hasExchange() ? Optional.of(Exchange.of(raw.getExchange())) : Optional.empty(),
                raw.hasError() ? Optional.of(new AntiphonException(Failures.of(raw.getError()))) : Optional.empty());
    }
}
