//! Steps of scenarios that read what is on record, what is configured and what would be sent. Knows nothing of turns and loops.

use antiphon_client::{Client, Error, OccurrenceKind, Pages, RunQuery, SearchQuery, ToolQuery, UsageQuery};
use serde_json::Value;

use crate::documents::keep;
use crate::expect;
use crate::said::{Words, labels, word};
use crate::scenarios::Told;

/// Plays one; else what is wrong with the scenario.
pub(crate) async fn look(client: &Client, verb: &str, said: &Value, words: &Words<'_>) -> Result<Told, String> {
    let id = word(said, "id");
    let of = || words.on_record(&said["of"]);
    Ok(match verb {
        "inspect" => one(client.inspect(words.on_record(&said["exchange"])).await, expect::inspection),
        "thread" => one(client.thread(&id).await, expect::thread),
        "run" => one(client.run(&id).await, expect::run),
        "coordination" => one(client.coordination(&id).await, expect::coordination),
        "runs" => listed(client.runs(RunQuery::all().labels(labels(said))), expect::run).await,
        "threads" => listed(client.threads(labels(said)), expect::thread).await,
        "ancestors" => listed(client.ancestors(of()), expect::node).await,
        "children" => listed(client.children(of()), expect::node).await,
        "common_ancestor" => {
            let found = client.common_ancestor(words.all_on_record(&said["of"])).await;
            one(found, |node| node.as_ref().map_or(Value::Null, expect::node))
        }
        "search" => {
            let text = said["text"].as_str();
            let query = text.map_or_else(SearchQuery::all, SearchQuery::text).labels(labels(said));
            listed(client.search(query), expect::hit).await
        }
        "diff" => {
            let (left, right) = (words.on_record(&said["left"]), words.on_record(&said["right"]));
            one(client.diff(left, right).await, expect::difference)
        }
        "usage" => {
            let labels = labels(said);
            let query = if labels.is_empty() {
                UsageQuery::scopes(words.all_on_record(&said["of"]))
            } else {
                UsageQuery::labels(labels)
            };
            one(client.usage(query).await, expect::usage)
        }
        "explain" if !said["exchange"].is_null() => {
            one(client.explain_exchange(words.on_record(&said["exchange"])).await, expect::explanation)
        }
        "explain" => {
            let mut call = client.explain(words.request(&said["request"]));
            if !said["after"].is_null() {
                call = call.after(words.point(&said["after"]));
            }
            one(call.await, expect::explanation)
        }
        "prepare" => {
            let mut call = client.prepare(words.request(&said["request"])).keep(said["capture"] == true);
            if !said["after"].is_null() {
                call = call.after(words.point(&said["after"]));
            }
            call.await.into()
        }
        "execute" => client.execute(words.prepared(&said["prepared"]).ok_or("nothing was prepared")?).await.into(),
        "call_tools" => one(client.call_tools(of()).await, expect::call_tools),
        "tool_occurrences" => {
            let mut query = ToolQuery::new(word(said, "name"));
            query = match said["kind"].as_str() {
                Some("offered") => query.kind(OccurrenceKind::Offered),
                Some("called") => query.kind(OccurrenceKind::Called),
                Some(other) => return Err(format!("there is no kind {other:?}")),
                None => query,
            };
            listed(client.tool_occurrences(query), expect::occurrence).await
        }
        "tool_drifts" => listed(client.tool_drifts(of(), ""), expect::drift).await,
        "prompts" => listed(client.prompts(), expect::configured_prompt).await,
        "profiles" => listed(client.profiles(), expect::configured_profile).await,
        "backends" => listed(client.backends(), expect::configured_backend).await,
        _ => return keep(client, verb, said, words).await,
    })
}

pub(crate) fn one<T>(told: Result<T, Error>, show: fn(&T) -> Value) -> Told {
    told.map(|found| show(&found)).into()
}

pub(crate) async fn listed<T>(pages: Pages<T>, show: fn(&T) -> Value) -> Told {
    pages.all().await.map(|found| found.iter().map(show).collect::<Value>()).into()
}
