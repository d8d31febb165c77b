//! Clients that fork, probe, record, write documents and look around, some of them slowly. They must not know how the server fares.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use antiphon::grpc::pb;
use pb::admin_service_client::AdminServiceClient;
use pb::coordination_service_client::CoordinationServiceClient;
use pb::exchange_service_client::ExchangeServiceClient;
use pb::run_service_client::RunServiceClient;
use pb::thread_service_client::ThreadServiceClient;
use pb::workspace_service_client::WorkspaceServiceClient;

use super::settle::{pause, reason, settled};
use super::stub::{answer, question};
use super::turns::is_failure;
use super::world::World;
use crate::harness::Dice;
use crate::support::{ask, documents};

/// Branches from exchanges of anybody.
pub(super) async fn fork(world: Arc<World>, mut dice: Dice, name: String) {
    for number in 0.. {
        pause(&mut dice).await;
        if world.is_over() {
            return;
        }
        let Some((from, kept)) = world.pick(&mut dice) else { continue };
        // The calls of an exchange that says nothing but them would have to be answered first.
        if kept.text.is_empty() {
            continue;
        }
        let marks: Vec<String> = (0..=dice.roll(2)).map(|branch| format!("{name}-{number}-{branch}")).collect();
        let texts: Vec<String> = marks.iter().map(|mark| question(mark, &mut dice)).collect();
        let branch = |(mark, text): (&String, &String)| ask::branch(mark, Some(ask::text_as(mark, text)));
        let branches = marks.iter().zip(&texts).map(branch).collect();
        let request = pb::ForkRequest { request_id: format!("{name}-{number}"), ..ask::fork(&from, branches) };
        let forked = settled(&world, &mut dice, "a fork", |server, _| {
            let request = request.clone();
            async move { Ok(ExchangeServiceClient::new(server).fork(request).await?.into_inner()) }
        });
        let forked = match forked.await {
            Ok(forked) => forked,
            // No branch has an answer.
            Err(status) => {
                is_failure("a fork", &status);
                continue;
            }
        };
        assert_eq!(forked.results.len(), marks.len());
        for ((mark, text), result) in marks.iter().zip(&texts).zip(forked.results) {
            match result.exchange {
                Some(exchange) => {
                    assert_eq!(exchange.parent_exchange_id, from);
                    world.note(mark, mark, &answer(text), &exchange);
                    world.head(mark, &exchange);
                }
                None => assert!(result.error.is_some(), "{mark} has neither an exchange nor an error"),
            }
        }
    }
}

/// Questions on the side.
pub(super) async fn probe(world: Arc<World>, mut dice: Dice, name: String) {
    for number in 0.. {
        pause(&mut dice).await;
        if world.is_over() {
            return;
        }
        let Some((from, kept)) = world.pick(&mut dice) else { continue };
        if kept.text.is_empty() {
            continue;
        }
        let mark = format!("{name}-{number}");
        let text = question(&mark, &mut dice);
        // It leaves nothing behind, so that it is another one each time.
        let probed = settled(&world, &mut dice, &mark, |server, _| {
            let request = ask::probe(&from, ask::text(&text));
            async move { Ok(ExchangeServiceClient::new(server).probe(request).await?.into_inner()) }
        });
        match probed.await {
            Ok(probed) => assert_eq!(probed.text, answer(&text)),
            Err(status) => is_failure(&mark, &status),
        }
    }
}

/// What was said elsewhere, put on record.
pub(super) async fn record(world: Arc<World>, mut dice: Dice, name: String) {
    for number in 0.. {
        pause(&mut dice).await;
        if world.is_over() {
            return;
        }
        let thread = format!("{name}-{number}");
        let text = question(&thread, &mut dice);
        let messages = vec![ask::user(&text), ask::assistant("noted"), ask::user("more"), ask::assistant(&text)];
        let new = pb::NewThread { thread_id: thread.clone(), ..Default::default() };
        let request = pb::RecordRequest {
            request_id: thread.clone(),
            thread: Some(pb::record_request::Thread::NewThread(new)),
            ..ask::record(messages)
        };
        let recorded = settled(&world, &mut dice, "a record", |server, _| {
            let request = request.clone();
            async move { Ok(ExchangeServiceClient::new(server).record(request).await?.into_inner()) }
        });
        let recorded = recorded.await.unwrap_or_else(|status| panic!("a record: {status:?}"));
        let [first, last] = &recorded.exchanges[..] else { panic!("two exchanges: {recorded:?}") };
        let told = |one: &pb::RecordedExchange, parent: &str, text: &str| pb::Exchange {
            exchange_id: one.exchange_id.clone(),
            run_id: one.run_id.clone(),
            parent_exchange_id: parent.to_owned(),
            text: text.to_owned(),
            ..Default::default()
        };
        let (before, after) = (told(first, "", "noted"), told(last, &first.exchange_id, &text));
        world.note(&format!("{thread}-before"), &thread, "noted", &before);
        world.note(&thread, &thread, &text, &after);
        world.head(&thread, &after);
    }
}

/// Documents of a thread of its own.
pub(super) async fn write(world: Arc<World>, mut dice: Dice, thread: String) {
    let create = pb::ThreadServiceCreateRequest {
        thread: Some(pb::NewThread { thread_id: thread.clone(), ..Default::default() }),
        request_id: thread.clone(),
        ..Default::default()
    };
    let created = settled(&world, &mut dice, "a thread", |server, _| {
        let create = create.clone();
        async move { ThreadServiceClient::new(server).create(create).await }
    });
    created.await.unwrap_or_else(|status| panic!("a thread: {status:?}"));
    let mut live: BTreeMap<String, String> = BTreeMap::new();
    for number in 0.. {
        pause(&mut dice).await;
        if world.is_over() {
            return;
        }
        let name = format!("notes/{}.txt", dice.roll(12));
        let edit = if live.contains_key(&name) && dice.once_in(4) {
            live.remove(&name);
            documents::remove(&name)
        } else {
            let length = if dice.once_in(8) { 1 + dice.roll(40_000) } else { 1 + dice.roll(40) };
            let text = format!("{number} ").repeat(usize::try_from(length).unwrap());
            live.insert(name.clone(), text.clone());
            documents::put(&name, text)
        };
        let request = pb::WriteDocumentsRequest {
            request_id: format!("{thread}-{number}"),
            ..documents::write(&thread, vec![edit])
        };
        let written = settled(&world, &mut dice, "a document", |server, _| {
            let request = request.clone();
            async move { WorkspaceServiceClient::new(server).write_documents(request).await }
        });
        written.await.unwrap_or_else(|status| panic!("a document: {status:?}"));
        world.book().documents.insert(thread.clone(), live.clone());
        world.tell();
    }
}

/// Looks at this and that. What was acknowledged is there at any time.
pub(super) async fn look(world: Arc<World>, mut dice: Dice) {
    loop {
        pause(&mut dice).await;
        if world.is_over() {
            return;
        }
        let what = dice.roll(6);
        let picked = world.pick(&mut dice);
        let slowness = Duration::from_millis(dice.roll(20));
        let looked = settled(&world, &mut dice, "a look", |server, _| {
            let picked = picked.clone();
            async move {
                match (what, picked) {
                    (0, _) => {
                        drop(ThreadServiceClient::new(server).list(pb::ThreadServiceListRequest::default()).await?)
                    }
                    (1, _) => drop(RunServiceClient::new(server).list(pb::RunServiceListRequest::default()).await?),
                    (2, _) => {
                        let request = pb::CoordinationServiceListRequest::default();
                        CoordinationServiceClient::new(server).list(request).await?;
                    }
                    (3, _) => drop(AdminServiceClient::new(server).stats(pb::StatsRequest {}).await?),
                    (4, Some((id, _))) => {
                        // A reader that takes its time.
                        let request = pb::StreamInspectRequest { exchange_id: id, ..Default::default() };
                        let mut pages = ExchangeServiceClient::new(server).stream_inspect(request).await?.into_inner();
                        while pages.message().await?.is_some() {
                            tokio::time::sleep(slowness).await;
                        }
                    }
                    (_, Some((id, kept))) => {
                        let request =
                            pb::InspectRequest { history: pb::HistoryScope::None.into(), ..ask::inspect(&id) };
                        let page = ExchangeServiceClient::new(server).inspect(request).await?.into_inner();
                        let exchange = page.exchange.unwrap();
                        assert_eq!((&exchange.text, &exchange.run_id), (&kept.text, &kept.run), "{id}");
                    }
                    (_, None) => {}
                }
                Ok(())
            }
        });
        looked.await.unwrap_or_else(|status| panic!("look {what}: {} {status:?}", reason(&status)));
    }
}
