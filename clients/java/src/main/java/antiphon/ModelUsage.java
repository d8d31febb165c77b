package antiphon;

/**
 * What the calls to one model consumed.
 *
 * @param backendId empty where callers made the calls
 * @param model its name
 * @param usage all of it
 * @param calls how many, those that failed included
 */
public record ModelUsage(String backendId, String model, Usage usage, long calls) {
    static ModelUsage of(antiphon.gen.ModelUsage raw) {
        return new ModelUsage(raw.getBackendId(), raw.getModel(), Usage.of(raw.getUsage()), raw.getAttemptCount());
    }
}
