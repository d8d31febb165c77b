//! A store with very many exchanges: filled by many callers at once, in conversations that fork, one long one and one that very many follow; then
//! pages of the graph, searches and histories out of it. What is stored already is recognised, so that a filling which broke off goes on, and
//! measuring again fills nothing. It must not know how any of it is found.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::caller::at;
use super::look::Look;
use super::measure::{self, Figures};
use super::work::Load;
use super::{Row, bytes_in, idle};
use crate::grpc::pb;
use crate::grpc::pb::exchange_service_client::ExchangeServiceClient;
use crate::ops::cli::Context;
use crate::ops::cli::failure::Failure;
use crate::ops::cli::progress::Progress;
use crate::ops::cli::remote::{Link, Remote};
use pb::record_request::Start;

/// Turns of a conversation before any fork.
const TRUNK: u32 = 50;
/// Turns of each branch.
const BRANCH: u32 = 10;
/// Branches of a conversation, which depart from its trunk at even distances.
const BRANCHES: u32 = 5;
/// Exchanges of a conversation.
const CONVERSATION: u32 = TRUNK + BRANCHES * BRANCH;
/// Turns of one Record while the long history is made.
const TURNS_OF_A_RECORD: u32 = 100;
/// Conversations share so many topics, which are labels.
pub(super) const TOPICS: u64 = 10;
/// How often it is told how far it is.
const EVERY: Duration = Duration::from_millis(200);

/// What was filled, for those who look.
#[derive(Clone)]
pub(super) struct Filled {
    /// The last exchange of the long history.
    pub(super) long: String,
    /// The exchange that very many follow.
    pub(super) star: String,
    /// The first exchange and the last one of the oldest conversation's trunk.
    pub(super) oldest: (String, String),
    /// What the oldest conversation says and no other.
    pub(super) oldest_text: String,
    /// What the newest one says.
    pub(super) newest_text: String,
    /// How many exchanges there are, of those that were filled.
    pub(super) exchanges: u64,
}

/// Fills, then measures.
pub(super) async fn measure(
    count: u32,
    callers: usize,
    (data, process): (Option<&Path>, Option<u32>),
    context: &mut Context<'_>,
    load: &Arc<Load>,
) -> Result<Vec<Row>, Failure> {
    let remote = context.remote().await?;
    let before = data.map(bytes_in);
    let memory = process.map(idle::memory).transpose()?;
    let (filled, figures) = fill(count, callers, &remote, context, load).await?;
    let left = data.map(bytes_in).zip(before).map(|(after, before)| after.saturating_sub(before));
    let each = |bytes: u64| bytes as f64 / filled.exchanges.max(1) as f64;
    let grown = process.map(idle::memory).transpose()?.zip(memory).map(|(after, before)| after.saturating_sub(before));
    let what = format!("fill with {} exchanges, of each", filled.exchanges);
    let mut rows = vec![Row { bytes: left.map(each), memory: grown.map(each), ..Row::of(&what, callers, figures) }];
    for look in Look::ALL {
        let looker = look.begin(&remote, &filled);
        let figures = measure::calls(vec![looker], load.time, move |looker| look.at(looker)).await?;
        rows.push(Row { most: look.most(load), ..Row::of(&look.words(load, &filled), 1, figures) });
    }
    Ok(rows)
}

async fn fill(
    count: u32,
    callers: usize,
    remote: &Remote,
    context: &mut Context<'_>,
    load: &Arc<Load>,
) -> Result<(Filled, Figures), Failure> {
    let begun = Instant::now();
    let width = load.deep.min(count / 10).max(1);
    let conversations = u64::from(count.saturating_sub(load.turns).saturating_sub(width).div_ceil(CONVERSATION).max(1));
    let next = Arc::new(AtomicU64::new(0));
    let made = Arc::new(AtomicU64::new(0));
    // The oldest one first, alone, so that there is an oldest.
    let mut first = Filler::new(remote, load, &made);
    let oldest = first.conversation(0).await?;
    next.store(1, Ordering::Relaxed);
    let (long, star) = (first.long().await?, first.star().await?);
    let mut working = JoinSet::new();
    let widths = Arc::new(AtomicU64::new(0));
    for _ in 0..callers.max(1) {
        let (mut filler, next, widths, star) =
            (Filler::new(remote, load, &made), Arc::clone(&next), Arc::clone(&widths), star.clone());
        working.spawn(async move {
            loop {
                let nth = widths.fetch_add(1, Ordering::Relaxed);
                if nth >= u64::from(width) {
                    break;
                }
                filler.beside(&star, nth).await?;
            }
            loop {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                // The newest is made when all others are there.
                if nth + 1 >= conversations {
                    return Ok::<_, Failure>(());
                }
                filler.conversation(nth).await?;
            }
        });
    }
    let mut progress = Progress::of("filled", "exchange");
    let bytes = |exchanges: u64| exchanges.saturating_mul(2 * load.bytes as u64);
    let told = async {
        let mut every = tokio::time::interval(EVERY);
        loop {
            tokio::select! {
                done = working.join_next() => match done {
                    Some(done) => done.map_err(|error| Failure::broken(&error))??,
                    None => return Ok::<_, Failure>(()),
                },
                _ = every.tick() => {
                    let made = made.load(Ordering::Relaxed);
                    progress.show(made, bytes(made), context.terminal)?;
                }
            }
        }
    };
    let outcome = told.await;
    progress.end(context.terminal)?;
    outcome?;
    let newest = conversations.saturating_sub(1);
    if newest > 0 {
        first.conversation(newest).await?;
    }
    let (exchanges, elapsed) = (made.load(Ordering::Relaxed), begun.elapsed());
    let each = elapsed.div_f64(exchanges.max(1) as f64);
    let figures = Figures { count: usize::try_from(exchanges).unwrap_or(usize::MAX), ..Figures::of(vec![each], each) };
    let filled = Filled { long, star, oldest, oldest_text: needle(0), newest_text: needle(newest), exchanges };
    Ok((filled, figures))
}

/// What only one conversation says.
fn needle(conversation: u64) -> String {
    format!("conversation number {conversation}.")
}

/// Somebody who fills.
struct Filler {
    client: ExchangeServiceClient<Link>,
    load: Arc<Load>,
    made: Arc<AtomicU64>,
}

impl Filler {
    fn new(remote: &Remote, load: &Arc<Load>, made: &Arc<AtomicU64>) -> Self {
        Self { client: remote.exchanges(), load: Arc::clone(load), made: Arc::clone(made) }
    }

    /// A trunk, with a thread at its end, and branches from it; the first exchange and the last one of the trunk.
    async fn conversation(&mut self, number: u64) -> Result<(String, String), Failure> {
        let seed = number.wrapping_mul(u64::from(CONVERSATION) + 7);
        let mut trunk = self.turns(seed, TRUNK);
        if let Some(pb::part::Kind::Text(said)) =
            trunk.first_mut().and_then(|message| message.parts.first_mut()).and_then(|part| part.kind.as_mut())
        {
            said.text = format!("{} {}", needle(number), said.text);
        }
        let labels = [("topic".to_owned(), (number % TOPICS).to_string())].into();
        let request = pb::RecordRequest { messages: trunk, labels, ..pb::RecordRequest::default() };
        let made: Vec<String> = self.record(request).await?;
        let nth = |turn: u32| {
            let at = usize::try_from(turn).ok().and_then(|turn| made.get(turn)).cloned();
            at.ok_or_else(|| Failure::incomplete("exchanges"))
        };
        let ends = (nth(0)?, nth(TRUNK - 1)?);
        for branch in 0..BRANCHES {
            let from = nth((branch + 1) * TRUNK / BRANCHES - 1)?;
            let messages = self.turns(seed + 1 + u64::from(TRUNK + branch * BRANCH), BRANCH);
            self.record(after(&from, messages)).await?;
        }
        let thread_id = format!("bench-{number}");
        let fork = pb::ForkBranch {
            thread: Some(pb::NewThread { thread_id: thread_id.clone(), ..pb::NewThread::default() }),
            input: None,
        };
        let request = pb::ForkRequest {
            source: Some(pb::fork_request::Source::Exchange(at(&ends.1))),
            request_id: thread_id,
            branches: vec![fork],
        };
        self.client.fork(request).await?;
        Ok(ends)
    }

    /// One history that is long; its end.
    async fn long(&mut self) -> Result<String, Failure> {
        let mut last: Option<String> = None;
        let mut made = 0;
        while made < self.load.turns {
            let count = TURNS_OF_A_RECORD.min(self.load.turns - made);
            let messages = self.turns(u64::MAX / 8 + u64::from(made), count);
            let request = match &last {
                Some(last) => after(last, messages),
                None => pb::RecordRequest { messages, ..pb::RecordRequest::default() },
            };
            last = self.record(request).await?.pop();
            made += count;
        }
        last.ok_or_else(|| Failure::incomplete("exchanges"))
    }

    /// An exchange that others are to follow.
    async fn star(&mut self) -> Result<String, Failure> {
        let messages = self.turns(u64::MAX / 16, 1);
        let request = pb::RecordRequest { messages, ..pb::RecordRequest::default() };
        self.record(request).await?.pop().ok_or_else(|| Failure::incomplete("exchanges"))
    }

    /// One that follows.
    async fn beside(&mut self, star: &str, nth: u64) -> Result<(), Failure> {
        let messages = self.turns(u64::MAX / 16 + 1 + nth, 1);
        self.record(after(star, messages)).await?;
        Ok(())
    }

    fn turns(&self, seed: u64, count: u32) -> Vec<pb::Message> {
        (0..u64::from(count)).flat_map(|turn| self.load.turn(seed.wrapping_add(turn)).messages).collect()
    }

    /// Stores turns; the exchanges of all of them.
    async fn record(&mut self, request: pb::RecordRequest) -> Result<Vec<String>, Failure> {
        let recorded = self.client.record(request).await?.into_inner().exchanges;
        self.made.fetch_add(recorded.len() as u64, Ordering::Relaxed);
        Ok(recorded.into_iter().map(|exchange| exchange.exchange_id).collect())
    }
}

fn after(exchange: &str, messages: Vec<pb::Message>) -> pb::RecordRequest {
    pb::RecordRequest { start: Some(Start::AfterExchange(at(exchange))), messages, ..pb::RecordRequest::default() }
}
