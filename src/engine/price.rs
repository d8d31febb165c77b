//! What calls may have cost, by the prices that profiles give. An estimate: providers bill as they please. It must not know where usage came
//! from.

use serde::Deserialize;

use crate::domain::spend::{Amount, Spent, billionths, is_currency};
use crate::domain::usage::{Completeness, Usage};

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
        if !is_currency(&self.currency) {
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
    spent: Spent,
    priced: bool,
    /// Some usage has no price, or is not known.
    lacking: bool,
}

impl Bill {
    /// Adds calls to one model, with its prices if it has any.
    pub fn add(&mut self, prices: Option<&Prices>, usage: &Usage) {
        self.lacking |= prices.is_none() || usage.completeness != Completeness::Complete;
        self.priced |= prices.is_some();
        self.spent.add(&spent(prices, usage));
    }

    /// The amounts, by currency; none where nothing has a price.
    pub fn estimates(self) -> Vec<Estimate> {
        let completeness = match (self.priced, self.lacking) {
            (false, _) => Completeness::Unknown,
            (true, true) => Completeness::Partial,
            (true, false) => Completeness::Complete,
        };
        let estimate =
            |(currency, amount): (String, Amount)| Estimate { currency, amount: amount.to_string(), completeness };
        self.spent.costs.into_iter().map(estimate).collect()
    }
}

/// What usage comes to, by the prices of its model if it has any. What is not known counts as nothing.
pub(super) fn spent(prices: Option<&Prices>, usage: &Usage) -> Spent {
    let count = |tokens: Option<u64>| tokens.unwrap_or(0);
    let tokens = count(usage.input_tokens).saturating_add(count(usage.output_tokens));
    let costs = prices.map(|prices| {
        let (cached, written) = (count(usage.cached_input_tokens), count(usage.cache_written_tokens));
        // Both are a part of what was read.
        let other = count(usage.input_tokens).saturating_sub(cached).saturating_sub(written);
        let parts = [
            (other, prices.input),
            (cached, prices.cached),
            (written, prices.written),
            (count(usage.output_tokens), prices.output),
        ];
        let add =
            |sum: u128, (tokens, price): (u64, u128)| sum.saturating_add(u128::from(tokens).saturating_mul(price));
        (prices.currency.clone(), Amount(parts.into_iter().fold(0, add)))
    });
    Spent { tokens, costs: costs.into_iter().collect() }
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
    }
}
