//! kill -9 of the real program: ids and what they name survive it together, or neither is there.

use std::time::Duration;

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;

use crate::support::program::Program;
use crate::support::provider::Provider;
use crate::support::server::openai;
use crate::support::{ask, refused, stub};

/// How many crashes. Each starts the program again, so not many; `tests/faults` has more, under load.
const CRASHES: usize = 12;

async fn run(program: &Program, run_id: &str) -> Option<pb::Run> {
    match program.runs().get(pb::RunServiceGetRequest { run_id: run_id.into() }).await {
        Ok(found) => found.into_inner().run,
        Err(status) => {
            refused::is(&status, tonic::Code::NotFound, Reason::RunNotFound);
            None
        }
    }
}

async fn thread(program: &Program) -> pb::Thread {
    let get = pb::ThreadServiceGetRequest { thread_id: "t".into() };
    program.threads().get(get).await.unwrap().into_inner().thread.unwrap()
}

/// Walks every record and everything that it names.
async fn nothing_dangles(program: &Program) {
    let mut stream = program.admin().verify(pb::VerifyRequest::default()).await.unwrap().into_inner();
    while let Some(message) = stream.message().await.unwrap() {
        if let Some(pb::verify_response::Event::Finding(finding)) = message.event {
            panic!("{finding:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b099_a_run_id_survives_kill_9_right_after_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let provider = Provider::start((0..CRASHES).map(|number| stub::text(&format!("a{number}")))).await;
    let config = openai(&provider.base_url());
    let mut program = Program::start(folder.path(), &config).await;
    for number in 0..CRASHES {
        let request = || ask::capture_on_new(&format!("t{number}"), ask::text_as(&format!("r{number}"), "x"));
        let first = program.exchanges().capture(request()).await.unwrap().into_inner();
        program.kill();
        program = Program::start(folder.path(), &config).await;
        let again = program.exchanges().capture(request()).await.unwrap().into_inner();
        assert_eq!((again.replayed, &again.exchange, &again.thread), (true, &first.exchange, &first.thread));
        assert_eq!(provider.count(), number + 1);
    }
}

/// Killed at some moment around the commit: the run is there with all that it brought, or it was interrupted and brought nothing.
#[tokio::test(flavor = "multi_thread")]
async fn b103_a_crash_between_answer_and_commit_leaves_all_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let provider = Provider::start([stub::text("first")]).await;
    let config = openai(&provider.base_url());
    let mut program = Program::start(folder.path(), &config).await;
    let captured = program.exchanges().capture(ask::capture_on_new("t", ask::text("0"))).await.unwrap().into_inner();
    let mut head = captured.exchange.unwrap().exchange_id;
    let (mut turns, mut lost) = (1, 0);
    for number in 1..=CRASHES {
        provider.script(stub::text(&format!("a{number}")));
        let run_id = format!("r{number}");
        let turn = || ask::on_thread(ask::on("t"), ask::text_as(&run_id, &number.to_string()));
        let (mut client, call) = (program.exchanges(), turn());
        let asked = provider.count();
        let told = tokio::spawn(async move { client.r#continue(call).await });
        provider.outcome(asked).await;
        // The kill comes at every moment from at once to well after the commit; no event marks the ones between, and none is waited for.
        tokio::time::sleep(Duration::from_millis(u64::try_from(number * number).unwrap() / 3)).await;
        program.kill();
        let told = told.await.unwrap().ok().map(|done| done.into_inner().exchange.unwrap().exchange_id);
        program = Program::start(folder.path(), &config).await;
        nothing_dangles(&program).await;
        let (found, now) =
            (run(&program, &run_id).await.expect("it was claimed before the call"), thread(&program).await);
        match found.state() {
            pb::RunState::Completed => {
                assert!(told.is_none_or(|told| told == found.exchange_id));
                assert_eq!((&now.head_exchange_id, now.turn_count), (&found.exchange_id, turns + 1));
                let whole =
                    program.exchanges().inspect(ask::inspect(&now.head_exchange_id)).await.unwrap().into_inner();
                let exchange = whole.exchange.unwrap();
                assert_eq!((exchange.text, exchange.parent_exchange_id), (format!("a{number}"), head));
                (head, turns) = (now.head_exchange_id, turns + 1);
            }
            pb::RunState::Interrupted => {
                assert_eq!((told, found.exchange_id.as_str()), (None, ""), "what was told is there");
                assert_eq!((&now.head_exchange_id, now.turn_count), (&head, turns));
                let again = program.exchanges().r#continue(turn()).await.unwrap_err();
                refused::is(&again, tonic::Code::Aborted, Reason::RunInterrupted);
                lost += 1;
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(provider.count(), asked + 1, "nothing runs again unasked");
    }
    assert!(lost < CRASHES, "some were told");
    let history = program.exchanges().inspect(ask::inspect(&head)).await.unwrap().into_inner();
    assert_eq!(u64::try_from(history.messages.len()).unwrap(), turns * 2);
}
