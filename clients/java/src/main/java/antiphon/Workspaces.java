package antiphon;

/** Gives the documents of threads and exchanges; nothing here asks the server. Knows nothing of turns. */
abstract class Workspaces extends Catalog {
    Workspaces(Connection connection) {
        super(connection);
    }

    /** The documents of a thread, to read and to write. */
    public Workspace workspace(String threadId) {
        return new Workspace(this, threadId);
    }

    /** The documents as of an exchange or a turn, or of a version, to read. */
    public Documents documents(WorkspacePoint point) {
        return new Documents(this, point);
    }
}
