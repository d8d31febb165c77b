package antiphon;

import java.util.Map;

/** The callback of a chain: asks for one turn where it goes on from something, and takes the result. Knows nothing of tools. */
final class Take implements NextAction<RuntimeException> {
    // Null where the first result is what is wanted.
    private final Request request;
    private Exchange found;

    Take(Request request) {
        this.request = request;
    }

    @Override
    public Action decide(Decision decision) {
        if (decision.starting() && request != null) {
            return new Continue(request);
        }
        if (decision.starting() && decision.turnsRemaining() > 0) {
            return new Suspend();
        }
        if (found == null) {
            found = decision.exchange();
        }
        return new Stop();
    }

    /** What came of it. */
    Exchange result(String coordinationId) {
        if (found == null) {
            String message = "chain " + coordinationId + " had not begun its turn: attach to it with a callback that says what to ask";
            throw Failures.of(Code.FAILED_PRECONDITION, "", Map.of("coordination_id", coordinationId), message);
        }
        return found;
    }
}
