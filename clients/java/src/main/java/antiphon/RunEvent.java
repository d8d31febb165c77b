package antiphon;

import antiphon.gen.Progress;
import antiphon.gen.WatchResponse;
import java.util.Locale;
import java.util.Optional;

/**
 * Something that happened to a run that is followed.
 *
 * @param sequence of a state its number, which stays for ever and is given to go on after it; 0 for what is not on record
 * @param kind {@code run} for a state, {@code text_so_far}, or what happened on the way, such as {@code delta}
 * @param run the run, when it came to a state
 * @param text more of the answer's text, or what came of it before
 */
public record RunEvent(long sequence, String kind, Optional<Run> run, String text) {
    static RunEvent of(WatchResponse raw) {
        return switch (raw.getEventCase()) {
            case RUN -> new RunEvent(raw.getSequence(), "run", Optional.of(new Run(raw.getRun())), "");
            case TEXT_SO_FAR -> new RunEvent(raw.getSequence(), "text_so_far", Optional.empty(), raw.getTextSoFar().getText());
            case PROGRESS -> new RunEvent(raw.getSequence(), kind(raw.getProgress()), Optional.empty(), text(raw.getProgress()));
            case EVENT_NOT_SET -> new RunEvent(raw.getSequence(), "unknown", Optional.empty(), "");
        };
    }

    private static String kind(Progress progress) {
        return progress.getEventCase() == Progress.EventCase.EVENT_NOT_SET
                ? "unknown"
                : progress.getEventCase().name().toLowerCase(Locale.ROOT);
    }

    private static String text(Progress progress) {
        return progress.getDelta().getText().getText();
    }
}
