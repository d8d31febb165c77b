//! Branch isolation, for messages and for documents: whatever is done in whatever order, each thread has its own path and its own documents,
//! as of each of its turns.

use std::collections::BTreeMap;
use std::sync::Arc;

use antiphon::grpc::pb;
use proptest::prelude::*;

use crate::look;
use crate::support::ask;
use crate::support::documents::{after_turn, all, forked, live, put, remove, write};
use crate::support::server::Running;

/// Who work at once.
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

type Documents = BTreeMap<String, String>;

/// A turn of the model: its exchange, what it said, and the documents that the next turn on this path started from.
#[derive(Clone)]
struct Turn {
    exchange: String,
    said: String,
    after: Documents,
}

/// A thread of the model.
#[derive(Clone)]
struct Thread {
    id: String,
    path: Vec<Turn>,
    live: Documents,
    /// Paths that the head left, with the documents that were live then; the last one last.
    left: Vec<(Vec<Turn>, Documents)>,
}

impl Thread {
    /// The turns with the documents after each; after the last those that are live.
    fn states(&self) -> Vec<Turn> {
        let mut turns = self.path.clone();
        if let Some(last) = turns.last_mut() {
            last.after.clone_from(&self.live);
        }
        turns
    }

    /// A fork of it after a turn, or where it is now.
    async fn fork(&self, server: &Running, turn: Option<usize>, id: String) -> Self {
        forked(server, &self.id, turn.map(|turn| turn as u64), &id).await;
        let mut path = self.states();
        path.truncate(turn.unwrap_or(path.len()));
        let live = path.last().unwrap().after.clone();
        Self { id, path, live, left: Vec::new() }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write { thread: prop::sample::Index, name: u8, text: Option<u8> },
    Continue { thread: prop::sample::Index },
    Fork { thread: prop::sample::Index, turn: Option<prop::sample::Index> },
    Restore { thread: prop::sample::Index, turn: prop::sample::Index, left: bool },
    Delete { thread: prop::sample::Index },
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        5 => (index(), 0..4_u8, prop::option::weighted(0.8, any::<u8>()))
            .prop_map(|(thread, name, text)| Step::Write { thread, name, text }),
        4 => index().prop_map(|thread| Step::Continue { thread }),
        2 => (index(), prop::option::of(index())).prop_map(|(thread, turn)| Step::Fork { thread, turn }),
        2 => (index(), index(), any::<bool>()).prop_map(|(thread, turn, left)| Step::Restore { thread, turn, left }),
        1 => index().prop_map(|thread| Step::Delete { thread }),
    ]
}

/// Threads that should be there on a server, with whoever works on them one step after the other.
struct World {
    server: Arc<Running>,
    threads: Vec<Thread>,
    made: usize,
    /// Begins the ids of its threads and what is said on them.
    name: &'static str,
}

impl World {
    fn new(server: &Arc<Running>, name: &'static str) -> Self {
        Self { server: Arc::clone(server), threads: Vec::new(), made: 0, name }
    }

    async fn begin(&mut self) {
        self.made += 1;
        let (id, said) = (format!("{}{}", self.name, self.made), format!("{} begins {}", self.name, self.made));
        let request = ask::capture_on_new(&id, ask::text(&said));
        let exchange = self.server.exchanges().capture(request).await.unwrap().into_inner().exchange.unwrap();
        let turn = Turn { exchange: exchange.exchange_id, said, after: Documents::new() };
        self.threads.push(Thread { id, path: vec![turn], live: Documents::new(), left: Vec::new() });
    }

    async fn step(&mut self, step: &Step, number: usize) {
        if self.threads.is_empty() {
            self.begin().await;
        }
        let count = self.threads.len();
        match step {
            Step::Write { thread, name, text } => {
                let thread = &mut self.threads[thread.index(count)];
                let name = format!("doc-{name}");
                let edit = match text {
                    Some(text) => put(&name, format!("{text} of {}", self.name)),
                    None => remove(&name),
                };
                let done = self.server.workspaces().write_documents(write(&thread.id, vec![edit])).await;
                let before = thread.live.clone();
                match text {
                    Some(text) => thread.live.insert(name, format!("{text} of {}", self.name)),
                    None => thread.live.remove(&name),
                };
                assert_eq!(done.is_ok(), text.is_some() || before != thread.live);
            }
            Step::Continue { thread } => {
                let thread = &mut self.threads[thread.index(count)];
                let said = format!("{} says {number}", self.name);
                let request = ask::on_thread(ask::on(&thread.id), ask::text(&said));
                let done = self.server.exchanges().r#continue(request).await.unwrap().into_inner();
                thread.path.last_mut().unwrap().after.clone_from(&thread.live);
                let exchange = done.exchange.unwrap().exchange_id;
                thread.path.push(Turn { exchange, said, after: Documents::new() });
            }
            Step::Fork { thread, turn } => {
                self.made += 1;
                let id = format!("{}{}", self.name, self.made);
                let source = &self.threads[thread.index(count)];
                let turn = turn.map(|turn| turn.index(source.path.len()) + 1);
                let forked = source.fork(&self.server, turn, id).await;
                self.threads.push(forked);
            }
            Step::Restore { thread, turn, left } => {
                let thread = &mut self.threads[thread.index(count)];
                let now = (thread.path.clone(), thread.live.clone());
                // From a path that was left, the last first, when its turn is not on the present one.
                let old = if *left { thread.left.last().cloned() } else { None };
                let (path, live) = old.unwrap_or_else(|| now.clone());
                let seen = Thread { path, live, ..thread.clone() }.states();
                let to = turn.index(seen.len());
                let exchange = seen[to].exchange.clone();
                let on_path = thread.states();
                let (path, turn) = match on_path.iter().position(|turn| turn.exchange == exchange) {
                    Some(at) => (on_path, at),
                    None => (seen, to),
                };
                let request = pb::RestoreRequest {
                    thread_id: thread.id.clone(),
                    to: Some(ask::point(&exchange)),
                    ..Default::default()
                };
                self.server.threads().restore(request).await.unwrap();
                if thread.path.last().unwrap().exchange != exchange {
                    thread.left.push(now);
                }
                thread.live = path[turn].after.clone();
                thread.path = path[..=turn].to_vec();
            }
            Step::Delete { thread } => {
                let gone = self.threads.remove(thread.index(count));
                let request = pb::ThreadServiceDeleteRequest { thread_id: gone.id, ..Default::default() };
                self.server.threads().delete(request).await.unwrap();
            }
        }
    }

    async fn check(&self) {
        for thread in &self.threads {
            let head = look::thread(&self.server, &thread.id).await;
            assert_eq!(head.head_exchange_id, thread.path.last().unwrap().exchange);
            assert_eq!(head.turn_count as usize, thread.path.len());
            let said: Vec<String> = look::history(&self.server, &head.head_exchange_id)
                .await
                .into_iter()
                .filter_map(|text| text.strip_prefix("U:").map(str::to_owned))
                .collect();
            assert_eq!(said, thread.path.iter().map(|turn| turn.said.clone()).collect::<Vec<_>>());
            assert_eq!(all(&self.server, live(&thread.id)).await, thread.live);
            for (number, turn) in thread.states().iter().enumerate() {
                let at = after_turn(&thread.id, number as u64 + 1);
                assert_eq!(all(&self.server, at).await, turn.after, "{} after turn {}", thread.id, number + 1);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// S1-5, S1-8, S1-T3: no write on one branch is seen on another, whatever is written, continued, forked, restored and removed in between.
    #[test]
    fn each_branch_has_its_own_messages_and_documents(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new(&Arc::new(Running::echo().await), "t");
            world.begin().await;
            for (number, step) in steps.iter().enumerate() {
                world.step(step, number).await;
            }
            world.check().await;
            look::verified(&world.server).await;
        });
    }

    /// S1-5, S1-T3, S3-14: the same while several work on branches of one thread at once, the thread itself among them: each branch has what was
    /// acknowledged on it and nothing else.
    #[test]
    fn branches_that_grow_at_once_have_what_was_done_on_each(
        first in any::<prop::sample::Index>(),
        work in prop::collection::vec((0..3_usize, prop::collection::vec(step(), 4..16)), NAMES.len()),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Arc::new(Running::echo().await);
            let mut worlds = vec![World::new(&server, NAMES[0])];
            worlds[0].begin().await;
            for number in 0..2_u8 {
                worlds[0].step(&Step::Write { thread: first, name: number, text: Some(number) }, 0).await;
                worlds[0].step(&Step::Continue { thread: first }, number.into()).await;
            }
            worlds[0].step(&Step::Write { thread: first, name: 2, text: Some(2) }, 0).await;
            for (name, (after, _)) in NAMES.into_iter().zip(&work).skip(1) {
                let mut world = World::new(&server, name);
                let shared = worlds[0].threads[0].fork(&server, Some(after + 1), name.to_owned()).await;
                world.threads.push(shared);
                worlds.push(world);
            }
            let working = worlds.iter_mut().zip(&work).map(|(world, (_, steps))| async move {
                for (number, step) in steps.iter().enumerate() {
                    world.step(step, number).await;
                }
            });
            futures::future::join_all(working).await;
            for world in &worlds {
                world.check().await;
            }
            let mut left: Vec<_> = worlds.iter().flat_map(|world| &world.threads).map(|thread| thread.id.clone()).collect();
            let mut threads = look::threads(&server).await;
            left.sort_unstable();
            threads.sort_unstable();
            assert_eq!(threads, left, "each thread is somebody's");
            look::verified(&server).await;
        });
    }
}
