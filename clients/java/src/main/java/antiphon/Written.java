package antiphon;

import antiphon.gen.StreamWriteDocumentResponse;
import antiphon.gen.WriteDocumentsResponse;
import java.util.List;

/**
 * What came of a write.
 *
 * @param version what is live now, or was right after an earlier call of the same request id
 * @param documents those that were written and are there now, in the order of the changes
 * @param replayed whether it is the result of an earlier call under the same request id
 */
public record Written(WorkspaceVersion version, List<Document> documents, boolean replayed) {
    static Written of(WriteDocumentsResponse raw) {
        return new Written(WorkspaceVersion.of(raw.getVersion()), Document.of(raw.getDocumentsList()), raw.getReplayed());
    }

    static Written of(StreamWriteDocumentResponse raw) {
        return new Written(WorkspaceVersion.of(raw.getVersion()), List.of(new Document(raw.getDocument())), raw.getReplayed());
    }
}
