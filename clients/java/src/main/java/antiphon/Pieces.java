package antiphon;

import antiphon.gen.AttemptStarted;
import antiphon.gen.Progress;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Which pieces of one answer are new, over connections that break and calls to the model that take the place of others. A connection that
 * is made again tells it from the beginning, every call to the model included. Knows nothing of connections.
 */
final class Pieces {
    private boolean begun;
    // The number of the call to the model that was told of last.
    private int attempt;
    // By kind, how much of its answer was told.
    private final Map<String, Integer> told = new HashMap<>();
    // The number of the call that this connection tells of, and by kind how much it told.
    private int at;
    private final Map<String, Integer> seen = new HashMap<>();

    /** Whether a piece was told. */
    boolean begun() {
        return begun;
    }

    /** A connection tells from the beginning what comes. */
    void connected() {
        at = 0;
        seen.clear();
        if (!begun) {
            // It may be another attempt of the run, whose calls are counted from 1 again.
            attempt = 0;
        }
    }

    /** What of it was not told yet. */
    Optional<Delta> fresh(Progress said) {
        if (said.hasAttemptStarted()) {
            return started(said.getAttemptStarted());
        }
        boolean past = at > 0 && at < attempt;
        return said.hasDelta() && !past ? Delta.of(said.getDelta()).flatMap(this::untold) : Optional.empty();
    }

    /** What of the answer's text no piece told, as with the stored result of an earlier call. */
    Optional<Delta> rest(String whole) {
        int heard = told.getOrDefault("text", 0);
        told.put("text", Math.max(heard, whole.length()));
        return heard < whole.length() ? Optional.of(new Delta("text", whole.substring(heard))) : Optional.empty();
    }

    private Optional<Delta> untold(Delta piece) {
        int before = seen.getOrDefault(piece.kind(), 0);
        int heard = told.getOrDefault(piece.kind(), 0);
        int after = before + piece.text().length();
        seen.put(piece.kind(), after);
        told.put(piece.kind(), Math.max(heard, after));
        begun = true;
        String more = piece.text().substring(Math.min(Math.max(0, heard - before), piece.text().length()));
        return more.isEmpty() ? Optional.empty() : Optional.of(new Delta(piece.kind(), more));
    }

    private Optional<Delta> started(AttemptStarted said) {
        at = said.getNumber();
        if (Delta.isAnew(said)) {
            seen.clear();
        }
        if (at <= attempt) {
            return Optional.empty();
        }
        attempt = at;
        if (!Delta.isAnew(said) || told.isEmpty()) {
            return Optional.empty();
        }
        told.clear();
        return Optional.of(Delta.ANEW);
    }
}
