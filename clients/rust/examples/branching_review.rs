//! Several reviews of one draft, each a branch of its own from the same exchange, all at once.
//!
//! ```text
//! ANTIPHON_SERVER=127.0.0.1:7373 cargo run --package antiphon-client --example branching_review
//! ```
//!
//! Branches share the draft and see nothing of one another; the draft stays as it is. Each goes on until its reviewer has no more to ask. How the
//! branches are scheduled and joined is decided here.

use std::collections::VecDeque;

use antiphon_client::{Action, Client, Continue, Decision, Error, Exchange};
use futures_util::future::join_all;

/// One branch: who asked, what was answered, and why it broke off if it did.
pub struct Review {
    /// Who asked.
    pub reviewer: String,
    /// What was answered.
    pub answers: Vec<String>,
    /// The last exchange of the branch.
    pub head: Exchange,
    /// Why it broke off.
    pub error: Option<Error>,
}

/// Asks a draft's author one reviewer's questions, one turn each.
async fn review(client: &Client, draft: &Exchange, reviewer: &str, questions: &[&str]) -> Review {
    let mut result = Review { reviewer: reviewer.to_owned(), answers: Vec::new(), head: draft.clone(), error: None };
    let mut left: VecDeque<&str> = questions.iter().copied().collect();
    let next_action = |decision: Decision| {
        if !decision.starting {
            result.answers.push(decision.exchange.text.clone());
            result.head = decision.exchange;
        }
        // A reviewer may be a person or another model here; nothing is held at the server meanwhile.
        let question = left.pop_front();
        async move { question.map_or(Action::Stop, |question| Continue::new(format!("{reviewer} asks: {question}")).into()) }
    };
    let turns = u32::try_from(questions.len()).unwrap_or(u32::MAX);
    // One branch that fails takes no other with it.
    result.error = client.coordinate(draft, turns, next_action).label("reviewer", reviewer).await.err();
    result
}

/// All reviews of a draft, in the order of the reviewers.
pub async fn review_all(client: &Client, draft: &Exchange, questions: &[(&str, &[&str])]) -> Vec<Review> {
    join_all(questions.iter().map(|(reviewer, asked)| review(client, draft, reviewer, asked))).await
}

#[tokio::main(flavor = "current_thread")]
#[allow(dead_code, clippy::print_stdout, reason = "a program of its own, which tests take apart")]
async fn main() -> Result<(), Error> {
    let client = Client::from_env()?;
    let draft = client.capture("Draft a notice: the archive moves to the cellar in spring.").await?;
    println!("{}", draft.text);
    let questions: [(&str, &[&str]); 2] =
        [("Ada", &["Who carries the boxes?", "By when?"]), ("Bo", &["Is the cellar dry?"])];
    for review in review_all(&client, &draft, &questions).await {
        println!("\n{}:", review.reviewer);
        for answer in review.answers {
            println!("  {answer}");
        }
        if let Some(error) = review.error {
            println!("  {error}");
        }
    }
    Ok(())
}
