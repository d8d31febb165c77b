package antiphon;

import antiphon.gen.Prompt;
import antiphon.gen.PromptVariable;
import java.util.List;

/**
 * A template of messages with default settings.
 *
 * @param promptId its id
 * @param description what it is for
 * @param variables the names of those that it declares; what else is known of them is in {@code raw}
 * @param required the names of those that must be given
 * @param profileId the profile that it asks for; empty for none
 * @param contractId the contract that it asks for; empty for none
 * @param toolNames the names of the tools that it offers
 * @param template its text; empty in a list
 * @param raw the message behind it
 */
public record ConfiguredPrompt(
        String promptId,
        String description,
        List<String> variables,
        List<String> required,
        String profileId,
        String contractId,
        List<String> toolNames,
        String template,
        Prompt raw) {
    static ConfiguredPrompt of(Prompt raw) {
        return new ConfiguredPrompt(
                raw.getPromptId(),
                raw.getDescription(),
                raw.getVariablesList().stream().map(PromptVariable::getName).toList(),
                raw.getVariablesList().stream().filter(PromptVariable::getRequired).map(PromptVariable::getName).toList(),
                raw.getProfileId(),
                raw.getContractId(),
                List.copyOf(raw.getToolNamesList()),
                raw.getTemplate(),
                raw);
    }
}
