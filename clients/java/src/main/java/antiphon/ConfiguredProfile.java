package antiphon;

import antiphon.gen.Profile;

/**
 * A backend, a model and parameters.
 *
 * @param profileId its id
 * @param backendId its backend
 * @param model its model
 * @param parameters those that are set
 * @param isDefault it is used when nothing else names one
 * @param raw the message behind it
 */
public record ConfiguredProfile(
        String profileId, String backendId, String model, Parameters parameters, boolean isDefault, Profile raw) {
    static ConfiguredProfile of(Profile raw) {
        return new ConfiguredProfile(
                raw.getProfileId(),
                raw.getBackendId(),
                raw.getModel(),
                new Parameters(raw.getParameters()),
                raw.getIsDefault(),
                raw);
    }
}
