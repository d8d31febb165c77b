package antiphon;

import antiphon.gen.ChangeKind;
import antiphon.gen.DiffResponse;
import antiphon.gen.MessageDiff;
import java.util.List;
import java.util.Optional;

/**
 * What differs between two exchanges with their histories.
 *
 * @param commonAncestorExchangeId the last exchange that both have; empty where they share none
 * @param leftCount how many exchanges only the left one has
 * @param rightCount how many only the right one has
 * @param messages what differs in what was said
 * @param settings what differs in the settings of the two
 * @param tools what differs in the tools that the two offered
 * @param raw the messages behind it, one for each page
 */
public record Difference(
        String commonAncestorExchangeId,
        long leftCount,
        long rightCount,
        List<Change<Message>> messages,
        List<Change<Object>> settings,
        List<Change<OfferedTool>> tools,
        List<DiffResponse> raw) {
    /**
     * One thing that differs.
     *
     * @param <T> what it is
     * @param name of a setting or a tool its name; of a message its place
     * @param kind such as {@code added}, {@code removed} or {@code changed}
     * @param left what the left one has
     * @param right what the right one has
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
