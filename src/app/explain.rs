//! Explaining: the request that a turn would send, or that an exchange did send, with each setting and what is adapted. It must not call
//! anybody, write anything, or wait for a thread.

use std::sync::Arc;

use bytes::Bytes;

use crate::domain::exchange::{Exchange, Responder};
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{ExchangeId, Hash, Namespace};
use crate::domain::message::Message;
use crate::domain::run::{AttemptKind, Observation};
use crate::domain::settings::{EffectiveSetting, Warning};
use crate::domain::tool::{Offer, ToolSet};
use crate::engine::backend::Outbound;
use crate::engine::{Plan, adaptations, history_view};

use super::base::Parent;
use super::turn::{Detailed, Turn};
use super::{App, Caller, store_fault, view};

/// A request as a provider gets it.
pub struct Explained {
    /// The messages that are sent, in the words of this API.
    pub messages: Vec<Message>,
    /// Each setting with its source.
    pub settings: Vec<EffectiveSetting>,
    /// The tools that are offered.
    pub offered: ToolSet,
    /// The tools that stand from then on.
    pub standing: ToolSet,
    /// The body as it goes out; absent when it cannot be told.
    pub body: Option<Bytes>,
    /// What is adapted, and why.
    pub adaptations: Vec<Warning>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// For an exchange, what was sent.
    pub sent: Option<Sent>,
}

/// What the first call of an exchange sent, against what is derived now.
pub struct Sent {
    /// Hash of the body; absent when this server sent none.
    pub hash: Option<Hash>,
    /// Its length in bytes.
    pub bytes: u64,
    /// Why the body that is derived now is another one, or none; absent when it is the same.
    pub differs: Option<String>,
}

impl Explained {
    /// Of a plan with what is sent before its own messages.
    pub(super) fn of(plan: Plan, mut history: Vec<Message>, outbound: Outbound) -> Self {
        history.extend(plan.messages);
        Self {
            messages: history,
            settings: plan.settings,
            offered: plan.offer.offered,
            standing: plan.offer.standing,
            adaptations: adaptations(&outbound.adaptations, &plan.backend_id),
            body: Some(outbound.body),
            warnings: plan.warnings,
            sent: None,
        }
    }
}

impl App {
    /// The request that a turn would send, if it began now. A busy thread is looked at as it is.
    ///
    /// # Errors
    /// As the turn itself, but for its run, its place in a line, and its credential.
    pub async fn explain_turn(&self, caller: &Caller, turn: &Turn) -> Result<Explained, Fault> {
        let looked = self.looked_ahead(caller, turn).await?;
        Ok(Explained::of(looked.plan, looked.history, looked.outbound))
    }

    /// The request that an exchange did send, derived again and compared with what is on record of it.
    ///
    /// # Errors
    /// When there is no such exchange, or what is stored is damaged.
    pub async fn explain_exchange(&self, caller: &Caller, id: ExchangeId) -> Result<Explained, Fault> {
        let namespace = &caller.namespace;
        let exchange = self.parent(namespace, id).await?.exchange;
        let detailed = self.detailed(namespace, exchange).await?;
        let path = self.path_before(namespace, &detailed.exchange).await?;
        let first = detailed
            .exchange
            .observations
            .iter()
            .find(|observation| is_first(observation, &detailed.exchange.responder))
            .cloned();
        let Some((hash, bytes)) = first.and_then(|first| Some((first.request_hash?, first.request_bytes))) else {
            let sent = Sent { hash: None, bytes: 0, differs: Some("this server did not make the call".to_owned()) };
            return as_stored(detailed, &path, sent);
        };
        let offer = Offer { offered: detailed.offered.clone(), standing: detailed.standing.clone() };
        let stored = &detailed.exchange;
        let derived = self.engine.resume(stored.settings.clone(), offer, stored.messages.clone());
        let mut plan = match derived {
            Ok(plan) => plan,
            Err(fault) if fault.reason == Reason::ResourceNotFound => {
                let backend = &stored.responder.backend_id;
                let differs = format!("there is no backend `{backend}` any more, so its body cannot be derived");
                return as_stored(detailed, &path, Sent { hash: Some(hash), bytes, differs: Some(differs) });
            }
            Err(fault) => return Err(fault),
        };
        let history = view::apply(&mut plan, &path)?;
        // Which of the two it was is not on record, and does not matter to anything but the body.
        let whole = self.engine.outbound(&plan, history.clone(), false)?;
        let streamed = self.engine.outbound(&plan, history.clone(), true)?;
        let same = |outbound: &Outbound| Hash::of(&outbound.body) == hash && length(outbound) == bytes;
        let outbound = if same(&streamed) { streamed } else { whole };
        let differs = (!same(&outbound))
            .then(|| view::erased_since(&path, stored.created_at).unwrap_or_else(|| self.why_otherwise(stored)));
        plan.warnings.clone_from(&stored.warnings);
        let sent = Some(Sent { hash: Some(hash), bytes, differs });
        Ok(Explained { sent, ..Explained::of(plan, history, outbound) })
    }

    async fn path_before(&self, namespace: &Namespace, exchange: &Exchange) -> Result<Vec<Arc<Exchange>>, Fault> {
        match exchange.parent {
            // What was erased before it is a gap in its history.
            Some(id) => match self.ledger.exchange(namespace, id).await.map_err(store_fault)? {
                Some((exchange, place)) => self.path_of(namespace, &Parent { exchange, place: Some(place) }).await,
                None => Err(Fault::not_found(Reason::ExchangeNotFound, "exchange", id.to_string())),
            },
            None => Ok(Vec::new()),
        }
    }

    /// Why a body comes out otherwise than it was sent.
    fn why_otherwise(&self, exchange: &Exchange) -> String {
        let then = &exchange.responder;
        let now = self.engine.setup().backend(&then.backend_id).map(|view| view.description);
        match now.filter(|now| now.provider != then.provider || now.api != then.api) {
            Some(now) => format!(
                "backend `{}` was {} at {} then, and is {} at {} now",
                then.backend_id, then.api, then.provider, now.api, now.provider
            ),
            None => format!(
                "the configuration of backend `{}`, or the form in which this version says a request, has changed since",
                then.backend_id
            ),
        }
    }
}

/// It sent the request itself, to whom the answer is of: not a correction of that, which is kept nowhere, nor a call in whose place a fallback
/// was made.
fn is_first(observation: &Observation, by: &Responder) -> bool {
    observation.kind != AttemptKind::Repair
        && observation.request_hash.is_some()
        && (&observation.backend_id, &observation.model) == (&by.backend_id, &by.model)
}

fn length(outbound: &Outbound) -> u64 {
    u64::try_from(outbound.body.len()).unwrap_or(u64::MAX)
}

/// An exchange of which no body can be derived.
///
/// # Errors
/// When the view of the history that was sent cannot be made again.
fn as_stored(detailed: Detailed, path: &[Arc<Exchange>], sent: Sent) -> Result<Explained, Fault> {
    let exchange = detailed.exchange;
    let mut messages = view::viewed(path, history_view(&exchange.settings))?.messages;
    messages.extend(exchange.messages);
    Ok(Explained {
        messages,
        settings: exchange.settings,
        offered: detailed.offered,
        standing: detailed.standing,
        body: None,
        adaptations: Vec::new(),
        warnings: exchange.warnings,
        sent: Some(sent),
    })
}
