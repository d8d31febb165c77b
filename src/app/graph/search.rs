//! Searching: exchanges newest first, then runs that have none. Everything but time is found by reading, and a page reads so much and no
//! more. It must not rank.

use std::collections::BTreeMap;

use super::part::{Part, SMALL};
use super::walk::Scope;
use super::{Node, missing};
use crate::app::{App, Caller, store_fault};
use crate::domain::exchange::{Exchange, Origin};
use crate::domain::fault::Fault;
use crate::domain::graph::Place;
use crate::domain::id::{ExchangeId, Moment, Namespace, RunId};
use crate::domain::message::Message;
use crate::domain::run::{Run, State};
use crate::domain::tool::ToolSet;

/// How many exchanges and runs one page reads.
const READS: u64 = 4_096;
/// How many are read at a time.
const BATCH: usize = 256;
/// Characters around a text that was found.
const AROUND: usize = 80;
/// By how much an exchange can be older than its id says, in milliseconds: its time is read before its id is made.
const SLACK: u64 = 10_000;

/// What to find; every condition that is given must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Only in this part of the graph.
    pub scope: Option<Scope>,
    /// Only with all these labels.
    pub labels: BTreeMap<String, String>,
    /// Only with one of these models.
    pub models: Vec<String>,
    /// Only from one of these backends.
    pub backends: Vec<String>,
    /// Only those that offered one of these tools.
    pub offered: Vec<String>,
    /// Only those that called one of these tools.
    pub called: Vec<String>,
    /// Only of runs in one of these states.
    pub states: Vec<State>,
    /// Only of this origin.
    pub origin: Option<Origin>,
    /// Only roots.
    pub roots_only: bool,
    /// Only at this time or later.
    pub from: Option<Moment>,
    /// Only before this time.
    pub before: Option<Moment>,
    /// Only with this text in their own messages, in lower case.
    pub text: Option<String>,
}

/// Where a page ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchPosition {
    /// Before an exchange, newest first.
    Exchanges(ExchangeId),
    /// Before a depth of a path.
    Path(ExchangeId, u64),
    /// After a run, in the order of ids; absent for the first.
    Runs(Option<RunId>),
}

/// Something that was found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Its run.
    pub run: Option<RunId>,
    /// The state of that.
    pub state: Option<State>,
    /// The exchange; absent for a run that has none.
    pub node: Option<Node>,
    /// What is around the text.
    pub snippet: String,
    /// When the exchange was stored, or the run claimed.
    pub at: Moment,
}

/// A page of what was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The hits.
    pub hits: Vec<Hit>,
    /// How many exchanges and runs were read.
    pub read: u64,
    /// The page ended because it had read so many.
    pub is_cut: bool,
    /// Where to go on, when there may be more.
    pub next: Option<SearchPosition>,
}

/// Where exchanges are looked for, newest first.
enum Among<'a> {
    /// In the whole namespace.
    All,
    /// In a part of it, past what is not in it.
    Part(&'a mut Part),
    /// Among these, which are all of a small part.
    These(Vec<(ExchangeId, Place)>),
}

impl App {
    /// A page of what is found, after a position.
    ///
    /// # Errors
    /// When the scope names something that is not there.
    pub async fn search(
        &self,
        caller: &Caller,
        wanted: &Wanted,
        from: Option<SearchPosition>,
        limit: usize,
    ) -> Result<Found, Fault> {
        let namespace = &caller.namespace;
        self.index(namespace).await?;
        let mut found = Found::default();
        let begin = match (from, &wanted.scope) {
            (Some(SearchPosition::Runs(after)), _) => {
                self.search_runs(namespace, wanted, after, limit, &mut found).await?;
                return Ok(found);
            }
            (Some(SearchPosition::Path(end, depth)), _) => {
                self.search_path(namespace, wanted, (end, depth), limit, &mut found).await?;
                return Ok(found);
            }
            (Some(SearchPosition::Exchanges(id)), _) => Some(id),
            (None, Some(scope @ (Scope::Path(_) | Scope::Thread(_)))) => {
                if let Some(end) = self.scope_begin(caller, scope).await? {
                    self.search_path(namespace, wanted, (end, u64::MAX), limit, &mut found).await?;
                }
                return Ok(found);
            }
            // Ids begin with the time at which they were made.
            (None, _) => wanted.before.map(|before| ExchangeId::first_at(Moment(before.0.saturating_add(SLACK)))),
        };
        let mut part = match &wanted.scope {
            None => None,
            Some(scope) => {
                let Some(part) = self.part(caller, scope, None).await? else { return Ok(found) };
                Some(part)
            }
        };
        let all = match &part {
            Some(part) => self.all_in(namespace, part, SMALL).await?,
            None => None,
        };
        let among = match (all, part.as_mut()) {
            (Some(all), _) => Among::These(all),
            (None, Some(part)) => Among::Part(part),
            (None, None) => Among::All,
        };
        let is_over = self.search_exchanges(namespace, wanted, (begin, among), limit, &mut found).await?;
        // A run without an exchange says nothing that these could ask for.
        let only_exchanges = wanted.scope.is_some()
            || wanted.text.is_some()
            || wanted.origin.is_some()
            || wanted.roots_only
            || !wanted.offered.is_empty()
            || !wanted.called.is_empty();
        if is_over && !only_exchanges {
            found.next = Some(SearchPosition::Runs(None));
            if found.hits.len() < limit && found.read < READS {
                found.next = None;
                self.search_runs(namespace, wanted, None, limit, &mut found).await?;
            }
        }
        Ok(found)
    }

    /// Says whether all exchanges were looked at.
    async fn search_exchanges(
        &self,
        namespace: &Namespace,
        wanted: &Wanted,
        (begin, mut among): (Option<ExchangeId>, Among<'_>),
        limit: usize,
        found: &mut Found,
    ) -> Result<bool, Fault> {
        let mut before = begin;
        loop {
            let batch = match &among {
                Among::These(all) => {
                    let from = all.partition_point(|(id, _)| before.is_some_and(|before| *id >= before));
                    all.iter().skip(from).take(BATCH).copied().collect()
                }
                Among::Part(_) | Among::All => {
                    self.ledger.newest(namespace, before, BATCH).await.map_err(store_fault)?
                }
            };
            let is_last = batch.len() < BATCH;
            for (id, place) in batch {
                if wanted.from.is_some_and(|from| id.moment().0.saturating_add(SLACK) < from.0) {
                    return Ok(true);
                }
                if found.hits.len() == limit || found.read >= READS {
                    found.is_cut = found.hits.len() < limit;
                    found.next = before.map(SearchPosition::Exchanges);
                    return Ok(false);
                }
                before = Some(id);
                found.read += 1;
                if let Among::Part(part) = &mut among
                    && !self.is_in(namespace, part, place).await?
                {
                    continue;
                }
                // Past the memory of exchanges, which is for histories that are used.
                let exchange = self.ledger.unkept().exchange_at(namespace, place).await.map_err(store_fault)?;
                let exchange = exchange.ok_or_else(missing)?;
                found.hits.extend(self.hit(namespace, wanted, exchange, place).await?);
            }
            if is_last {
                return Ok(true);
            }
        }
    }

    async fn search_path(
        &self,
        namespace: &Namespace,
        wanted: &Wanted,
        (end, depth): (ExchangeId, u64),
        limit: usize,
        found: &mut Found,
    ) -> Result<(), Fault> {
        let place = self.place_of(namespace, end).await?;
        let path = self.path_down_to(namespace, place).await?;
        let mut depth = depth.min(place.depth);
        while depth > 0 {
            if found.hits.len() == limit || found.read >= READS {
                found.is_cut = found.hits.len() < limit;
                found.next = Some(SearchPosition::Path(end, depth));
                return Ok(());
            }
            let (exchange, place) = self.exchange_on(namespace, &path, depth).await?;
            found.read += 1;
            found.hits.extend(self.hit(namespace, wanted, exchange, place).await?);
            depth -= 1;
        }
        Ok(())
    }

    async fn search_runs(
        &self,
        namespace: &Namespace,
        wanted: &Wanted,
        after: Option<RunId>,
        limit: usize,
        found: &mut Found,
    ) -> Result<(), Fault> {
        let mut after = after;
        loop {
            let batch = self.ledger.runs(namespace, after.as_ref(), BATCH).await.map_err(store_fault)?;
            let is_last = batch.len() < BATCH;
            for run in batch {
                if found.hits.len() == limit || found.read >= READS {
                    found.is_cut = found.hits.len() < limit;
                    found.next = Some(SearchPosition::Runs(after));
                    return Ok(());
                }
                after = Some(run.id.clone());
                found.read += 1;
                if run.exchange.is_none() {
                    let run = self.current(namespace, run).await?;
                    found.hits.extend(run_hit(wanted, run));
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    async fn hit(
        &self,
        namespace: &Namespace,
        wanted: &Wanted,
        exchange: Exchange,
        place: Place,
    ) -> Result<Option<Hit>, Fault> {
        if !takes(wanted, &exchange) {
            return Ok(None);
        }
        if !wanted.offered.is_empty() {
            let set: ToolSet = self.ledger.tool_set(namespace, exchange.offered).await.map_err(store_fault)?;
            if !wanted.offered.iter().any(|name| set.find(name).is_some()) {
                return Ok(None);
            }
        }
        let snippet = match &wanted.text {
            None => String::new(),
            Some(text) => match snippet(&exchange, text) {
                Some(snippet) => snippet,
                None => return Ok(None),
            },
        };
        let (run, at) = (exchange.run_id.clone(), exchange.created_at);
        let children = self.children_of(namespace, place).await?;
        let node = self.node(namespace, exchange, children).await?;
        if !wanted.states.is_empty() && !node.run_state.is_some_and(|state| wanted.states.contains(&state)) {
            return Ok(None);
        }
        Ok(Some(Hit { run, state: node.run_state, node: Some(node), snippet, at }))
    }
}

/// The conditions that an exchange says something of itself.
fn takes(wanted: &Wanted, exchange: &Exchange) -> bool {
    let responder = &exchange.responder;
    let called = |name: &String| exchange.assistant.tool_calls().any(|call| call.name == *name);
    wanted.labels.iter().all(|(key, value)| exchange.labels.get(key) == Some(value))
        && (wanted.models.is_empty()
            || [&responder.model, &responder.response_model].into_iter().any(|model| wanted.models.contains(model)))
        && (wanted.backends.is_empty() || wanted.backends.contains(&responder.backend_id))
        && (wanted.called.is_empty() || wanted.called.iter().any(called))
        && wanted.origin.is_none_or(|origin| exchange.origin == origin)
        && !(wanted.roots_only && exchange.parent.is_some())
        && is_in_time(wanted, exchange.created_at)
}

fn is_in_time(wanted: &Wanted, at: Moment) -> bool {
    wanted.from.is_none_or(|from| at >= from) && wanted.before.is_none_or(|before| at < before)
}

fn run_hit(wanted: &Wanted, run: Run) -> Option<Hit> {
    let called = |names: &[String], of: fn(&crate::domain::run::Observation) -> &String| {
        names.is_empty() || run.observations.iter().any(|observation| names.contains(of(observation)))
    };
    let is_wanted = (wanted.states.is_empty() || wanted.states.contains(&run.state))
        && wanted.labels.iter().all(|(key, value)| run.labels.get(key) == Some(value))
        && called(&wanted.models, |observation| &observation.model)
        && called(&wanted.backends, |observation| &observation.backend_id)
        && is_in_time(wanted, run.created_at);
    is_wanted.then_some(Hit {
        state: Some(run.state),
        at: run.created_at,
        run: Some(run.id),
        node: None,
        snippet: String::new(),
    })
}

/// What is around a text in the exchange's own messages; absent when none has it.
fn snippet(exchange: &Exchange, text: &str) -> Option<String> {
    exchange.messages.iter().chain([&exchange.assistant]).find_map(|message| around(message, text))
}

fn around(message: &Message, text: &str) -> Option<String> {
    let said = message.joined_text();
    let lower: String = said.chars().flat_map(char::to_lowercase).collect();
    let at = lower.find(text)?;
    // Lower case can have another length, so the place is counted in characters, which is near enough for what is around it.
    let before = lower.get(..at).map_or(0, |before| before.chars().count());
    let begin = before.saturating_sub(AROUND);
    Some(said.chars().skip(begin).take(2 * AROUND + text.chars().count()).take(200).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::message::Role;

    #[test]
    fn a_text_is_shown_with_what_is_around_it() {
        let message = Message::text(Role::User, format!("{}Ünïcode{}", "a".repeat(500), "b".repeat(500)));
        let found = around(&message, "ünïcode").unwrap();
        assert!(found.contains("Ünïcode") && found.chars().count() <= 200, "{found}");
        assert_eq!(around(&message, "elsewhere"), None);
    }
}
