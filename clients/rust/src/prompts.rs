//! Prompts and replies, whether or not anything is kept. Knows nothing of threads.

use std::time::Duration;

use crate::callback::{Checked, OnDelta, on_delta};
use crate::calls::{call, method};
use crate::client::Client;
use crate::error::{Error, Result};
use crate::exchange::Exchange;
use crate::message::part;
use crate::pb;
use crate::point::{ExchangeId, on_record};
use crate::request::{Input, Request, Written};
use crate::retry::{Limit, fresh};
use crate::turns::{awaited, continuation, named, turn_options};
use crate::word::Role;

/// A first turn, kept or not; see [`Client::prompt`].
#[must_use = "nothing is asked before it is awaited"]
pub struct Prompt<'a> {
    client: Client,
    request: Request,
    keep: bool,
    hear: Option<OnDelta<'a>>,
    timeout: Option<Duration>,
}

impl<'a> Prompt<'a> {
    turn_options!();

    /// Whether what comes of it is kept; it is not when absent.
    pub fn keep(mut self, keep: bool) -> Self {
        self.keep = keep;
        self
    }

    async fn run(self) -> Result<Exchange> {
        if self.keep {
            let mut kept = self.client.capture(self.request);
            if let Some(limit) = self.timeout {
                kept = kept.timeout(limit);
            }
            if let Some(mut hear) = self.hear {
                kept = kept.on_delta(move |delta| hear(delta).map_err(|raised| raised.cause));
            }
            return kept.run().await;
        }
        let raw = self.request.to_raw()?;
        let standing = standing_after(&raw, None);
        self.client.uncaptured_turn(raw, 0, standing, self.hear, Limit::after(self.timeout)).await
    }
}
awaited!(Prompt -> Exchange);

/// A turn that goes on with an exchange's conversation; see [`Client::reply`].
#[must_use = "nothing is asked before it is awaited"]
pub struct Reply<'a> {
    client: Client,
    to: Exchange,
    input: Input,
    keep: Option<bool>,
    hear: Option<OnDelta<'a>>,
    timeout: Option<Duration>,
}

impl<'a> Reply<'a> {
    turn_options!();

    /// Whether what comes of it is kept; it is where the exchange is, when absent. To keep a reply to one that is not has both kept, and whatever else
    /// of the conversation was not, each once.
    pub fn keep(mut self, keep: bool) -> Self {
        self.keep = Some(keep);
        self
    }

    async fn run(self) -> Result<Exchange> {
        let limit = Limit::after(self.timeout);
        let to = &self.to;
        if !to.captured && self.keep != Some(true) {
            return self.client.reply_loosely(to, &self.input, self.hear, limit).await;
        }
        if self.keep == Some(false) {
            return Err(Error::invalid("a reply to an exchange on record is kept; fork_once leaves nothing behind"));
        }
        let from = if to.captured {
            pb::continue_request::From::Exchange(on_record(to)?)
        } else if answered(to) {
            // The server takes one exchange along in the same write; several are stored before.
            pb::continue_request::From::Exchange(self.client.settled(to, limit).await?.to_raw())
        } else {
            pb::continue_request::From::UncapturedPrefix(to.prefix()?)
        };
        let mut input = self.input.to_raw()?;
        if let Written::Request(request) = &mut input {
            own(request, to);
            offer(request, to);
        }
        let (_, raw) = continuation(from, input)?;
        self.client.continue_with(raw, self.hear, limit).await
    }
}
awaited!(Reply -> Exchange);

impl Client {
    /// Executes a request, once: tools that the model calls are left to the caller, see [`Client::chain`]. Nothing is kept at the server but the run's
    /// state and usage, unless [`keep`](Prompt::keep) asks for it; the answer can be replied to all the same.
    pub fn prompt<'a>(&self, request: impl Into<Request>) -> Prompt<'a> {
        Prompt { client: self.clone(), request: request.into(), keep: false, hear: None, timeout: None }
    }

    /// Goes on with the conversation that an exchange belongs to, by one turn, with the exchange's own profile and model unless the request names
    /// another. No head moves.
    ///
    /// A reply is kept where the exchange is. To one that is not, it is not kept either, and what was said is remembered here, unless
    /// [`keep`](Reply::keep) asks for it.
    pub fn reply<'a>(&self, to: &Exchange, input: impl Into<Input>) -> Reply<'a> {
        Reply { client: self.clone(), to: to.clone(), input: input.into(), keep: None, hear: None, timeout: None }
    }

    /// Says all of it again, since no record has it.
    async fn reply_loosely(
        &self,
        to: &Exchange,
        input: &Input,
        hear: Option<OnDelta<'_>>,
        limit: Limit,
    ) -> Result<Exchange> {
        let prefix = to.prefix()?;
        let mut again = match input.to_raw()? {
            Written::Request(request) => *request,
            Written::Results(results) => {
                let parts = results.results.into_iter().map(|result| part(pb::part::Kind::ToolResult(result)));
                let message = pb::Message { role: Role::Tool.to_raw(), parts: parts.collect() };
                pb::ExecutionRequest { messages: vec![message], ..pb::ExecutionRequest::default() }
            }
        };
        if again.prompt.is_some() {
            let why = "a configured prompt would come before what was said: keep the reply, or the exchange";
            return Err(Error::invalid(why));
        }
        own(&mut again, to);
        let standing = standing_after(&again, to.standing());
        offer(&mut again, to);
        again.standing_tools = None;
        let mut said = prefix.rendered_messages;
        said.extend(prefix.assistant);
        let before = said.len();
        said.append(&mut again.messages);
        again.messages = said;
        self.uncaptured_turn(again, before, standing, hear, limit).await
    }

    async fn uncaptured_turn(
        &self,
        mut raw: pb::ExecutionRequest,
        before: usize,
        standing: Option<pb::ToolList>,
        hear: Option<OnDelta<'_>>,
        limit: Limit,
    ) -> Result<Exchange> {
        named(&mut raw);
        let Some(hear) = hear else {
            let asked = pb::RunRequest {
                execution: Some(pb::run_request::Execution::Request(raw)),
                include_rendered_messages: true,
                ..pb::RunRequest::default()
            };
            let answer = call(limit, asked, method!(self, exchanges.run)).await?;
            return Ok(Exchange::uncaptured(answer, before, standing));
        };
        let mut found = self.ephemeral_prompt(raw, hear, limit).await?.raw().clone();
        let added = found.messages.split_off(before.min(found.messages.len()));
        let said = std::mem::replace(&mut found.messages, added);
        Ok(Exchange::loose(found, Some(said), standing))
    }

    /// The id of an exchange that was not captured, once it is on record with all that was said before it, each turn by itself. What is there already is
    /// found again.
    pub(crate) async fn settled(&self, exchange: &Exchange, limit: Limit) -> Result<ExchangeId> {
        let prefix = exchange.prefix()?;
        let mut said = prefix.rendered_messages;
        said.extend(prefix.assistant);
        let last = u32::try_from(said.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let facts = prefix.facts.map(|facts| pb::RecordedFacts { message_index: last, ..facts });
        let raw = pb::RecordRequest {
            messages: said,
            facts: facts.into_iter().collect(),
            request_id: fresh(),
            ..pb::RecordRequest::default()
        };
        let answer = call(limit, raw, method!(self, exchanges.record)).await?;
        Ok(ExchangeId::new(answer.exchange_id))
    }
}

/// Lets a request that names no profile have the exchange's, and its model.
fn own(raw: &mut pb::ExecutionRequest, exchange: &Exchange) {
    if raw.profile_id.is_empty() {
        raw.profile_id = exchange.profile();
        if raw.model.is_empty() {
            raw.model = exchange.model();
        }
    }
}

/// Lets a request that names no tools have those that stand where no record tells. What is stored of an exchange may be that of another with the same
/// words and other tools, so they are not left to it.
fn offer(raw: &mut pb::ExecutionRequest, exchange: &Exchange) {
    let Some(standing) = exchange.standing() else { return };
    let standing = raw.standing_tools.get_or_insert_with(|| standing.clone());
    if raw.tools.is_none() {
        raw.tools = Some(standing.clone());
    }
}

/// Whether there are answers before that of an exchange, so that it is more than one when it is stored.
fn answered(exchange: &Exchange) -> bool {
    let before = exchange.before().unwrap_or_default();
    before.iter().chain(&exchange.raw().messages).any(|message| Role::from_raw(message.role) == Role::Assistant)
}

/// The tools that stand after a request, of which no record tells.
fn standing_after(raw: &pb::ExecutionRequest, before: Option<&pb::ToolList>) -> Option<pb::ToolList> {
    let first = || before.or(raw.tools.as_ref());
    raw.standing_tools.as_ref().or_else(first).cloned()
}
