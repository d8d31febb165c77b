//! What calls may have cost, by the prices that profiles give. An estimate: providers bill as they please. It must not know where usage came
//! from.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::domain::usage::{Completeness, Usage};

/// Digits after the point that a price can have.
const DIGITS: u32 = 9;
/// Digits after the point of an amount: those of a price, and six for the million.
const AMOUNT_DIGITS: usize = 15;

/// Prices of a profile's model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PricesConfig {
    /// The currency, such as `USD`.
    pub currency: String,
    /// For a million tokens read, a decimal number in text.
    pub input_per_million: String,
    /// For a million tokens written.
    pub output_per_million: String,
    /// For a million tokens read from the provider's cache; as others when absent.
    pub cached_input_per_million: Option<String>,
    /// For a million tokens written to it; as others when absent.
    pub cache_written_per_million: Option<String>,
}

/// The same, ready to multiply: billionths of the currency for a million tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    /// The currency.
    pub currency: String,
    input: u128,
    output: u128,
    cached: u128,
    written: u128,
}

impl PricesConfig {
    /// The prices, or what is wrong: the key, and what it must be.
    ///
    /// # Errors
    /// Every mistake.
    pub fn check(&self) -> Result<Prices, Vec<(&'static str, String)>> {
        let mut problems = Vec::new();
        let is_code = self.currency.len() == 3 && self.currency.bytes().all(|byte| byte.is_ascii_uppercase());
        if !is_code {
            problems.push(("currency", "must be a code of three letters, such as `USD`".to_owned()));
        }
        let mut price = |key, text: &str| {
            billionths(text).unwrap_or_else(|| {
                problems.push((key, format!("`{text}` is no price: write a decimal number in text, such as \"2.50\"")));
                0
            })
        };
        let input = price("input_per_million", &self.input_per_million);
        let output = price("output_per_million", &self.output_per_million);
        let cached = self.cached_input_per_million.as_ref();
        let cached = cached.map_or(input, |text| price("cached_input_per_million", text));
        let written = self.cache_written_per_million.as_ref();
        let written = written.map_or(input, |text| price("cache_written_per_million", text));
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Prices { currency: self.currency.clone(), input, output, cached, written })
    }
}

/// A decimal number as billionths; at most nine digits on either side of the point.
fn billionths(text: &str) -> Option<u128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |part: &str| !part.is_empty() && part.len() <= 9 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let places = u32::try_from(fraction.len()).ok()?;
    let fraction = fraction.parse::<u128>().ok()?.checked_mul(10_u128.pow(DIGITS.checked_sub(places)?))?;
    whole.parse::<u128>().ok()?.checked_mul(10_u128.pow(DIGITS))?.checked_add(fraction)
}

/// What usage may have cost, in one currency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The currency.
    pub currency: String,
    /// The amount, a decimal number.
    pub amount: String,
    /// How much of the usage has a price and is known.
    pub completeness: Completeness,
}

/// Adds up what calls may have cost.
#[derive(Debug, Default)]
pub struct Bill {
    amounts: BTreeMap<String, u128>,
    priced: bool,
    /// Some usage has no price, or is not known.
    lacking: bool,
}

impl Bill {
    /// Adds calls to one model, with its prices if it has any.
    pub fn add(&mut self, prices: Option<&Prices>, usage: &Usage) {
        let Some(prices) = prices else {
            self.lacking = true;
            return;
        };
        self.lacking |= usage.completeness != Completeness::Complete;
        let count = |tokens: Option<u64>| u128::from(tokens.unwrap_or(0));
        let (cached, written) = (count(usage.cached_input_tokens), count(usage.cache_written_tokens));
        // Both are a part of what was read.
        let other = count(usage.input_tokens).saturating_sub(cached).saturating_sub(written);
        let parts = [
            (other, prices.input),
            (cached, prices.cached),
            (written, prices.written),
            (count(usage.output_tokens), prices.output),
        ];
        let amount =
            parts.into_iter().fold(0, |sum: u128, (tokens, price)| sum.saturating_add(tokens.saturating_mul(price)));
        let sum = self.amounts.entry(prices.currency.clone()).or_default();
        *sum = sum.saturating_add(amount);
        self.priced = true;
    }

    /// The amounts, by currency; none where nothing has a price.
    pub fn estimates(self) -> Vec<Estimate> {
        let completeness = match (self.priced, self.lacking) {
            (false, _) => Completeness::Unknown,
            (true, true) => Completeness::Partial,
            (true, false) => Completeness::Complete,
        };
        self.amounts
            .into_iter()
            .map(|(currency, amount)| Estimate { currency, amount: decimal(amount), completeness })
            .collect()
    }
}

/// Billionths of millionths as a decimal number, without zeros at its end.
fn decimal(amount: u128) -> String {
    let digits = format!("{amount:0>width$}", width = AMOUNT_DIGITS + 1);
    let (whole, fraction) = digits.split_at(digits.len() - AMOUNT_DIGITS);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices(cached: Option<&str>) -> PricesConfig {
        PricesConfig {
            currency: "USD".to_owned(),
            input_per_million: "2.50".to_owned(),
            output_per_million: "10".to_owned(),
            cached_input_per_million: cached.map(str::to_owned),
            cache_written_per_million: None,
        }
    }

    #[test]
    fn tokens_cost_what_their_kind_does() {
        let usage = Usage {
            input_tokens: Some(1_000_000),
            output_tokens: Some(1),
            cached_input_tokens: Some(400_000),
            completeness: Completeness::Complete,
            ..Usage::default()
        };
        let mut bill = Bill::default();
        bill.add(Some(&prices(Some("0.25")).check().unwrap()), &usage);
        let estimates = bill.estimates();
        assert_eq!((estimates[0].amount.as_str(), estimates[0].completeness), ("1.60001", Completeness::Complete));
        let mut bill = Bill::default();
        bill.add(Some(&prices(None).check().unwrap()), &usage);
        bill.add(None, &usage);
        let estimates = bill.estimates();
        assert_eq!((estimates[0].amount.as_str(), estimates[0].completeness), ("2.50001", Completeness::Partial));
        assert_eq!(Bill::default().estimates(), []);
    }

    #[test]
    fn what_is_no_price_is_named() {
        let wrong =
            PricesConfig { currency: "usd".to_owned(), input_per_million: "-1".to_owned(), ..prices(Some("1,5")) };
        let keys: Vec<_> = wrong.check().unwrap_err().into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["currency", "input_per_million", "cached_input_per_million"]);
        for text in ["", ".", "1.", ".5", "1e3", "1.0000000001", "1234567890"] {
            assert_eq!(billionths(text), None, "{text}");
        }
        assert_eq!(billionths("0.000000001"), Some(1));
    }
}
