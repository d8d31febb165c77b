//! A loop that asks for refinement until the caller is content, or the budget of turns is used up.
//!
//! ```text
//! ANTIPHON_SERVER=127.0.0.1:7373 cargo run --package antiphon-client --example analysis_loop
//! ```
//!
//! The server runs the turns and keeps them. What an answer is worth, and what to ask for next, is decided here.

use antiphon_client::{Action, Client, Continue, Decision, Error, Exchange, Request};

/// The last answer, and what it still leaves out.
pub struct Analysis {
    /// The last answer.
    pub exchange: Option<Exchange>,
    /// What it leaves out.
    pub missing: Vec<String>,
}

/// Has a text analysed until the analysis treats every topic.
pub async fn analyse(client: &Client, text: &str, topics: &[&str], additional_turns: u32) -> Result<Analysis, Error> {
    let mut latest = Analysis { exchange: None, missing: Vec::new() };
    let next_action = |Decision { exchange, .. }: Decision| {
        let answer = exchange.text.to_lowercase();
        let missing = topics.iter().filter(|topic| !answer.contains(&topic.to_lowercase()));
        latest.missing = missing.map(|topic| (*topic).to_owned()).collect();
        latest.exchange = Some(exchange);
        let action: Action = match latest.missing.join(", ") {
            missing if missing.is_empty() => Action::Stop,
            missing => Continue::new(format!("Go on: {missing}?")).into(),
        };
        async { action }
    };
    let start = Request::new(format!("Analyse this: {text}")).system("Analyse what you are given, in a few sentences.");
    client.coordinate(start, additional_turns, next_action).await?;
    // Whether it stopped or was exhausted, the last answer was seen; `missing` tells which.
    Ok(latest)
}

#[tokio::main(flavor = "current_thread")]
#[allow(dead_code, clippy::print_stdout, reason = "a program of its own, which tests take apart")]
async fn main() -> Result<(), Error> {
    let client = Client::from_env()?;
    let found = analyse(&client, "We move the archive to the cellar in spring.", &["risk", "cost"], 3).await?;
    if let Some(exchange) = found.exchange {
        println!("{}", exchange.text);
    }
    if !found.missing.is_empty() {
        println!("It never came to: {}", found.missing.join(", "));
    }
    Ok(())
}
