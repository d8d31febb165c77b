package antiphon;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A document of a workspace, without its content.
 *
 * @param raw the message behind it
 */
public record Document(antiphon.gen.Document raw) {
    static List<Document> of(List<antiphon.gen.Document> raw) {
        return raw.stream().map(Document::new).toList();
    }

    /** Its name, of which a workspace has one. */
    public String name() {
        return raw.getName();
    }

    /** Its media type. */
    public String mediaType() {
        return raw.getMediaType();
    }

    /** The length of its content. */
    public long sizeBytes() {
        return raw.getSizeBytes();
    }

    /** BLAKE3 of its content, in hexadecimal. */
    public String contentBlake3() {
        return raw.getContentBlake3();
    }

    /** The caller's own data, as {@link Json} reads it. */
    public Optional<Map<String, Object>> metadata() {
        return raw.getMetadataJson().isEmpty() ? Optional.empty() : Optional.of(Json.parseObject(raw.getMetadataJson()));
    }

    /** When this version of it was written. */
    public Instant updateTime() {
        return Times.of(raw.getUpdateTime());
    }
}
