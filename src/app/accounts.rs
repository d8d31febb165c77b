//! What each credential with limits has at work and has spent today: looked at before a run is claimed, added to after its calls. What was
//! spent is on record when the caller is told of it. It must not know who has a credential, nor how calls are made.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

use super::access::{LimitUse, Opens, Principal};
use super::store_fault;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{Moment, Namespace};
use crate::domain::spend::{Day, SpendLimit, Spending, Spent};
use crate::engine::Plan;
use crate::store::ledger::{Changes, Ledger};

/// Most credentials that are remembered. Tokens come and go; beyond so many, what has nothing at work is forgotten and read again.
const MAX_REMEMBERED: usize = 10_000;
/// How soon one whose runs are all at work may come again, in milliseconds.
const AGAIN_MS: u64 = 200;

/// What limits of a day are called, of tokens and of costs.
const OF_A_DAY: [&str; 2] = ["tokens_per_day", "cost_per_day"];

/// Everybody's account.
#[derive(Default)]
pub(super) struct Accounts(Mutex<HashMap<(String, Opens), Arc<Account>>>);

/// One credential's account.
#[derive(Default)]
struct Account {
    runs: AtomicU32,
    /// What was on record was read.
    read: OnceCell<()>,
    /// What was spent, and how often something was added.
    spent: Mutex<(Spending, u64)>,
    /// How many of the additions are on record. Whoever writes holds it, and takes with it what others added meanwhile.
    kept: tokio::sync::Mutex<u64>,
}

/// A run's place. Gives it back when it is dropped.
pub(super) struct Place(Option<Arc<Account>>);

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(account) = &self.0 {
            account.runs.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever held it only looked something up or added numbers.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Accounts {
    /// Lets a run or a probe begin.
    ///
    /// # Errors
    /// LIMIT_EXCEEDED with when to come again.
    pub(super) fn begin(&self, principal: &Principal) -> Result<Place, Fault> {
        let Some(max) = principal.limits.runs_at_once else { return Ok(Place(None)) };
        let account = self.of(principal);
        let before = account.runs.fetch_add(1, Ordering::AcqRel);
        let place = Place(Some(account));
        if before < max {
            return Ok(place);
        }
        let message = format!(
            "runs of this credential are at work or wait, {max} of them, and it may have no more: wait for one to end"
        );
        Err(Fault::new(Reason::LimitExceeded, message)
            .with("limit", "runs_at_once")
            .with("max", max)
            .with("value", before.saturating_add(1))
            .retry_after(AGAIN_MS))
    }

    /// Whether a call may be made for somebody: what was spent today does not reach a limit.
    ///
    /// # Errors
    /// SPEND_LIMIT; and when what was spent cannot be read.
    pub(super) async fn may_spend(
        &self,
        ledger: &Ledger,
        principal: &Principal,
        now: Moment,
        plan: &Plan,
    ) -> Result<(), Fault> {
        let limit = principal.limits.of_a_day();
        if limit.is_none() {
            return Ok(());
        }
        priced(plan, &limit, OF_A_DAY[1])?;
        let spent = self.spent(ledger, principal, now).await?;
        let today = Day::of(now);
        limit.allows(&spent, "this credential", OF_A_DAY).map_err(|fault| {
            let message = format!("{}; what is spent is counted anew at midnight UTC", fault.message);
            // No time to come again: whoever waits by themselves must not wait for hours.
            Fault { message, ..fault }.with("resets_at_ms", today.end().0)
        })
    }

    /// Adds what was spent on calls for somebody, and where there is a limit has it on record when it is done. Without one it counts for as
    /// long as this process runs, so that a limit given later meets it.
    pub(super) async fn charge(&self, ledger: &Ledger, principal: &Principal, now: Moment, spent: &Spent) {
        if spent.is_nothing() || principal.name.is_empty() {
            return;
        }
        let account = self.of(principal);
        if let Err(fault) = account.add(ledger, principal, Day::of(now), spent).await {
            // It counts all the same for as long as this process runs.
            tracing::error!(key = principal.name, reason = fault.reason.word(), "spending.not_kept");
        }
    }

    /// What somebody spent today.
    async fn spent(&self, ledger: &Ledger, principal: &Principal, now: Moment) -> Result<Spent, Fault> {
        let account = self.of(principal);
        account.read(ledger, principal).await?;
        let mut state = lock(&account.spent);
        state.0.turn(Day::of(now));
        Ok(state.0.spent.clone())
    }

    /// How much somebody uses of the limits of runs and of spending.
    ///
    /// # Errors
    /// When what was spent cannot be read.
    pub(super) async fn uses(
        &self,
        ledger: &Ledger,
        principal: &Principal,
        now: Moment,
    ) -> Result<Vec<LimitUse>, Fault> {
        let limits = &principal.limits;
        let mut uses = Vec::new();
        if let Some(max) = limits.runs_at_once {
            let used = self.of(principal).runs.load(Ordering::Acquire);
            uses.push(LimitUse::count(principal, "runs_at_once", used, max));
        }
        if !limits.of_a_day().is_none() {
            let spent = self.spent(ledger, principal, now).await?;
            if let Some(max) = limits.tokens_per_day {
                uses.push(LimitUse::of(principal, "tokens_per_day", spent.tokens, max, "tokens".to_owned()));
            }
            if let Some(max) = &limits.cost_per_day {
                let used = spent.in_currency(&max.currency).millionths();
                let (max, unit) = (max.amount.millionths(), format!("millionths of {}", max.currency));
                uses.push(LimitUse::of(principal, "cost_per_day", used, max, unit));
            }
        }
        Ok(uses)
    }

    fn of(&self, principal: &Principal) -> Arc<Account> {
        let mut accounts = lock(&self.0);
        let who = (principal.name.clone(), principal.opens.clone());
        if let Some(account) = accounts.get(&who) {
            return Arc::clone(account);
        }
        if accounts.len() >= MAX_REMEMBERED {
            // Whoever has one at hand still adds to it.
            accounts.retain(|_, account| Arc::strong_count(account) > 1);
        }
        Arc::clone(accounts.entry(who).or_default())
    }
}

impl Account {
    async fn read(&self, ledger: &Ledger, principal: &Principal) -> Result<(), Fault> {
        let read = async {
            let found = ledger.spending(&home(principal), &principal.name).await.map_err(store_fault)?;
            if let Some(found) = found {
                lock(&self.spent).0 = found;
            }
            Ok(())
        };
        self.read.get_or_try_init(|| read).await.copied()
    }

    async fn add(&self, ledger: &Ledger, principal: &Principal, today: Day, spent: &Spent) -> Result<(), Fault> {
        self.read(ledger, principal).await?;
        let number = {
            let mut state = lock(&self.spent);
            state.0.turn(today);
            state.0.spent.add(spent);
            state.1 = state.1.saturating_add(1);
            state.1
        };
        if principal.limits.of_a_day().is_none() {
            return Ok(());
        }
        let mut kept = self.kept.lock().await;
        if *kept >= number {
            return Ok(());
        }
        let (spending, number) = lock(&self.spent).clone();
        let mut changes = Changes::new();
        changes.put_spending(&principal.name, &spending);
        // It has no guard that could be lost.
        drop(ledger.commit(&home(principal), &changes).await.map_err(store_fault)?);
        *kept = number;
        Ok(())
    }
}

/// Where it is kept what somebody spent.
fn home(principal: &Principal) -> Namespace {
    match &principal.opens {
        Opens::One(namespace) => namespace.clone(),
        Opens::All => Namespace::default_namespace(),
    }
}

/// Whether what a call costs can be told, where there is a limit of this name to that.
///
/// # Errors
/// SPEND_LIMIT where the model, or one that may stand in for it, has no prices in the limit's currency.
pub(super) fn priced(plan: &Plan, limit: &SpendLimit, name: &str) -> Result<(), Fault> {
    let Some(currency) = limit.cost.as_ref().map(|cost| cost.currency.as_str()) else { return Ok(()) };
    let Some((backend_id, model)) = plan.unpriced(currency) else { return Ok(()) };
    let message = format!(
        "what may be spent is limited in {currency}, and model `{model}` of backend `{backend_id}` has no prices in it: give its \
         profile `prices`, which may be 0, or limit tokens instead"
    );
    Err(Fault::new(Reason::SpendLimit, message)
        .with("limit", name)
        .with("currency", currency)
        .with("backend_id", backend_id)
        .with("model", model))
}
