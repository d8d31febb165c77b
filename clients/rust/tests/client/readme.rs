//! What the README shows, and that it runs: every piece of Rust in it stands here, line by line, between two marks.

#![allow(clippy::print_stdout, reason = "the examples print")]

use antiphon_client::testing::{Config, ECHO};
use antiphon_client::{BoxError, Client as Usual, Suspend};

const MINE: &str = r#"
[profiles.mine]
backend = "mine"
model = "mine-1"

[backends.mine]
kind = "client"
"#;

#[tokio::test]
#[rustfmt::skip]
async fn what_the_readme_shows_runs() -> Result<(), BoxError> {
    let server = Config::default().text(format!("{ECHO}{MINE}")).listen("127.0.0.1:0").start()?;
    let (address, coordination_id) = (server.address(), "readme");
    let left = |_| async { Suspend };
    Usual::connect(address)?.coordinate("zero", 3, left).coordination_id(coordination_id).await?;

    // >
    use antiphon_client::{Action, Client, Continue, Decision};

    let client = Client::connect(address)?;
    let start = client.capture("Draft a notice about the new opening hours.").await?;

    async fn next_action(decision: Decision) -> Action {
        println!("{} {}", decision.turns_remaining, decision.exchange.text);
        if decision.exchange.text.contains("Sunday") {
            return Action::Stop;
        }
        Continue::new("Mention Sundays, too.").into()
    }

    let outcome = client.coordinate(&start, 3, next_action).await?;
    println!("{}", outcome.state); // stopped or exhausted: neither is an error
    // <
    assert_eq!(outcome.state.to_string(), "stopped");

    // >
    client.attach(coordination_id, next_action).await?;
    // <

    // >
    use antiphon_client::{Generated, Generation, Request};

    async fn generate(generation: Generation) -> Generated {
        let question = generation.messages.last(); // and .model, .tools, .parameters, .schema ...
        Generated::new(question.map(|message| message.text.to_uppercase()).unwrap_or_default())
    }

    let request = Request::new("Hello").profile("mine");
    let answer = client.chain(request, []).generate(generate).await?;
    println!("{}", answer.text);
    // <
    assert_eq!(answer.text, "HELLO");

    // >
    use antiphon_client::{BoxError, JsonSchema, Tool};
    use serde::Deserialize;

    #[derive(Deserialize, JsonSchema)]
    #[schemars(crate = "antiphon_client::schemars")]
    struct Place {
        /// The name of a city
        city: String,
    }

    async fn weather(place: Place) -> Result<String, BoxError> {
        Ok(format!("22 degrees and clear in {}", place.city))
    }

    let get_weather = Tool::new("get_weather", "The weather in a city.", weather);
    let forecast = client.chain("What is the weather in Lisbon?", [get_weather.clone()]).await?;
    println!("{}", forecast.text);
    // <
    assert!(forecast.text.contains("What is the weather in Lisbon?"));

    // >
    use antiphon_client::{NewThread, ThreadPoint, ThreadTurn};

    let said = client.prompt(Request::new("Hello").system("Be brief.")).await?; // nothing is kept but the run's state and usage
    let said = client.reply(&said, "And goodbye?").await?; // what was said is remembered here
    let kept = client.reply(&said, "In French?").keep(true).await?; // now all of it is on record, once

    client.capture("Hello").on_thread(NewThread::new().id("greetings")).await?;
    let exchange = client.continue_from(ThreadPoint::new("greetings"), "And goodbye?").await?; // moves the thread's head
    let exchange = client.continue_from(&exchange, "In French?").await?; // moves nothing
    let exchange = client.reply(&exchange, Request::new("Shorter.").tools([])).await?; // with its own profile and model, unless the request says otherwise

    let branch = client.fork(&exchange, "In Welsh?").on_thread(NewThread::new().name("a try")).await?; // a thread of its own, with a first turn
    let other = client.fork_conversation(ThreadTurn::after_turn("greetings", 1)).await?; // or a conversation to go on with
    other.prompt("And in Breton?").await?;
    let aside = client.fork_once(&exchange, "Which language was that?").await?; // leaves nothing behind; record_probe keeps it

    let talk = client.conversation(NewThread::new()).tools([get_weather]).await?; // a new thread; its tools stand, and chain runs them
    talk.prompt("Hello").await?;
    talk.chain("What is the weather in Lisbon?").await?;
    println!("{} {} {}", kept.turn, branch.thread_id, aside.text);
    // <
    assert_eq!((kept.turn, branch.turn), (3, 5));
    assert!(aside.text.contains("Which language was that?"));

    // >
    let mut response = client.capture("Tell me a story.").stream()?; // or of continue_from
    while let Some(delta) = response.next().await {
        print!("{}", delta?.text());
    }
    println!(" {:?}", response.await?.usage.output_tokens);
    // <

    // >
    use antiphon_client::ExchangeId;

    let docs = client.workspace("greetings"); // of a conversation: talk.workspace()
    let written = docs.write("plan", "By ship.\n").media_type("text/plain").await?;
    docs.write("plan", "By train.\n").etag(written.version.etag).await?; // refused, ETAG_MISMATCH, where others wrote meanwhile
    println!("{} {}", docs.read("plan").await?.text()?, docs.list("").all().await?.len());
    for change in docs.after_turn(1).diff(&docs).unified().await? {
        println!("{} {} {}", change.kind, change.name, change.unified_diff); // since that turn; client.documents(&exchange) is as of an exchange
    }

    let turns = client.turns("greetings").all().await?;
    client.restore("greetings", ExchangeId::new(&turns[0].exchange_id)).await?; // goes back, documents included; the next turn goes on from there
    let moves = client.moves("greetings").all().await?; // nothing is lost: the newest first
    client.restore("greetings", ExchangeId::new(&moves[0].from_exchange_id)).await?; // and there again
    // <
    assert_eq!((turns.len(), moves.len()), (2, 3));
    assert_eq!(client.thread("greetings").await?.head_exchange_id, turns[1].exchange_id);

    // >
    use antiphon_client::testing::Server;

    let server = Server::start()?; // ANTIPHON_BINARY, else antiphon on the PATH
    let client = Client::connect(server.address())?;
    assert!(!client.capture("Hello").await?.text.is_empty());
    // <
    Ok(())
}

#[test]
fn what_the_readme_shows_stands_here() {
    let pieces = shown(include_str!("../../README.md"));
    assert_eq!(pieces.len(), 8);
    assert_eq!(pieces, marked(include_str!("readme.rs")));
}

/// The pieces of Rust in a page, with the server of the test in place of theirs.
pub(crate) fn shown(page: &str) -> Vec<String> {
    let page = page.replace(r#""127.0.0.1:7373""#, "address");
    let pieces = page.split("```rust\n").skip(1).filter_map(|piece| piece.split("```").next());
    pieces.map(str::to_owned).collect()
}

/// The pieces of a test that stand between two marks.
pub(crate) fn marked(test: &str) -> Vec<String> {
    let pieces = test.split("    // >\n").skip(1).filter_map(|piece| piece.split("    // <\n").next());
    let plain = |line: &str| format!("{}\n", line.strip_prefix("    ").unwrap_or(line));
    pieces.map(|piece| piece.lines().map(plain).collect()).collect()
}
