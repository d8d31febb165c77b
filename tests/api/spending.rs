//! What a key may have at work and may spend in a day, and what a coordination may spend: each limit to its edge and beyond it, before
//! anything is claimed or sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use antiphon::app::access::Limits;
use antiphon::domain::fault::Reason;
use antiphon::domain::id::Moment;
use antiphon::domain::source::Clock;
use antiphon::grpc::pb;
use antiphon::grpc::pb::coordination_service_client::CoordinationServiceClient;
use antiphon::grpc::pb::exchange_service_client::ExchangeServiceClient;
use antiphon::ops::source::RandomIds;
use prost::Message as _;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::access::{Keys, call, config};
use crate::support::coordinate::{Loop, attach_after, start, start_with, stop, turn_of};
use crate::support::provider::{Gate, Provider};
use crate::support::server::{Running, Sources, openai};
use crate::support::{ask, raw, refused, stub, within};

/// A second before midnight of some day.
const EVENING: u64 = 20_000 * 86_400_000 - 1_000;

/// A clock that a test sets, and that goes on from there.
struct Set(AtomicU64);

impl Clock for Set {
    fn now(&self) -> Moment {
        Moment(self.0.fetch_add(1, Ordering::AcqRel))
    }
}

/// Prices of the profile of [`openai`].
const PRICES: &str =
    "[profiles.stub.prices]\ncurrency = \"USD\"\ninput_per_million = \"1000000\"\noutput_per_million = \"0\"\n";

/// A server with a stub provider that asks for keys.
fn asking(provider: &Provider, more: &str) -> String {
    format!("{}\n{more}\n[access]\nkeys_file = \"keys.toml\"\n", openai(&provider.base_url()))
}

async fn capture(server: &Running, key: &str, run_id: &str) -> Result<pb::CaptureResponse, Status> {
    let request = ask::capture(ask::text_as(run_id, "hi"));
    let answer = call(server, "ExchangeService/Capture", &request, &[("authorization", key)]).await?;
    Ok(pb::CaptureResponse::decode(answer.as_slice()).unwrap())
}

/// What the holder of a key sees of limits: name, used, value, unit.
async fn limits(server: &Running, key: &str) -> Vec<(String, u64, u64, String)> {
    let answer = call(server, "AdminService/Stats", &pb::StatsRequest {}, &[("authorization", key)]).await.unwrap();
    let limits = pb::StatsResponse::decode(answer.as_slice()).unwrap().limits;
    limits.into_iter().map(|limit| (limit.name, limit.used, limit.value, limit.unit)).collect()
}

fn used(name: &str, used: u64, value: u64, unit: &str) -> (String, u64, u64, String) {
    (name.to_owned(), used, value, unit.to_owned())
}

fn is_spent(status: &Status, limit: &str) {
    refused::is(status, Code::ResourceExhausted, Reason::SpendLimit);
    assert_eq!(refused::fact(status, "limit"), limit);
    assert!(status.get_details_retry_info().is_none(), "nobody waits for hours by themselves: {status:?}");
}

/// The call that reaches the limit is the last; the next is refused with no claim and no request; a restart does not forget, midnight does.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_a_day_end_at_the_limit_until_midnight() {
    let provider = Provider::start((0..9).map(|_| stub::metered("ok", 30, 20))).await;
    let mut keys = Keys::default();
    let all = ["read", "write", "admin"];
    let limited = keys.limited("a", &all, Limits { tokens_per_day: Some(100), ..Limits::default() });
    let (other, operator) = (keys.make("a", &all), keys.make("*", &all));
    let clock = Arc::new(Set(AtomicU64::new(EVENING - 3_600_000)));
    let sources = Sources { clock: Arc::clone(&clock) as Arc<dyn Clock>, ids: Arc::new(RandomIds) };
    let server = Running::start_beside_with(asking(&provider, ""), sources, |folder| keys.write(folder)).await;
    let first = capture(&server, &limited, "one").await.unwrap();
    assert_eq!(limits(&server, &limited).await, [used("tokens_per_day", 50, 100, "tokens")]);
    capture(&server, &limited, "two").await.unwrap();
    let over = capture(&server, &limited, "three").await.unwrap_err();
    is_spent(&over, "tokens_per_day");
    assert_eq!((refused::fact(&over, "spent"), refused::fact(&over, "max")), ("100".to_owned(), "100".to_owned()));
    assert_eq!(refused::fact(&over, "resets_at_ms"), (EVENING + 1_000).to_string());
    assert!(over.message().contains("midnight UTC"), "{over:?}");
    assert_eq!(provider.count(), 2, "nothing was sent");
    let run = pb::RunServiceGetRequest { run_id: "three".to_owned() };
    let status = call(&server, "RunService/Get", &run, &[("authorization", &limited)]).await.unwrap_err();
    refused::is(&status, Code::NotFound, Reason::RunNotFound);
    // What is on record is given again, and others spend their own.
    assert!(capture(&server, &limited, "two").await.unwrap().replayed);
    capture(&server, &other, "four").await.unwrap();
    let probe = ask::probe(&first.exchange.unwrap().exchange_id, ask::text("?"));
    let status = call(&server, "ExchangeService/Probe", &probe, &[("authorization", &limited)]).await.unwrap_err();
    is_spent(&status, "tokens_per_day");

    let server = server.restart().await;
    is_spent(&capture(&server, &limited, "three").await.unwrap_err(), "tokens_per_day");
    let seen = limits(&server, &operator).await;
    assert_eq!(seen[0].0, "max_runs", "those of the server come first");
    assert_eq!(seen.last(), Some(&used("tokens_per_day", 100, 100, "tokens")));
    let headers = [("authorization", operator.as_str())];
    let answer = call(&server, "AdminService/Stats", &pb::StatsRequest {}, &headers).await.unwrap();
    let whose = pb::StatsResponse::decode(answer.as_slice()).unwrap().limits.into_iter().map(|limit| limit.namespace);
    assert_eq!(
        whose.filter(|whose| !whose.is_empty()).collect::<Vec<_>>(),
        ["a"],
        "keys and subjects of two namespaces can have one name"
    );

    clock.0.store(EVENING + 1_000, Ordering::Release);
    capture(&server, &limited, "three").await.unwrap();
    // A clock that is put back brings no new day.
    clock.0.store(EVENING, Ordering::Release);
    capture(&server, &limited, "five").await.unwrap();
    is_spent(&capture(&server, &limited, "six").await.unwrap_err(), "tokens_per_day");
    let headers = [("authorization", limited.as_str())];
    let told = raw::call(server.fresh_channel(), "AdminService/Verify", vec![Vec::new()], &headers).await.unwrap();
    let last = pb::VerifyResponse::decode(told.last().unwrap().as_slice()).unwrap().event.unwrap();
    let pb::verify_response::Event::Completed(done) = last else { panic!("{last:?}") };
    assert_eq!(done.finding_count, 0);
    assert!(done.checked.iter().any(|checked| checked.kind == "spending of a day" && checked.count == 1), "{done:?}");
}

/// Costs are by the prices of profiles; a model that has none is refused, since what it costs cannot be told.
#[tokio::test(flavor = "multi_thread")]
async fn costs_of_a_day_end_at_the_limit_and_need_prices() {
    let provider = Provider::start((0..9).map(|_| stub::metered("ok", 3, 5))).await;
    let mut keys = Keys::default();
    let cost_per_day = Some("4.5 USD".parse().unwrap());
    let all = ["read", "write", "admin"];
    let limited = keys.limited("a", &all, Limits { cost_per_day, ..Limits::default() });
    let server = Running::start_beside(asking(&provider, PRICES), |folder| keys.write(folder)).await;
    capture(&server, &limited, "one").await.unwrap();
    let unit = "millionths of USD";
    assert_eq!(limits(&server, &limited).await, [used("cost_per_day", 3_000_000, 4_500_000, unit)]);
    capture(&server, &limited, "two").await.unwrap();
    let over = capture(&server, &limited, "three").await.unwrap_err();
    is_spent(&over, "cost_per_day");
    let facts = ["spent", "max", "currency"].map(|key| refused::fact(&over, key));
    assert_eq!(facts, ["6", "4.5", "USD"]);

    let unpriced = PRICES.replace("USD", "EUR");
    let server = server.restart_with(asking(&provider, &unpriced)).await;
    let refused = capture(&server, &limited, "four").await.unwrap_err();
    is_spent(&refused, "cost_per_day");
    assert!(refused.message().contains("give its profile `prices`"), "{refused:?}");
    assert_eq!(provider.count(), 2);
}

/// Runs that nobody waits for any more count as well, and what was at work is free for the next when it has ended.
#[tokio::test(flavor = "multi_thread")]
async fn runs_of_a_key_are_counted() {
    let gate = Gate::closed();
    let held = stub::text("late").wait(&gate);
    let provider = Provider::start(vec![held.clone(), held, stub::text("next"), stub::text("probed")]).await;
    let mut keys = Keys::default();
    let all = ["read", "write", "admin"];
    let limited = keys.limited("a", &all, Limits { runs_at_once: Some(2), ..Limits::default() });
    let server = Running::start_beside(asking(&provider, ""), |folder| keys.write(folder)).await;
    let (first, second, third) =
        tokio::join!(capture(&server, &limited, "one"), capture(&server, &limited, "two"), async {
            provider.request(1).await;
            assert_eq!(limits(&server, &limited).await, [used("runs_at_once", 2, 2, "count")]);
            let over = capture(&server, &limited, "three").await.unwrap_err();
            refused::is(&over, Code::ResourceExhausted, Reason::LimitExceeded);
            let facts = ["limit", "max", "value"].map(|key| refused::fact(&over, key));
            assert_eq!(facts, ["runs_at_once", "2", "3"]);
            assert!(over.get_details_retry_info().is_some());
            // Who joins a run that is at work takes no place.
            let joins = capture(&server, &limited, "one");
            gate.open();
            joins.await
        });
    first.unwrap();
    second.unwrap();
    third.unwrap();
    capture(&server, &limited, "three").await.unwrap();
    assert_eq!(limits(&server, &limited).await, [used("runs_at_once", 0, 2, "count")]);
}

/// A turn beyond what a coordination may spend is refused and the decision stays: the caller may stop, and has what was made.
#[tokio::test(flavor = "multi_thread")]
async fn a_coordination_ends_its_turns_at_what_it_may_spend() {
    let provider = Provider::start((0..9).map(|_| stub::metered("ok", 30, 20))).await;
    let server = Running::start(format!("{}\n{PRICES}", openai(&provider.base_url()))).await;
    let limit = |tokens, amount: Option<&str>| {
        let cost = amount.map(|amount| pb::CostAmount { currency: "USD".to_owned(), amount: amount.to_owned() });
        Some(pb::SpendLimit { tokens, cost })
    };
    let started = pb::CoordinationStart {
        coordination_id: "c".to_owned(),
        spend_limit: limit(Some(100), None),
        ..start_with(ask::text("begin"), 10)
    };
    let mut stream = Loop::start(&server, started).await;
    stream.decision().await;
    stream.act(turn_of("again")).await;
    stream.decision().await;
    stream.act(turn_of("once more")).await;
    let rejected = stream.rejected().await.error.unwrap();
    assert_eq!(rejected.reason, "SPEND_LIMIT");
    assert_eq!(
        (rejected.metadata["limit"].as_str(), rejected.metadata["spent"].as_str()),
        ("spend_limit.tokens", "100")
    );
    assert_eq!(provider.count(), 2);
    drop(stream);

    let server = server.restart().await;
    let get = pb::CoordinationServiceGetRequest { coordination_id: "c".to_owned() };
    let mut coordinations = CoordinationServiceClient::new(server.fresh_channel());
    let kept = coordinations.get(get).await.unwrap().into_inner().coordination.unwrap();
    let spent = kept.spent.unwrap();
    assert_eq!((spent.tokens, spent.costs[0].amount.as_str(), spent.costs[0].currency.as_str()), (100, "60", "USD"));
    assert_eq!((kept.spend_limit, kept.turns_started), (limit(Some(100), None), 1));
    let mut stream = Loop::open(&server, attach_after("c", kept.last_sequence)).await;
    stream.decision().await;
    stream.act(turn_of("and now?")).await;
    assert_eq!(stream.rejected().await.error.unwrap().reason, "SPEND_LIMIT");
    stream.act(stop()).await;
    stream.ended().await;

    // In costs as well, and where nothing is kept.
    let exchange =
        server.exchanges().capture(ask::capture(ask::text("hi"))).await.unwrap().into_inner().exchange.unwrap();
    let fleeting = pb::CoordinationStart {
        ephemeral: true,
        spend_limit: limit(None, Some("30")),
        ..start(&exchange.exchange_id, 10)
    };
    let mut stream = Loop::start(&server, fleeting).await;
    stream.decision().await;
    stream.act(turn_of("one")).await;
    stream.decision().await;
    stream.act(turn_of("two")).await;
    assert_eq!(stream.rejected().await.error.unwrap().metadata["limit"], "spend_limit.cost");
    // What it costs must be known from the first request on.
    let unpriced = pb::ExecutionRequest { model: "unheard-of".to_owned(), ..ask::text("begin") };
    let unpriced = pb::CoordinationStart { spend_limit: limit(None, Some("30")), ..start_with(unpriced, 10) };
    let status = Loop::start(&server, unpriced).await.refused().await;
    is_spent(&status, "spend_limit.cost");
    let wrong = pb::CoordinationStart { spend_limit: limit(Some(0), Some("-1")), ..start(&exchange.exchange_id, 10) };
    let status = Loop::start(&server, wrong).await.refused().await;
    let fields = ["start.spend_limit.tokens", "start.spend_limit.cost.amount"];
    assert_eq!(refused::fields(&status), fields);
}

/// Streams and coordinations have limits of their own.
#[tokio::test(flavor = "multi_thread")]
async fn streams_of_a_key_are_counted() {
    let mut keys = Keys::default();
    let all = ["read", "write", "admin"];
    let limited = keys.limited(
        "a",
        &all,
        Limits { streams_at_once: Some(2), coordinations_at_once: Some(1), ..Limits::default() },
    );
    let server = Running::start_beside(config(""), |folder| keys.write(folder)).await;
    let exchange = capture(&server, &limited, "one").await.unwrap().exchange.unwrap();
    let begin = || pb::coordinate_request::Frame::Start(start(&exchange.exchange_id, 1));
    let header = [("authorization", limited.as_str())];
    let mut first = Loop::on_with(server.fresh_channel(), &header, begin()).await;
    first.decision().await;
    let more = pb::CoordinateRequest { frame: Some(begin()) };
    let over = call(&server, "ExchangeService/Coordinate", &more, &header).await.unwrap_err();
    let facts = ["limit", "max", "value"].map(|key| refused::fact(&over, key));
    assert_eq!(facts, ["coordinations_at_once", "1", "2"]);
    let seen = limits(&server, &limited).await;
    assert_eq!(seen, [used("streams_at_once", 1, 2, "count"), used("coordinations_at_once", 1, 1, "count")]);
    first.act(stop()).await;
    first.ended().await;
    drop(first);
    let freed = async {
        while limits(&server, &limited).await[1].1 > 0 {
            tokio::task::yield_now().await;
        }
    };
    within("the place of the stream", freed).await;
}

/// The call that asks counts as well, until its place comes back; a key of which no call came yet is shown with none.
#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_second_are_shown() {
    let mut keys = Keys::default();
    let one = Limits { calls_per_second: Some(1), ..Limits::default() };
    let limited = keys.limited("a", &["admin"], one.clone());
    let (_silent, operator) = (keys.limited("b", &["admin"], one), keys.make("*", &["admin"]));
    let server = Running::start_beside(config(""), |folder| keys.write(folder)).await;
    // A second may pass before the answer on a slow machine, and the call after it may come too soon.
    let counted = async {
        loop {
            let header = [("authorization", limited.as_str())];
            let Ok(answer) = call(&server, "AdminService/Stats", &pb::StatsRequest {}, &header).await else { continue };
            let limits = pb::StatsResponse::decode(answer.as_slice()).unwrap().limits;
            let [shown] = limits.as_slice() else { panic!("{limits:?}") };
            assert_eq!((shown.name.as_str(), shown.value, shown.unit.as_str()), ("calls_per_second", 1, "count"));
            if shown.used == 1 {
                break;
            }
            assert_eq!(shown.used, 0);
        }
    };
    within("the call to be counted", counted).await;
    let freed = async {
        loop {
            let seen = limits(&server, &operator).await;
            let of_keys: Vec<_> = seen.into_iter().filter(|(name, ..)| name == "calls_per_second").collect();
            assert_eq!(of_keys.len(), 2, "{of_keys:?}");
            if of_keys.iter().all(|(_, used, ..)| *used == 0) {
                break;
            }
        }
    };
    within("the place to come back", freed).await;
}

/// Who takes an answer and hangs up before its end has spent what was sent and what came of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cut_counts_as_what_it_sent_and_said() {
    let said = "thirty bytes of an answer, not";
    let provider = Provider::start((0..2).map(|_| stub::begun(said).wait(&Gate::closed()))).await;
    let mut keys = Keys::default();
    let all = ["read", "write", "admin"];
    let limited = keys.limited("a", &all, Limits { tokens_per_day: Some(10), ..Limits::default() });
    let server = Running::start_beside(asking(&provider, ""), |folder| keys.write(folder)).await;
    let asked = pb::StreamCaptureRequest { capture: Some(ask::capture(ask::text("hi"))) };
    let mut request = tonic::Request::new(asked);
    request.metadata_mut().insert("authorization", limited.parse().unwrap());
    let mut client = ExchangeServiceClient::new(server.fresh_channel());
    let mut stream = client.stream_capture(request).await.unwrap().into_inner();
    let heard = async { while !format!("{:?}", stream.message().await.unwrap().unwrap()).contains(said) {} };
    within("the answer's beginning", heard).await;
    drop((stream, client));
    let counted = async {
        while limits(&server, &limited).await[0].1 == 0 {
            tokio::task::yield_now().await;
        }
    };
    within("what the call spent", counted).await;
    // Four for the message and one for its text, and ten for thirty bytes.
    assert_eq!(limits(&server, &limited).await, [used("tokens_per_day", 15, 10, "tokens")]);
    is_spent(&capture(&server, &limited, "next").await.unwrap_err(), "tokens_per_day");
}

/// A limit that is given to a key while the server serves meets what the key has spent.
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_given_later_meets_what_was_spent() {
    let provider = Provider::start((0..9).map(|_| stub::metered("ok", 30, 20))).await;
    let mut keys = Keys::default();
    let key = keys.make("a", &["read", "write", "admin"]);
    let server = Running::start_beside(asking(&provider, ""), |folder| keys.write(folder)).await;
    capture(&server, &key, "one").await.unwrap();
    capture(&server, &key, "two").await.unwrap();
    keys.limit_last(Limits { tokens_per_day: Some(100), ..Limits::default() });
    keys.write(&server.folder());
    // A call that is at work when its key changes ends with it.
    let header = [("authorization", key.as_str())];
    let known = async {
        loop {
            let answer = call(&server, "AdminService/Stats", &pb::StatsRequest {}, &header).await;
            if answer.is_ok_and(|answer| !pb::StatsResponse::decode(answer.as_slice()).unwrap().limits.is_empty()) {
                break;
            }
        }
    };
    within("the limit to be known", known).await;
    assert_eq!(limits(&server, &key).await, [used("tokens_per_day", 100, 100, "tokens")]);
    is_spent(&capture(&server, &key, "three").await.unwrap_err(), "tokens_per_day");
}
