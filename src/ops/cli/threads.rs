//! `antiphon threads`: lists, shows, makes and removes threads. It must not know how turns are shown, nor how a thread is restored.

use indexmap::IndexMap;

use super::Context;
use super::failure::Failure;
use super::moves::{self, Moves, Restore};
use super::remote::{Remote, pages};
use super::request::{pair, pairs};
use super::table::{Cell, Table};
use super::terminal::{Style, Terminal};
use super::words;
use crate::grpc::pb;

/// What can be typed after `threads`.
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    list: List,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// List threads by id
    List(List),
    /// Show one thread
    Get {
        /// The thread
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Make a thread, empty or at an exchange
    Create(Create),
    /// Put the head back to an earlier exchange, and the documents with it; nothing is deleted
    Restore(Restore),
    /// List where the head was, newest first
    Moves(Moves),
    /// Remove a thread; its exchanges stay
    Delete {
        /// The thread
        #[arg(value_name = "ID")]
        id: String,
        /// Only if nobody changed it since this etag was read
        #[arg(long)]
        etag: Option<String>,
    },
}

#[derive(clap::Args, Debug)]
struct List {
    /// Only those with this label
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = pair)]
    labels: Vec<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = super::number::between(1, u32::MAX))]
    limit: u32,
}

#[derive(clap::Args, Debug)]
struct Create {
    /// Its id; the server makes one when absent
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Its name, for people
    #[arg(long)]
    name: Option<String>,
    /// A label
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = pair)]
    labels: Vec<String>,
    /// Your own data, a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// The profile that its turns use
    #[arg(long, short = 'p', value_name = "ID")]
    profile: Option<String>,
    /// The model that its turns use
    #[arg(long, short = 'm')]
    model: Option<String>,
    /// The exchange where its head is
    #[arg(long, value_name = "EXCHANGE")]
    at: Option<String>,
    /// Make the command safe to repeat
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
}

/// Does it.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    match arguments.what.unwrap_or(What::List(arguments.list)) {
        What::List(list) => show_list(list, &remote, context).await,
        What::Get { id } => {
            let request = pb::ThreadServiceGetRequest { thread_id: id };
            let response = remote.within(async { Ok(remote.threads().get(remote.request(request)).await?) }).await?;
            let response = response.into_inner();
            if context.terminal.is_json() {
                return Ok(context.terminal.json(&response)?);
            }
            let thread = response.thread.ok_or_else(|| Failure::incomplete("thread"))?;
            let active = active(&remote, &thread).await?;
            let lines = facts(&thread, active).lines(context.terminal);
            Ok(context.terminal.lines(lines)?)
        }
        What::Create(create) => {
            let request = create.build()?;
            let response = remote.within(async { Ok(remote.threads().create(remote.request(request)).await?) }).await?;
            let response = response.into_inner();
            if context.terminal.is_json() {
                return Ok(context.terminal.json(&response)?);
            }
            let thread = response.thread.ok_or_else(|| Failure::incomplete("thread"))?;
            made(&thread, context.terminal)
        }
        What::Restore(arguments) => moves::restore(arguments, context).await,
        What::Moves(arguments) => moves::moves(arguments, context).await,
        What::Delete { id, etag } => {
            let etag = etag.unwrap_or_default();
            let request = pb::ThreadServiceDeleteRequest { thread_id: id.clone(), etag, request_id: String::new() };
            let response = remote.within(async { Ok(remote.threads().delete(remote.request(request)).await?) }).await?;
            if context.terminal.is_json() {
                return Ok(context.terminal.json(&response.into_inner())?);
            }
            let text = format!("thread {id} is gone; its exchanges stay");
            let text = context.terminal.paint_err(Style::Dim, &text);
            Ok(context.terminal.note(&text)?)
        }
    }
}

/// The id on the output, so that a script can take it, and on the errors what to do with it: nothing goes on from a thread without exchanges.
fn made(thread: &pb::Thread, terminal: &mut Terminal) -> Result<(), Failure> {
    let id = terminal.foreign(&thread.thread_id);
    terminal.line(&id)?;
    let verb = if thread.head_exchange_id.is_empty() { "capture" } else { "continue" };
    let next = terminal.typed(&format!("antiphon {verb} --thread {} \"…\"", thread.thread_id));
    let next = terminal.paint_err(Style::Dim, &format!("next: {next}"));
    Ok(terminal.note(&next)?)
}

/// Threads by id, at most so many, and whether there are more.
pub(super) async fn list(
    remote: &Remote,
    labels: &IndexMap<String, String>,
    limit: u32,
) -> Result<(Vec<pb::Thread>, bool), Failure> {
    let labels: std::collections::BTreeMap<String, String> = labels.clone().into_iter().collect();
    let fetch = async |page_size, page_token| {
        let request = pb::ThreadServiceListRequest { page_size, page_token, labels: labels.clone() };
        let page = remote.threads().list(remote.request(request)).await?.into_inner();
        Ok((page.threads, page.next_page_token))
    };
    remote.within(pages(limit, fetch)).await
}

async fn show_list(arguments: List, remote: &Remote, context: &mut Context<'_>) -> Result<(), Failure> {
    let (threads, more) = list(remote, &pairs(&arguments.labels, "--label")?, arguments.limit).await?;
    if context.terminal.is_json() {
        return Ok(context
            .terminal
            .json(&pb::ThreadServiceListResponse { threads, next_page_token: String::new() })?);
    }
    let mut table = Table::new(&["THREAD", "NAME", "TURNS", "HEAD", "STATE", "FROM", "CHANGED"]);
    for thread in &threads {
        let active = active(remote, thread).await?;
        table.row(vec![
            Cell::new(&thread.thread_id, Style::Name),
            Cell::cut(&thread.name, 40),
            thread.turn_count.to_string().into(),
            words::short_id(&thread.head_exchange_id).into(),
            state(thread, active).into(),
            thread.parent.as_ref().map(from).unwrap_or_default().into(),
            words::time(thread.update_time.as_ref()).into(),
        ]);
    }
    let terminal = &mut *context.terminal;
    let lines = table.lines(terminal);
    terminal.lines(lines)?;
    if more {
        terminal.note(&format!("there are more than {}; --limit shows more", arguments.limit))?;
    }
    Ok(())
}

/// Where the run is that a thread names as active: at work, or one that ended and may be resumed. None where nothing is to be said of it.
pub(super) async fn active(remote: &Remote, thread: &pb::Thread) -> Result<Option<pb::RunState>, Failure> {
    if thread.active_run_id.is_empty() || thread.pending.is_some() {
        return Ok(None);
    }
    let request = pb::RunServiceGetRequest { run_id: thread.active_run_id.clone() };
    let response = remote.within(async { Ok(remote.runs().get(remote.request(request)).await?) }).await?;
    let run = response.into_inner().run.ok_or_else(|| Failure::incomplete("run"))?;
    Ok(Some(run.state()).filter(|state| *state != pb::RunState::Completed))
}

/// A word on what the thread does.
fn state(thread: &pb::Thread, active: Option<pb::RunState>) -> String {
    let is_empty = thread.head_exchange_id.is_empty();
    match (&thread.pending, active) {
        (Some(_), _) => "waits for results".to_owned(),
        (None, Some(pb::RunState::Running | pb::RunState::Queued)) => "running".to_owned(),
        (None, Some(state)) => {
            let word = words::run_state(state.into());
            format!("{}last run {word}", if is_empty { "empty, " } else { "" })
        }
        (None, None) if is_empty => "empty".to_owned(),
        (None, None) => String::new(),
    }
}

/// Where a thread was forked from, in short.
fn from(parent: &pb::ThreadParent) -> String {
    let place = if parent.thread_id.is_empty() { words::short_id(&parent.exchange_id) } else { &parent.thread_id };
    format!("{place}@{}", parent.turn)
}

fn facts(thread: &pb::Thread, active: Option<pb::RunState>) -> Table {
    let mut table = Table::facts();
    table.row(vec![Cell::new("thread", Style::Dim), Cell::new(&thread.thread_id, Style::Name)]);
    table.fact("name", &thread.name);
    table.fact("turns", thread.turn_count.to_string());
    table.fact("head", &thread.head_exchange_id);
    table.fact("head run", &thread.head_run_id);
    if !thread.active_run_id.is_empty() {
        let word = active.map(|state| format!(" ({})", words::run_state(state.into()))).unwrap_or_default();
        table.fact("active run", format!("{}{word}", thread.active_run_id));
    }
    if let Some(pending) = &thread.pending {
        table.fact("pending at", &pending.exchange_id);
        for call in &pending.calls {
            table.fact("pending call", format!("{}({})  {}", call.name, call.arguments_json, call.call_id));
        }
    }
    if let Some(parent) = &thread.parent {
        table.fact("forked from", from(parent));
        table.fact("at exchange", &parent.exchange_id);
        table.fact("after run", &parent.run_id);
    }
    if let Some(defaults) = &thread.defaults {
        table.fact("profile", &defaults.profile_id);
        table.fact("model", &defaults.model);
        let tools = defaults.standing_tools.as_ref().map(|list| list.tools.iter().map(|tool| tool.name.as_str()));
        table.fact("tools", tools.map(|names| names.collect::<Vec<_>>().join(", ")).unwrap_or_default());
    }
    for (key, value) in &thread.labels {
        table.fact("label", format!("{key}={value}"));
    }
    table.fact("metadata", &thread.metadata_json);
    table.fact("etag", &thread.etag);
    table.fact("made", words::time(thread.create_time.as_ref()));
    table.fact("changed", words::time(thread.update_time.as_ref()));
    table
}

impl Create {
    fn build(self) -> Result<pb::ThreadServiceCreateRequest, Failure> {
        let (profile_id, model) = (self.profile.unwrap_or_default(), self.model.unwrap_or_default());
        let has_defaults = !profile_id.is_empty() || !model.is_empty();
        let thread = pb::NewThread {
            thread_id: self.id.unwrap_or_default(),
            name: self.name.unwrap_or_default(),
            labels: pairs(&self.labels, "--label")?.into_iter().collect(),
            metadata_json: self.metadata.unwrap_or_default(),
            defaults: has_defaults.then_some(pb::ThreadDefaults { profile_id, model, standing_tools: None }),
        };
        Ok(pb::ThreadServiceCreateRequest {
            thread: Some(thread),
            head: self.at.map(|exchange_id| pb::ExchangePoint { exchange_id }),
            request_id: self.request_id.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_told_in_a_word_and_in_full() {
        let parent = pb::ThreadParent { thread_id: "main".into(), turn: 2, ..Default::default() };
        let thread = pb::Thread { thread_id: "t".into(), parent: Some(parent), ..Default::default() };
        assert_eq!(state(&thread, None), "empty");
        assert_eq!(state(&thread, Some(pb::RunState::Failed)), "empty, last run failed");
        let on = pb::Thread { head_exchange_id: "e".into(), ..thread.clone() };
        assert_eq!(state(&on, Some(pb::RunState::Interrupted)), "last run interrupted");
        assert_eq!(state(&on, Some(pb::RunState::Running)), "running");
        let lines = facts(&thread, None).lines(&Terminal::for_test());
        assert_eq!(lines, ["thread       t", "turns        0", "forked from  main@2"]);
    }
}
