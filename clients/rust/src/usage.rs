//! What was consumed, and how much may be spent. Knows nothing of by what.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::pb;
use crate::word::Completeness;

/// The tokens of one model call with its retries and repairs, or of a run. What the provider did not say is absent, which is not zero.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Usage {
    /// All that were read, cached ones included.
    pub input_tokens: Option<u64>,
    /// All that were written, reasoning included.
    pub output_tokens: Option<u64>,
    /// Both.
    pub total_tokens: Option<u64>,
    /// Those of the input that the provider had.
    pub cached_input_tokens: Option<u64>,
    /// Those of the input that it keeps.
    pub cache_written_tokens: Option<u64>,
    /// Those of the output that the model thought with.
    pub reasoning_tokens: Option<u64>,
    /// How much is known.
    pub completeness: Completeness,
    /// It is the caller's word; the server did not see the call.
    pub reported: bool,
}

impl Usage {
    /// What a call of the caller's own read and wrote.
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens: Some(input_tokens), output_tokens: Some(output_tokens), ..Self::default() }
    }

    pub(crate) fn from_raw(raw: Option<&pb::Usage>) -> Self {
        let Some(raw) = raw else { return Self { completeness: Completeness::Missing, ..Self::default() } };
        Self {
            input_tokens: raw.input_tokens,
            output_tokens: raw.output_tokens,
            total_tokens: raw.total_tokens,
            cached_input_tokens: raw.cached_input_tokens,
            cache_written_tokens: raw.cache_written_tokens,
            reasoning_tokens: raw.reasoning_tokens,
            completeness: Completeness::from_raw(raw.completeness),
            reported: raw.reported,
        }
    }

    /// How it goes out, with a call that the caller made.
    pub(crate) fn to_raw(&self) -> pb::Usage {
        pb::Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            total_tokens: self.total_tokens,
            cached_input_tokens: self.cached_input_tokens,
            cache_written_tokens: self.cache_written_tokens,
            reasoning_tokens: self.reasoning_tokens,
            ..pb::Usage::default()
        }
    }
}

/// What calls to models consumed that the server made, as far as providers said so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spent {
    /// Tokens read and written.
    pub tokens: u64,
    /// What they may have cost, by currency, as decimal numbers in text; empty without prices.
    pub costs: BTreeMap<String, String>,
}

impl Spent {
    pub(crate) fn from_raw(raw: Option<&pb::Spent>) -> Self {
        let Some(raw) = raw else { return Self::default() };
        let cost = |one: &pb::CostAmount| (one.currency.clone(), one.amount.clone());
        Self { tokens: raw.tokens, costs: raw.costs.iter().map(cost).collect() }
    }
}

/// How much may be spent, as the caller says it.
#[derive(Default)]
pub(crate) struct Spend {
    pub(crate) tokens: Option<u64>,
    pub(crate) cost: Option<String>,
}

impl Spend {
    /// How it goes out; an error for a text that is no cost.
    pub(crate) fn to_raw(&self) -> Result<Option<pb::SpendLimit>> {
        let cost = self.cost.as_deref().map(cost).transpose()?;
        Ok((self.tokens.is_some() || cost.is_some()).then_some(pb::SpendLimit { tokens: self.tokens, cost }))
    }
}

fn cost(text: &str) -> Result<pb::CostAmount> {
    let digits = |part: &str| (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_amount = |amount: &str| {
        let (whole, fraction) = amount.split_once('.').unwrap_or((amount, "0"));
        digits(whole) && digits(fraction) && amount.bytes().any(|byte| (b'1'..=b'9').contains(&byte))
    };
    let is_currency = |code: &str| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
    match text.split_once(' ') {
        Some((amount, currency)) if is_amount(amount) && is_currency(currency) => {
            Ok(pb::CostAmount { amount: amount.to_owned(), currency: currency.to_owned() })
        }
        _ => {
            let message =
                format!("cost_limit: {text:?} is not an amount over 0 with its currency, such as \"2.50 USD\"");
            Err(Error::invalid(message))
        }
    }
}
