package antiphon;

import com.google.protobuf.ByteString;

/** Writes a document of up to 1 MiB, new or over the one that is there. Each method gives another one that says more. */
public final class PutDocument implements DocumentEdit {
    private final antiphon.gen.PutDocument raw;

    /** One with a text, which goes as UTF-8. */
    public PutDocument(String name, String text) {
        this(antiphon.gen.PutDocument.newBuilder().setName(name).setData(ByteString.copyFromUtf8(text)).build());
    }

    /** One with bytes. */
    public PutDocument(String name, byte[] data) {
        this(antiphon.gen.PutDocument.newBuilder().setName(name).setData(ByteString.copyFrom(data)).build());
    }

    private PutDocument(antiphon.gen.PutDocument raw) {
        this.raw = raw;
    }

    /** Its media type; {@code application/octet-stream} when absent. */
    public PutDocument mediaType(String mediaType) {
        return new PutDocument(raw.toBuilder().setMediaType(mediaType).build());
    }

    /** Data of your own, a map or a record, which becomes a JSON object as {@link Json} writes it. */
    public PutDocument metadata(Object metadata) {
        return new PutDocument(raw.toBuilder().setMetadataJson(Json.write(metadata)).build());
    }

    antiphon.gen.PutDocument toRaw() {
        return raw;
    }
}
