//! Reads the body of an answer, whatever form it has: one JSON object, or events, told apart by what the bytes are. Which one was asked
//! for, and what the headers say, servers and proxies get wrong. It must not know requests.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, timeout_at};

use super::answer::{Answer, Progress, Read, Wrong};
use super::error::{self, Context, Said};
use super::http::Body;
use super::lines::Lines;
use super::reader::{self, Object, Value};
use super::sse::{self, Event, TooLong};
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
pub(crate) struct Reading<'a, A: Answer> {
    pub(crate) quirks: &'a A::Quirks,
    pub(crate) issuer: &'a Issuer,
    pub(crate) context: Context<'a>,
    pub(crate) max_bytes: usize,
    /// Pieces are wanted as they come.
    pub(crate) told: bool,
}

/// A failure, and what the call consumed all the same.
type Broken = (Failure, Usage);

impl<A: Answer> Reading<'_, A>
where
    A::Quirks: Sync,
{
    /// The answer of a body.
    ///
    /// # Errors
    /// When it is none, or not whole; with what the call consumed as far as it was said before.
    pub(crate) async fn answer(&self, mut body: Body, sink: &mut dyn Sink) -> Result<Read, Failure> {
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
            Some(b'{') if A::LINES => self.events(body, first, sink).await,
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

    fn whole(&self, bytes: &[u8], sink: &mut dyn Sink) -> Result<Read, Broken> {
        let mut emit = tell(self.told, sink);
        let mut answer = A::default();
        let (text, replaced) = reader::clean(bytes);
        answer.note_replaced(replaced);
        let mut take = |object: &Object<'_>| answer.take(object, self.quirks, &mut emit);
        let taken = self.objects(&text).and_then(|objects| objects.iter().try_for_each(&mut take));
        answer.tell_rest(&mut emit);
        self.end(answer, taken)
    }

    async fn events(&self, mut body: Body, first: Bytes, sink: &mut dyn Sink) -> Result<Read, Broken> {
        let mut stream = Stream {
            reading: self,
            decoder: Decoder::new::<A>(MAX_EVENT_BYTES.min(self.max_bytes)),
            answer: A::default(),
        };
        let mut read = Some(first);
        let mut broke = None;
        let mut last = None;
        while let Some(bytes) = read {
            if let Err(failure) = stream.take(&bytes, &mut tell(self.told, sink)) {
                return Err((failure, stream.answer.usage().clone()));
            }
            match stream.answer.progress(self.quirks) {
                Progress::Open => {}
                Progress::Finished => last = last.or_else(|| Some(Instant::now() + AFTER_FINISH)),
                Progress::Done => break,
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
        stream.close(broke, &mut tell(self.told, sink))
    }

    /// The objects of a text: one, or, where a server sends all its chunks at once, several in a list.
    fn objects<'t>(&self, text: &'t str) -> Result<Vec<Object<'t>>, Wrong> {
        if text.trim_start().starts_with('<') {
            return Err(Wrong::Said(Said::plain(error::page_or_text(text))));
        }
        if reader::is_deeper(text, MAX_BODY_DEPTH) {
            return Err(Wrong::Malformed("the provider's answer is nested too deeply"));
        }
        let value = Value::parse(text).ok_or(Wrong::Malformed("the provider's answer is not JSON"))?;
        let items = value.array().unwrap_or_else(|| vec![value]);
        let objects: Option<Vec<_>> = items.into_iter().map(Value::object).collect();
        let objects = objects.filter(|objects| !objects.is_empty());
        let objects = objects.ok_or(Wrong::Malformed("the provider's answer is not a JSON object"))?;
        if objects.iter().any(A::is_one) {
            return Ok(objects);
        }
        error::inside(text).map_or(Ok(objects), |said| Err(Wrong::Said(said)))
    }

    fn end(&self, answer: A, taken: Result<(), Wrong>) -> Result<Read, Broken> {
        let usage = answer.usage().clone();
        taken.and_then(|()| answer.finish(self.quirks, self.issuer)).map_err(|wrong| (self.failure(wrong), usage))
    }

    fn failure(&self, wrong: Wrong) -> Failure {
        match wrong {
            Wrong::Said(said) => error::in_answer(&self.context, said),
            Wrong::Spoilt(said) => error::spoilt(&self.context, said),
            Wrong::Malformed(what) => self.bad(what),
        }
    }

    fn bad(&self, what: &str) -> Failure {
        error::bad_answer(&self.context, what)
    }

    fn too_long(&self) -> Failure {
        self.beyond("the provider's answer", self.max_bytes)
    }

    /// Something of the answer has more bytes than are taken.
    fn beyond(&self, what: &str, max: usize) -> Failure {
        // The other limit of an event is no key of the configuration.
        let remedy = if max == self.max_bytes { "ask for less, or raise `max_answer_bytes`" } else { "ask for less" };
        let message = format!("{what} has more than {max} bytes, which is the limit: {remedy}");
        error::bad_answer(&self.context, message)
    }
}

/// What a stream is cut into.
enum Decoder {
    Events(sse::Decoder),
    Lines(Lines),
}

impl Decoder {
    fn new<A: Answer>(max_bytes: usize) -> Self {
        if A::LINES { Self::Lines(Lines::new(max_bytes)) } else { Self::Events(sse::Decoder::new(max_bytes)) }
    }

    fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        match self {
            Self::Events(decoder) => decoder.feed(bytes, events),
            Self::Lines(lines) => lines.feed(bytes, events),
        }
    }

    fn finish(&mut self, events: &mut Vec<Event>) {
        match self {
            Self::Events(decoder) => decoder.finish(events),
            Self::Lines(lines) => lines.finish(events),
        }
    }
}

/// A streamed answer under way.
struct Stream<'a, A: Answer> {
    reading: &'a Reading<'a, A>,
    decoder: Decoder,
    answer: A,
}

impl<A: Answer> Stream<'_, A>
where
    A::Quirks: Sync,
{
    fn progress(&self) -> Progress {
        self.answer.progress(self.reading.quirks)
    }

    fn take(&mut self, bytes: &[u8], emit: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        let mut events = Vec::new();
        let fed = self.decoder.feed(bytes, &mut events);
        for event in &events {
            self.event(event, emit)?;
            if self.progress() == Progress::Done {
                return Ok(());
            }
        }
        let max = MAX_EVENT_BYTES.min(self.reading.max_bytes);
        fed.map_err(|_| self.reading.beyond("an event of the provider's answer", max))
    }

    fn event(&mut self, event: &Event, emit: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        let data = event.data.trim_ascii();
        if data.is_empty() {
            return Ok(());
        }
        if data == b"[DONE]" {
            self.answer.note_done();
            return Ok(());
        }
        let (text, replaced) = reader::clean(data);
        self.answer.note_replaced(replaced);
        if event.name == b"error" {
            let said = error::inside(&text).unwrap_or_else(|| Said::plain(error::page_or_text(&text)));
            return Err(error::in_answer(&self.reading.context, said));
        }
        let mut take = |object: &Object<'_>| self.answer.take(object, self.reading.quirks, emit);
        let taken = self.reading.objects(&text).and_then(|objects| objects.iter().try_for_each(&mut take));
        taken.map_err(|wrong| self.reading.failure(wrong))?;
        if self.answer.bytes() > self.reading.max_bytes {
            return Err(self.reading.too_long());
        }
        Ok(())
    }

    /// The end of the stream, or its break. What the provider said before counts: with a reason for stopping, the answer is whole.
    fn close(mut self, broke: Option<Failure>, emit: &mut dyn FnMut(Delta)) -> Result<Read, Broken> {
        if self.progress() != Progress::Done && broke.is_none() {
            let mut events = Vec::new();
            self.decoder.finish(&mut events);
            for event in &events {
                // Half an event at the end is no error of its own: the answer is not whole.
                let is_cut = Value::parse(&reader::clean(&event.data).0).is_none();
                if is_cut && event.data.trim_ascii() != b"[DONE]" {
                    continue;
                }
                if let Err(failure) = self.event(event, emit) {
                    return Err((failure, self.answer.usage().clone()));
                }
            }
        }
        if self.progress() == Progress::Open {
            let cut = || self.reading.bad("the provider's answer ended before it was whole");
            return Err((broke.unwrap_or_else(cut), self.answer.usage().clone()));
        }
        self.answer.tell_rest(emit);
        self.reading.end(self.answer, Ok(()))
    }
}

/// Passes on what comes, where it is wanted piece by piece.
fn tell(told: bool, sink: &mut dyn Sink) -> impl FnMut(Delta) {
    move |delta| {
        if told {
            sink.delta(delta);
        }
    }
}

fn is_blank(byte: u8) -> bool {
    // Nothing that is read here begins with a byte of the byte order mark but that mark itself, whole or cut between reads.
    byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(&byte)
}
