//! Plays clients/scenarios, each with a server of its own.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use antiphon_client::testing::Config;
use antiphon_client::{
    Action, BoxError, Client, Code, Continue, Decision, Delta, Error, Exchange, Fail, Prepared, Start, Tool, code_name,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::expect::{self, part};
use crate::looks::look;
use crate::said::{Words, messages, model, results, thread, tool, word};

/// A result that was kept under a name.
pub(crate) enum Kept {
    Exchange(Box<Exchange>),
    Prepared(Box<Prepared>),
    Other(Value),
}

impl Kept {
    /// In the words of the scenarios.
    fn shown(&self) -> Value {
        match self {
            Self::Exchange(found) => expect::exchange(found),
            Self::Prepared(found) => expect::prepared(found),
            Self::Other(found) => found.clone(),
        }
    }
}

/// An error of a callback's own.
#[derive(Debug)]
struct Raised(String);

impl fmt::Display for Raised {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

#[tokio::test]
async fn every_scenario_is_played() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let base = std::fs::read_to_string(folder.join("default.toml")).unwrap();
    let mut stories: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    stories.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    stories.sort();
    assert!(stories.len() >= 35, "there are {} scenarios", stories.len());
    let mut wrong = Vec::new();
    for path in &stories {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let story: Value = serde_yaml_ng::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let rules = format!("\n{}\n", word(&story, "rules"));
        let config = story["config"].as_str().map_or_else(|| base.replacen("\n# rules\n", &rules, 1), str::to_owned);
        let mut server = Config::default().text(config);
        for (file, text) in story["files"].as_object().into_iter().flatten() {
            server = server.file(file, text.as_str().unwrap());
        }
        let server = server.start().unwrap();
        let mut player = Player::new(Client::connect(server.address()).unwrap(), &story);
        for (number, step) in story["steps"].as_array().unwrap().iter().enumerate() {
            if let Err(why) = player.step(step).await {
                wrong.push(format!("{name}, step {}: {why}", number + 1));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

struct Player {
    client: Client,
    kept: BTreeMap<String, Kept>,
    tools: BTreeMap<String, Tool>,
    called: Arc<Mutex<BTreeMap<String, u64>>>,
    /// What the step at hand heard of its answer, where it hears.
    heard: Option<Vec<Delta>>,
}

/// What a step gave, or why it gave nothing.
pub(crate) enum Told {
    Found(Kept),
    Failed(Error),
}

impl From<Result<Value, Error>> for Told {
    fn from(told: Result<Value, Error>) -> Self {
        told.map_or_else(Self::Failed, |found| Self::Found(Kept::Other(found)))
    }
}

impl From<Result<Exchange, Error>> for Told {
    fn from(told: Result<Exchange, Error>) -> Self {
        told.map_or_else(Self::Failed, |found| Self::Found(Kept::Exchange(found.into())))
    }
}

impl From<Result<Prepared, Error>> for Told {
    fn from(told: Result<Prepared, Error>) -> Self {
        told.map_or_else(Self::Failed, |found| Self::Found(Kept::Prepared(found.into())))
    }
}

impl Player {
    fn new(client: Client, story: &Value) -> Self {
        let called = Arc::<Mutex<BTreeMap<String, u64>>>::default();
        let tools = story["tools"].as_object().into_iter().flatten();
        let tools = tools.map(|(key, said)| (key.clone(), tool(key, said.clone(), called.clone()))).collect();
        Self { client, kept: BTreeMap::new(), tools, called, heard: None }
    }

    async fn step(&mut self, said: &Value) -> Result<(), String> {
        let steps = said.as_object().unwrap();
        let mut verbs = steps.iter().filter(|(key, _)| !["as", "expect", "error"].contains(&key.as_str()));
        let (verb, what) = verbs.next().ok_or("a step has a verb")?;
        self.called.lock().unwrap().clear();
        let what = match what.as_object() {
            // The callbacks' own words are looked at when their time has come.
            Some(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(key, said)| {
                        (key.clone(), if key == "decisions" { said.clone() } else { value(&self.kept, said) })
                    })
                    .collect(),
            ),
            None => json!({}),
        };
        let told = self.call(verb, &what).await?;
        match (told, said.get("error")) {
            (Told::Failed(error), Some(expected)) => part(&value(&self.kept, expected), &failure(&error), "error"),
            (Told::Failed(error), None) => Err(format!("{verb}: {error:?}")),
            (Told::Found(found), Some(_)) => Err(format!("it gave {}", found.shown())),
            (Told::Found(kept), None) => {
                let mut found = kept.shown();
                if let Some(fields) = found.as_object_mut() {
                    fields.entry("called").or_insert_with(|| json!(*self.called.lock().unwrap()));
                    if let Some(heard) = self.heard.take() {
                        let begun = heard.rsplit(|delta| *delta == Delta::Attempt).next().unwrap_or_default();
                        let told: String = begun.iter().map(Delta::text).collect();
                        let anew = heard.iter().filter(|delta| **delta == Delta::Attempt).count();
                        fields.extend([("told".to_owned(), json!(told)), ("anew".to_owned(), json!(anew))]);
                    }
                }
                if let Some(name) = said["as"].as_str() {
                    self.kept.insert(name.to_owned(), kept);
                }
                said.get("expect").map_or(Ok(()), |expected| part(&value(&self.kept, expected), &found, verb))
            }
        }
    }

    async fn call(&mut self, verb: &str, said: &Value) -> Result<Told, String> {
        let client = self.client.clone();
        let words = Words { kept: &self.kept, tools: &self.tools };
        let id = word(said, "id");
        Ok(match verb {
            "prompt" => client.prompt(words.request(&said["request"])).keep(said["capture"] == true).await.into(),
            "capture" => {
                let mut call = client.capture(words.request(&said["request"]));
                if let Some(thread) = thread(said) {
                    call = call.on_thread(thread);
                }
                if said["deltas"] == true {
                    let heard = self.heard.insert(Vec::new());
                    call = call.on_delta(|delta| heard.push(delta));
                }
                call.await.into()
            }
            "continue" => client.continue_from(words.point(&said["from"]), words.input(said)).await.into(),
            "reply" => {
                let mut call = client.reply(words.exchange(&said["to"]).ok_or("no exchange")?, words.input(said));
                if let Some(keep) = said["capture"].as_bool() {
                    call = call.keep(keep);
                }
                call.await.into()
            }
            "fork" if said["request"].is_null() && said["results"].is_null() => {
                let thread = thread(said).unwrap_or_default();
                match client.fork_conversation(words.source(&said["from"])).on_thread(thread).await {
                    Ok(made) => client.thread(&made.thread_id).await.map(|found| expect::thread(&found)).into(),
                    Err(error) => Told::Failed(error),
                }
            }
            "fork" => {
                let thread = thread(said).unwrap_or_default();
                client.fork(words.source(&said["from"]), words.input(said)).on_thread(thread).await.into()
            }
            "fork_once" => {
                let mut call = client.fork_once(words.source(&said["from"]), words.request(&said["request"]));
                if said["allow_side_effects"] == true {
                    call = call.allow_side_effects();
                }
                call.await.map(|found| expect::probe(&found)).into()
            }
            "record" => {
                let mut call = client.record(messages(&said["messages"]));
                if let Some(thread) = thread(said) {
                    call = call.on_thread(thread);
                }
                if !said["after"].is_null() {
                    call = call.after(words.point(&said["after"]));
                }
                call.await.map(|found| expect::recorded(&found)).into()
            }
            "chain" => {
                let mut call =
                    client.chain(words.request(&said["request"]), words.list(&said["tools"])).coordination_id(id);
                if let Some(limit) = number(said, "chain_limit") {
                    call = call.chain_limit(limit);
                }
                if let Some(limit) = number(said, "token_limit") {
                    call = call.token_limit(limit.into());
                }
                if let Some(limit) = said["cost_limit"].as_str() {
                    call = call.cost_limit(limit);
                }
                if !said["after"].is_null() {
                    call = call.after(words.point(&said["after"]));
                }
                if said["ephemeral"] == true {
                    call = call.ephemeral();
                }
                call.generate(model(said)).await.into()
            }
            "resume" => client.resume(id, words.list(&said["tools"])).await.into(),
            "coordinate" | "attach" => return self.decided(verb == "attach", said).await,
            "cancel" => client.cancel(&id, "").await.map(|()| Value::Null).into(),
            _ => return look(&client, verb, said, &words).await,
        })
    }

    /// A loop, whose callback says what the scenario says, and sees what it is to see.
    async fn decided(&mut self, attach: bool, said: &Value) -> Result<Told, String> {
        let words = Words { kept: &self.kept, tools: &self.tools };
        let start: Start = match &said["start"] {
            Value::Null if attach => "".into(),
            Value::Null => words.request(&said["request"]).into(),
            from => words.point(from).into(),
        };
        let tools = said["tools"].is_array().then(|| words.list(&said["tools"]));
        let mut left: VecDeque<Value> = said["decisions"].as_array().cloned().unwrap_or_default().into();
        let mut wrong = None;
        let signal = Notify::new();
        let (client, id) = (self.client.clone(), word(said, "id"));
        let (kept, known) = (&mut self.kept, &self.tools);
        let next = |decision: Decision| {
            let told = decide(&decision, left.pop_front(), kept, known, &signal);
            std::future::ready(told.unwrap_or_else(|why| {
                wrong = Some(why.clone());
                Err(why.into())
            }))
        };
        let told = if attach {
            let call = client.attach(id, next).cancel_when(signal.notified());
            match tools {
                Some(tools) => call.tools(tools).await,
                None => call.await,
            }
        } else {
            let turns = number(said, "turns").unwrap_or_default();
            let mut call = client.coordinate(start, turns, next).coordination_id(id).cancel_when(signal.notified());
            if let Some(tools) = tools {
                call = call.tools(tools);
            }
            if let Some(limit) = number(said, "tool_round_limit") {
                call = call.chain_limit(limit);
            }
            if let Some(limit) = number(said, "token_limit") {
                call = call.token_limit(limit.into());
            }
            if let Some(limit) = said["cost_limit"].as_str() {
                call = call.cost_limit(limit);
            }
            if said["ephemeral"] == true {
                call = call.ephemeral();
            }
            if let Some(thread) = thread(said) {
                call = call.on_thread(thread);
            }
            call.generate(model(said)).await
        };
        match wrong {
            Some(why) => Err(why),
            None if !left.is_empty() => Err(format!("the callback was not called for {left:?}: {told:?}")),
            None => Ok(told.map(|found| expect::outcome(&found)).into()),
        }
    }
}

/// What the callback answers; else what is wrong with the scenario.
fn decide(
    decision: &Decision,
    step: Option<Value>,
    kept: &mut BTreeMap<String, Kept>,
    tools: &BTreeMap<String, Tool>,
    signal: &Notify,
) -> Result<Result<Action, BoxError>, String> {
    let found = expect::decision(decision);
    let step = step.ok_or_else(|| format!("the callback was called once more, with {found}"))?;
    kept.insert("decision".to_owned(), Kept::Other(found.clone()));
    if let Some(see) = step.get("see") {
        part(&value(kept, see), &found, "see")?;
    }
    let said = value(kept, &step["do"]);
    let words = Words { kept, tools };
    Ok(Ok(match said.as_str() {
        Some("stop") => Action::Stop,
        Some("suspend") => Action::Suspend,
        Some("cancel") => {
            signal.notify_one();
            Action::Stop
        }
        Some(other) => return Err(format!("there is no action {other:?}")),
        None if said["continue"].is_object() => Continue::new(words.request(&said["continue"])).into(),
        None if said["results"].is_array() => Continue::new(results(&said["results"])).into(),
        None if said["raise"].is_string() => return Ok(Err(Raised(word(&said, "raise")).into())),
        None => {
            let said = &said["fail"];
            let code = (1..17).map(Code::from_i32).find(|code| code_name(*code) == word(said, "code"));
            let mut fail =
                Fail::new(word(said, "message")).reason(word(said, "reason")).code(code.unwrap_or(Code::Unknown));
            for (key, value) in said["metadata"].as_object().into_iter().flatten() {
                fail = fail.metadata(key, value.as_str().unwrap_or_default());
            }
            fail.into()
        }
    }))
}

fn failure(error: &Error) -> Value {
    if let Some(raised) = error.downcast_ref::<Raised>() {
        return json!({"raised": raised.0});
    }
    if let Some(pause) = error.pause() {
        return json!({"paused": pause.coordination_id});
    }
    json!({
        "code": code_name(error.code), "reason": error.reason, "metadata": error.metadata, "message": error.message,
    })
}

fn number(said: &Value, name: &str) -> Option<u32> {
    said[name].as_u64().map(|number| u32::try_from(number).expect("a small number"))
}

/// What is said, with what was kept in place of its names; a whole exchange stays as its name.
fn value(kept: &BTreeMap<String, Kept>, said: &Value) -> Value {
    match said {
        Value::Object(fields) if fields.len() == 2 && fields.contains_key("repeated") => {
            let times = number(said, "times").expect("how often");
            word(said, "repeated").repeat(usize::try_from(times).expect("a small number")).into()
        }
        Value::Object(fields) => fields.iter().map(|(key, said)| (key.clone(), value(kept, said))).collect(),
        Value::Array(items) => items.iter().map(|said| value(kept, said)).collect(),
        Value::String(text) if named(text) => {
            let mut path = text[1..].split('.');
            let name = path.next().expect("a name");
            let known = kept.get(name).unwrap_or_else(|| panic!("nothing was kept as {name}"));
            let mut found = match known {
                Kept::Other(found) => found.clone(),
                _ if !text.contains('.') => return json!({"kept": name}),
                whole => whole.shown(),
            };
            for key in path {
                found = match key.parse::<usize>() {
                    Ok(at) => found[at].clone(),
                    Err(_) => found[key].clone(),
                };
            }
            found
        }
        other => other.clone(),
    }
}

fn named(text: &str) -> bool {
    let name = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_' || letter == '.';
    text.strip_prefix('$').is_some_and(|rest| !rest.is_empty() && rest.chars().all(name))
}
