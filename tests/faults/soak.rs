//! Faults on all sides at once, for a while: many kinds of clients, a provider on its bad days, and a server that is stopped, killed and started
//! again on the same folder. What was acknowledged is there in the end, nothing is asked of the provider again once its answer was
//! acknowledged, and nothing stays at work, open or in memory.
//!
//! `ANTIPHON_SOAK_SECONDS` sets how long it goes on (20), `ANTIPHON_FAULT_SEED` repeats its rolls.

mod check;
mod coordinate;
mod others;
mod settle;
mod stub;
mod turns;
mod world;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use antiphon::grpc::pb;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::world::World;
use crate::harness::Dice;
use crate::rest;
use crate::support::program::{LOG, Program};
use crate::support::server::openai_with;
use crate::support::within;

const MEBIBYTE: u64 = 1 << 20;
/// Descriptors and threads more than at the start that are no leak: what the runtime keeps for work that blocks, and files of the store.
const FILES: usize = 8;
const TASKS: usize = 8;
/// What memory may grow by after it is warm, beside twice what came to the disk meanwhile: what is fragmented. The store's engine keeps pages that it
/// read or wrote, counts them by what they are on the disk, which is about half of what they are in memory, and takes the size of its cache for a
/// target, so that a small one holds nearly all of a small store.
const GROWTH: u64 = 48 * MEBIBYTE;
/// A server that stops lets runs at work finish for so long.
const GRACE_SECONDS: u64 = 2;

fn length() -> Duration {
    let set = std::env::vars().find(|(name, _)| name == "ANTIPHON_SOAK_SECONDS");
    Duration::from_secs(set.map_or(20, |(_, seconds)| seconds.parse().expect("ANTIPHON_SOAK_SECONDS is a number")))
}

fn config(base_url: &str) -> String {
    let backend = "capacity = 12\nqueue_limit = 64\ntotal_timeout_ms = 8_000\n\
         retry = { attempts = 3, base_ms = 20, max_ms = 200, max_retry_after_ms = 1_500 }\n\
         timeouts = { connect_ms = 2_000, first_byte_ms = 1_500, idle_ms = 1_500, total_ms = 6_000 }\n";
    format!(
        "{}[server]\ndrain_grace_seconds = {GRACE_SECONDS}\n[limits]\ncoordination_heartbeat_seconds = 5\n\
         [store]\ncache_mebibytes = 16\nexchange_cache_mebibytes = 4\n",
        openai_with(base_url, backend)
    )
}

/// Clients of all kinds, at work until the world is over.
fn clients(world: &Arc<World>, dice: &mut Dice, name: &str) -> JoinSet<()> {
    let mut set = JoinSet::new();
    for number in 0..6 {
        set.spawn(turns::talk(Arc::clone(world), dice.another(), format!("{name}-talk{number}")));
    }
    for number in 0..4 {
        set.spawn(turns::crowd(Arc::clone(world), dice.another(), format!("{name}-crowd{number}")));
        set.spawn(coordinate::coordinate(Arc::clone(world), dice.another(), format!("{name}-loop{number}")));
    }
    for number in 0..2 {
        set.spawn(others::write(Arc::clone(world), dice.another(), format!("{name}-docs{number}")));
        set.spawn(others::look(Arc::clone(world), dice.another()));
    }
    set.spawn(others::fork(Arc::clone(world), dice.another(), format!("{name}-fork")));
    set.spawn(others::probe(Arc::clone(world), dice.another(), format!("{name}-probe")));
    set.spawn(others::record(Arc::clone(world), dice.another(), format!("{name}-record")));
    set
}

/// Nothing panicked in the server that wrote the log.
fn calm_log(folder: &Path) {
    let log = std::fs::read_to_string(folder.join(LOG)).unwrap();
    let loud: Vec<&str> = log.lines().filter(|line| line.contains("panicked at")).collect();
    assert!(loud.is_empty(), "{loud:?}");
}

/// Waits until so many more writes were acknowledged, or it is time. No client may end meanwhile.
async fn more(world: &World, clients: &mut JoinSet<()>, writes: u64, until: Instant) -> bool {
    let mut told = world.told();
    let wanted = *told.borrow_and_update() + writes;
    tokio::select! {
        ended = clients.join_next() => match ended {
            Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            ended => panic!("a client ended before the end: {ended:?}"),
        },
        told = within("something to be acknowledged", told.wait_for(|told| *told >= wanted)) => {
            told.unwrap();
            true
        }
        () = tokio::time::sleep_until(until) => false,
    }
}

async fn joined(world: &World, mut clients: JoinSet<()>) {
    world.end(true);
    while let Some(ended) = clients.join_next().await {
        if let Err(error) = ended {
            std::panic::resume_unwind(error.into_panic());
        }
    }
    world.end(false);
}

/// What the store takes on the disk, in bytes.
async fn on_disk(program: &Program) -> u64 {
    program.admin().stats(pb::StatsRequest {}).await.unwrap().into_inner().disk_bytes
}

/// A place for the server, and how often it came down.
struct Home {
    folder: tempfile::TempDir,
    config: String,
    kills: u32,
    stops: u32,
}

impl Home {
    async fn start(&self, world: &World) -> Program {
        let program = Program::start(self.folder.path(), &self.config).await;
        world.moves(Some(program.fresh_channel()));
        program
    }

    /// Down in one way or another, and up again.
    async fn bounce(&mut self, world: &World, dice: &mut Dice, mut program: Program) -> Program {
        match dice.roll(5) {
            0 | 1 => {
                self.kills += 1;
                program.kill();
            }
            2 | 3 => {
                self.stops += 1;
                program.terminate().await;
            }
            _ => {
                // In the midst of stopping in good order.
                self.kills += 1;
                let patience = Duration::from_millis(dice.roll(GRACE_SECONDS * 1_000));
                if tokio::time::timeout(patience, program.terminate()).await.is_err() {
                    program.kill();
                }
            }
        }
        world.moves(None);
        calm_log(self.folder.path());
        self.start(world).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_on_all_sides() {
    let mut dice = Dice::new("soak");
    let world = Arc::new(World::new());
    let provider = stub::start(Arc::clone(&world), dice.another()).await;
    let folder = tempfile::tempdir().unwrap();
    let mut home = Home { folder, config: config(&provider.base_url()), kills: 0, stops: 0 };

    // The server comes and goes.
    let until = Instant::now() + length() * 2 / 3;
    let mut program = home.start(&world).await;
    let mut set = clients(&world, &mut dice, "a");
    while more(&world, &mut set, 1 + dice.roll(80), until).await {
        program = home.bounce(&world, &mut dice, program).await;
    }
    joined(&world, set).await;
    rest::idle(&program).await;
    program.terminate().await;
    calm_log(home.folder.path());

    // One server stays, and nothing of those who came and went stays with it.
    let mut program = Program::start(home.folder.path(), &home.config).await;
    rest::idle(&program).await;
    let (files, tasks) = (program.files(), program.tasks());
    let until = Instant::now() + length() / 3;
    world.moves(Some(program.fresh_channel()));
    let mut set = clients(&world, &mut dice, "b");
    let half_warm = Instant::now() + length() / 9;
    while more(&world, &mut set, 1, half_warm).await {}
    let (warm, warm_disk, warm_writes) = (program.memory(), on_disk(&program).await, *world.told().borrow());
    while more(&world, &mut set, 1, until).await {}
    joined(&world, set).await;
    world.moves(None);
    rest::idle(&program).await;
    let (memory, writes) = (program.memory(), *world.told().borrow());
    let disk = on_disk(&program).await.saturating_sub(warm_disk);
    println!(
        "{} calls, {writes} writes acknowledged, {} kills, {} stops; memory {} MiB when warm, {} MiB after {} writes more \
         with {} KiB on the disk",
        world.calls(),
        home.kills,
        home.stops,
        warm / MEBIBYTE,
        memory / MEBIBYTE,
        writes - warm_writes,
        disk >> 10,
    );
    assert!(memory < warm + GROWTH + 2 * disk, "{warm} bytes grew to {memory}, and the disk by {disk}");
    rest::given_back(&program, files + FILES, tasks + TASKS).await;

    world.calm();
    check::all(&program, &world).await;
    rest::idle(&program).await;
    program.terminate().await;
    calm_log(home.folder.path());
}
