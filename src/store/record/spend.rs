//! Stored form of what was spent and how much may be. It must not know who spends.

use super::{Malformed, Twin, required, stored, twin};
use crate::domain::id::Hash;
use crate::domain::spend::{Amount, Cost, Day, SpendLimit, Spending, Spent};

stored!(Spending, twin::Spending);

/// What somebody who spends is called in a key.
pub(crate) fn hash_of_spender(name: &str) -> Hash {
    Hash(*blake3::Hasher::new_derive_key("antiphon spender 1").update(name.as_bytes()).finalize().as_bytes())
}

impl Twin<Spending> for twin::Spending {
    fn of(spending: &Spending) -> Self {
        Self { day: spending.day.0, spent: Some(twin::Spent::of(&spending.spent)) }
    }

    fn value(self) -> Result<Spending, Malformed> {
        Ok(Spending { day: Day(self.day), spent: required(self.spent, "spent")? })
    }
}

impl Twin<Spent> for twin::Spent {
    fn of(spent: &Spent) -> Self {
        let cost = |(currency, amount): (&String, &Amount)| cost(currency, *amount);
        Self { tokens: spent.tokens, costs: spent.costs.iter().map(cost).collect() }
    }

    fn value(self) -> Result<Spent, Malformed> {
        let costs = self.costs.into_iter().map(|cost| cost.value().map(|cost: Cost| (cost.currency, cost.amount)));
        Ok(Spent { tokens: self.tokens, costs: costs.collect::<Result<_, _>>()? })
    }
}

impl Twin<Cost> for twin::Cost {
    fn of(of: &Cost) -> Self {
        cost(&of.currency, of.amount)
    }

    fn value(self) -> Result<Cost, Malformed> {
        let bytes = <[u8; 16]>::try_from(&*self.amount).map_err(|_| Malformed::new("amount", "is not 16 bytes"))?;
        Ok(Cost { amount: Amount(u128::from_be_bytes(bytes)), currency: self.currency })
    }
}

fn cost(currency: &str, amount: Amount) -> twin::Cost {
    twin::Cost { currency: currency.to_owned(), amount: amount.0.to_be_bytes().to_vec().into() }
}

impl Twin<SpendLimit> for twin::SpendLimit {
    fn of(limit: &SpendLimit) -> Self {
        Self { tokens: limit.tokens, cost: limit.cost.as_ref().map(twin::Cost::of) }
    }

    fn value(self) -> Result<SpendLimit, Malformed> {
        Ok(SpendLimit { tokens: self.tokens, cost: self.cost.map(Twin::value).transpose()? })
    }
}
