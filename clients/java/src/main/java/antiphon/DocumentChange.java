package antiphon;

import antiphon.gen.ChangeKind;
import antiphon.gen.DocumentDiff;
import java.util.Optional;

/**
 * A document in which two versions differ.
 *
 * @param name the document's
 * @param kind {@code added}, {@code removed} or {@code changed}, from left to right
 * @param left as the left one has it; empty where it has none
 * @param right as the right one has it; empty where it has none
 * @param unifiedDiff what changed, where it was asked for and both sides are texts of up to 1 MiB; else empty
 */
public record DocumentChange(
        String name, String kind, Optional<Document> left, Optional<Document> right, String unifiedDiff) {
    static DocumentChange of(DocumentDiff raw) {
        return new DocumentChange(
                raw.getName(),
                Words.word(ChangeKind.getDescriptor(), raw.getKindValue()),
                raw.hasLeft() ? Optional.of(new Document(raw.getLeft())) : Optional.empty(),
                raw.hasRight() ? Optional.of(new Document(raw.getRight())) : Optional.empty(),
                raw.getUnifiedDiff());
    }
}
