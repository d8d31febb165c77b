//! What was spent and how much may be. It must not know who spends.

use super::{Path, Problems};
use crate::domain::spend::{Amount, Cost, SpendLimit, Spent, is_currency};
use crate::grpc::pb;

/// A limit; none when absent.
pub fn limit_from_pb(limit: Option<pb::SpendLimit>, at: &Path<'_>, problems: &mut Problems) -> Option<SpendLimit> {
    let Some(pb::SpendLimit { tokens, cost }) = limit else { return Some(SpendLimit::default()) };
    let tokens = match tokens {
        Some(0) => {
            problems.add(&at.field("tokens"), "must be at least 1; leave it out for no limit");
            None
        }
        tokens => Some(tokens),
    };
    let cost = match cost {
        Some(cost) => cost_from_pb(&cost, &at.field("cost"), problems).map(Some),
        None => Some(None),
    };
    Some(SpendLimit { tokens: tokens?, cost: cost? })
}

fn cost_from_pb(cost: &pb::CostAmount, at: &Path<'_>, problems: &mut Problems) -> Option<Cost> {
    let currency = is_currency(&cost.currency);
    if !currency {
        problems.add(&at.field("currency"), "must be a code of three letters, such as `USD`");
    }
    let amount = Amount::parse(&cost.amount).filter(|amount| amount.0 > 0);
    if amount.is_none() {
        problems.add(&at.field("amount"), "must be a decimal number over 0 in text, such as `2.50`");
    }
    amount.filter(|_| currency).map(|amount| Cost { amount, currency: cost.currency.clone() })
}

/// A limit; absent when there is none.
pub fn limit_to_pb(limit: &SpendLimit) -> Option<pb::SpendLimit> {
    let cost = limit.cost.as_ref().map(|cost| amount_to_pb(&cost.currency, cost.amount));
    (!limit.is_none()).then_some(pb::SpendLimit { tokens: limit.tokens, cost })
}

/// What was spent.
pub fn spent_to_pb(spent: &Spent) -> pb::Spent {
    let costs = spent.costs.iter().map(|(currency, amount)| amount_to_pb(currency, *amount));
    pb::Spent { tokens: spent.tokens, costs: costs.collect() }
}

fn amount_to_pb(currency: &str, amount: Amount) -> pb::CostAmount {
    pb::CostAmount { currency: currency.to_owned(), amount: amount.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tokens: Option<u64>, cost: Option<(&str, &str)>) -> Result<SpendLimit, Vec<String>> {
        let cost = cost.map(|(currency, amount)| pb::CostAmount { currency: currency.into(), amount: amount.into() });
        let mut problems = Problems::default();
        let read =
            limit_from_pb(Some(pb::SpendLimit { tokens, cost }), &Path::ROOT.field("spend_limit"), &mut problems);
        let paths = |fault: crate::domain::fault::Fault| fault.fields.into_iter().map(|field| field.path).collect();
        problems.finish().map_err(paths).map(|()| read.unwrap())
    }

    #[test]
    fn a_limit_comes_back_as_it_was_given() {
        let limit = read(Some(1), Some(("USD", "2.5"))).unwrap();
        assert_eq!(
            limit_to_pb(&limit),
            Some(pb::SpendLimit {
                tokens: Some(1),
                cost: Some(pb::CostAmount { currency: "USD".into(), amount: "2.5".into() }),
            })
        );
        assert_eq!(limit_to_pb(&read(None, None).unwrap()), None);
        assert_eq!(limit_to_pb(&limit_from_pb(None, &Path::ROOT, &mut Problems::default()).unwrap()), None);
    }

    #[test]
    fn each_mistake_is_named() {
        let paths = ["spend_limit.tokens", "spend_limit.cost.currency", "spend_limit.cost.amount"];
        assert_eq!(read(Some(0), Some(("usd", "0"))).unwrap_err(), paths);
        assert_eq!(read(None, Some(("USD", "1e3"))).unwrap_err(), [paths[2]]);
    }
}
