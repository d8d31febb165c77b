package antiphon;

import java.util.OptionalLong;

/**
 * An exchange and all that follows from it.
 *
 * @param exchange where it begins
 * @param maxSteps at most so many steps from there, where that is said
 */
public record Subtree(OnRecord exchange, OptionalLong maxSteps) implements Scope {
    /** All that follows. */
    public Subtree(OnRecord exchange) {
        this(exchange, OptionalLong.empty());
    }

    /** At most so many steps from there. */
    public Subtree maxSteps(long steps) {
        return new Subtree(exchange, OptionalLong.of(steps));
    }
}
