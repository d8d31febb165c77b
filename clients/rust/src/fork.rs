//! New threads from points of history. Knows nothing of what goes on there.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::calls::{call, method};
use crate::client::Client;
use crate::conversation::Conversation;
use crate::error::{Code, Error, Result};
use crate::exchange::Exchange;
use crate::pb;
use crate::point::{NewThread, Source, on_record};
use crate::request::{Input, Written};
use crate::retry::{Limit, fresh};
use crate::turns::named;

/// A new thread with its first exchange, or why there is none; the thread is there all the same, at the fork point.
#[derive(Debug)]
#[non_exhaustive]
pub struct Branch {
    /// The thread.
    pub thread_id: String,
    /// Its first exchange.
    pub exchange: Result<Exchange>,
}

macro_rules! forks {
    ($($(#[$doc:meta])* $fork:ident -> $given:ty;)*) => {$(
        $(#[$doc])*
        #[must_use = "nothing is made before it is awaited"]
        pub struct $fork {
            client: Client,
            from: Source,
            inputs: Vec<Option<Input>>,
            thread: NewThread,
            request_id: Option<String>,
            timeout: Option<Duration>,
        }

        impl $fork {
            /// Names the change, so that saying it twice makes it once.
            pub fn request_id(mut self, id: impl Into<String>) -> Self {
                self.request_id = Some(id.into());
                self
            }

            /// How long it may take, its repetitions included.
            pub fn timeout(mut self, limit: Duration) -> Self {
                self.timeout = Some(limit);
                self
            }

            async fn made(self) -> Result<(Client, pb::ForkResponse)> {
                let raw = forked(self.from, &self.inputs, self.thread, self.request_id)?;
                let answer = call(Limit::after(self.timeout), raw, method!(self.client, exchanges.fork)).await?;
                Ok((self.client, answer))
            }
        }

        impl IntoFuture for $fork {
            type Output = Result<$given>;
            type IntoFuture = BoxFuture<'static, Self::Output>;

            fn into_future(self) -> Self::IntoFuture {
                Box::pin(self.run())
            }
        }
    )*};
}
forks! {
    /// A branch with a first turn; see [`Client::fork`].
    Fork -> Exchange;
    /// A branch to go on with; see [`Client::fork_conversation`].
    ForkConversation -> Conversation;
    /// Several branches at once; see [`Client::fork_all`].
    ForkAll -> Vec<Branch>;
}

macro_rules! on_thread {
    ($($fork:ident),*) => {$(
        impl $fork {
            /// Which thread to make.
            pub fn on_thread(mut self, thread: NewThread) -> Self {
                self.thread = thread;
                self
            }
        }
    )*};
}
on_thread!(Fork, ForkConversation);

impl Fork {
    async fn run(self) -> Result<Exchange> {
        let (_, answer) = self.made().await?;
        Ok(Exchange::from_raw(only(answer)?.exchange.unwrap_or_default()))
    }
}

impl ForkConversation {
    async fn run(self) -> Result<Conversation> {
        let (client, answer) = self.made().await?;
        Ok(Conversation::found(client, only(answer)?.thread.unwrap_or_default().thread_id))
    }
}

impl ForkAll {
    async fn run(self) -> Result<Vec<Branch>> {
        let alone = self.inputs.len() == 1;
        let answer = match self.made().await {
            Ok((_, answer)) => answer,
            // The answer says so for several only; a single failure is the call's own.
            Err(failed) => match failed.metadata.get("thread_id").cloned() {
                Some(thread_id) if alone => return Ok(vec![Branch { thread_id, exchange: Err(failed) }]),
                _ => return Err(failed),
            },
        };
        let branch = |result: pb::ForkResult| Branch {
            thread_id: result.thread.unwrap_or_default().thread_id,
            exchange: match result.error {
                Some(error) => Err(Error::from_raw(error)),
                None => Ok(Exchange::from_raw(result.exchange.unwrap_or_default())),
            },
        };
        Ok(answer.results.into_iter().map(branch).collect())
    }
}

impl Client {
    /// Makes a new thread from an exchange or a point of a thread and executes its first turn there, with a request or the results of the calls that are
    /// pending. Nothing is copied, and the source stays as it is. The thread uses the profile and model of its source unless
    /// [`on_thread`](Fork::on_thread) says otherwise. Hooks and functions do not go along.
    pub fn fork(&self, from: impl Into<Source>, input: impl Into<Input>) -> Fork {
        Fork {
            client: self.clone(),
            from: from.into(),
            inputs: vec![Some(input.into())],
            thread: NewThread::new(),
            request_id: None,
            timeout: None,
        }
    }

    /// Makes a new thread and gives the conversation, to go on with.
    pub fn fork_conversation(&self, from: impl Into<Source>) -> ForkConversation {
        ForkConversation {
            client: self.clone(),
            from: from.into(),
            inputs: vec![None],
            thread: NewThread::new(),
            request_id: None,
            timeout: None,
        }
    }

    /// Makes several threads from one point, one for each input, whose first turns are executed at once. One that fails has its error, and takes no other
    /// with it. Threads that are to have names or ids are made one by one.
    pub fn fork_all<I: Into<Input>>(&self, from: impl Into<Source>, inputs: impl IntoIterator<Item = I>) -> ForkAll {
        ForkAll {
            client: self.clone(),
            from: from.into(),
            inputs: inputs.into_iter().map(|input| Some(input.into())).collect(),
            thread: NewThread::new(),
            request_id: None,
            timeout: None,
        }
    }
}

fn only(answer: pb::ForkResponse) -> Result<pb::ForkResult> {
    let count = answer.results.len();
    let mut results = answer.results.into_iter();
    match (results.next(), results.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(Error::new(Code::Internal, format!("the server answered with {count} branches in place of one"))),
    }
}

fn forked(
    from: Source,
    inputs: &[Option<Input>],
    mut thread: NewThread,
    request_id: Option<String>,
) -> Result<pb::ForkRequest> {
    if let Source::Exchange(exchange) = &from
        && thread.profile_id.is_empty()
    {
        thread.profile_id = exchange.profile();
        if thread.model.is_empty() {
            thread.model = exchange.model();
        }
    }
    let source = match from {
        Source::Turn(turn) => pb::fork_request::Source::Thread(turn.into_raw()),
        Source::Id(id) => pb::fork_request::Source::Exchange(id.to_raw()),
        Source::Exchange(exchange) => pb::fork_request::Source::Exchange(on_record(&exchange)?),
    };
    let branch = |input: &Option<Input>| -> Result<pb::ForkBranch> {
        let input = match input.as_ref().map(Input::to_raw).transpose()? {
            Some(Written::Request(mut request)) => {
                named(&mut request);
                Some(pb::fork_branch::Input::Request(*request))
            }
            Some(Written::Results(results)) => Some(pb::fork_branch::Input::ToolResults(results)),
            None => None,
        };
        Ok(pb::ForkBranch { thread: Some(thread.clone().into_raw()?), input })
    };
    Ok(pb::ForkRequest {
        source: Some(source),
        request_id: request_id.unwrap_or_else(fresh),
        branches: inputs.iter().map(branch).collect::<Result<_>>()?,
    })
}
