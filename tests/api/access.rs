//! Who may call: keys and tokens, what they open, and what everybody else is told.

use std::path::Path;
use std::time::Duration;

use antiphon::app::access::{Limits, Opens, Scope};
use antiphon::domain::fault::Reason;
use antiphon::domain::id::Moment;
use antiphon::grpc::pb;
use antiphon::ops::access::keys::{self, KeyFile, Wanted};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use prost::Message as _;
use serde_json::{Value, json};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::support::coordinate::{Loop, start, stop, turn_of};
use crate::support::server::{Running, scripted};
use crate::support::{ask, raw, refused, within};

/// A configuration that asks for keys, with more under `[access]`.
pub(crate) fn config(more: &str) -> String {
    format!("{}\n[access]\nkeys_file = \"keys.toml\"\n{more}", scripted(""))
}

/// Keys that a test makes, as the file of a server.
#[derive(Default)]
pub(crate) struct Keys {
    file: KeyFile,
    count: u8,
}

impl Keys {
    /// Makes a key for a namespace, or all as `*`, and gives the header with it.
    pub(crate) fn make(&mut self, namespace: &str, scopes: &[&str]) -> String {
        self.expiring(namespace, scopes, None)
    }

    /// Makes a key with limits.
    pub(crate) fn limited(&mut self, namespace: &str, scopes: &[&str], limits: Limits) -> String {
        let key = self.make(namespace, scopes);
        self.limit_last(limits);
        key
    }

    /// Gives the last key other limits.
    pub(crate) fn limit_last(&mut self, limits: Limits) {
        self.file.keys.last_mut().unwrap().limits = limits;
    }

    /// Takes the first key back.
    pub(crate) fn drop_first(&mut self) {
        self.file.keys.remove(0);
    }

    fn expiring(&mut self, namespace: &str, scopes: &[&str], expires: Option<Moment>) -> String {
        let opens = match namespace {
            "*" => Opens::All,
            one => Opens::One(one.parse().unwrap()),
        };
        let scopes = scopes.iter().map(|word| word.parse::<Scope>().unwrap()).collect();
        let wanted = Wanted { name: format!("key {}", self.count), opens, scopes, expires, limits: Limits::default() };
        self.count += 1;
        let (key, kept) = keys::make(&wanted, [self.count; 32], [self.count; 4], Moment(1_000));
        self.file.keys.push(kept);
        format!("Bearer {}", keys::shown(&key))
    }

    /// Writes the file beside a configuration.
    pub(crate) fn write(&self, folder: &Path) {
        let file = self.file.clone();
        KeyFile::edit(&folder.join("keys.toml"), move |there| *there = file).unwrap();
    }
}

pub(crate) async fn call(
    server: &Running,
    rpc: &str,
    message: &impl prost::Message,
    headers: &[(&'static str, &str)],
) -> Result<Vec<u8>, Status> {
    let answers = raw::call(server.fresh_channel(), rpc, vec![message.encode_to_vec()], headers).await;
    answers.map(|mut all| all.pop().unwrap_or_default())
}

pub(crate) async fn namespace(server: &Running, headers: &[(&'static str, &str)]) -> Result<String, Status> {
    let answer = call(server, "AdminService/GetServerInfo", &pb::GetServerInfoRequest {}, headers).await?;
    Ok(pb::GetServerInfoResponse::decode(answer.as_slice()).unwrap().server_info.unwrap().namespace)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_opens_its_namespace_and_nothing_is_done_without_one() {
    let mut keys = Keys::default();
    let (a, all) = (keys.make("a", &["read", "write"]), keys.make("*", &["read"]));
    let server = Running::start_beside(config(""), |folder| keys.write(folder)).await;
    assert_eq!(namespace(&server, &[("authorization", &a)]).await.unwrap(), "a");
    assert_eq!(namespace(&server, &[("authorization", &all)]).await.unwrap(), "default");
    assert_eq!(namespace(&server, &[("authorization", &all), ("antiphon-namespace", "a")]).await.unwrap(), "a");
    let unknown = a.replace("antiphon_01", "antiphon_09");
    let wrong = format!("{}0", &a[..a.len() - 1]);
    let short = a[..a.len() - 10].to_owned();
    let mut told = Vec::new();
    for shown in [unknown.as_str(), &wrong, &short, "Bearer ", "Bearer x", "Bearer a.b.c"] {
        let status = namespace(&server, &[("authorization", shown)]).await.unwrap_err();
        refused::is(&status, Code::Unauthenticated, Reason::Unauthenticated);
        told.push(status.message().to_owned());
    }
    told.dedup();
    assert_eq!(told.len(), 1, "what of it was wrong is not told: {told:?}");
    for shown in ["Basic eDp5", "antiphon_x"] {
        let status = namespace(&server, &[("authorization", shown)]).await.unwrap_err();
        refused::is(&status, Code::Unauthenticated, Reason::Unauthenticated);
        assert!(status.message().contains("Bearer"), "{status:?}");
    }
    let without = server.exchanges().capture(ask::capture(ask::text("hi"))).await.unwrap_err();
    refused::is(&without, Code::Unauthenticated, Reason::Unauthenticated);
    assert!(without.message().contains("antiphon keys create"), "{without:?}");
    // Even what does not exist, and what says which services there are.
    let nothing = raw::call(server.fresh_channel(), "ThreadService/Nope", vec![], &[]).await.unwrap_err();
    refused::is(&nothing, Code::Unauthenticated, Reason::Unauthenticated);
    let elsewhere = namespace(&server, &[("authorization", &a), ("antiphon-namespace", "b")]).await.unwrap_err();
    refused::is(&elsewhere, Code::PermissionDenied, Reason::ScopeMissing);
    assert_eq!(refused::fact(&elsewhere, "namespace"), "a");
    let nonsense = namespace(&server, &[("authorization", &all), ("antiphon-namespace", "A B")]).await.unwrap_err();
    refused::is(&nonsense, Code::InvalidArgument, Reason::InvalidFields);
    // Who looks whether the server is there has no key.
    let health = HealthClient::new(server.fresh_channel()).check(HealthCheckRequest::default()).await.unwrap();
    assert_eq!(health.into_inner().status(), ServingStatus::Serving);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_allows_what_it_is_for() {
    let mut keys = Keys::default();
    let only = ["read", "write", "admin"].map(|scope| (scope, keys.make("a", &[scope])));
    let operator = keys.make("*", &["admin"]);
    let server = Running::start_beside(config(""), |folder| keys.write(folder)).await;
    let capture = ask::capture(ask::text("hi")).encode_to_vec();
    let calls = [
        ("read", "ThreadService/List", Vec::new()),
        ("write", "ExchangeService/Capture", capture),
        ("admin", "AdminService/Stats", Vec::new()),
    ];
    for (scope, rpc, message) in calls {
        for (has, key) in &only {
            let answer = raw::call(server.fresh_channel(), rpc, vec![message.clone()], &[("authorization", key)]).await;
            if *has == scope {
                answer.unwrap();
            } else {
                let status = answer.unwrap_err();
                refused::is(&status, Code::PermissionDenied, Reason::ScopeMissing);
                assert_eq!(refused::fact(&status, "scope"), scope);
            }
        }
    }
    // What is about the server as a whole.
    let reload = pb::ReloadRequest { dry_run: true };
    let status = call(&server, "AdminService/Reload", &reload, &[("authorization", &only[2].1)]).await.unwrap_err();
    refused::is(&status, Code::PermissionDenied, Reason::ScopeMissing);
    assert!(status.message().contains("--all-namespaces"), "{status:?}");
    call(&server, "AdminService/Reload", &reload, &[("authorization", &operator)]).await.unwrap();
}

/// Keys come, go and expire while the server serves: nobody restarts it.
#[tokio::test(flavor = "multi_thread")]
async fn keys_change_while_the_server_serves() {
    let mut keys = Keys::default();
    let (stays, goes) = (keys.make("a", &["read"]), keys.make("a", &["read"]));
    let expired = keys.expiring("a", &["read"], Some(Moment(2_000)));
    let server = Running::start_beside(config(""), |folder| keys.write(folder)).await;
    let expired = namespace(&server, &[("authorization", &expired)]).await.unwrap_err();
    refused::is(&expired, Code::Unauthenticated, Reason::Unauthenticated);
    assert!(namespace(&server, &[("authorization", &goes)]).await.is_ok());
    keys.file.keys.remove(1);
    let comes = keys.make("b", &["read"]);
    keys.write(&server.folder());
    let until = async |key: &str, taken: bool| {
        while namespace(&server, &[("authorization", key)]).await.is_ok() != taken {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    within("a key to be revoked", until(&goes, false)).await;
    within("a key to be taken", until(&comes, true)).await;
    assert_eq!(namespace(&server, &[("authorization", &stays)]).await.unwrap(), "a");
    // A file that makes no sense changes nothing.
    std::fs::write(server.folder().join("keys.toml"), "keys = 7").unwrap();
    let told = server_reload(&server, &comes).await;
    assert_eq!(told.code(), Code::PermissionDenied);
    assert_eq!(namespace(&server, &[("authorization", &comes)]).await.unwrap(), "b");
}

async fn server_reload(server: &Running, key: &str) -> Status {
    call(server, "AdminService/Reload", &pb::ReloadRequest::default(), &[("authorization", key)]).await.unwrap_err()
}

/// Signs a token with the shared secret that the test's server knows.
fn token(header: &Header, claims: &Value, secret: &str) -> String {
    let token = jsonwebtoken::encode(header, claims, &EncodingKey::from_secret(secret.as_bytes()).unwrap()).unwrap();
    format!("Bearer {token}")
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_others_sign_open_what_they_say() {
    const SECRET: &str = "a shared secret of more than 32 bytes";
    let jwt = "[access.jwt]\nissuer = \"https://idp.example\"\naudience = \"antiphon\"\n\
               [[access.jwt.keys]]\nid = \"one\"\nalgorithm = \"HS256\"\nfile = \"secret\"\n";
    let mut keys = Keys::default();
    let key = keys.make("a", &["read"]);
    let server = Running::start_beside(config(jwt), |folder| {
        keys.write(folder);
        std::fs::write(folder.join("secret"), SECRET).unwrap();
    })
    .await;
    let header = Header { kid: Some("one".to_owned()), ..Header::new(Algorithm::HS256) };
    let far = 4_000_000_000_u64;
    let good = json!({
        "iss": "https://idp.example", "aud": ["other", "antiphon"], "exp": far, "sub": "me",
        "antiphon_namespace": "team", "scope": "openid read",
    });
    let with = |name: &str, value: Value| {
        let mut claims = good.clone();
        claims[name] = value;
        claims
    };
    let listed = with("scope", json!(["read", "write"]));
    for claims in [&good, &listed] {
        let token = token(&header, claims, SECRET);
        assert_eq!(namespace(&server, &[("authorization", &token)]).await.unwrap(), "team");
    }
    let reader = token(&header, &good, SECRET);
    let capture = ask::capture(ask::text("hi"));
    let status = call(&server, "ExchangeService/Capture", &capture, &[("authorization", &reader)]).await.unwrap_err();
    refused::is(&status, Code::PermissionDenied, Reason::ScopeMissing);
    // A key is taken beside tokens.
    assert_eq!(namespace(&server, &[("authorization", &key)]).await.unwrap(), "a");
    let mut without_exp = good.clone();
    without_exp.as_object_mut().unwrap().remove("exp");
    let wrong = [
        ("another secret", token(&header, &good, "another secret of more than 32 bytes!")),
        (
            "another algorithm",
            token(&Header { kid: Some("one".into()), ..Header::new(Algorithm::HS384) }, &good, SECRET),
        ),
        ("another key", token(&Header { kid: Some("two".into()), ..Header::new(Algorithm::HS256) }, &good, SECRET)),
        ("another issuer", token(&header, &with("iss", json!("https://evil.example")), SECRET)),
        ("another audience", token(&header, &with("aud", json!("other")), SECRET)),
        ("the past", token(&header, &with("exp", json!(1_000_000_000)), SECRET)),
        ("the future", token(&header, &with("nbf", json!(far)), SECRET)),
        ("no end", token(&header, &without_exp, SECRET)),
        ("all namespaces", token(&header, &with("antiphon_namespace", json!("*")), SECRET)),
        ("no namespace", token(&header, &with("antiphon_namespace", Value::Null), SECRET)),
        ("no signature", {
            let signed = token(&header, &good, SECRET);
            let (unsigned, _) = signed.rsplit_once('.').unwrap();
            format!("{unsigned}.")
        }),
        // {"alg":"none"}
        ("no algorithm", format!("Bearer eyJhbGciOiJub25lIn0.{}.", reader.split('.').nth(1).unwrap())),
    ];
    for (what, token) in wrong {
        let status = namespace(&server, &[("authorization", &token)]).await.expect_err(what);
        refused::is(&status, Code::Unauthenticated, Reason::Unauthenticated);
    }
}

/// A key has its own limits, or those for all: nobody keeps others from being served.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_asks_too_much_is_told_when_to_come_again() {
    let mut keys = Keys::default();
    let greedy = keys.limited("a", &["read"], Limits { calls_per_second: Some(2), ..Limits::default() });
    let other = keys.make("a", &["read", "write"]);
    let server =
        Running::start_beside(config("[access.limits]\ncalls_at_once = 1\n"), |folder| keys.write(folder)).await;
    let mut refusals = Vec::new();
    for _ in 0..5 {
        refusals.extend(namespace(&server, &[("authorization", &greedy)]).await.err());
    }
    let status = refusals.last().unwrap();
    refused::is(status, Code::ResourceExhausted, Reason::LimitExceeded);
    assert_eq!(["limit", "max", "value"].map(|key| refused::fact(status, key)), ["calls_per_second", "2", "3"]);
    assert!(tonic_types::StatusExt::get_details_retry_info(status).is_some());
    // A stream is a call for as long as it is there, and what it holds comes free with it.
    let first = ask::capture_on_new("t", ask::text("hi"));
    let answer = call(&server, "ExchangeService/Capture", &first, &[("authorization", &other)]).await.unwrap();
    let exchange = pb::CaptureResponse::decode(answer.as_slice()).unwrap().exchange.unwrap();
    let begin = pb::coordinate_request::Frame::Start(start(&exchange.exchange_id, 1));
    let mut stream = Loop::on_with(server.fresh_channel(), &[("authorization", &other)], begin).await;
    stream.decision().await;
    let status = namespace(&server, &[("authorization", &other)]).await.unwrap_err();
    assert_eq!(["limit", "max", "value"].map(|key| refused::fact(&status, key)), ["calls_at_once", "1", "2"]);
    stream.act(stop()).await;
    stream.ended().await;
    drop(stream);
    let freed = async {
        while namespace(&server, &[("authorization", &other)]).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    within("the place of the stream", freed).await;
}

/// A profile and a backend that are for some namespaces are not there for others, in any list or error.
#[tokio::test(flavor = "multi_thread")]
async fn profiles_are_for_the_namespaces_that_they_name() {
    let mut keys = Keys::default();
    let (a, b) = (keys.make("a", &["read", "write"]), keys.make("b", &["read", "write"]));
    let more = "[profiles.large]\nbackend = \"script\"\nmodel = \"large\"\nnamespaces = [\"a\"]\n\
                [profiles.far]\nbackend = \"other\"\nmodel = \"far\"\n\
                [backends.other]\nkind = \"scripted\"\nnamespaces = [\"a\", \"c\"]\n";
    // Keys of the whole come before any table.
    let configuration = format!("prompts_dir = \"prompts\"\n{}", config(more));
    let server = Running::start_beside(configuration, |folder| {
        keys.write(folder);
        std::fs::create_dir(folder.join("prompts")).unwrap();
        std::fs::write(folder.join("prompts/dear.prompt.md"), "---\nprofile: large\n---\nHello.\n").unwrap();
    })
    .await;
    // A prompt is for everybody; that it has a profile which is not, is told to those who may use it.
    for (key, shown) in [(&a, "large"), (&b, "")] {
        let inspect = pb::InspectPromptRequest { prompt_id: "dear".into() };
        let answer = call(&server, "CatalogService/InspectPrompt", &inspect, &[("authorization", key)]).await.unwrap();
        let prompt = pb::InspectPromptResponse::decode(answer.as_slice()).unwrap().prompt.unwrap();
        assert_eq!(prompt.profile_id, shown);
        let list = pb::ListPromptsRequest::default();
        let answer = call(&server, "CatalogService/ListPrompts", &list, &[("authorization", key)]).await.unwrap();
        let prompts = pb::ListPromptsResponse::decode(answer.as_slice()).unwrap().prompts;
        assert_eq!(prompts[0].profile_id, shown);
    }
    let profiles = async |key: &str| {
        let request = pb::ListProfilesRequest::default();
        let answer = call(&server, "CatalogService/ListProfiles", &request, &[("authorization", key)]).await.unwrap();
        let answer = pb::ListProfilesResponse::decode(answer.as_slice()).unwrap();
        answer.profiles.into_iter().map(|profile| profile.profile_id).collect::<Vec<_>>()
    };
    assert_eq!(profiles(&a).await, ["canned", "far", "large"]);
    assert_eq!(profiles(&b).await, ["canned"]);
    for profile in ["large", "far", "none"] {
        let request = pb::ExecutionRequest { profile_id: profile.into(), ..ask::text("hi") };
        let capture = ask::capture(request);
        let asked = call(&server, "ExchangeService/Capture", &capture, &[("authorization", &a)]).await;
        assert_eq!(asked.is_ok(), profile != "none", "{profile}");
        let status = call(&server, "ExchangeService/Capture", &capture, &[("authorization", &b)]).await.unwrap_err();
        refused::is(&status, Code::InvalidArgument, Reason::ProfileUnknown);
        assert_eq!(refused::fact(&status, "known_profiles"), "canned");
        assert!(!status.message().contains("did you mean"), "{status:?}");
        let inspect = pb::InspectProfileRequest { profile_id: profile.into() };
        let status =
            call(&server, "CatalogService/InspectProfile", &inspect, &[("authorization", &b)]).await.unwrap_err();
        refused::is(&status, Code::NotFound, Reason::ResourceNotFound);
    }
    let inspect = pb::InspectBackendRequest { backend_id: "other".into() };
    call(&server, "CatalogService/InspectBackend", &inspect, &[("authorization", &a)]).await.unwrap();
    let status = call(&server, "CatalogService/InspectBackend", &inspect, &[("authorization", &b)]).await.unwrap_err();
    refused::is(&status, Code::NotFound, Reason::ResourceNotFound);
}

/// A key that is taken back, and one that expires, end what goes on with them: a stream does not outlive the credential that opened it.
#[tokio::test(flavor = "multi_thread")]
async fn streams_end_with_their_credential() {
    let mut keys = Keys::default();
    let (revoked, stays) = (keys.make("a", &["read", "write"]), keys.make("a", &["read", "write"]));
    let soon = antiphon::domain::source::Clock::now(&antiphon::ops::source::SystemClock).0 + 3_000;
    let expires = keys.expiring("a", &["read", "write"], Some(Moment(soon)));
    let server = Running::start_beside(config(""), |folder| keys.write(folder)).await;
    let first =
        call(&server, "ExchangeService/Capture", &ask::capture(ask::text("hi")), &[("authorization", &stays)]).await;
    let exchange = pb::CaptureResponse::decode(first.unwrap().as_slice()).unwrap().exchange.unwrap().exchange_id;
    let mut streams = Vec::new();
    for key in [&revoked, &expires, &stays] {
        let begin = pb::coordinate_request::Frame::Start(start(&exchange, 3));
        let mut stream = Loop::on_with(server.fresh_channel(), &[("authorization", key)], begin).await;
        stream.decision().await;
        streams.push(stream);
    }
    let mut goes_on = streams.pop().unwrap();
    keys.drop_first();
    keys.write(&server.folder());
    for mut stream in streams {
        let ended = loop {
            match stream.next().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("a stream that ends says why"),
                Err(status) => break status,
            }
        };
        refused::is(&ended, Code::Unauthenticated, Reason::Unauthenticated);
    }
    goes_on.act(turn_of("go on")).await;
    goes_on.decision().await;
}

/// What nobody is asked for is bounded as well: calls of the health service, and what is written down of refusals.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_asked_for_nothing_takes_little() {
    let server = Running::start_beside(config(""), |folder| Keys::default().write(folder)).await;
    let mut client = HealthClient::new(server.fresh_channel());
    let mut watching = Vec::new();
    let refused = loop {
        match client.watch(HealthCheckRequest::default()).await {
            Ok(stream) => watching.push(stream),
            Err(status) => break status,
        }
        assert!(watching.len() < 1_000, "there is a limit");
    };
    refused::is(&refused, Code::ResourceExhausted, Reason::LimitExceeded);
    let facts = ["limit", "max", "value"].map(|key| refused::fact(&refused, key));
    assert_eq!(facts, ["health_calls", "256", "257"]);
    drop(watching);
    let freed = async {
        while client.check(HealthCheckRequest::default()).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    within("a place for a call of the health service", freed).await;
}

/// Who connects and says nothing, or half of a greeting, has hung up on soon.
#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_are_closed() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = Running::echo().await;
    for said in [&b""[..], b"PRI * HTTP/2.0"] {
        let mut stream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(said).await.unwrap();
        let mut rest = Vec::new();
        // It is closed, or reset.
        within("the end of a silent connection", stream.read_to_end(&mut rest)).await.ok();
    }
}

/// What is served over HTTP is about all namespaces; a browser asks for the key by itself.
#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_for_who_may_look_at_the_whole() {
    let mut keys = Keys::default();
    let (one, all) = (keys.make("a", &["read", "write", "admin"]), keys.make("*", &["read"]));
    let hasty = keys.limited("*", &["read"], Limits { calls_per_second: Some(1), ..Limits::default() });
    let server = Running::start_beside(config(""), |folder| keys.write(folder)).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://{}/metrics", server.address());
    let nobody = client.get(&url).send().await.unwrap();
    assert_eq!(nobody.status(), 401);
    assert!(nobody.headers()["www-authenticate"].to_str().unwrap().starts_with("Basic "));
    let somebody = client.get(&url).header("authorization", &one).send().await.unwrap();
    assert_eq!(somebody.status(), 403);
    assert!(somebody.text().await.unwrap().contains("--all-namespaces"));
    let operator = client.get(&url).header("authorization", &all).send().await.unwrap();
    assert_eq!(operator.status(), 200);
    let browser = client.get(&url).basic_auth("me", all.strip_prefix("Bearer ")).send().await.unwrap();
    assert_eq!(browser.status(), 200);
    let often =
        async { while client.get(&url).header("authorization", &hasty).send().await.unwrap().status() != 429 {} };
    within("a key that asks too often to be told so", often).await;
}

/// A page of any site can make a browser send a simple POST to a server that listens on the same machine: that is no call.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_web_page_can_send_is_no_call() {
    let server = Running::echo().await;
    let capture = raw::frame(&ask::capture(ask::text_as("r", "hi")));
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://{}/antiphon.v1.ExchangeService/Capture", server.address());
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let answer = client.post(&url).header("content-type", kind).body(capture.clone()).send().await.unwrap();
        assert_eq!(answer.status(), 415, "{kind}");
    }
    // A name that was made to lead here makes a page one of the same site, which may send any kind; the browser still says where it comes from.
    let as_grpc = client.post(&url).header("content-type", "application/grpc").header("origin", "http://evil.example");
    assert_eq!(as_grpc.body(capture).send().await.unwrap().status(), 415);
    assert_eq!(crate::look::runs(&server).await, Vec::<String>::new());
}
