//! Reads the body of an answer, whatever form it has: one JSON object, or events, told apart by what the bytes are. Which one was asked
//! for, and what the headers say, servers and proxies get wrong. It must not know requests.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, timeout_at};

use super::answer::{Answer, Read, Wrong};
use super::error::{self, Context, Said};
use super::http::Body;
use super::quirks::{DoneMarker, Quirks};
use super::reader::{self, Object, Value};
use super::sse::{Decoder, Event};
use crate::domain::message::Issuer;
use crate::domain::usage::Usage;
use crate::engine::backend::{Delta, Failure, Sink};

/// Once the provider has said why the model stopped, only its usage is still to come; a server that sends neither it nor an end is not
/// waited for longer.
const AFTER_FINISH: Duration = Duration::from_secs(5);

/// Longest event. One can hold a whole picture.
const MAX_EVENT_BYTES: usize = 16 << 20;

/// Deepest JSON of a body. What is kept of it lies a few levels down and has its own, lower limit.
const MAX_BODY_DEPTH: usize = reader::MAX_DEPTH + 16;

/// How a body is read.
pub(super) struct Reading<'a> {
    pub(super) quirks: &'a Quirks,
    pub(super) issuer: &'a Issuer,
    pub(super) context: Context<'a>,
    pub(super) max_bytes: usize,
    /// Pieces are wanted as they come.
    pub(super) told: bool,
}

/// A failure, and what the call consumed all the same.
type Broken = (Failure, Usage);

impl Reading<'_> {
    /// The answer of a body.
    ///
    /// # Errors
    /// When it is none, or not whole; with what the call consumed as far as it was said before.
    pub(super) async fn answer(&self, mut body: Body, sink: &mut dyn Sink) -> Result<Read, Failure> {
        let declared = body.declared_bytes();
        // Blank lines come before the answer of a server that wants to keep the connection alive.
        let mut has_begun = false;
        let first = loop {
            match body.next().await? {
                None => return Err(self.bad("the provider sent nothing")),
                Some(bytes) => {
                    if !std::mem::replace(&mut has_begun, true) {
                        sink.first_byte();
                    }
                    if let Some(start) = bytes.iter().position(|byte| !is_blank(*byte)) {
                        break bytes.slice(start..);
                    }
                }
            }
        };
        let read = match first.first() {
            Some(b'{' | b'[' | b'<') => {
                if declared.is_some_and(|declared| declared > self.max_bytes as u64) {
                    return Err(self.too_long());
                }
                let mut whole = Vec::new();
                let mut read = Some(first);
                while let Some(bytes) = read {
                    if whole.len() + bytes.len() > self.max_bytes {
                        return Err(self.too_long());
                    }
                    whole.extend_from_slice(&bytes);
                    read = body.next().await?;
                }
                self.whole(&whole, sink)
            }
            _ => self.events(body, first, sink).await,
        };
        read.map_err(|(mut failure, usage)| {
            failure.usage = usage;
            failure
        })
    }

    /// Passes on what comes, where it is wanted piece by piece.
    fn tell<'s>(&self, sink: &'s mut dyn Sink) -> impl FnMut(Delta) + use<'s> {
        let told = self.told;
        move |delta| {
            if told {
                sink.delta(delta);
            }
        }
    }

    fn whole(&self, bytes: &[u8], sink: &mut dyn Sink) -> Result<Read, Broken> {
        let mut emit = self.tell(sink);
        let mut answer = Answer::default();
        let (text, replaced) = reader::clean(bytes);
        answer.note_replaced(replaced);
        let taken = self.object(&text).and_then(|object| answer.take(&object, self.quirks, &mut emit));
        answer.tell_rest(&mut emit);
        self.end(answer, taken)
    }

    async fn events(&self, mut body: Body, first: Bytes, sink: &mut dyn Sink) -> Result<Read, Broken> {
        let mut stream = Stream {
            reading: self,
            decoder: Decoder::new(MAX_EVENT_BYTES.min(self.max_bytes)),
            answer: Answer::default(),
            is_done: false,
        };
        let mut read = Some(first);
        let mut broke = None;
        let mut last = None;
        while let Some(bytes) = read {
            if let Err(failure) = stream.take(&bytes, &mut self.tell(sink)) {
                return Err((failure, stream.answer.usage));
            }
            if stream.is_done {
                break;
            }
            if last.is_none() && stream.answer.has_finished() && self.quirks.done_marker == DoneMarker::Optional {
                last = Some(Instant::now() + AFTER_FINISH);
            }
            sink.ready().await;
            let more = match last {
                None => body.next().await,
                Some(last) => match timeout_at(last, body.next()).await {
                    Ok(more) => more,
                    Err(_) => break,
                },
            };
            read = match more {
                Ok(bytes) => bytes,
                Err(failure) => {
                    broke = Some(failure);
                    break;
                }
            };
        }
        stream.close(broke, &mut self.tell(sink))
    }

    fn object<'t>(&self, text: &'t str) -> Result<Object<'t>, Wrong> {
        if text.trim_start().starts_with('<') {
            return Err(Wrong::Said(Said::plain(error::page_or_text(text))));
        }
        if reader::is_deeper(text, MAX_BODY_DEPTH) {
            return Err(Wrong::Malformed("the provider's answer is nested too deeply"));
        }
        let value = Value::parse(text).ok_or(Wrong::Malformed("the provider's answer is not JSON"))?;
        let items = value.array();
        let object = match &items {
            Some(items) => items.first().copied().and_then(Value::object),
            None => value.object(),
        };
        let object = object.ok_or(Wrong::Malformed("the provider's answer is not a JSON object"))?;
        let is_answer = ["choices", "error", "usage", "id"].iter().any(|field| object.get(field).is_some());
        if is_answer {
            return Ok(object);
        }
        error::inside(text).map_or(Ok(object), |said| Err(Wrong::Said(said)))
    }

    fn end(&self, answer: Answer, taken: Result<(), Wrong>) -> Result<Read, Broken> {
        let usage = answer.usage.clone();
        taken.and_then(|()| answer.finish(self.quirks, self.issuer)).map_err(|wrong| (self.failure(wrong), usage))
    }

    fn failure(&self, wrong: Wrong) -> Failure {
        match wrong {
            Wrong::Said(said) => error::in_answer(&self.context, said),
            Wrong::Malformed(what) => self.bad(what),
        }
    }

    fn bad(&self, what: &str) -> Failure {
        error::bad_answer(&self.context, what)
    }

    fn too_long(&self) -> Failure {
        error::bad_answer(&self.context, format!("the provider's answer has more than {} bytes", self.max_bytes))
    }
}

/// A streamed answer under way.
struct Stream<'a> {
    reading: &'a Reading<'a>,
    decoder: Decoder,
    answer: Answer,
    is_done: bool,
}

impl Stream<'_> {
    fn take(&mut self, bytes: &[u8], emit: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        let mut events = Vec::new();
        let fed = self.decoder.feed(bytes, &mut events);
        for event in &events {
            self.event(event, emit)?;
            if self.is_done {
                return Ok(());
            }
        }
        fed.map_err(|_| self.reading.bad("an event of the provider's answer is too long"))
    }

    fn event(&mut self, event: &Event, emit: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        let data = event.data.trim_ascii();
        if data.is_empty() {
            return Ok(());
        }
        if data == b"[DONE]" {
            self.is_done = true;
            return Ok(());
        }
        let (text, replaced) = reader::clean(data);
        self.answer.note_replaced(replaced);
        if event.name == b"error" {
            let said = error::inside(&text).unwrap_or_else(|| Said::plain(error::page_or_text(&text)));
            return Err(error::in_answer(&self.reading.context, said));
        }
        let taken = self.reading.object(&text).and_then(|object| self.answer.take(&object, self.reading.quirks, emit));
        taken.map_err(|wrong| self.reading.failure(wrong))?;
        if self.answer.bytes() > self.reading.max_bytes {
            return Err(self.reading.too_long());
        }
        Ok(())
    }

    /// The end of the stream, or its break. What the provider said before counts: with a reason for stopping, the answer is whole.
    fn close(mut self, broke: Option<Failure>, emit: &mut dyn FnMut(Delta)) -> Result<Read, Broken> {
        if !self.is_done && broke.is_none() {
            let mut events = Vec::new();
            self.decoder.finish(&mut events);
            for event in &events {
                // Half an event at the end is no error of its own: the answer is not whole.
                let is_cut = Value::parse(&reader::clean(&event.data).0).is_none();
                if is_cut && event.data.trim_ascii() != b"[DONE]" {
                    continue;
                }
                if let Err(failure) = self.event(event, emit) {
                    return Err((failure, self.answer.usage));
                }
            }
        }
        let is_whole = match self.reading.quirks.done_marker {
            DoneMarker::Optional => self.is_done || self.answer.has_finished(),
            DoneMarker::Required => self.is_done,
        };
        if !is_whole {
            let cut = || self.reading.bad("the provider's answer ended before it was whole");
            return Err((broke.unwrap_or_else(cut), self.answer.usage));
        }
        self.answer.tell_rest(emit);
        self.reading.end(self.answer, Ok(()))
    }
}

fn is_blank(byte: u8) -> bool {
    // Nothing that is read here begins with a byte of the byte order mark but that mark itself, whole or cut between reads.
    byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(&byte)
}
