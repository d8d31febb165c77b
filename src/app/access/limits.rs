//! What a credential may use at most, and what it uses now. It must not know how either is counted.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Principal;
use crate::domain::spend::{Cost, SpendLimit};

/// Limits of a credential; none where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Calls at once, streams among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_at_once: Option<u32>,
    /// Calls that begin in a second; after a pause as many may begin at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_second: Option<u32>,
    /// Calls at once that are answered in a stream, coordinations among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams_at_once: Option<u32>,
    /// Streams of coordinations at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coordinations_at_once: Option<u32>,
    /// Runs and probes at work or queued at once, whether or not somebody waits for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_at_once: Option<u32>,
    /// Tokens read and written by models in one day, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    /// What they may cost in one day, UTC, by the prices of profiles; such as `5.00 USD`.
    #[serde(skip_serializing_if = "Option::is_none", with = "cost")]
    pub cost_per_day: Option<Cost>,
}

impl Limits {
    /// The limits themselves, and where they say nothing those of `other`.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        Self {
            calls_at_once: self.calls_at_once.or(other.calls_at_once),
            calls_per_second: self.calls_per_second.or(other.calls_per_second),
            streams_at_once: self.streams_at_once.or(other.streams_at_once),
            coordinations_at_once: self.coordinations_at_once.or(other.coordinations_at_once),
            runs_at_once: self.runs_at_once.or(other.runs_at_once),
            tokens_per_day: self.tokens_per_day.or(other.tokens_per_day),
            cost_per_day: self.cost_per_day.or_else(|| other.cost_per_day.clone()),
        }
    }

    /// The most tokens of a day: the largest integer that every reader of TOML has.
    pub const MAX_TOKENS: u64 = i64::MAX.cast_unsigned();

    /// The most that a limit of this name can be; nothing for what is none, or no number.
    pub fn most(name: &str) -> Option<u64> {
        match name {
            "calls_at_once" | "calls_per_second" | "streams_at_once" | "coordinations_at_once" | "runs_at_once" => {
                Some(u32::MAX.into())
            }
            "tokens_per_day" => Some(Self::MAX_TOKENS),
            _ => None,
        }
    }

    /// What is wrong with them: the key and the mistake.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("calls_at_once", self.calls_at_once.map(u64::from)),
            ("calls_per_second", self.calls_per_second.map(u64::from)),
            ("streams_at_once", self.streams_at_once.map(u64::from)),
            ("coordinations_at_once", self.coordinations_at_once.map(u64::from)),
            ("runs_at_once", self.runs_at_once.map(u64::from)),
            ("tokens_per_day", self.tokens_per_day),
        ];
        let wrong = |(key, limit): (&'static str, Option<u64>)| match (limit?, Self::most(key)?) {
            (0, _) => Some((key, "must be at least 1: a key that may do nothing is better revoked".to_owned())),
            (limit, most) if limit > most => Some((key, format!("is {limit}: it must be 1 to {most}"))),
            _ => None,
        };
        all.into_iter().filter_map(wrong).collect()
    }

    /// What may be spent in a day.
    pub fn of_a_day(&self) -> SpendLimit {
        SpendLimit { tokens: self.tokens_per_day, cost: self.cost_per_day.clone() }
    }
}

/// A cost in text.
mod cost {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    use crate::domain::spend::Cost;

    #[expect(clippy::ref_option, reason = "the form that serde calls")]
    pub(super) fn serialize<S: Serializer>(cost: &Option<Cost>, serializer: S) -> Result<S::Ok, S::Error> {
        cost.as_ref().map(ToString::to_string).serialize(serializer)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Option<Cost>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(de::Error::custom)).transpose()
    }
}

/// What a call is, where limits tell kinds apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// One answer.
    Unary,
    /// A stream.
    Stream,
    /// A stream of a coordination.
    Coordination,
}

/// What somebody has at work.
#[derive(Clone, Debug)]
pub struct AtWork {
    /// Who, with the limits.
    pub principal: Principal,
    /// Calls, streams among them.
    pub calls: u32,
    /// Calls that began lately and count against how many may begin in a second.
    pub lately: u32,
    /// Streams, those of coordinations among them.
    pub streams: u32,
    /// Streams of coordinations.
    pub coordinations: u32,
}

/// How much of a limit is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitUse {
    /// Its name in the configuration.
    pub name: Cow<'static, str>,
    /// What counts against it now.
    pub used: u64,
    /// Its value.
    pub max: u64,
    /// Of what: `count`, `bytes`, `tokens`, or `millionths of` a currency.
    pub unit: String,
    /// Whose it is; empty for a limit of the server.
    pub credential: String,
    /// Where that is known; `*` for what opens every namespace, and empty for a limit of the server.
    pub namespace: String,
}

impl LimitUse {
    /// Of a limit of the server, of things that are counted.
    pub fn of_server(name: impl Into<Cow<'static, str>>, used: u64, max: u64) -> Self {
        Self {
            name: name.into(),
            used,
            max,
            unit: "count".to_owned(),
            credential: String::new(),
            namespace: String::new(),
        }
    }

    /// Of a limit of somebody.
    pub fn of(principal: &Principal, name: &'static str, used: u64, max: u64, unit: String) -> Self {
        let (credential, namespace) = (principal.name.clone(), principal.opens.to_string());
        Self { name: name.into(), used, max, unit, credential, namespace }
    }

    /// Of a limit that somebody has of things that are counted.
    pub fn count(principal: &Principal, name: &'static str, used: u32, max: u32) -> Self {
        Self::of(principal, name, used.into(), max.into(), "count".to_owned())
    }
}

impl AtWork {
    /// The limits that there are of calls, with what is used of them.
    pub fn uses(&self) -> Vec<LimitUse> {
        let limits = &self.principal.limits;
        let of = |name, used, max: Option<u32>| max.map(|max| LimitUse::count(&self.principal, name, used, max));
        [
            of("calls_at_once", self.calls, limits.calls_at_once),
            of("calls_per_second", self.lately, limits.calls_per_second),
            of("streams_at_once", self.streams, limits.streams_at_once),
            of("coordinations_at_once", self.coordinations, limits.coordinations_at_once),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_limits_go_before_those_for_all() {
        let all: Limits = toml::from_str("calls_at_once = 5\ncalls_per_second = 9\ncost_per_day = \"5 USD\"").unwrap();
        let own: Limits = toml::from_str("calls_at_once = 1\ntokens_per_day = 7").unwrap();
        let both = own.or(&all);
        assert_eq!((both.calls_at_once, both.calls_per_second, both.tokens_per_day), (Some(1), Some(9), Some(7)));
        assert_eq!(toml::from_str::<Limits>(&toml::to_string(&both).unwrap()).unwrap(), both);
        let nothing = Limits { calls_at_once: Some(0), tokens_per_day: Some(0), ..Limits::default() };
        assert_eq!(nothing.problems().len(), 2);
        let most = |tokens| Limits { tokens_per_day: Some(tokens), ..Limits::default() }.problems();
        assert_eq!(most(9_223_372_036_854_775_807), []);
        let told = "is 9223372036854775808: it must be 1 to 9223372036854775807".to_owned();
        assert_eq!(most(9_223_372_036_854_775_808), [("tokens_per_day", told)]);
        assert!(toml::from_str::<Limits>("cost_per_day = 5").is_err());
        let error = toml::from_str::<Limits>("cost_per_day = \"5\"").unwrap_err().to_string();
        assert!(error.contains("such as `2.50 USD`"), "{error}");
    }
}
