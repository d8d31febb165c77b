package antiphon;

import antiphon.gen.ThreadDefaults;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** A thread to make. Each method gives another one that says more. */
public final class NewThread implements Place, Cloneable {
    private final String threadId;
    private String name = "";
    private Map<String, String> labels = Map.of();
    private Object metadata;
    private String profileId = "";
    private String model = "";
    private List<Tool> tools;

    /** One whose id the server makes. */
    public NewThread() {
        this("");
    }

    /** One with an id. */
    public NewThread(String threadId) {
        this.threadId = threadId;
    }

    /** A name for people. */
    public NewThread name(String name) {
        return with(made -> made.name = name);
    }

    /** Names and texts of your own, to list by. */
    public NewThread labels(Map<String, String> labels) {
        Map<String, String> kept = Map.copyOf(labels);
        return with(made -> made.labels = kept);
    }

    /** Data of your own, which becomes a JSON object as {@link Json} writes it. */
    public NewThread metadata(Object metadata) {
        return with(made -> made.metadata = metadata);
    }

    /** The profile that its turns use unless they say otherwise. */
    public NewThread profileId(String profileId) {
        return with(made -> made.profileId = profileId);
    }

    /** The model that its turns use unless they say otherwise. */
    public NewThread model(String model) {
        return with(made -> made.model = model);
    }

    /** The tools that its turns offer unless they say otherwise. */
    public NewThread tools(List<Tool> tools) {
        List<Tool> kept = List.copyOf(tools);
        return with(made -> made.tools = kept);
    }

    /** The tools that its turns offer unless they say otherwise. */
    public NewThread tools(Tool... tools) {
        return tools(List.of(tools));
    }

    /** As a fork has it, which uses what its source did unless it says its own. */
    NewThread likeSource(Source source) {
        if (!(source instanceof Exchange exchange) || !profileId.isEmpty()) {
            return this;
        }
        return profileId(exchange.textSetting("profile_id")).model(model.isEmpty() ? exchange.textSetting("model") : model);
    }

    antiphon.gen.NewThread toRaw() {
        antiphon.gen.NewThread.Builder raw =
                antiphon.gen.NewThread.newBuilder().setThreadId(threadId).setName(name).putAllLabels(labels);
        if (metadata != null) {
            raw.setMetadataJson(Json.write(metadata));
        }
        if (!profileId.isEmpty() || !model.isEmpty() || tools != null) {
            ThreadDefaults.Builder defaults = raw.getDefaultsBuilder().setProfileId(profileId).setModel(model);
            if (tools != null) {
                defaults.setStandingTools(Tool.list(tools));
            }
        }
        return raw.build();
    }

    private NewThread with(Consumer<NewThread> change) {
        try {
            NewThread made = (NewThread) clone();
            change.accept(made);
            return made;
        } catch (CloneNotSupportedException never) {
            throw new AssertionError(never);
        }
    }
}
