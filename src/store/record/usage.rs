//! Stored form of usage. It must not know how usages add up.

use super::{Malformed, Twin, Word, twin, words};
use crate::domain::usage::{Completeness, Usage};

words!(Completeness, twin::Completeness, [Complete, Partial, Unknown]);

impl Twin<Usage> for twin::Usage {
    fn of(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            total_tokens: usage.total_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            cache_written_tokens: usage.cache_written_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            completeness: usage.completeness.number(),
            reported: usage.reported,
            provider_json: usage.provider_json.clone(),
        }
    }

    fn value(self) -> Result<Usage, Malformed> {
        Ok(Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            total_tokens: self.total_tokens,
            cached_input_tokens: self.cached_input_tokens,
            cache_written_tokens: self.cache_written_tokens,
            reasoning_tokens: self.reasoning_tokens,
            completeness: Completeness::of_number(self.completeness, "usage.completeness")?,
            reported: self.reported,
            provider_json: self.provider_json,
        })
    }
}
