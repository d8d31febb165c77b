//! Usage: what is known of what calls consumed. It must not know where the figures come from.

use super::problem;
use super::{Path, Problems, json};
use crate::domain::usage::{Completeness, Usage};
use crate::grpc::pb;

/// Longest usage object of a provider that is taken, in bytes.
const MAX_PROVIDER_JSON: usize = 64 * 1024;

/// What a caller says that a call consumed. Where it does not say how much is known, the figures tell.
pub fn from_pb(usage: pb::Usage, at: &Path<'_>, problems: &mut Problems) -> Option<Usage> {
    let known = [usage.input_tokens, usage.output_tokens, usage.total_tokens];
    let any = known.iter().any(Option::is_some);
    let completeness = match usage.completeness {
        0 if usage.input_tokens.is_some() && usage.output_tokens.is_some() => Some(Completeness::Complete),
        0 if any => Some(Completeness::Partial),
        0 => Some(Completeness::Unknown),
        number => {
            let words = "USAGE_COMPLETENESS_COMPLETE, USAGE_COMPLETENESS_PARTIAL or USAGE_COMPLETENESS_UNKNOWN";
            match problem::chosen(number, words, &at.field("completeness"), problems) {
                Some(pb::UsageCompleteness::Complete) => Some(Completeness::Complete),
                Some(pb::UsageCompleteness::Partial) => Some(Completeness::Partial),
                Some(pb::UsageCompleteness::Unknown) => Some(Completeness::Unknown),
                Some(pb::UsageCompleteness::Unspecified) | None => None,
            }
        }
    };
    let mut good = true;
    for (part, part_name, whole, whole_name) in [
        (usage.cached_input_tokens, "cached_input_tokens", usage.input_tokens, "input_tokens"),
        (usage.cache_written_tokens, "cache_written_tokens", usage.input_tokens, "input_tokens"),
        (usage.reasoning_tokens, "reasoning_tokens", usage.output_tokens, "output_tokens"),
    ] {
        if part.zip(whole).is_some_and(|(part, whole)| part > whole) {
            problems.add(&at.field(part_name), format!("is more than `{whole_name}`, of which it is a part"));
            good = false;
        }
    }
    let provider_json =
        json::optional_object(usage.provider_json, MAX_PROVIDER_JSON, &at.field("provider_json"), problems);
    let usage = Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens,
        cached_input_tokens: usage.cached_input_tokens,
        cache_written_tokens: usage.cache_written_tokens,
        reasoning_tokens: usage.reasoning_tokens,
        completeness: completeness?,
        reported: usage.reported,
        provider_json: provider_json?.unwrap_or_default(),
    };
    good.then_some(usage)
}

/// How much of a usage is known, in an answer.
pub(super) fn completeness_to_pb(completeness: Completeness) -> pb::UsageCompleteness {
    match completeness {
        Completeness::Complete => pb::UsageCompleteness::Complete,
        Completeness::Partial => pb::UsageCompleteness::Partial,
        Completeness::Unknown => pb::UsageCompleteness::Unknown,
    }
}

/// Usage in an answer.
pub fn to_pb(usage: Usage) -> pb::Usage {
    let completeness = completeness_to_pb(usage.completeness);
    pb::Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens,
        cached_input_tokens: usage.cached_input_tokens,
        cache_written_tokens: usage.cache_written_tokens,
        reasoning_tokens: usage.reasoning_tokens,
        completeness: completeness.into(),
        reported: usage.reported,
        provider_json: usage.provider_json,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fault::Fault;
    use crate::grpc::convert::problem::whole;

    fn read(usage: pb::Usage) -> Result<Usage, Fault> {
        whole(|at, problems| from_pb(usage, &at.field("usage"), problems))
    }

    #[test]
    fn usage_comes_back_as_it_went_out() {
        let usage = Usage {
            input_tokens: Some(10),
            output_tokens: Some(0),
            total_tokens: None,
            cached_input_tokens: Some(4),
            cache_written_tokens: Some(0),
            reasoning_tokens: None,
            completeness: Completeness::Partial,
            reported: true,
            provider_json: "{\"x\": 1}".to_owned(),
        };
        assert_eq!(read(to_pb(usage.clone())), Ok(usage));
        assert_eq!(read(to_pb(Usage::default())), Ok(Usage::default()));
    }

    #[test]
    fn the_figures_tell_how_much_is_known() {
        let of = |input_tokens, output_tokens| {
            read(pb::Usage { input_tokens, output_tokens, ..pb::Usage::default() }).map(|usage| usage.completeness)
        };
        assert_eq!(of(Some(1), Some(0)), Ok(Completeness::Complete));
        assert_eq!(of(Some(1), None), Ok(Completeness::Partial));
        assert_eq!(of(None, None), Ok(Completeness::Unknown));
    }

    #[test]
    fn a_part_is_not_more_than_its_whole() {
        let usage = pb::Usage {
            input_tokens: Some(1),
            cached_input_tokens: Some(2),
            completeness: 7,
            provider_json: "[]".to_owned(),
            ..pb::Usage::default()
        };
        let paths: Vec<_> = read(usage).unwrap_err().fields.into_iter().map(|field| field.path).collect();
        assert_eq!(paths, ["usage.completeness", "usage.cached_input_tokens", "usage.provider_json"]);
    }
}
