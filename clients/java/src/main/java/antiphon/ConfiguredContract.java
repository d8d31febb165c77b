package antiphon;

import java.util.Map;
import java.util.Optional;

/**
 * A form that answers may have to have.
 *
 * @param contractId its id
 * @param description what it is for
 * @param schema its JSON Schema; empty in a list
 * @param raw the message behind it
 */
public record ConfiguredContract(
        String contractId, String description, Optional<Map<String, Object>> schema, antiphon.gen.ConfiguredContract raw) {
    static ConfiguredContract of(antiphon.gen.ConfiguredContract raw) {
        return new ConfiguredContract(
                raw.getContractId(),
                raw.getDescription(),
                raw.getSchemaJson().isEmpty() ? Optional.empty() : Optional.of(Json.parseObject(raw.getSchemaJson())),
                raw);
    }
}
