package antiphon;

import antiphon.gen.EffectiveSetting;
import antiphon.gen.SettingSource;

/**
 * A setting with its source.
 *
 * @param value as {@link Json} reads it; null where it is null
 * @param source who said so: {@code request}, {@code prompt}, {@code thread}, {@code profile}, {@code default} or {@code inherited}
 */
public record Setting(Object value, String source) {
    static Setting of(EffectiveSetting raw) {
        return new Setting(Json.parse(raw.getValueJson()), Words.word(SettingSource.getDescriptor(), raw.getSourceValue()));
    }
}
