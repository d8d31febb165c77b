package antiphon;

import antiphon.gen.Backend;
import java.util.List;

/**
 * A provider's endpoint with a capacity.
 *
 * @param backendId its id
 * @param kind such as {@code openai} or {@code scripted}
 * @param baseUrl without credentials; empty for kinds without one
 * @param capacity how many calls it takes at once
 * @param capabilities what it can do, such as {@code tools} or {@code json_schema}
 * @param inUse calls at work now
 * @param queued calls that wait now
 * @param raw the message behind it
 */
public record ConfiguredBackend(
        String backendId,
        String kind,
        String baseUrl,
        int capacity,
        List<String> capabilities,
        int inUse,
        int queued,
        Backend raw) {
    static ConfiguredBackend of(Backend raw) {
        return new ConfiguredBackend(
                raw.getBackendId(),
                raw.getKind(),
                raw.getBaseUrl(),
                raw.getCapacity(),
                List.copyOf(raw.getCapabilitiesList()),
                raw.getInUse(),
                raw.getQueued(),
                raw);
    }
}
