package antiphon;

import antiphon.gen.ListMovesRequest;
import antiphon.gen.ListMovesResponse;
import antiphon.gen.ListTurnsRequest;
import antiphon.gen.ListTurnsResponse;
import antiphon.gen.RestoreRequest;
import antiphon.gen.ThreadServiceCreateRequest;
import antiphon.gen.ThreadServiceDeleteRequest;
import antiphon.gen.ThreadServiceGetRequest;
import antiphon.gen.ThreadServiceGrpc;
import antiphon.gen.ThreadServiceListRequest;
import antiphon.gen.ThreadServiceListResponse;
import java.util.Map;
import java.util.stream.Stream;

/** Threads, read and named. Knows nothing of how turns are made on them. */
abstract class Threads extends Calls {
    Threads(Connection connection) {
        super(connection);
    }

    /** Reads a thread. */
    public NamedThread thread(String threadId) {
        ThreadServiceGetRequest asked = ThreadServiceGetRequest.newBuilder().setThreadId(threadId).build();
        return new NamedThread(call(ThreadServiceGrpc.getGetMethod(), asked, null).getThread());
    }

    /** All threads by id. */
    public Stream<NamedThread> threads() {
        return threads(Map.of());
    }

    /** Threads by id that have all these labels. */
    public Stream<NamedThread> threads(Map<String, String> labels) {
        ThreadServiceListRequest asked = ThreadServiceListRequest.newBuilder().putAllLabels(labels).build();
        return pages(
                        ThreadServiceGrpc.getListMethod(),
                        token -> asked.toBuilder().setPageToken(token).build(),
                        ThreadServiceListResponse::getNextPageToken,
                        ThreadServiceListResponse::getThreadsList)
                .stream()
                .map(NamedThread::new);
    }

    /** Makes an empty thread. */
    public NamedThread createThread(NewThread thread) {
        return create(thread, null, new Options());
    }

    /** Makes an empty thread. It takes {@code timeout} and {@code requestId}. */
    public NamedThread createThread(NewThread thread, Options options) {
        return create(thread, null, options);
    }

    /** Makes a thread with its head at an exchange. */
    public NamedThread createThread(NewThread thread, OnRecord head) {
        return create(thread, head, new Options());
    }

    /** Makes a thread with its head at an exchange. It takes {@code timeout} and {@code requestId}. */
    public NamedThread createThread(NewThread thread, OnRecord head, Options options) {
        return create(thread, head, options);
    }

    private NamedThread create(NewThread thread, OnRecord head, Options options) {
        options.only("createThread", new String[] {"timeout", "requestId"});
        ThreadServiceCreateRequest.Builder asked = ThreadServiceCreateRequest.newBuilder()
                .setThread(thread.toRaw())
                .setRequestId(options.requestId.isEmpty() ? Words.fresh() : options.requestId);
        if (head != null) {
            asked.setHead(Library.point(head));
        }
        return new NamedThread(call(ThreadServiceGrpc.getCreateMethod(), asked.build(), options.timeout).getThread());
    }

    /** Changes what is given, and leaves the rest and the head. */
    public NamedThread updateThread(String threadId, ThreadChange change) {
        return new NamedThread(call(ThreadServiceGrpc.getUpdateMethod(), change.of(threadId, ""), null).getThread());
    }

    /** Changes what is given of a thread that was read; it is refused when the thread changed meanwhile. */
    public NamedThread updateThread(NamedThread thread, ThreadChange change) {
        return new NamedThread(
                call(ThreadServiceGrpc.getUpdateMethod(), change.of(thread.threadId(), thread.etag()), null).getThread());
    }

    /** Removes the bookmark; exchanges stay, and so do threads forked from it. */
    public void deleteThread(String threadId) {
        delete(threadId, "");
    }

    /** Removes a thread that was read; it is refused when the thread changed meanwhile. */
    public void deleteThread(NamedThread thread) {
        delete(thread.threadId(), thread.etag());
    }

    private void delete(String threadId, String etag) {
        ThreadServiceDeleteRequest asked = ThreadServiceDeleteRequest.newBuilder()
                .setThreadId(threadId)
                .setEtag(etag)
                .setRequestId(Words.fresh())
                .build();
        call(ThreadServiceGrpc.getDeleteMethod(), asked, null);
    }

    /** As {@link #restore(String, OnRecord, Options)}, without options. */
    public NamedThread restore(String threadId, OnRecord to) {
        return restore(threadId, to, new Options());
    }

    /**
     * Moves a thread's head to an exchange on its path, or one that its head once was, and its documents to those that were there then.
     * Nothing is lost: the way back is a restore, too. With {@code expectedHead}, a thread that others moved is refused.
     *
     * <p>It takes {@code timeout}, {@code expectedHead} and {@code requestId}.
     */
    public NamedThread restore(String threadId, OnRecord to, Options options) {
        options.only("restore", new String[] {"timeout", "expectedHead", "requestId"});
        RestoreRequest.Builder asked = RestoreRequest.newBuilder()
                .setThreadId(threadId)
                .setTo(Library.point(to))
                .setRequestId(options.requestId.isEmpty() ? Words.fresh() : options.requestId);
        if (!options.expectedHead.isEmpty()) {
            asked.getExpectedHeadBuilder().getExchangeBuilder().setExchangeId(options.expectedHead);
        }
        return new NamedThread(call(ThreadServiceGrpc.getRestoreMethod(), asked.build(), options.timeout).getThread());
    }

    /** Where a thread's head was, the newest move first. */
    public Stream<Move> moves(String threadId) {
        ListMovesRequest.Builder asked = ListMovesRequest.newBuilder().setThreadId(threadId);
        return pages(
                        ThreadServiceGrpc.getListMovesMethod(),
                        token -> asked.setPageToken(token).build(),
                        ListMovesResponse::getNextPageToken,
                        ListMovesResponse::getMovesList)
                .stream()
                .map(Move::of);
    }

    /** The turns on a thread's path, first to last. */
    public Stream<Turn> turns(String threadId) {
        ListTurnsRequest asked = ListTurnsRequest.newBuilder().setThreadId(threadId).build();
        return pages(
                        ThreadServiceGrpc.getListTurnsMethod(),
                        token -> asked.toBuilder().setPageToken(token).build(),
                        ListTurnsResponse::getNextPageToken,
                        ListTurnsResponse::getTurnsList)
                .stream()
                .map(Turn::of);
    }
}
