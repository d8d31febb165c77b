package antiphon;

/**
 * One version of a workspace: a set of documents that never changes, named by its content.
 *
 * @param root its name, by which it is read again; empty without documents
 * @param documentCount how many there are
 * @param sizeBytes the sum of their lengths
 * @param etag what a write must have seen; empty unless it is what is live on a thread
 */
public record WorkspaceVersion(String root, long documentCount, long sizeBytes, String etag) implements WorkspacePoint {
    static WorkspaceVersion of(antiphon.gen.WorkspaceVersion raw) {
        return new WorkspaceVersion(raw.getWorkspaceRoot(), raw.getDocumentCount(), raw.getSizeBytes(), raw.getEtag());
    }
}
