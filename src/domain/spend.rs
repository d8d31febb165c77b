//! What calls to providers consumed and may have cost, and how much may be spent on them. It must not know who spends, nor what prices there
//! are.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::fault::{Fault, Reason};

/// Digits after the point that a number in text can have.
const DIGITS: u32 = 9;
/// Digits after the point of an amount: those of a price, and six since prices are for a million tokens.
const AMOUNT_DIGITS: usize = 15;
/// What a billionth is in the unit of amounts.
const BILLIONTH: u128 = 1_000_000;
/// What a millionth is in the unit of amounts.
const MILLIONTH: u128 = 1_000_000_000;
/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// An amount of some currency, exact to billionths of millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(pub u128);

impl Amount {
    /// The amount of a decimal number in text, such as `2.50`; absent for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        billionths(text)?.checked_mul(BILLIONTH).map(Self)
    }

    /// With another one.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// In whole millionths, rounded up.
    pub fn millionths(self) -> u64 {
        u64::try_from(self.0.div_ceil(MILLIONTH)).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Amount {
    /// A decimal number without zeros at its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:0>width$}", self.0, width = AMOUNT_DIGITS + 1);
        let (whole, fraction) = digits.split_at(digits.len() - AMOUNT_DIGITS);
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() { f.write_str(whole) } else { write!(f, "{whole}.{fraction}") }
    }
}

/// A decimal number as billionths; at most nine digits on either side of the point.
pub fn billionths(text: &str) -> Option<u128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |part: &str| !part.is_empty() && part.len() <= 9 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let places = u32::try_from(fraction.len()).ok()?;
    let fraction = fraction.parse::<u128>().ok()?.checked_mul(10_u128.pow(DIGITS.checked_sub(places)?))?;
    whole.parse::<u128>().ok()?.checked_mul(10_u128.pow(DIGITS))?.checked_add(fraction)
}

/// Whether a text is a currency's code of three letters, such as `USD`.
pub fn is_currency(code: &str) -> bool {
    code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// An amount with its currency, in text such as `2.50 USD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// How much; over zero.
    pub amount: Amount,
    /// Of what.
    pub currency: String,
}

/// A text that is no cost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an amount over 0 with its currency, such as `2.50 USD`")]
pub struct NoCost;

impl FromStr for Cost {
    type Err = NoCost;

    fn from_str(text: &str) -> Result<Self, NoCost> {
        let (amount, currency) = text.split_once(' ').ok_or(NoCost)?;
        let amount = Amount::parse(amount).filter(|amount| amount.0 > 0).ok_or(NoCost)?;
        if is_currency(currency) { Ok(Self { amount, currency: currency.to_owned() }) } else { Err(NoCost) }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.amount, self.currency)
    }
}

/// What calls consumed, as far as providers said so, and what it may have cost by the prices of profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Tokens read and written.
    pub tokens: u64,
    /// What has a price, by currency.
    pub costs: BTreeMap<String, Amount>,
}

impl Spent {
    /// With more of it.
    pub fn add(&mut self, more: &Self) {
        self.tokens = self.tokens.saturating_add(more.tokens);
        for (currency, amount) in &more.costs {
            let sum = self.costs.entry(currency.clone()).or_default();
            *sum = sum.plus(*amount);
        }
    }

    /// Nothing was spent.
    pub fn is_nothing(&self) -> bool {
        self.tokens == 0 && self.costs.values().all(|amount| amount.0 == 0)
    }

    /// What was spent in a currency.
    pub fn in_currency(&self, currency: &str) -> Amount {
        self.costs.get(currency).copied().unwrap_or_default()
    }
}

/// How much may be spent. What is reached is over: the call that reaches it is the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpendLimit {
    /// Tokens read and written.
    pub tokens: Option<u64>,
    /// What they may cost.
    pub cost: Option<Cost>,
}

impl SpendLimit {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.tokens.is_none() && self.cost.is_none()
    }

    /// Whether more may be spent. `of` says whose limit it is and `names` are the limits' names, of tokens and of costs.
    ///
    /// # Errors
    /// SPEND_LIMIT with what was spent, and the limit.
    pub fn allows(&self, spent: &Spent, of: &str, names: [&str; 2]) -> Result<(), Fault> {
        let over = |name: &str, spent: &dyn fmt::Display, max: &dyn fmt::Display, unit: &str| {
            let message = format!("{of} has spent {spent} {unit} and may spend {max}: nothing was sent to the model");
            Fault::new(Reason::SpendLimit, message).with("limit", name).with("max", max).with("spent", spent)
        };
        let [tokens, cost] = names;
        if let Some(max) = self.tokens.filter(|max| spent.tokens >= *max) {
            return Err(over(tokens, &spent.tokens, &max, "tokens"));
        }
        if let Some(max) = &self.cost {
            let there = spent.in_currency(&max.currency);
            if there >= max.amount {
                return Err(over(cost, &there, &max.amount, &max.currency).with("currency", &max.currency));
            }
        }
        Ok(())
    }
}

/// A day, counted from 1 January 1970 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub u64);

impl Day {
    /// The day of a moment.
    pub fn of(moment: super::id::Moment) -> Self {
        Self(moment.0 / DAY_MS)
    }

    /// When it is over.
    pub fn end(self) -> super::id::Moment {
        super::id::Moment(self.0.saturating_add(1).saturating_mul(DAY_MS))
    }
}

/// What somebody spent on one day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// The day.
    pub day: Day,
    /// What was spent on it.
    pub spent: Spent,
}

impl Spending {
    /// As it is on a day: nothing was spent on a new one. A clock that was put back does not bring a new day.
    pub fn turn(&mut self, today: Day) {
        if today > self.day {
            *self = Self { day: today, spent: Spent::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Moment;

    fn spent(tokens: u64, usd: &str) -> Spent {
        Spent { tokens, costs: [("USD".to_owned(), Amount::parse(usd).unwrap())].into() }
    }

    #[test]
    fn what_is_no_amount_is_none() {
        for text in ["", ".", "1.", ".5", "1e3", "1.0000000001", "1234567890", "-1"] {
            assert_eq!(Amount::parse(text), None, "{text}");
        }
        assert_eq!(billionths("0.000000001"), Some(1));
        assert_eq!(Amount::parse("2.50").unwrap().to_string(), "2.5");
        assert_eq!(Amount(1).to_string(), "0.000000000000001");
        assert_eq!(Amount::parse("0.000001").unwrap().millionths(), 1);
        assert_eq!(Amount(1).millionths(), 1);
    }

    #[test]
    fn a_cost_has_an_amount_and_a_currency() {
        let cost: Cost = "12.50 USD".parse().unwrap();
        assert_eq!((cost.to_string().as_str(), cost.currency.as_str()), ("12.5 USD", "USD"));
        for text in ["12.50", "USD 12", "0 USD", "1 usd", "1  USD", "1 USDT", ""] {
            assert_eq!(text.parse::<Cost>(), Err(NoCost), "{text}");
        }
    }

    #[test]
    fn a_limit_that_is_reached_is_over() {
        let limit = SpendLimit { tokens: Some(100), cost: Some("1 USD".parse().unwrap()) };
        let names = ["tokens_per_day", "cost_per_day"];
        assert_eq!(limit.allows(&spent(99, "0.999999999"), "it", names), Ok(()));
        let tokens = limit.allows(&spent(100, "0"), "it", names).unwrap_err();
        assert_eq!((tokens.metadata["limit"].as_str(), tokens.metadata["spent"].as_str()), ("tokens_per_day", "100"));
        let cost = limit.allows(&spent(0, "1"), "it", names).unwrap_err();
        assert_eq!((cost.metadata["limit"].as_str(), cost.metadata["currency"].as_str()), ("cost_per_day", "USD"));
        assert_eq!(SpendLimit::default().allows(&spent(u64::MAX, "999"), "it", names), Ok(()));
    }

    #[test]
    fn a_new_day_begins_at_nothing_and_an_older_one_does_not_come_back() {
        let monday = Day::of(Moment(1_700_000_000_000));
        let mut spending = Spending { day: monday, spent: spent(5, "1") };
        spending.turn(Day(monday.0 - 1));
        assert_eq!(spending.spent, spent(5, "1"));
        spending.turn(Day::of(monday.end()));
        assert_eq!(spending, Spending { day: Day(monday.0 + 1), spent: Spent::default() });
    }
}
