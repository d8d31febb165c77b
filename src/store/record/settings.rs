//! Stored forms of settings, validation and warnings. It must not know how a setting is found.

use super::{Malformed, Twin, Word, twin, twins, values, words};
use crate::domain::settings::{EffectiveSetting, Source, Validation, ValidationStatus, Violation, Warning};

words!(Source, twin::Source, [Request, Prompt, Thread, Profile, Default, Inherited]);
words!(ValidationStatus, twin::ValidationStatus, [NotApplicable, Valid, Invalid]);

impl Twin<EffectiveSetting> for twin::EffectiveSetting {
    fn of(setting: &EffectiveSetting) -> Self {
        Self { name: setting.name.clone(), value_json: setting.value_json.clone(), source: setting.source.number() }
    }

    fn value(self) -> Result<EffectiveSetting, Malformed> {
        let source = Source::of_number(self.source, "settings.source")?;
        Ok(EffectiveSetting { name: self.name, value_json: self.value_json, source })
    }
}

impl Twin<Warning> for twin::Warning {
    fn of(warning: &Warning) -> Self {
        Self { code: warning.code.clone(), message: warning.message.clone() }
    }

    fn value(self) -> Result<Warning, Malformed> {
        Ok(Warning { code: self.code, message: self.message })
    }
}

impl Twin<Validation> for twin::Validation {
    fn of(validation: &Validation) -> Self {
        Self { status: validation.status.number(), violations: twins(&validation.violations) }
    }

    fn value(self) -> Result<Validation, Malformed> {
        let status = ValidationStatus::of_number(self.status, "validation.status")?;
        Ok(Validation { status, violations: values(self.violations)? })
    }
}

impl Twin<Violation> for twin::Violation {
    fn of(violation: &Violation) -> Self {
        Self {
            instance_path: violation.instance_path.clone(),
            schema_path: violation.schema_path.clone(),
            message: violation.message.clone(),
        }
    }

    fn value(self) -> Result<Violation, Malformed> {
        Ok(Violation { instance_path: self.instance_path, schema_path: self.schema_path, message: self.message })
    }
}
