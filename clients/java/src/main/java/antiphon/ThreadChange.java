package antiphon;

import antiphon.gen.ThreadServiceUpdateRequest;
import java.util.Map;
import java.util.function.Consumer;

/** What changes of a thread; what is not said stays. Each method gives another one that says more. */
public final class ThreadChange {
    private final ThreadServiceUpdateRequest raw;

    /** Nothing yet. */
    public ThreadChange() {
        this(ThreadServiceUpdateRequest.getDefaultInstance());
    }

    private ThreadChange(ThreadServiceUpdateRequest raw) {
        this.raw = raw;
    }

    /** Another name for people. */
    public ThreadChange name(String name) {
        return with("name", thread -> thread.setName(name));
    }

    /** Other labels, in place of all. */
    public ThreadChange labels(Map<String, String> labels) {
        return with("labels", thread -> thread.clearLabels().putAllLabels(labels));
    }

    /** Other data of your own, which becomes a JSON object as {@link Json} writes it. */
    public ThreadChange metadata(Object metadata) {
        String written = Json.write(metadata);
        return with("metadata_json", thread -> thread.setMetadataJson(written));
    }

    /** Another profile that its turns use unless they say otherwise. */
    public ThreadChange profileId(String profileId) {
        return with("defaults.profile_id", thread -> thread.getDefaultsBuilder().setProfileId(profileId));
    }

    /** Another model that its turns use unless they say otherwise. */
    public ThreadChange model(String model) {
        return with("defaults.model", thread -> thread.getDefaultsBuilder().setModel(model));
    }

    ThreadServiceUpdateRequest of(String threadId, String etag) {
        return raw.toBuilder().setThreadId(threadId).setEtag(etag).setRequestId(Words.fresh()).build();
    }

    private ThreadChange with(String path, Consumer<antiphon.gen.NewThread.Builder> change) {
        ThreadServiceUpdateRequest.Builder made = raw.toBuilder();
        if (!made.getUpdateMask().getPathsList().contains(path)) {
            made.getUpdateMaskBuilder().addPaths(path);
        }
        change.accept(made.getThreadBuilder());
        return new ThreadChange(made.build());
    }
}
