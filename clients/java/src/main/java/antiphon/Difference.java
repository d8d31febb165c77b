package antiphon;

import antiphon.gen.ChangeKind;
import antiphon.gen.DiffResponse;
import antiphon.gen.MessageDiff;
import java.util.List;
import java.util.Optional;

/**
 * In what two exchanges and their histories differ.
 *
 * @param commonAncestorExchangeId the last exchange on both paths; empty where there is none
 * @param leftCount how many exchanges only the left path has
 * @param rightCount how many only the right path has
 * @param messages what was said after the common ancestor, where it differs
 * @param settings those of the two, as {@link Json} reads them, where they differ
 * @param tools those that the two offered, where they differ
 * @param documents those as of the two, where they differ
 * @param raw the messages behind it, one for each page
 */
public record Difference(
        String commonAncestorExchangeId,
        long leftCount,
        long rightCount,
        List<Change<Message>> messages,
        List<Change<Object>> settings,
        List<Change<OfferedTool>> tools,
        List<DocumentChange> documents,
        List<DiffResponse> raw) {
    /**
     * One thing that differs.
     *
     * @param <T> what it is
     * @param name of a setting or a tool its name; of a message its place after the common ancestor, counted from 0
     * @param kind {@code added}, {@code removed} or {@code changed}, from left to right
     * @param left what the left one has; empty where it has none
     * @param right what the right one has; empty where it has none
     */
    public record Change<T>(String name, String kind, Optional<T> left, Optional<T> right) {}

    static Difference of(List<DiffResponse> pages) {
        DiffResponse first = pages.get(0);
        return new Difference(
                first.getCommonAncestorExchangeId(),
                first.getLeftCount(),
                first.getRightCount(),
                pages.stream().flatMap(page -> page.getMessagesList().stream()).map(Difference::message).toList(),
                pages.stream()
                        .flatMap(page -> page.getSettingsList().stream())
                        .map(raw -> new Change<>(
                                raw.getName(),
                                kind(raw.getKindValue()),
                                when(raw.hasLeft()).map(there -> Json.parse(raw.getLeft().getValueJson())),
                                when(raw.hasRight()).map(there -> Json.parse(raw.getRight().getValueJson()))))
                        .toList(),
                pages.stream()
                        .flatMap(page -> page.getToolsList().stream())
                        .map(raw -> new Change<>(
                                raw.getName(),
                                kind(raw.getKindValue()),
                                when(raw.hasLeft()).map(there -> OfferedTool.of(raw.getLeft())),
                                when(raw.hasRight()).map(there -> OfferedTool.of(raw.getRight()))))
                        .toList(),
                pages.stream()
                        .flatMap(page -> page.getDocumentsList().stream())
                        .map(DocumentChange::of)
                        .toList(),
                List.copyOf(pages));
    }

    private static Change<Message> message(MessageDiff raw) {
        return new Change<>(
                String.valueOf(raw.getIndex()),
                kind(raw.getKindValue()),
                when(raw.hasLeft()).map(there -> new Message(raw.getLeft())),
                when(raw.hasRight()).map(there -> new Message(raw.getRight())));
    }

    private static Optional<Boolean> when(boolean there) {
        return there ? Optional.of(true) : Optional.empty();
    }

    private static String kind(int number) {
        return Words.word(ChangeKind.getDescriptor(), number);
    }
}
