package antiphon;

/**
 * How much of a history is sent, in whole turns. What is stored is the whole one in any case, and the answer has a warning, {@code
 * history_narrowed}, that says what stayed out.
 */
public sealed interface HistoryView {
    /** So many turns before this one, 1 or more. */
    static HistoryView lastTurns(int turns) {
        return new LastTurns(turns);
    }

    /** From an exchange on, with which a turn must begin. */
    static HistoryView fromExchange(String exchangeId) {
        return new FromExchange(exchangeId);
    }

    /** As many turns as fit, 1 token or more, counted by the server's own estimate. */
    static HistoryView tokenBudget(long tokens) {
        return new TokenBudget(tokens);
    }

    /**
     * The last turns.
     *
     * @param turns how many before this one
     */
    record LastTurns(int turns) implements HistoryView {}

    /**
     * From an exchange on.
     *
     * @param exchangeId the first one that is sent
     */
    record FromExchange(String exchangeId) implements HistoryView {}

    /**
     * What fits.
     *
     * @param tokens into how many
     */
    record TokenBudget(long tokens) implements HistoryView {}
}
