package antiphon;

import antiphon.gen.EffectiveSetting;
import antiphon.gen.SentBody;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A request as a provider gets it. Nothing in it is a credential.
 *
 * @param messages what is sent, in order
 * @param settings by name, such as {@code model} or {@code parameters.temperature}
 * @param tools what is offered
 * @param bodyJson the body as it goes out, of a call whose answer comes whole; empty where none can be told
 * @param adaptations what is sent otherwise than it was said, and why
 * @param warnings what the caller should know, as the exchange has it
 * @param matches of an exchange: whether this is the body that went out; empty of what was not sent
 * @param difference why it is another one; empty when it is the same
 * @param raw the message behind it
 */
public record Explanation(
        List<Message> messages,
        Map<String, Setting> settings,
        List<OfferedTool> tools,
        String bodyJson,
        List<Warning> adaptations,
        List<Warning> warnings,
        Optional<Boolean> matches,
        String difference,
        antiphon.gen.Explanation raw) {
    /** What would be sent. */
    static Explanation of(antiphon.gen.Explanation raw) {
        return of(raw, Optional.empty());
    }

    /** What was sent. */
    static Explanation of(antiphon.gen.Explanation raw, SentBody sent) {
        return of(raw, Optional.of(sent));
    }

    private static Explanation of(antiphon.gen.Explanation raw, Optional<SentBody> sent) {
        return new Explanation(
                Message.of(raw.getMessagesList()),
                raw.getEffectiveSettingsList().stream()
                        .collect(Collectors.toUnmodifiableMap(EffectiveSetting::getName, Setting::of)),
                OfferedTool.of(raw.getTools().getOffered()),
                raw.getBodyJson(),
                Warning.of(raw.getAdaptationsList()),
                Warning.of(raw.getWarningsList()),
                sent.map(SentBody::getMatches),
                sent.map(SentBody::getDifference).orElse(""),
                raw);
    }
}
