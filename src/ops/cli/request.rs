//! What a request to a model is made of on the command line, and the request that comes of it. It must not know which call carries it.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde_json::value::RawValue;
use uuid::Uuid;
use uuid::fmt::Hyphenated;

use super::chat;
use super::failure::Failure;
use super::terminal::{MAX_INPUT_BYTES, Terminal};
use crate::engine::file;
use crate::grpc::pb;

/// Options of every command that executes a request.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Request")]
pub(crate) struct RequestOptions {
    /// Render this configured prompt
    #[arg(long, value_name = "ID")]
    pub(crate) prompt: Option<String>,
    /// A variable of the prompt: NAME=TEXT, or NAME:=JSON
    #[arg(long = "var", value_name = "NAME=VALUE", requires = "prompt", value_parser = pair)]
    pub(crate) vars: Vec<String>,
    /// The profile: a backend, a model and parameters
    #[arg(long, short = 'p', value_name = "ID")]
    pub(crate) profile: Option<String>,
    /// The model, instead of the profile's
    #[arg(long, short = 'm')]
    pub(crate) model: Option<String>,
    /// Instructions, as a system message before the text
    #[arg(long, short = 's', value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Messages to send before the text: a JSON file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) messages: Option<PathBuf>,
    /// The answer must be JSON that this JSON Schema accepts
    #[arg(long, value_name = "FILE", conflicts_with = "contract")]
    pub(crate) schema: Option<PathBuf>,
    /// The answer must keep this configured contract
    #[arg(long, value_name = "ID")]
    pub(crate) contract: Option<String>,
    /// Ask again up to so many times for an answer that does not have its form
    #[arg(long, value_name = "N", value_parser = super::number::between(0, u32::MAX))]
    pub(crate) repair: Option<u32>,
    /// Tools to offer in this turn: a JSON file
    #[arg(long, value_name = "FILE", conflicts_with = "no_tools")]
    pub(crate) tools: Option<PathBuf>,
    /// Offer no tools in this turn
    #[arg(long)]
    pub(crate) no_tools: bool,
    /// What to do when a tool has another input schema than before in the conversation
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) on_tool_drift: Option<OnToolDrift>,
    /// Send only so many of the last turns
    #[arg(long, value_name = "N", group = "view", value_parser = super::number::between(0, u32::MAX))]
    pub(crate) history_turns: Option<u32>,
    /// Send the history only from this exchange on
    #[arg(long, value_name = "EXCHANGE", group = "view")]
    pub(crate) history_from: Option<String>,
    /// Send only as many of the last turns as fit so many tokens
    #[arg(long, value_name = "N", group = "view", value_parser = super::number::between(0, u64::MAX))]
    pub(crate) history_tokens: Option<u64>,
    /// Sampling temperature, 0 to 2
    #[arg(long, value_name = "NUMBER")]
    pub(crate) temperature: Option<f64>,
    /// At most so many tokens in the answer
    #[arg(long, value_name = "N", value_parser = super::number::between(0, u32::MAX))]
    pub(crate) max_output_tokens: Option<u32>,
    /// Label the run and its exchange
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) labels: Vec<String>,
    /// Let the run finish when this command is interrupted
    #[arg(long)]
    pub(crate) finish: bool,
}

/// What to do when a tool drifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnToolDrift {
    /// Go on with a warning
    Warn,
    /// Refuse before the model is called
    Refuse,
}

impl From<OnToolDrift> for pb::ToolDriftPolicy {
    fn from(what: OnToolDrift) -> Self {
        match what {
            OnToolDrift::Warn => Self::Warn,
            OnToolDrift::Refuse => Self::Refuse,
        }
    }
}

/// Options of commands whose run has a name.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Request")]
pub(crate) struct RunOptions {
    /// Name the run, so that the command can be repeated safely
    #[arg(long, value_name = "ID")]
    pub(crate) run_id: Option<String>,
    /// Try again where the run of this id, or the step of these results, failed or was interrupted
    #[arg(long)]
    pub(crate) retry: bool,
}

/// Results of tool calls.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Tool results")]
pub(crate) struct ResultOptions {
    /// Results of the pending tool calls: a JSON file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
    /// The result of one pending tool call
    #[arg(long = "result", value_name = "CALL_ID=TEXT", value_parser = pair)]
    pub(crate) result: Vec<String>,
}

impl ResultOptions {
    /// The results, if any are given.
    pub(crate) fn build(
        &self,
        request: &RequestOptions,
        run: &RunOptions,
        terminal: &mut Terminal,
    ) -> Result<Option<pb::ToolResults>, Failure> {
        if self.results.is_none() && self.result.is_empty() {
            return Ok(None);
        }
        let mut results = match &self.results {
            Some(path) => document(path, terminal, chat::results)?,
            None => Vec::new(),
        };
        let typed = pairs(&self.result, "--result")?;
        results.extend(typed.into_iter().map(|(call_id, text)| chat::result(call_id, text)));
        // Results go on with the run that called, under its settings: what else is asked for would be ignored.
        let asked = request.build(None, &RunOptions::default(), terminal)?;
        let on_disconnect = asked.on_disconnect;
        if asked != (pb::ExecutionRequest { on_disconnect, ..Default::default() }) {
            return Err(Failure::usage(
                "tool results go on with the run that called, under its settings; give them alone",
            ));
        }
        let run_id = run.run_id.clone().unwrap_or_default();
        Ok(Some(pb::ToolResults { results, run_id, on_disconnect, retry: run.retry }))
    }
}

/// A point on a thread's path.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct PointOptions {
    /// From this thread, at its head unless told otherwise
    #[arg(long, short = 't', value_name = "ID")]
    pub(crate) thread: Option<String>,
    /// From the thread's path after this run
    #[arg(long, value_name = "RUN", requires = "thread", conflicts_with = "after_turn")]
    pub(crate) after_run: Option<String>,
    /// From the thread's path after this turn
    #[arg(long, value_name = "N", requires = "thread", value_parser = super::number::between(0, u64::MAX))]
    pub(crate) after_turn: Option<u64>,
}

impl PointOptions {
    /// The point on the thread, if one is named.
    pub(crate) fn build(&self) -> Option<pb::ThreadTurnPoint> {
        use pb::thread_turn_point::At;
        let after_run = self.after_run.clone().map(|run_id| At::AfterRun(pb::AfterRun { run_id }));
        let at = after_run.or_else(|| self.after_turn.map(|turn| At::AfterTurn(pb::AfterTurn { turn })));
        self.thread.clone().map(|thread_id| pb::ThreadTurnPoint { thread_id, at })
    }
}

/// The words after a verb: an exchange unless a thread is named, then a text.
pub(crate) fn exchange_and_text(
    words: Vec<String>,
    thread_named: bool,
) -> Result<(Option<String>, Option<String>), Failure> {
    let mut words = words.into_iter();
    let exchange = if thread_named { None } else { words.next() };
    let text = words.next();
    if exchange.is_none() && !thread_named {
        return Err(Failure::usage("name an EXCHANGE, or a thread with --thread ID"));
    }
    match words.next() {
        Some(_) => Err(Failure::usage("a thread is named, so only a TEXT can follow: quote it as one word")),
        None => Ok((exchange, text)),
    }
}

impl RequestOptions {
    /// The request with this text as its last user message.
    pub(crate) fn build(
        &self,
        text: Option<String>,
        run: &RunOptions,
        terminal: &mut Terminal,
    ) -> Result<pb::ExecutionRequest, Failure> {
        if run.retry && run.run_id.is_none() {
            return Err(Failure::usage("--retry needs the --run-id of the run to try again"));
        }
        let mut messages: Vec<pb::Message> =
            self.system.iter().map(|text| chat::said(pb::Role::System, text.as_str())).collect();
        if let Some(path) = &self.messages {
            messages.extend(document(path, terminal, chat::messages)?);
        }
        Ok(pb::ExecutionRequest {
            run_id: run.run_id.clone().unwrap_or_default(),
            prompt: self.prompt.as_ref().map(|id| self.prompt(id)).transpose()?,
            messages,
            text: text.unwrap_or_default(),
            profile_id: self.profile.clone().unwrap_or_default(),
            model: self.model.clone().unwrap_or_default(),
            parameters: self.parameters(),
            contract: self.contract(terminal)?,
            repair: self.repair.map(|attempts| pb::Repair { attempts }),
            tools: self.offered_tools(terminal)?,
            history_view: self.history_view(),
            labels: pairs(&self.labels, "--label")?.into_iter().collect(),
            on_disconnect: if self.finish { pb::OnDisconnect::Finish } else { pb::OnDisconnect::Unspecified }.into(),
            retry: run.retry,
            on_tool_drift: self.on_tool_drift.map_or(pb::ToolDriftPolicy::Unspecified, Into::into).into(),
            ..Default::default()
        })
    }

    /// The answer must have a form, so that pieces of it are of no use: they may be of one that is repaired.
    pub(crate) fn wants_a_form(&self) -> bool {
        self.schema.is_some() || self.contract.is_some() || self.repair.is_some()
    }

    /// Something in the options can stand as a request without any text.
    pub(crate) fn speaks(&self) -> bool {
        self.prompt.is_some() || self.messages.is_some()
    }

    fn prompt(&self, id: &str) -> Result<pb::PromptInput, Failure> {
        Ok(pb::PromptInput { prompt_id: id.to_owned(), vars: None, vars_json: variables(&self.vars)? })
    }

    fn parameters(&self) -> Option<pb::Parameters> {
        let given = self.temperature.is_some() || self.max_output_tokens.is_some();
        given.then(|| pb::Parameters {
            temperature: self.temperature,
            max_output_tokens: self.max_output_tokens,
            ..Default::default()
        })
    }

    fn contract(&self, terminal: &mut Terminal) -> Result<Option<pb::Contract>, Failure> {
        use pb::contract::Form;
        let form = match (&self.schema, &self.contract) {
            (Some(path), _) => {
                let schema_json = file_or_input(path, terminal)?;
                Form::JsonSchema(pb::JsonSchemaContract { schema_json, name: String::new() })
            }
            (None, Some(id)) => Form::Named(pb::NamedContract { contract_id: id.clone() }),
            (None, None) => return Ok(None),
        };
        Ok(Some(pb::Contract { form: Some(form) }))
    }

    fn history_view(&self) -> Option<pb::HistoryView> {
        use pb::history_view::View;
        let turns = self.history_turns.map(|turns| View::LastTurns(pb::LastTurns { turns }));
        let tokens = || self.history_tokens.map(|tokens| View::TokenBudget(pb::TokenBudget { tokens }));
        let from = |exchange_id: String| View::FromExchange(pb::FromExchange { exchange_id });
        let view = turns.or_else(tokens).or_else(|| self.history_from.clone().map(from))?;
        Some(pb::HistoryView { view: Some(view) })
    }

    fn offered_tools(&self, terminal: &mut Terminal) -> Result<Option<pb::ToolList>, Failure> {
        match &self.tools {
            Some(path) => document(path, terminal, chat::tools).map(Some),
            None => Ok(self.no_tools.then(pb::ToolList::default)),
        }
    }
}

/// The variables as one JSON object; empty text for none.
pub(crate) fn variables(given: &[String]) -> Result<String, Failure> {
    if given.is_empty() {
        return Ok(String::new());
    }
    let mut variables: IndexMap<&str, Box<RawValue>> = IndexMap::new();
    for pair in given {
        let (left, value) = split(pair).map_err(|what| Failure::usage(format!("--var {pair}: {what}")))?;
        let (name, raw) = match left.strip_suffix(':') {
            Some(name) => (name, RawValue::from_string(value.to_owned())),
            None => (left, serde_json::value::to_raw_value(value)),
        };
        let raw = raw.map_err(|error| Failure::usage(format!("--var {name}: the value is not JSON: {error}")))?;
        if variables.insert(name, raw).is_some() {
            return Err(Failure::usage(format!("--var {name} is given twice")));
        }
    }
    serde_json::to_string(&variables).map_err(|error| Failure::here(error.to_string(), ""))
}

/// Takes a KEY=VALUE as it is typed.
pub(crate) fn pair(typed: &str) -> Result<String, String> {
    split(typed).map(|_| typed.to_owned())
}

/// Pairs of KEY=VALUE, none of them twice.
pub(crate) fn pairs(given: &[String], option: &str) -> Result<IndexMap<String, String>, Failure> {
    let mut pairs = IndexMap::new();
    for pair in given {
        let (key, value) = split(pair).map_err(|what| Failure::usage(format!("{option} {pair}: {what}")))?;
        if pairs.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(Failure::usage(format!("{option} {key} is given twice")));
        }
    }
    Ok(pairs)
}

fn split(pair: &str) -> Result<(&str, &str), String> {
    match pair.split_once('=') {
        Some((key, value)) if !key.is_empty() && key != ":" => Ok((key, value)),
        _ => Err("must be written as NAME=VALUE".to_owned()),
    }
}

/// Refuses an id that the server makes as the text that was typed: some verbs take one in this place, so that it is hardly meant to be said.
/// `instead` is what takes it.
pub(crate) fn no_id(text: Option<&str>, instead: &str) -> Result<(), Failure> {
    let is_id = |text: &&str| text.len() == Hyphenated::LENGTH && Uuid::try_parse(text).is_ok();
    match text.filter(is_id) {
        Some(id) => Err(Failure::usage(format!(
            "{id} is an id rather than a text: did you mean {instead} {id}? To say it all the same, write it into a file of messages and \
             give that with --messages"
        ))),
        None => Ok(()),
    }
}

/// The text to say: what was typed, or the piped input for `-` and, where something must be said, for nothing. `instead` is what takes the id
/// that was typed in its place.
pub(crate) fn text(
    given: Option<String>,
    needed: bool,
    instead: &str,
    terminal: &mut Terminal,
) -> Result<Option<String>, Failure> {
    no_id(given.as_deref(), instead)?;
    let from_input = match given.as_deref() {
        Some("-") => true,
        Some(_) => return Ok(given),
        None => needed && terminal.input_is_piped(),
    };
    if !from_input {
        return if needed {
            Err(Failure::usage("there is nothing to say: give a TEXT, or pipe it in"))
        } else {
            Ok(None)
        };
    }
    let text = terminal.read_input()?;
    // The line end that a shell adds is not part of what is said.
    let text = text.strip_suffix('\n').unwrap_or(&text);
    if text.trim().is_empty() {
        return Err(Failure::usage("there is nothing to say: standard input is empty"));
    }
    Ok(Some(text.to_owned()))
}

/// A file's content; `-` is standard input.
pub(crate) fn file_or_input(path: &Path, terminal: &mut Terminal) -> Result<String, Failure> {
    if path == Path::new("-") {
        return Ok(terminal.read_input()?);
    }
    let read = file::read_given(path, MAX_INPUT_BYTES).and_then(file::text);
    read.map_err(|error| Failure::file(path, error))
}

/// A file read as something.
pub(crate) fn document<T>(
    path: &Path,
    terminal: &mut Terminal,
    read: impl FnOnce(&str) -> Result<T, chat::Problem>,
) -> Result<T, Failure> {
    let text = file_or_input(path, terminal)?;
    read(&text).map_err(|problem| Failure::file(path, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_text_or_json_and_never_given_twice() {
        let given = |pairs: &[&str]| variables(&pairs.iter().map(|pair| (*pair).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            given(&["b=x=y", "n:=12345678901234567890", "a="]).unwrap(),
            r#"{"b":"x=y","n":12345678901234567890,"a":""}"#
        );
        assert_eq!(given(&[]).unwrap(), "");
        for bad in [&["a"][..], &["=x"], &[":=x"], &["a:=nope"], &["a=1", "a=2"]] {
            assert!(matches!(given(bad), Err(Failure::Usage(_))), "{bad:?}");
        }
    }

    #[test]
    fn text_comes_from_the_line_or_from_a_pipe() {
        let mut terminal = Terminal::for_test();
        assert_eq!(text(Some("hi".into()), true, "--from", &mut terminal).unwrap().as_deref(), Some("hi"));
        assert!(
            matches!(text(None, true, "--from", &mut terminal), Err(Failure::Usage(_))),
            "a person would wait for ever"
        );
        assert_eq!(text(None, false, "--from", &mut terminal).unwrap(), None);
        terminal.set_input("a\nb\n");
        assert_eq!(text(None, true, "--from", &mut terminal).unwrap().as_deref(), Some("a\nb"));
        terminal.set_input("a\n");
        assert_eq!(text(Some("-".into()), false, "--from", &mut terminal).unwrap().as_deref(), Some("a"));
        terminal.set_input("loop's own input");
        assert_eq!(
            text(None, false, "--from", &mut terminal).unwrap(),
            None,
            "input that nobody asked for is left alone"
        );
        terminal.set_input(" \n");
        assert!(matches!(text(None, true, "--from", &mut terminal), Err(Failure::Usage(_))));
    }

    #[test]
    fn words_are_an_exchange_and_a_text_unless_a_thread_is_named() {
        let words = |words: &[&str], thread| exchange_and_text(words.iter().map(|w| (*w).to_owned()).collect(), thread);
        assert_eq!(words(&["e", "hi"], false).unwrap(), (Some("e".into()), Some("hi".into())));
        assert_eq!(words(&["hi"], true).unwrap(), (None, Some("hi".into())));
        assert!(matches!(words(&[], false), Err(Failure::Usage(_))));
        assert!(matches!(words(&["e", "hi"], true), Err(Failure::Usage(_))));
    }

    #[test]
    fn results_stand_alone() {
        let mut terminal = Terminal::for_test();
        let results = ResultOptions { result: vec!["c1=42".into()], ..Default::default() };
        let none = RequestOptions::default();
        let built = results.build(&none, &RunOptions::default(), &mut terminal).unwrap().unwrap();
        assert_eq!(built.results, [chat::result("c1".into(), "42".into())]);
        let model = RequestOptions { model: Some("m".into()), ..Default::default() };
        let refused = results.build(&model, &RunOptions::default(), &mut terminal);
        assert!(matches!(refused, Err(Failure::Usage(_))), "a model would be ignored");
        assert_eq!(ResultOptions::default().build(&model, &RunOptions::default(), &mut terminal).unwrap(), None);
    }

    #[test]
    fn options_become_a_request() {
        let options = RequestOptions {
            system: Some("be brief".into()),
            temperature: Some(0.5),
            no_tools: true,
            labels: vec!["a=b".into()],
            finish: true,
            ..Default::default()
        };
        let run = RunOptions { run_id: Some("r1".into()), retry: true };
        let request = options.build(Some("hi".into()), &run, &mut Terminal::for_test()).unwrap();
        assert_eq!(request.messages, [chat::said(pb::Role::System, "be brief")]);
        assert_eq!((request.text.as_str(), request.run_id.as_str(), request.retry), ("hi", "r1", true));
        assert_eq!(request.tools, Some(pb::ToolList::default()));
        assert_eq!(request.on_disconnect(), pb::OnDisconnect::Finish);
        assert_eq!(request.labels["a"], "b");
        assert_eq!(request.parameters.unwrap().temperature, Some(0.5));
        let plain = RequestOptions::default().build(None, &RunOptions::default(), &mut Terminal::for_test()).unwrap();
        assert_eq!(plain, pb::ExecutionRequest::default(), "what is not asked for is absent");
    }
}
