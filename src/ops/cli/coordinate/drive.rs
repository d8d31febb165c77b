//! A coordination driven from here: one stream after another for as long as it takes, what is decided and which tools run meanwhile, and
//! Ctrl-C. It must not know what a frame means, nor how anything is shown.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Code, Status};

use super::super::answer::Answer;
use super::super::failure::Failure;
use super::super::remote::Remote;
use super::super::terminal::{Style, Terminal, harmless};
use super::callback::{Callback, Choice};
use super::tools::{Called, Tools};
use crate::grpc::pb;
use crate::grpc::pb::coordinate_request::Frame as Say;
use crate::ops::shutdown::Signals;

/// How long a server that went away is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// The waits between attempts to attach again: the first, and the longest.
const WAITS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// A second Ctrl-C so soon after the first is the first arriving twice.
const SAME_WITHIN: Duration = Duration::from_millis(100);

/// What is to be driven, and how.
pub(crate) struct Plan {
    /// What begins it: a start or an attach.
    pub(crate) first: Say,
    /// Its id; empty when it is ephemeral.
    pub(crate) coordination_id: String,
    /// Who decides.
    pub(crate) callback: Callback,
    /// The tools that run here.
    pub(crate) tools: Tools,
    /// What a turn asks for besides its text.
    pub(crate) base: pb::ExecutionRequest,
    /// Only the last answer goes to the output.
    pub(crate) final_only: bool,
    /// What commands are told of their surroundings.
    pub(crate) variables: Vec<(&'static str, String)>,
}

impl Plan {
    /// What is presented first is executed first.
    pub(super) fn begins_with_a_request(&self) -> bool {
        let Say::Start(start) = &self.first else { return false };
        matches!(start.from, Some(pb::coordination_start::From::InitialRequest(_)))
    }
}

/// How it was left in good order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It was said to stop.
    Stopped,
    /// No turn was left.
    Exhausted,
    /// It waits, to be attached to or answered.
    Suspended,
}

/// What came of something that ran beside the stream.
pub(super) enum Done {
    /// A line at the prompt; none at its end.
    Typed(String, Option<String>),
    /// A decision by its id.
    Decided(String, Choice),
    /// A call of a batch.
    Called(String, Called),
    /// It is time to give an answer once more.
    Again(String),
}

/// What became of one stream.
enum Left {
    Over(End),
    Broken(Failure),
}

/// A coordination that is driven.
pub(crate) struct Drive<'a> {
    remote: &'a Remote,
    pub(super) terminal: &'a mut Terminal,
    pub(super) plan: Plan,
    signals: Signals,
    voice: Option<UnboundedSender<pb::CoordinateRequest>>,
    work: FuturesUnordered<Pin<Box<dyn Future<Output = Done>>>>,
    pub(super) errors: UnboundedSender<String>,
    error_lines: UnboundedReceiver<String>,
    /// Answers that are not known to be on record, by what they answer: a decision or a call.
    pub(super) answers: HashMap<String, Say>,
    /// Decisions and calls that are being worked on.
    pub(super) at_work: HashSet<String>,
    /// The last journalled frame that was seen.
    pub(super) last_sequence: u64,
    /// What the stream's first frame said: the last journalled frame, and what was pending.
    pub(super) began: (u64, String),
    /// `started` came at least once.
    pub(super) is_known: bool,
    pub(super) answer: Answer,
    /// The decision whose result was shown last.
    pub(super) shown: String,
    /// The result that was presented last.
    pub(super) result: Option<pb::Exchange>,
    cancelled: Option<Instant>,
    pub(super) lost: Option<Instant>,
}

impl<'a> Drive<'a> {
    /// Makes ready.
    pub(crate) fn new(plan: Plan, remote: &'a Remote, terminal: &'a mut Terminal) -> Result<Self, Failure> {
        let (errors, error_lines) = mpsc::unbounded_channel();
        Ok(Self {
            remote,
            terminal,
            plan,
            signals: Signals::take()?,
            voice: None,
            work: FuturesUnordered::new(),
            errors,
            error_lines,
            answers: HashMap::new(),
            at_work: HashSet::new(),
            last_sequence: 0,
            began: (0, String::new()),
            is_known: false,
            answer: Answer::begin(),
            shown: String::new(),
            result: None,
            cancelled: None,
            lost: None,
        })
    }

    /// Drives it to its end, or until the time is over that the command line gave.
    pub(crate) async fn go(&mut self) -> Result<End, Failure> {
        let Some(timeout) = self.remote.timeout() else { return self.streams().await };
        match tokio::time::timeout(timeout, self.streams()).await {
            Ok(result) => result,
            Err(_) => Err(self.left(&format!("it did not end within {}", humantime::format_duration(timeout)))),
        }
    }

    /// The result that was presented last.
    pub(crate) fn into_result(self) -> Option<pb::Exchange> {
        self.result
    }

    async fn streams(&mut self) -> Result<End, Failure> {
        let mut wait = WAITS.0;
        loop {
            let cause = match self.stream().await? {
                Left::Over(end) => return Ok(end),
                Left::Broken(cause) => cause,
            };
            self.voice = None;
            self.answer.broken();
            // Without a name it ended with its stream.
            if self.plan.coordination_id.is_empty() {
                return Err(cause);
            }
            match self.lost {
                None => {
                    wait = WAITS.0;
                    self.lost = Some(Instant::now());
                    self.note(Style::Odd, &format!("the stream broke ({cause}); attaching again"))?;
                }
                Some(since) if since.elapsed() > PATIENCE => {
                    return Err(self.left(&format!("the stream broke and the server does not come back: {cause}")));
                }
                Some(_) => wait = (wait * 2).min(WAITS.1),
            }
            let pause = tokio::time::sleep(wait);
            tokio::pin!(pause);
            loop {
                tokio::select! {
                    biased;
                    _ = self.signals.next() => self.interrupted()?,
                    () = &mut pause => break,
                }
            }
        }
    }

    /// One stream, until there is no more of it.
    async fn stream(&mut self) -> Result<Left, Failure> {
        let (voice, said) = mpsc::unbounded_channel();
        self.voice = Some(voice);
        self.say(self.opening());
        let mut client = self.remote.exchanges();
        // Without a deadline: a coordination takes as long as it takes.
        let opening = client.coordinate(UnboundedReceiverStream::new(said));
        tokio::pin!(opening);
        let mut frames = loop {
            tokio::select! {
                biased;
                _ = self.signals.next() => self.interrupted()?,
                opened = &mut opening => match opened {
                    Ok(response) => break response.into_inner(),
                    Err(status) => return broken(status),
                },
            }
        };
        loop {
            tokio::select! {
                biased;
                _ = self.signals.next() => self.interrupted()?,
                Some(line) = self.error_lines.recv() => self.note(Style::Plain, &line)?,
                frame = frames.message() => match frame {
                    Ok(Some(frame)) => if let Some(end) = self.frame(frame, &mut frames).await? {
                        return Ok(Left::Over(end));
                    },
                    Ok(None) => return Ok(Left::Broken(Failure::incomplete("end"))),
                    Err(status) => return broken(status),
                },
                Some(done) = self.work.next() => self.done(done)?,
            }
        }
    }

    fn opening(&self) -> Say {
        if !self.is_known {
            // With its own id, a start is safe to repeat.
            return self.plan.first.clone();
        }
        let deltas = match &self.plan.first {
            Say::Start(start) => Some(start.deltas),
            Say::Attach(attach) => attach.deltas,
            _ => None,
        };
        Say::Attach(pb::CoordinationAttach {
            coordination_id: self.plan.coordination_id.clone(),
            after_sequence: self.last_sequence,
            deltas,
        })
    }

    /// Says a frame. Where the stream is broken it is lost, and what it answers will be asked again.
    pub(super) fn say(&self, frame: Say) {
        if let Some(voice) = &self.voice {
            voice.send(pb::CoordinateRequest { frame: Some(frame) }).ok();
        }
    }

    /// Has something done beside the stream.
    pub(super) fn begin(&self, work: impl Future<Output = Done> + 'static) {
        self.work.push(Box::pin(work));
    }

    /// Says that it is to be cancelled, on this stream and on every later one.
    pub(super) fn cancel(&mut self) {
        self.cancelled.get_or_insert_with(Instant::now);
        self.say(Say::Cancel(pb::CoordinationCancel::default()));
    }

    /// It was said that it is to be cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.is_some()
    }

    /// Ctrl-C: cancels it; the second one leaves.
    fn interrupted(&mut self) -> Result<(), Failure> {
        match self.cancelled {
            None => {
                self.cancel();
                self.note(Style::Odd, "cancelling; Ctrl-C again leaves at once")
            }
            Some(first) if first.elapsed() < SAME_WITHIN => Ok(()),
            Some(_) => Err(self.left("left before it was cancelled")),
        }
    }

    /// The failure of leaving what goes on.
    pub(super) fn left(&self, why: &str) -> Failure {
        let id = &self.plan.coordination_id;
        let remedy = if id.is_empty() {
            String::new()
        } else {
            self.terminal.typed(&format!("antiphon coordinate --attach {id}"))
        };
        Failure::here(why, remedy)
    }

    /// A line for people.
    pub(super) fn note(&mut self, style: Style, text: &str) -> Result<(), Failure> {
        let line = self.terminal.paint_err(style, &harmless(text));
        Ok(self.terminal.note(&line)?)
    }
}

/// A stream that broke without a word of the server, which has a reason for whatever it refuses.
fn broken(status: Status) -> Result<Left, Failure> {
    let may_pass = matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled);
    match Failure::from(status) {
        Failure::Refused(refusal) if may_pass && refusal.reason.is_empty() => {
            Ok(Left::Broken(Failure::Refused(refusal)))
        }
        failure => Err(failure),
    }
}
