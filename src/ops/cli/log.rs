//! `antiphon log`: turns, one a line, or several histories as a graph. It must not know how a graph is drawn.

use std::collections::HashSet;

use serde_json::json;

use super::Context;
use super::failure::Failure;
use super::forest::{Forest, Node};
use super::lineage::Lineage;
use super::remote::{Remote, pages};
use super::table::{Cell, Table};
use super::terminal::{Style, Terminal};
use super::{width, words};
use crate::grpc::pb;

/// Columns for what one side said, beside a short id.
const SIDE_COLUMNS: usize = 44;
/// The same, beside a whole id.
const NARROW_COLUMNS: usize = 36;

/// What can be typed after `log`.
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "antiphon log EXCHANGE | --thread ID\n       antiphon log --graph [EXCHANGE]... [--thread ID]..."
)]
pub(super) struct Arguments {
    /// The exchange whose history to show; several with --graph
    #[arg(value_name = "EXCHANGE")]
    exchanges: Vec<String>,
    /// The thread whose history to show; several with --graph
    #[arg(long = "thread", short = 't', value_name = "ID")]
    threads: Vec<String>,
    /// Draw how histories part; of all threads when none is named
    #[arg(long, short = 'g')]
    graph: bool,
    /// With --graph: show exchange ids whole, as commands take them
    #[arg(long, requires = "graph")]
    full_ids: bool,
    /// With --graph of all threads: at most so many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = super::number::between(1, u32::MAX))]
    limit: u32,
}

/// Logs.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    if arguments.graph {
        return graph(&arguments, context).await;
    }
    let (turns, state) = match (arguments.exchanges.as_slice(), arguments.threads.as_slice()) {
        ([exchange_id], []) => {
            let remote = context.remote().await?;
            (Lineage::read(&remote, exchange_id).await?.turns(), String::new())
        }
        ([], [thread_id]) => {
            let remote = context.remote().await?;
            remote.within(of_thread(&remote, thread_id)).await?
        }
        ([], []) => return Err(Failure::usage("name an EXCHANGE or a --thread, or draw all threads with --graph")),
        _ => return Err(Failure::usage("several histories are shown with --graph")),
    };
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&pb::ListTurnsResponse { turns, next_page_token: String::new() })?);
    }
    if !turns.is_empty() {
        let lines = table(&turns).lines(terminal);
        terminal.lines(lines)?;
    }
    if !state.is_empty() {
        let state = terminal.paint_err(Style::Odd, &state);
        terminal.note(&state)?;
    }
    Ok(())
}

async fn of_thread(remote: &Remote, thread_id: &str) -> Result<(Vec<pb::Turn>, String), Failure> {
    let (turns, _) = pages(u32::MAX, async |page_size, page_token| {
        let request = pb::ListTurnsRequest { thread_id: thread_id.to_owned(), page_size, page_token };
        let page = remote.threads().list_turns(remote.request(request)).await?.into_inner();
        Ok((page.turns, page.next_page_token))
    })
    .await?;
    let thread = thread(remote, thread_id).await?;
    let state = states(&thread, super::threads::active(remote, &thread).await?);
    Ok((turns, if state.is_empty() { state } else { format!("{thread_id}: {state}") }))
}

async fn thread(remote: &Remote, thread_id: &str) -> Result<pb::Thread, Failure> {
    let request = pb::ThreadServiceGetRequest { thread_id: thread_id.to_owned() };
    let response = remote.threads().get(remote.request(request)).await?.into_inner();
    response.thread.ok_or_else(|| Failure::incomplete("thread"))
}

/// What a thread waits for; empty when it is at rest.
fn states(thread: &pb::Thread, active: Option<pb::RunState>) -> String {
    let run = &thread.active_run_id;
    match (&thread.pending, active) {
        (Some(pending), _) => {
            let calls: Vec<&str> = pending.calls.iter().map(|call| call.name.as_str()).collect();
            format!("waits for results of {} at {} (run {})", calls.join(", "), pending.exchange_id, pending.run_id)
        }
        (None, Some(pb::RunState::Running | pb::RunState::Queued)) => format!("run {run} is at work"),
        (None, Some(state)) => {
            let empty = if thread.head_exchange_id.is_empty() { "has no exchange yet: " } else { "" };
            format!("{empty}run {run} ended {}; it can be tried again with --retry", words::run_state(state.into()))
        }
        (None, None) if thread.head_exchange_id.is_empty() => "has no exchange yet".to_owned(),
        (None, None) => String::new(),
    }
}

/// With whole ids, since these are what the next command takes.
fn table(turns: &[pb::Turn]) -> Table {
    let mut table = Table::new(&["EXCHANGE", "TURN", "STOPPED", "ASKED", "ANSWERED"]);
    for turn in turns {
        table.row(vec![
            Cell::new(&turn.exchange_id, Style::Name),
            turn.turn.to_string().into(),
            words::stop_reason(turn.stop_reason).into(),
            asked(turn),
            Cell::cut(&turn.assistant_preview, NARROW_COLUMNS),
        ]);
    }
    table
}

fn asked(turn: &pb::Turn) -> Cell {
    match turn.user_preview.as_str() {
        "" if turn.erased => Cell::new(words::ERASED, Style::Dim),
        text => Cell::cut(text, NARROW_COLUMNS),
    }
}

fn id(exchange_id: &str, full: bool) -> &str {
    if full { exchange_id } else { words::short_id(exchange_id) }
}

/// What is drawn.
#[derive(Default)]
struct Drawing {
    forest: Forest,
    /// Threads that have nothing to draw, each with why.
    bare: Vec<String>,
}

async fn graph(arguments: &Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    let mut drawing = Drawing::default();
    for exchange_id in &arguments.exchanges {
        drawing.add(&remote, exchange_id).await?;
    }
    let mut more = false;
    let threads = if arguments.threads.is_empty() && arguments.exchanges.is_empty() {
        let (threads, left) = super::threads::list(&remote, &Default::default(), arguments.limit).await?;
        more = left;
        threads
    } else {
        let mut threads = Vec::new();
        for thread_id in &arguments.threads {
            threads.push(thread(&remote, thread_id).await?);
        }
        threads
    };
    drawing.threads(&remote, threads).await?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        let text =
            serde_json::to_string_pretty(&drawing.as_json()).map_err(|error| Failure::here(error.to_string(), ""))?;
        return Ok(terminal.line(&text)?);
    }
    let lines = drawing.lines(terminal, arguments.full_ids);
    terminal.lines(lines)?;
    if more {
        terminal.note(&format!("only the first {} threads are drawn; --limit draws more", arguments.limit))?;
    }
    Ok(())
}

impl Drawing {
    /// Draws the path to an exchange, unless it is drawn already.
    async fn add(&mut self, remote: &Remote, exchange_id: &str) -> Result<(), Failure> {
        if !self.forest.end_at(exchange_id) {
            self.forest.add(Lineage::read(remote, exchange_id).await?.steps());
        }
        Ok(())
    }

    /// Draws threads, oldest first: a fork then finds the path it left already there.
    async fn threads(&mut self, remote: &Remote, mut threads: Vec<pb::Thread>) -> Result<(), Failure> {
        let age = |thread: &pb::Thread| thread.create_time.map(|time| (time.seconds, time.nanos));
        threads.sort_by_key(age);
        for thread in &threads {
            let state = states(thread, super::threads::active(remote, thread).await?);
            if !thread.head_exchange_id.is_empty() {
                self.add(remote, &thread.head_exchange_id).await?;
                self.forest.name(&thread.head_exchange_id, &thread.thread_id);
            } else if thread.pending.is_none() {
                self.bare.push(format!("{} {state}", thread.thread_id));
            }
            if let Some(pending) = &thread.pending {
                self.add(remote, &pending.exchange_id).await?;
                self.forest.name(&pending.exchange_id, format!("{}, waits for results", thread.thread_id));
            }
        }
        Ok(())
    }

    fn lines(&self, terminal: &Terminal, full_ids: bool) -> Vec<String> {
        let rows = self.forest.rows();
        let drawn = rows.iter().map(|row| {
            let lanes = terminal.paint(Style::Odd, &row.lanes);
            match row.node.and_then(|index| self.forest.node(index)) {
                Some(node) => format!("{lanes} {}", line(node, terminal, full_ids)),
                None => lanes,
            }
        });
        drawn.chain(self.bare.iter().cloned()).collect()
    }

    fn as_json(&self) -> serde_json::Value {
        let nodes = self.forest.nodes().iter().map(|node| {
            let parent = node.parent.and_then(|parent| self.forest.node(parent));
            json!({
                "exchangeId": node.step.exchange_id,
                "parentExchangeId": parent.map(|parent| &parent.step.exchange_id),
                "runId": node.step.run_id,
                "turn": node.step.turn,
                "names": node.names,
                "userPreview": node.step.user,
                "assistantPreview": node.step.assistant,
            })
        });
        json!({ "exchanges": nodes.collect::<Vec<_>>() })
    }
}

/// One exchange on a line: its id, its turn, the names that point at it, what was asked and answered.
fn line(node: &Node, terminal: &Terminal, full_ids: bool) -> String {
    let step = &node.step;
    let exchange = terminal.paint(Style::Name, id(&step.exchange_id, full_ids));
    let turn = terminal.paint(Style::Dim, &format!("{:>3}", step.turn));
    let mut seen = HashSet::new();
    let names: Vec<&str> = node.names.iter().map(String::as_str).filter(|name| seen.insert(*name)).collect();
    let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join("; ")) };
    let user = width::one_line(&step.user, SIDE_COLUMNS);
    let said = width::one_line(&step.assistant, SIDE_COLUMNS);
    // A call of a tool has an arrow of its own.
    let arrow = if said.starts_with('→') { "" } else { "→ " };
    let answer = terminal.paint(Style::Dim, &format!("{arrow}{said}"));
    format!("{exchange} {turn}{}  {user} {answer}", terminal.paint(Style::Good, &names))
}

#[cfg(test)]
mod tests {
    use super::super::forest::Step;
    use super::*;

    fn step(id: &str, turn: u64) -> Step {
        Step {
            exchange_id: id.into(),
            run_id: format!("r{id}"),
            turn,
            user: format!("question {id}"),
            assistant: format!("answer\n{id}"),
            erased: false,
        }
    }

    #[test]
    fn a_graph_has_ids_turns_names_and_both_sides() {
        let mut drawing = Drawing::default();
        drawing.forest.add([step("a", 1), step("b", 2)]);
        drawing.forest.add([step("a", 1), Step { assistant: "→ look()".into(), ..step("c", 2) }]);
        drawing.forest.name("b", "main");
        drawing.forest.name("c", "left");
        drawing.forest.name("c", "right");
        drawing.bare.push("empty has no exchange yet".into());
        let expected = "* b   2 (main)  question b → answer b\n\
                        | * c   2 (left; right)  question c → look()\n\
                        |/\n\
                        * a   1  question a → answer a\n\
                        empty has no exchange yet";
        assert_eq!(drawing.lines(&Terminal::for_test(), false).join("\n"), expected);
        let json = drawing.as_json();
        assert_eq!(json["exchanges"][1]["parentExchangeId"], "a");
        assert_eq!(json["exchanges"][0]["parentExchangeId"], serde_json::Value::Null);
    }

    #[test]
    fn a_thread_says_what_it_waits_for() {
        let call = pb::ToolCall { name: "get".into(), ..Default::default() };
        let pending = pb::PendingToolCalls { run_id: "r".into(), exchange_id: "e".into(), calls: vec![call] };
        let waiting = pb::Thread { pending: Some(pending), active_run_id: "r".into(), ..Default::default() };
        assert_eq!(states(&waiting, None), "waits for results of get at e (run r)");
        let failed = pb::Thread { active_run_id: "r".into(), ..Default::default() };
        let expected = "has no exchange yet: run r ended failed; it can be tried again with --retry";
        assert_eq!(states(&failed, Some(pb::RunState::Failed)), expected);
        assert_eq!(states(&failed, Some(pb::RunState::Running)), "run r is at work");
        assert_eq!(states(&pb::Thread::default(), None), "has no exchange yet");
    }
}
