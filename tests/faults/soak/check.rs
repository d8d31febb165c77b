//! What must be so when a soak is over: everything acknowledged is there and right, and nothing is left at work. It must not know how it came to
//! be.

use std::collections::{BTreeMap, BTreeSet};

use antiphon::grpc::pb;
use futures::StreamExt;
use pb::coordination_service_client::CoordinationServiceClient;
use pb::workspace_service_client::WorkspaceServiceClient;

use super::world::{Book, Kept, World};
use crate::support::program::Program;
use crate::support::{ask, documents, within};

/// Of so many threads whose last run did not complete it is tried whether they go on.
const TRIED: usize = 12;
/// Looks at once.
const AT_ONCE: usize = 16;

/// Everything.
pub(super) async fn all(program: &Program, world: &World) {
    let book = std::mem::take(&mut *world.book());
    assert_eq!(book.twice, Vec::<String>::new(), "what was answered is not asked again");
    exchanges(program, &book).await;
    heads(program, &book).await;
    crowds(program, &book).await;
    live_documents(program, &book).await;
    coordinations(program, &book).await;
    let runs = runs(program, &book).await;
    threads(program, &runs).await;
    verified(program).await;
}

async fn exchanges(program: &Program, book: &Book) {
    let look = |(id, kept): (&String, &Kept)| {
        let (mut client, id, kept) = (program.exchanges(), id.clone(), kept.clone());
        async move {
            let request = pb::InspectRequest { history: pb::HistoryScope::None.into(), ..ask::inspect(&id) };
            let told = client.inspect(request).await.unwrap_or_else(|status| panic!("{id} of {kept:?}: {status:?}"));
            let exchange = told.into_inner().exchange.unwrap();
            let found = (exchange.run_id, exchange.parent_exchange_id, exchange.text);
            assert_eq!(found, (kept.run, kept.parent, kept.text), "{id}");
        }
    };
    futures::stream::iter(book.exchanges.iter().map(look)).buffer_unordered(AT_ONCE).collect::<()>().await;
}

async fn thread(program: &Program, id: &str) -> pb::Thread {
    let told = program.threads().get(pb::ThreadServiceGetRequest { thread_id: id.to_owned() }).await;
    told.unwrap_or_else(|status| panic!("thread {id}: {status:?}")).into_inner().thread.unwrap()
}

async fn heads(program: &Program, book: &Book) {
    for (id, head) in &book.heads {
        assert_eq!(&thread(program, id).await.head_exchange_id, head, "the head of {id}");
    }
}

/// Nobody's turn on a shared thread is lost by another's.
async fn crowds(program: &Program, book: &Book) {
    for id in &book.crowded {
        let head = thread(program, id).await.head_exchange_id;
        let mut path = BTreeSet::new();
        let mut next = Some(pb::InspectRequest { page_size: 1_000, ..ask::inspect(&head) });
        while let Some(request) = next.take() {
            let page = program.exchanges().inspect(request.clone()).await.unwrap().into_inner();
            path.extend(page.path.into_iter().map(|step| step.exchange_id));
            if !page.next_page_token.is_empty() {
                next = Some(pb::InspectRequest { page_token: page.next_page_token, ..request });
            }
        }
        for (exchange, kept) in book.exchanges.iter().filter(|(_, kept)| &kept.thread == id) {
            assert!(path.contains(exchange), "{exchange} of {kept:?} is not before the head of {id}");
        }
    }
}

async fn live_documents(program: &Program, book: &Book) {
    let mut client = WorkspaceServiceClient::new(program.fresh_channel());
    for (id, live) in &book.documents {
        let request =
            pb::ListDocumentsRequest { at: Some(documents::live(id)), page_size: 1_000, ..Default::default() };
        let listed = client.list_documents(request).await.unwrap().into_inner().documents;
        let names: Vec<&String> = listed.iter().map(|document| &document.name).collect();
        assert_eq!(names, live.keys().collect::<Vec<_>>(), "the documents of {id}");
        for (name, text) in live {
            let request = pb::ReadDocumentRequest { at: Some(documents::live(id)), name: name.clone() };
            let read = client.read_document(request).await.unwrap().into_inner();
            assert!(read.data == text.as_bytes(), "{name} of {id}");
        }
    }
}

async fn coordinations(program: &Program, book: &Book) {
    let mut client = CoordinationServiceClient::new(program.fresh_channel());
    for (id, state) in &book.coordinations {
        let request = pb::CoordinationServiceGetRequest { coordination_id: id.clone() };
        let told = client.get(request).await.unwrap().into_inner().coordination.unwrap();
        assert_eq!((told.state(), told.attached), (*state, false), "{id}");
    }
}

/// Every run is in a state that is explained; gives them by their ids.
async fn runs(program: &Program, book: &Book) -> BTreeMap<String, pb::Run> {
    let mut all = BTreeMap::new();
    let mut next = Some(pb::RunServiceListRequest { page_size: 500, ..Default::default() });
    while let Some(request) = next.take() {
        let page = program.runs().list(request.clone()).await.unwrap().into_inner();
        all.extend(page.runs.into_iter().map(|run| (run.run_id.clone(), run)));
        if !page.next_page_token.is_empty() {
            next = Some(pb::RunServiceListRequest { page_token: page.next_page_token, ..request });
        }
    }
    for (id, run) in &all {
        match run.state() {
            pb::RunState::Completed => {
                // What is told of the calls to the provider is what the provider saw.
                let asked = book.asked.get(id).copied().unwrap_or_default();
                let told = u64::try_from(run.observations.len()).unwrap();
                let is_one = run.attempt == 1 && run.exchange_count == 1;
                assert!(!is_one || asked <= told, "{id} asked {asked} times and tells {told}");
            }
            pb::RunState::Failed | pb::RunState::Cancelled | pb::RunState::Interrupted => {
                assert!(run.error.is_some(), "{run:?} does not say why");
            }
            pb::RunState::PendingTools => assert!(book.left.contains(id), "{run:?} waits for nobody"),
            state => panic!("{state:?}: {run:?}"),
        }
    }
    all
}

/// No thread is held by a run that is over.
async fn threads(program: &Program, runs: &BTreeMap<String, pb::Run>) {
    let mut held = Vec::new();
    let mut next = Some(pb::ThreadServiceListRequest { page_size: 500, ..Default::default() });
    while let Some(request) = next.take() {
        let page = program.threads().list(request.clone()).await.unwrap().into_inner();
        held.extend(page.threads.into_iter().filter(|thread| !thread.active_run_id.is_empty()));
        if !page.next_page_token.is_empty() {
            next = Some(pb::ThreadServiceListRequest { page_token: page.next_page_token, ..request });
        }
    }
    let is_dead = |thread: &&pb::Thread| {
        let run = runs.get(&thread.active_run_id).unwrap_or_else(|| panic!("{thread:?} is held by nothing"));
        run.state() != pb::RunState::PendingTools
    };
    for thread in held.iter().filter(is_dead).take(TRIED) {
        let text = format!("#after-{}# ", thread.thread_id);
        let went_on = if thread.head_exchange_id.is_empty() {
            let capture = pb::CaptureRequest {
                thread: Some(pb::capture_request::Thread::ExistingThread(ask::on(&thread.thread_id))),
                ..ask::capture(ask::text(&text))
            };
            program.exchanges().capture(capture).await.err()
        } else {
            let point =
                pb::ThreadPoint { unanswered_tools: pb::UnansweredTools::Abandon.into(), ..ask::on(&thread.thread_id) };
            program.exchanges().r#continue(ask::on_thread(point, ask::text(&text))).await.err()
        };
        assert!(went_on.is_none(), "{thread:?} does not go on: {went_on:?}");
    }
}

async fn verified(program: &Program) {
    use pb::verify_response::Event;
    let mut told = program.admin().verify(pb::VerifyRequest::default()).await.unwrap().into_inner();
    loop {
        match within("the verification to go on", told.message()).await.unwrap().unwrap().event.unwrap() {
            Event::Progress(_) => {}
            Event::Finding(finding) => panic!("{finding:?}"),
            Event::Completed(summary) => return assert_eq!(summary.finding_count, 0),
        }
    }
}
