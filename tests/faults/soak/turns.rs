//! Clients that own a thread and take one turn after another, whole or streamed, some of them leaving a stream midway and coming back; and
//! clients that share one. They must not know how the server fares.

use std::sync::Arc;

use antiphon::grpc::pb;
use pb::exchange_service_client::ExchangeServiceClient;
use tonic::Status;
use tonic::transport::Channel;

use super::settle::{Means, means, pause, reason, settled};
use super::stub::{answer, found, question, tool_question, with_results};
use super::world::World;
use crate::harness::Dice;
use crate::support::ask;

/// How a turn is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Whole,
    Streamed,
    /// Streamed, and left after so many messages the first time.
    Left(u64),
}

impl Way {
    fn roll(dice: &mut Dice) -> Self {
        match dice.roll(4) {
            0 | 1 => Self::Whole,
            2 => Self::Streamed,
            _ => Self::Left(dice.roll(4)),
        }
    }
}

fn client(server: Channel) -> ExchangeServiceClient<Channel> {
    ExchangeServiceClient::new(server).max_decoding_message_size(usize::MAX)
}

fn left() -> Status {
    Status::cancelled("the caller left")
}

/// The first turn, on a thread of its own.
async fn capture(server: Channel, request: pb::CaptureRequest, way: Way) -> Result<pb::CaptureResponse, Status> {
    if way == Way::Whole {
        return Ok(client(server).capture(request).await?.into_inner());
    }
    let request = pb::StreamCaptureRequest { capture: Some(request) };
    let mut events = client(server).stream_capture(request).await?.into_inner();
    let mut read = 0;
    while way != Way::Left(read) {
        match events.message().await?.and_then(|message| message.event) {
            Some(pb::stream_capture_response::Event::Completed(done)) => return Ok(done),
            Some(pb::stream_capture_response::Event::Progress(_)) => read += 1,
            None => return Err(Status::unavailable("the stream ended early")),
        }
    }
    Err(left())
}

/// Another turn, or the results of tools.
async fn go_on(server: Channel, turn: pb::ContinueRequest, way: Way) -> Result<pb::ContinueResponse, Status> {
    if way == Way::Whole {
        return Ok(client(server).r#continue(turn).await?.into_inner());
    }
    let request = pb::StreamContinueRequest { turn: Some(turn) };
    let mut events = client(server).stream_continue(request).await?.into_inner();
    let mut read = 0;
    while way != Way::Left(read) {
        match events.message().await?.and_then(|message| message.event) {
            Some(pb::stream_continue_response::Event::Completed(done)) => return Ok(done),
            Some(pb::stream_continue_response::Event::Progress(_)) => read += 1,
            None => return Err(Status::unavailable("the stream ended early")),
        }
    }
    Err(left())
}

/// Once left, the next time it is read to the end.
fn once(way: &mut Way) -> Way {
    let now = *way;
    if matches!(now, Way::Left(_)) {
        *way = Way::Streamed;
    }
    now
}

fn asks(mark: &str, text: &str, dice: &mut Dice, look: bool) -> pb::ExecutionRequest {
    let finishes = dice.once_in(3);
    let on_disconnect = if finishes { pb::OnDisconnect::Finish } else { pb::OnDisconnect::Cancel };
    let tools = if look { ask::tools(&["look"]) } else { None };
    pb::ExecutionRequest { on_disconnect: on_disconnect.into(), tools, ..ask::text_as(mark, text) }
}

/// What a failure that stays must be: what the provider did, again and again.
pub(super) fn is_failure(what: &str, status: &Status) {
    assert_eq!(means(status), Means::Retry, "{what}: {status:?}");
}

/// A turn on a thread; its exchange, or nothing when the provider would not.
async fn turn(world: &World, dice: &mut Dice, thread: &str, head: Option<&str>, mark: &str) -> Option<pb::Exchange> {
    let look = dice.once_in(6);
    let text = if look { tool_question(mark) } else { question(mark, dice) };
    let (request, mut way) = (asks(mark, &text, dice, look), Way::roll(dice));
    let done = match head {
        None => {
            let done = settled(world, dice, mark, |server, retry| {
                let request = pb::ExecutionRequest { retry, ..request.clone() };
                capture(server, ask::capture_on_new(thread, request), once(&mut way))
            });
            done.await.map(|done| (done.exchange, done.thread, done.run))
        }
        Some(head) => {
            let done = settled(world, dice, mark, |server, retry| {
                let request = pb::ExecutionRequest { retry, ..request.clone() };
                go_on(server, ask::on_thread(ask::expecting(thread, head), request), once(&mut way))
            });
            done.await.map(|done| (done.exchange, done.thread, done.run))
        }
    };
    let exchange = match done {
        Ok((Some(exchange), Some(told), run)) => {
            // The head is the last exchange of a run that is whole.
            let head = if look { head.unwrap_or_default() } else { &exchange.exchange_id };
            assert_eq!(told.head_exchange_id, head, "{mark} moves its thread: {run:?} {told:?}");
            exchange
        }
        Ok(other) => panic!("{mark}: {other:?}"),
        Err(status) => {
            is_failure(mark, &status);
            return None;
        }
    };
    assert_eq!(exchange.parent_exchange_id, head.unwrap_or_default(), "{mark} is where it was asked for");
    if !look {
        world.note(mark, thread, &answer(&text), &exchange);
        world.head(thread, &exchange);
        return Some(exchange);
    }
    world.note(mark, thread, "", &exchange);
    let results = vec![ask::result(&exchange.pending_tool_calls[0].call_id, "seen")];
    let mut way = Way::roll(dice);
    let request = match way {
        Way::Whole => ask::on_thread_with(thread, results),
        _ => ask::after_with(&exchange.exchange_id, results),
    };
    let results = settled(world, dice, mark, |server, retry| {
        let mut request = request.clone();
        if let Some(pb::continue_request::Input::ToolResults(results)) = &mut request.input {
            results.retry = retry;
            // Tools have done their work, so nobody gives up what comes of it.
            results.on_disconnect = pb::OnDisconnect::Finish.into();
        }
        go_on(server, request, once(&mut way))
    });
    match results.await {
        Ok(done) => {
            let exchange = done.exchange.unwrap();
            let told = done.thread.unwrap_or_default();
            let (run, id) = (done.run, &exchange.exchange_id);
            assert_eq!(&told.head_exchange_id, id, "the results of {mark} move its thread: {run:?} {told:?}");
            world.note(&with_results(mark), thread, &found(mark), &exchange);
            world.head(thread, &exchange);
            Some(exchange)
        }
        Err(status) => {
            is_failure(mark, &status);
            world.book().left.insert(mark.to_owned());
            None
        }
    }
}

/// One after another on threads of its own.
pub(super) async fn talk(world: Arc<World>, mut dice: Dice, name: String) {
    for number in 0.. {
        let thread = format!("{name}-{number}");
        let mut head: Option<String> = None;
        for turns in 0..=dice.roll(9) {
            if world.is_over() {
                return;
            }
            let mark = format!("{thread}-{turns}");
            match turn(&world, &mut dice, &thread, head.as_deref(), &mark).await {
                Some(exchange) => head = Some(exchange.exchange_id),
                None => break,
            }
        }
    }
}

/// How many turns go onto a thread that is shared, more or less.
const SHARED_TURNS: u64 = 40;

/// Turns on a thread that others move as well: in line, by interrupting, or trying until it is free.
pub(super) async fn crowd(world: Arc<World>, mut dice: Dice, name: String) {
    for number in 0.. {
        let thread = format!("crowd-{}", number / SHARED_TURNS);
        if world.is_over() {
            return;
        }
        // Whoever is first makes it; to the others the same call under the same id gives the same exchange.
        let mark = format!("{thread}-first");
        let begin = settled(&world, &mut dice, &mark, |server, retry| {
            let request = pb::ExecutionRequest { retry, ..ask::text_as(&mark, &format!("#{mark}# ")) };
            capture(server, ask::capture_on_new(&thread, request), Way::Whole)
        });
        match begin.await {
            Ok(first) => world.note(&mark, &thread, &answer(&format!("#{mark}# ")), &first.exchange.unwrap()),
            Err(status) => {
                is_failure(&mark, &status);
                continue;
            }
        }
        world.book().crowded.insert(thread.clone());
        let mark = format!("{name}-{number}");
        let text = question(&mark, &mut dice);
        let request = asks(&mark, &text, &mut dice, false);
        let (busy, mut way) = match dice.roll(3) {
            0 => (pb::OnBusy::Enqueue, Way::roll(&mut dice)),
            1 => (pb::OnBusy::Interrupt, Way::roll(&mut dice)),
            _ => (pb::OnBusy::Reject, Way::Whole),
        };
        let done = settled(&world, &mut dice, &mark, |server, retry| {
            let request = pb::ExecutionRequest { retry, ..request.clone() };
            let point = pb::ThreadPoint { on_busy: busy.into(), ..ask::on(&thread) };
            go_on(server, ask::on_thread(point, request), once(&mut way))
        });
        match done.await {
            Ok(done) => world.note(&mark, &thread, &answer(&text), &done.exchange.unwrap()),
            // It lost too often against others.
            Err(status) if reason(&status) == "RUN_CANCELLED" => {}
            Err(status) => is_failure(&mark, &status),
        }
        pause(&mut dice).await;
    }
}
