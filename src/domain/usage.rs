//! Usage: what calls consumed, as far as it is known. Absent is not zero. It must not know prices or providers.

/// How much of a usage is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Completeness {
    /// Every call reported.
    Complete,
    /// Some did.
    Partial,
    /// None did.
    #[default]
    Unknown,
}

/// Tokens of one call or one run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Usage {
    /// All tokens read.
    pub input_tokens: Option<u64>,
    /// All tokens written.
    pub output_tokens: Option<u64>,
    /// The total as the provider gave it.
    pub total_tokens: Option<u64>,
    /// The part of the input that was read from the provider's cache.
    pub cached_input_tokens: Option<u64>,
    /// The part of the input that was written to it.
    pub cache_written_tokens: Option<u64>,
    /// The part of the output that was reasoning.
    pub reasoning_tokens: Option<u64>,
    /// How much is known.
    pub completeness: Completeness,
    /// The caller reported it.
    pub reported: bool,
    /// The provider's usage object, verbatim; empty when there was none or several were joined.
    pub provider_json: String,
}

impl Usage {
    /// The sum of calls that were each made once (S4-80..84). A figure that only some calls gave is a lower bound, and the sum says
    /// PARTIAL; what no call gave stays absent.
    pub fn sum<'a>(calls: impl IntoIterator<Item = &'a Usage>) -> Usage {
        let calls: Vec<&Usage> = calls.into_iter().collect();
        if let [only] = calls.as_slice() {
            return (*only).clone();
        }
        let field = |get: fn(&Usage) -> Option<u64>| {
            calls.iter().filter_map(|usage| get(usage)).reduce(|sum, more| sum.saturating_add(more))
        };
        let completeness = if calls.iter().all(|usage| usage.completeness == Completeness::Unknown) {
            Completeness::Unknown
        } else if calls.iter().all(|usage| usage.completeness == Completeness::Complete) {
            Completeness::Complete
        } else {
            Completeness::Partial
        };
        Usage {
            input_tokens: field(|usage| usage.input_tokens),
            output_tokens: field(|usage| usage.output_tokens),
            total_tokens: field(|usage| usage.total_tokens),
            cached_input_tokens: field(|usage| usage.cached_input_tokens),
            cache_written_tokens: field(|usage| usage.cache_written_tokens),
            reasoning_tokens: field(|usage| usage.reasoning_tokens),
            completeness,
            reported: calls.iter().any(|usage| usage.reported),
            provider_json: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(input: u64, output: u64) -> Usage {
        Usage {
            input_tokens: Some(input),
            output_tokens: Some(output),
            completeness: Completeness::Complete,
            ..Usage::default()
        }
    }

    #[test]
    fn a_call_that_reports_nothing_makes_the_sum_partial_and_adds_no_zero() {
        let sum = Usage::sum([&known(5, 2), &Usage::default()]);
        assert_eq!((sum.input_tokens, sum.output_tokens, sum.completeness), (Some(5), Some(2), Completeness::Partial));
    }

    #[test]
    fn nothing_known_stays_unknown() {
        let sum = Usage::sum([&Usage::default(), &Usage::default()]);
        assert_eq!((sum.input_tokens, sum.completeness), (None, Completeness::Unknown));
        assert_eq!(Usage::sum([]).completeness, Completeness::Unknown);
    }

    #[test]
    fn known_calls_add_up() {
        let sum = Usage::sum([&known(5, 2), &known(7, 1)]);
        assert_eq!(
            (sum.input_tokens, sum.output_tokens, sum.completeness),
            (Some(12), Some(3), Completeness::Complete)
        );
    }
}
