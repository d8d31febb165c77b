//! What scenarios say, as the client takes it. Knows nothing of steps.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use antiphon_client::{
    BoxError, Contract, ExchangeId, ExchangeRef, Generated, Generation, Input, Message, NewThread, OnToolDrift,
    Parameters, Pause, Point, Prepared, Request, Role, Source, ThreadPoint, ThreadTurn, Tool, ToolChoice, ToolResult,
};
use serde_json::Value;

use crate::scenarios::Kept;

/// What was kept and what there is to call.
pub(crate) struct Words<'a> {
    pub(crate) kept: &'a BTreeMap<String, Kept>,
    pub(crate) tools: &'a BTreeMap<String, Tool>,
}

impl Words<'_> {
    pub(crate) fn request(&self, said: &Value) -> Request {
        let mut made = Request::new(word(said, "text"))
            .profile(word(said, "profile"))
            .model(word(said, "model"))
            .run_id(word(said, "run_id"))
            .labels(labels(said))
            .messages(messages(&said["messages"]));
        if let Some(system) = said["system"].as_str() {
            made = made.system(system);
        }
        if let Some(prompt) = said["prompt"].as_str() {
            made = made.prompt_id(prompt);
        }
        if said["vars"].is_object() {
            made = made.vars(&said["vars"]);
        }
        if said["tools"].is_array() {
            made = made.tools(self.list(&said["tools"]));
        }
        if let Some(choice) = said["tool_choice"].as_str() {
            made = made.tool_choice(match choice {
                "auto" => ToolChoice::Auto,
                "none" => ToolChoice::None,
                "required" => ToolChoice::Required,
                name => ToolChoice::Named(name.to_owned()),
            });
        }
        match &said["contract"] {
            Value::String(form) if form == "json" => made = made.contract(Contract::Json),
            Value::String(form) if form == "text" => made = made.contract(Contract::Text),
            Value::String(name) => made = made.contract(Contract::Named(name.clone())),
            Value::Object(_) => made = made.contract(Contract::Schema(said["contract"].to_string())),
            _ => {}
        }
        if let Some(temperature) = said["temperature"].as_f64() {
            made = made.parameters(Parameters::new().temperature(temperature));
        }
        if let Some(attempts) = said["repair"].as_u64() {
            made = made.repair(u32::try_from(attempts).expect("a small number"));
        }
        let view = &said["history_view"];
        if let Some(turns) = view["last_turns"].as_u64() {
            made = made.last_turns(u32::try_from(turns).expect("a small number"));
        } else if let Some(id) = view["from_exchange"].as_str() {
            made = made.from_exchange(id);
        } else if let Some(tokens) = view["token_budget"].as_u64() {
            made = made.token_budget(tokens);
        }
        match said["on_tool_drift"].as_str() {
            Some("refuse") => made.on_tool_drift(OnToolDrift::Refuse),
            Some(_) => made.on_tool_drift(OnToolDrift::Warn),
            None => made,
        }
    }

    pub(crate) fn input(&self, said: &Value) -> Input {
        if said["request"].is_null() { results(&said["results"]).into() } else { self.request(&said["request"]).into() }
    }

    pub(crate) fn list(&self, names: &Value) -> Vec<Tool> {
        let names = names.as_array().into_iter().flatten();
        names.map(|name| self.tools[name.as_str().expect("a name")].clone()).collect()
    }

    pub(crate) fn point(&self, said: &Value) -> Point {
        if let Some(id) = said["thread"].as_str() {
            let thread = ThreadPoint::new(id);
            return match said["expected_head"].as_str() {
                Some(head) => thread.expected_head(head).into(),
                None => thread.into(),
            };
        }
        match self.exchange(said) {
            Some(exchange) => exchange.into(),
            None => ExchangeId::new(said.as_str().expect("an id")).into(),
        }
    }

    pub(crate) fn source(&self, said: &Value) -> Source {
        if let Some(id) = said["thread"].as_str() {
            return match said["after_turn"].as_u64() {
                Some(turn) => ThreadTurn::after_turn(id, turn).into(),
                None => ThreadTurn::head(id).into(),
            };
        }
        match self.exchange(said) {
            Some(exchange) => exchange.into(),
            None => ExchangeId::new(said.as_str().expect("an id")).into(),
        }
    }

    /// An exchange on record, kept or by its id.
    pub(crate) fn on_record(&self, said: &Value) -> ExchangeRef {
        match self.exchange(said) {
            Some(exchange) => exchange.into(),
            None => ExchangeId::new(said.as_str().expect("an id")).into(),
        }
    }

    pub(crate) fn all_on_record(&self, said: &Value) -> Vec<ExchangeRef> {
        said.as_array().into_iter().flatten().map(|said| self.on_record(said)).collect()
    }

    /// What was prepared and kept under a name.
    pub(crate) fn prepared(&self, said: &Value) -> Option<&Prepared> {
        match self.kept.get(said["kept"].as_str()?)? {
            Kept::Prepared(prepared) => Some(prepared),
            _ => None,
        }
    }

    /// The exchange that was kept under a name, where that is what is said.
    pub(crate) fn exchange(&self, said: &Value) -> Option<&antiphon_client::Exchange> {
        match self.kept.get(said["kept"].as_str()?)? {
            Kept::Exchange(exchange) => Some(exchange),
            _ => None,
        }
    }
}

/// A function of the client, which counts how often it is called.
pub(crate) fn tool(key: &str, said: Value, called: Arc<Mutex<BTreeMap<String, u64>>>) -> Tool {
    let (name, key, told) = (said["name"].as_str().unwrap_or(key).to_owned(), key.to_owned(), said.clone());
    let mut made = Tool::with_schema(name, key.clone(), said["schema"].to_string(), move |_| {
        *called.lock().unwrap().entry(key.clone()).or_default() += 1;
        let answer: Result<String, BoxError> = if told["pauses"] == true {
            Err(Pause::new().into())
        } else if let Some(why) = told["fails"].as_str() {
            Err(why.into())
        } else {
            Ok(word(&told, "returns"))
        };
        std::future::ready(answer)
    });
    if said["side_effects"] == true {
        made = made.side_effects();
    }
    if said["requires_human"] == true {
        made = made.requires_human();
    }
    made
}

pub(crate) fn thread(said: &Value) -> Option<NewThread> {
    let said = said.get("thread")?;
    let mut made = NewThread::new().id(word(said, "id")).name(word(said, "name"));
    for (key, value) in labels(said) {
        made = made.label(key, value);
    }
    Some(made)
}

pub(crate) fn messages(said: &Value) -> Vec<Message> {
    let role = |said: &str| match said {
        "system" => Role::System,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        _ => Role::User,
    };
    let said = said.as_array().into_iter().flatten();
    said.map(|message| Message::new(role(&word(message, "role")), word(message, "text"))).collect()
}

pub(crate) fn results(said: &Value) -> Vec<ToolResult> {
    let result = |said: &Value| {
        let (id, text) = (word(said, "call_id"), word(said, "text"));
        if said["is_error"] == true { ToolResult::error(id, text) } else { ToolResult::new(id, text) }
    };
    said.as_array().into_iter().flatten().map(result).collect()
}

pub(crate) fn model(said: &Value) -> impl FnMut(Generation) -> std::future::Ready<Generated> + Send + use<> {
    let texts = said["generate"].as_array().into_iter().flatten();
    let mut texts: VecDeque<String> = texts.map(|text| text.as_str().expect("a text").to_owned()).collect();
    move |_| std::future::ready(Generated::new(texts.pop_front().expect("asked once more")))
}

pub(crate) fn word(said: &Value, name: &str) -> String {
    said[name].as_str().unwrap_or_default().to_owned()
}

pub(crate) fn labels(said: &Value) -> BTreeMap<String, String> {
    let labels = said["labels"].as_object().into_iter().flatten();
    labels.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
}
