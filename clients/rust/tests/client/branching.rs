//! What docs/continuing-and-branching.md shows in Rust, and that it is so: all of it stands here, line by line, between two marks.

use antiphon_client::BoxError as Wrong;
use antiphon_client::testing::Config;

use crate::readme::{marked, shown};

const CONFIG: &str = r#"
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"

[backends.script]
kind = "scripted"

[[backends.script.rules]]
when = "weather"
on = "user"
tool_calls = [{ name = "get_weather", arguments = { city = "Lisbon" } }]

[[backends.script.rules]]
when = "weather"
on = "tool"
text = "{last_tool}"

[[backends.script.rules]]
text = "{turn}: {last_user}"
"#;

#[tokio::test]
#[rustfmt::skip]
async fn what_the_page_shows_is_so() -> Result<(), Wrong> {
    let server = Config::default().text(CONFIG).start()?;
    let address = server.address();

    // >
    use antiphon_client::{BoxError, Client, ExchangeId, JsonSchema, NewThread, Request, Tool};
    use serde::Deserialize;

    let client = Client::connect(address)?;
    let first = client.capture("Name a city by the sea.").await?;

    let second = client.reply(&first, "What is it known for?").await?;
    let other = client.reply(&first, Request::new("What is it known for?").model("a-larger-model")).await?;

    let by_ship = client.fork(&second, "How do I get there by ship?").on_thread(NewThread::new().name("by ship")).await?;
    let by_train = client.fork_conversation(&second).on_thread(NewThread::new().name("by train")).await?;
    by_train.prompt("How do I get there by train?").await?;

    #[derive(Deserialize, JsonSchema)]
    #[schemars(crate = "antiphon_client::schemars")]
    struct Place {
        city: String,
    }

    let get_weather = Tool::plain("get_weather", "The weather in a city.", |place: Place| {
        Ok::<_, BoxError>(format!("22 degrees and clear in {}", place.city))
    });
    let weather = client.chain("What is the weather there?", [get_weather.clone()]).after(&second).await?;

    let talk = client.conversation(NewThread::new().id("trip")).tools([get_weather]).await?;
    talk.prompt("Name a city by the sea.").await?;
    let answer = talk.chain("What is the weather there?").await?;

    talk.workspace().write("plan", "By ship.\n").await?;
    let again = talk.prompt("And by train?").await?;
    talk.workspace().write("plan", "By train.\n").await?;
    talk.restore(&answer).await?;
    let plan = talk.workspace().read("plan").await?; // plan.text()? is "By ship.\n"
    let moves = talk.moves().all().await?;
    talk.restore(ExchangeId::new(&moves[0].from_exchange_id)).await?;
    // <
    for turn in [&second, &other, &weather] {
        assert!(client.thread("trip").await?.head_exchange_id != turn.exchange_id);
    }
    assert_eq!((&second.parent_exchange_id, &other.parent_exchange_id), (&first.exchange_id, &first.exchange_id));
    assert_eq!((other.model().as_str(), by_ship.turn, by_ship.thread_id == by_train.thread_id), ("a-larger-model", 3, false));
    assert_eq!(client.thread(&by_train.thread_id).await?.turn_count, 3);
    assert!(weather.text.contains("22 degrees and clear in Lisbon") && weather.text == answer.text, "{}", weather.text);
    assert_eq!((weather.turn, answer.turn, again.turn, plan.text()?), (3, 2, 3, "By ship.\n"));
    assert_eq!(client.thread("trip").await?.head_exchange_id, again.exchange_id);
    assert_eq!(talk.workspace().read("plan").await?.text()?, "By train.\n");
    Ok(())
}

#[test]
fn what_the_page_shows_stands_here() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/continuing-and-branching.md");
    let page = std::fs::read_to_string(page).unwrap();
    let pieces = shown(&page);
    assert_eq!(pieces.len(), 1);
    assert_eq!(pieces, marked(include_str!("branching.rs")));
}
