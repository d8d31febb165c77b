//! What is on record: exchanges, runs, coordinations, read and named. Knows nothing of how turns are made.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;

use crate::calls::{Pages, call, method, pages};
use crate::client::Client;
use crate::coordination::{Action, Answer, Coordination};
use crate::error::{Error, Result};
use crate::exchange::Exchange;
use crate::frame;
use crate::message::Message;
use crate::pb;
use crate::point::ExchangeRef;
use crate::request::Request;
use crate::retry::Limit;
use crate::thread::{Inspection, Run};
use crate::tool::ToolResult;
use crate::word::{CoordinationState, RunState};

impl Client {
    /// Gives one exchange with everything known of it, and the whole history up to its answer.
    ///
    /// # Errors
    /// It is not on record, or the server cannot be asked.
    pub async fn inspect(&self, exchange: impl Into<ExchangeRef>) -> Result<Inspection> {
        self.inspected(exchange.into().to_raw()?, pb::HistoryScope::Full).await
    }

    /// Reads one exchange without its history.
    ///
    /// # Errors
    /// It is not on record, or the server cannot be asked.
    pub async fn exchange(&self, exchange: impl Into<ExchangeRef>) -> Result<Exchange> {
        Ok(self.inspected(exchange.into().to_raw()?, pb::HistoryScope::None).await?.exchange)
    }

    async fn inspected(&self, at: pb::ExchangePoint, scope: pb::HistoryScope) -> Result<Inspection> {
        let mut asked =
            pb::InspectRequest { exchange_id: at.exchange_id, history: scope as i32, ..pb::InspectRequest::default() };
        let mut exchange = None;
        let (mut messages, mut path) = (Vec::new(), Vec::<String>::new());
        loop {
            let page = call(Limit::default(), asked.clone(), method!(self, exchanges.inspect)).await?;
            let said = page.exchange;
            let exchange = exchange.get_or_insert_with(|| Exchange::from_raw(said.unwrap_or_default()));
            messages.extend(page.messages.into_iter().map(Message::from_raw));
            path.extend(page.path.into_iter().map(|step| step.exchange_id));
            if page.next_page_token.is_empty() {
                // An exchange that two pages share is in both.
                path.dedup();
                return Ok(Inspection { exchange: exchange.clone(), messages, path });
            }
            asked.page_token = page.next_page_token;
        }
    }

    /// Reads a run, with what it consumed.
    ///
    /// # Errors
    /// There is none of this id, or the server cannot be asked.
    pub async fn run(&self, run_id: &str) -> Result<Run> {
        let asked = pb::RunServiceGetRequest { run_id: run_id.to_owned() };
        let answer = call(Limit::default(), asked, method!(self, runs_service.get)).await?;
        Ok(Run::from_raw(answer.run.unwrap_or_default()))
    }

    /// Lists runs by id.
    pub fn runs(&self, query: RunQuery) -> Pages<Run> {
        let asked = pb::RunServiceListRequest {
            states: query.states.into_iter().map(RunState::to_raw).collect(),
            thread_id: query.thread_id,
            labels: query.labels,
            ..pb::RunServiceListRequest::default()
        };
        pages!(self, runs_service.list, asked, runs, Run::from_raw)
    }

    /// Ends a run that is at work or waits for results. Ending one that has ended changes nothing.
    ///
    /// # Errors
    /// There is none of this id, or the server cannot be asked.
    pub async fn cancel_run(&self, run_id: &str) -> Result<Run> {
        let asked = pb::RunServiceCancelRequest { run_id: run_id.to_owned() };
        let answer = call(Limit::default(), asked, method!(self, runs_service.cancel)).await?;
        Ok(Run::from_raw(answer.run.unwrap_or_default()))
    }

    /// Reads a coordination, with what it waits for.
    ///
    /// # Errors
    /// There is none of this id, or the server cannot be asked.
    pub async fn coordination(&self, coordination_id: &str) -> Result<Coordination> {
        let asked = pb::CoordinationServiceGetRequest { coordination_id: coordination_id.to_owned() };
        let answer = call(Limit::default(), asked, method!(self, coordinations_service.get)).await?;
        Ok(Coordination::from_raw(answer.coordination.unwrap_or_default()))
    }

    /// Lists coordinations by id.
    pub fn coordinations(&self, query: CoordinationQuery) -> Pages<Coordination> {
        let asked = pb::CoordinationServiceListRequest {
            states: query.states.into_iter().map(CoordinationState::to_raw).collect(),
            attached: query.attached,
            thread_id: query.thread_id,
            labels: query.labels,
            ..pb::CoordinationServiceListRequest::default()
        };
        pages!(self, coordinations_service.list, asked, coordinations, Coordination::from_raw)
    }

    /// Ends a coordination, wherever it is. Ending one that has ended changes nothing.
    ///
    /// # Errors
    /// There is none of this id, or the server cannot be asked.
    pub async fn cancel(&self, coordination_id: &str, message: &str) -> Result<()> {
        let asked = pb::CoordinationServiceCancelRequest {
            coordination_id: coordination_id.to_owned(),
            message: message.to_owned(),
        };
        call(Limit::default(), asked, method!(self, coordinations_service.cancel)).await.map(drop)
    }

    /// Gives the answer that a coordination waits for, from anywhere and without a stream: results of tool calls, a next action, or what a model said.
    pub fn answer(&self, coordination_id: impl Into<String>, answer: impl Into<Answer>) -> GiveAnswer {
        GiveAnswer {
            client: self.clone(),
            coordination_id: coordination_id.into(),
            answer: answer.into(),
            pending_id: None,
        }
    }
}

/// An answer to give; see [`Client::answer`].
#[must_use = "nothing is answered before it is awaited"]
pub struct GiveAnswer {
    client: Client,
    coordination_id: String,
    answer: Answer,
    pending_id: Option<String>,
}

impl GiveAnswer {
    /// What the caller saw the coordination wait for, so that another question is not answered by mistake.
    pub fn pending_id(mut self, id: impl Into<String>) -> Self {
        self.pending_id = Some(id.into());
        self
    }

    async fn run(self) -> Result<Coordination> {
        let pending_id = match self.pending_id {
            Some(id) => id,
            None => self.client.coordination(&self.coordination_id).await?.pending_id,
        };
        let answer = match self.answer {
            Answer::Results(results) => pb::answer_request::Answer::ToolResults(pb::BatchResults {
                batch_id: pending_id,
                results: ToolResult::all_to_raw(&results),
                run_id: String::new(),
            }),
            Answer::Generated(said) => pb::answer_request::Answer::Generated(frame::generated(&pending_id, *said)),
            Answer::Action(Action::Suspend) => {
                let why = "there is no stream to suspend; a coordination that nobody answers waits by itself";
                return Err(Error::invalid(why));
            }
            Answer::Action(action) => frame::next_action(&pending_id, action, Request::to_raw)?
                .map(pb::answer_request::Answer::NextAction)
                .ok_or_else(|| Error::invalid("the action says nothing"))?,
        };
        let asked = pb::AnswerRequest { coordination_id: self.coordination_id, answer: Some(answer) };
        let changed = call(Limit::default(), asked, method!(self.client, coordinations_service.answer)).await?;
        Ok(Coordination::from_raw(changed.coordination.unwrap_or_default()))
    }
}

impl IntoFuture for GiveAnswer {
    type Output = Result<Coordination>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Which runs; all of them where nothing is said.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RunQuery {
    states: Vec<RunState>,
    thread_id: String,
    labels: BTreeMap<String, String>,
}

impl RunQuery {
    /// All of them.
    pub fn all() -> Self {
        Self::default()
    }

    /// In this state, or another that is named.
    pub fn state(mut self, state: RunState) -> Self {
        self.states.push(state);
        self
    }

    /// Of this thread.
    pub fn thread(mut self, thread_id: impl Into<String>) -> Self {
        self.thread_id = thread_id.into();
        self
    }

    /// With all these labels.
    pub fn labels(mut self, labels: BTreeMap<String, String>) -> Self {
        self.labels = labels;
        self
    }
}

/// Which coordinations; all of them where nothing is said.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct CoordinationQuery {
    states: Vec<CoordinationState>,
    attached: Option<bool>,
    thread_id: String,
    labels: BTreeMap<String, String>,
}

impl CoordinationQuery {
    /// All of them.
    pub fn all() -> Self {
        Self::default()
    }

    /// In this state, or another that is named.
    pub fn state(mut self, state: CoordinationState) -> Self {
        self.states.push(state);
        self
    }

    /// With or without a stream.
    pub fn attached(mut self, attached: bool) -> Self {
        self.attached = Some(attached);
        self
    }

    /// On this thread.
    pub fn thread(mut self, thread_id: impl Into<String>) -> Self {
        self.thread_id = thread_id.into();
        self
    }

    /// With all these labels.
    pub fn labels(mut self, labels: BTreeMap<String, String>) -> Self {
        self.labels = labels;
        self
    }
}
