package antiphon;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;

/**
 * A document with its content.
 *
 * @param document what it is
 * @param data its content, as it is and not a copy of it
 * @param version the version that it is of
 */
public record DocumentContent(Document document, byte[] data, WorkspaceVersion version) {
    /** The content read as UTF-8. Throws an {@link IllegalArgumentException} where it is none. */
    public String text() {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data)).toString();
        } catch (CharacterCodingException strange) {
            throw new IllegalArgumentException("the document " + document.name() + " is no text in UTF-8", strange);
        }
    }

    /** Whether all of it is the same, every byte among it. */
    @Override
    public boolean equals(Object other) {
        return other instanceof DocumentContent content
                && document.equals(content.document)
                && version.equals(content.version)
                && Arrays.equals(data, content.data);
    }

    @Override
    public int hashCode() {
        return Objects.hash(document, version, Arrays.hashCode(data));
    }

    /** All but its content, of which it says the length. */
    @Override
    public String toString() {
        return "DocumentContent[name=" + document.name() + ", bytes=" + data.length + ", version=" + version + "]";
    }
}
