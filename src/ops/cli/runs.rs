//! `antiphon runs`: lists, shows and cancels runs. It must not know how runs are started.

use super::Context;
use super::failure::Failure;
use super::inspect::attempt;
use super::remote::{Remote, pages};
use super::request::{pair, pairs};
use super::table::{Cell, Table};
use super::terminal::Style;
use super::words;
use crate::grpc::pb;

/// What can be typed after `runs`.
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
    /// List runs by id
    List(List),
    /// Show one run
    Get {
        /// The run
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Cancel a run that is at work or waits for results
    Cancel {
        /// The run
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(clap::Args, Debug)]
struct List {
    /// Only those in this state; may be given again
    #[arg(long = "state", value_name = "STATE", value_enum)]
    states: Vec<State>,
    /// Only those of this thread
    #[arg(long, short = 't', value_name = "ID")]
    thread: Option<String>,
    /// Only those with this label
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = pair)]
    labels: Vec<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = super::number::between(1, u32::MAX))]
    limit: u32,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum State {
    Queued,
    Running,
    PendingTools,
    Completed,
    Failed,
    Cancelled,
    Interrupted,
}

impl From<State> for pb::RunState {
    fn from(state: State) -> Self {
        match state {
            State::Queued => Self::Queued,
            State::Running => Self::Running,
            State::PendingTools => Self::PendingTools,
            State::Completed => Self::Completed,
            State::Failed => Self::Failed,
            State::Cancelled => Self::Cancelled,
            State::Interrupted => Self::Interrupted,
        }
    }
}

/// Does it.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    match arguments.what.unwrap_or(What::List(arguments.list)) {
        What::List(list) => show_list(list, &remote, context).await,
        What::Get { id } => {
            let request = pb::RunServiceGetRequest { run_id: id };
            let response = remote.within(async { Ok(remote.runs().get(remote.request(request)).await?) }).await?;
            let response = response.into_inner();
            if context.terminal.is_json() {
                return Ok(context.terminal.json(&response)?);
            }
            let run = response.run.ok_or_else(|| Failure::incomplete("run"))?;
            let lines = facts(&run).lines(context.terminal);
            Ok(context.terminal.lines(lines)?)
        }
        What::Cancel { id } => {
            let request = pb::RunServiceCancelRequest { run_id: id };
            let response = remote.within(async { Ok(remote.runs().cancel(remote.request(request)).await?) }).await?;
            let response = response.into_inner();
            if context.terminal.is_json() {
                return Ok(context.terminal.json(&response)?);
            }
            let run = response.run.ok_or_else(|| Failure::incomplete("run"))?;
            let line = format!("{}  {}", context.terminal.foreign(&run.run_id), words::run_state(run.state));
            Ok(context.terminal.line(&line)?)
        }
    }
}

async fn show_list(arguments: List, remote: &Remote, context: &mut Context<'_>) -> Result<(), Failure> {
    let labels: std::collections::BTreeMap<String, String> = pairs(&arguments.labels, "--label")?.into_iter().collect();
    let states: Vec<i32> = arguments.states.iter().map(|state| pb::RunState::from(*state).into()).collect();
    let thread_id = arguments.thread.unwrap_or_default();
    let fetch = async |page_size, page_token| {
        let request = pb::RunServiceListRequest {
            page_size,
            page_token,
            states: states.clone(),
            thread_id: thread_id.clone(),
            labels: labels.clone(),
        };
        let page = remote.runs().list(remote.request(request)).await?.into_inner();
        Ok((page.runs, page.next_page_token))
    };
    let (runs, more) = remote.within(pages(arguments.limit, fetch)).await?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&pb::RunServiceListResponse { runs, next_page_token: String::new() })?);
    }
    let mut table = Table::new(&["RUN", "STATE", "THREAD", "EXCHANGE", "CALLS", "USAGE", "CHANGED"]);
    for run in &runs {
        table.row(vec![
            Cell::new(&run.run_id, Style::Name),
            Cell::new(words::run_state(run.state), style(run.state())),
            (&run.thread_id).into(),
            words::short_id(&run.exchange_id).into(),
            run.observations.len().to_string().into(),
            words::usage(run.usage.as_ref()).into(),
            words::time(run.update_time.as_ref()).into(),
        ]);
    }
    let lines = table.lines(terminal);
    terminal.lines(lines)?;
    if more {
        terminal.note(&format!("there are more than {}; --limit shows more", arguments.limit))?;
    }
    Ok(())
}

fn style(state: pb::RunState) -> Style {
    match state {
        pb::RunState::Completed => Style::Good,
        pb::RunState::Failed | pb::RunState::Interrupted => Style::Bad,
        pb::RunState::PendingTools | pb::RunState::Cancelled => Style::Odd,
        pb::RunState::Unspecified | pb::RunState::Queued | pb::RunState::Running => Style::Plain,
    }
}

fn facts(run: &pb::Run) -> Table {
    let mut table = Table::facts();
    table.row(vec![Cell::new("run", Style::Dim), Cell::new(&run.run_id, Style::Name)]);
    let state = words::run_state(run.state);
    table.row(vec![Cell::new("state", Style::Dim), Cell::new(state, style(run.state()))]);
    table.fact("attempt", run.attempt.to_string());
    table.fact("captured", if run.captured { "yes" } else { "no" });
    table.fact("exchange", &run.exchange_id);
    table.fact("exchanges", run.exchange_count.to_string());
    table.fact("continued", &run.from_exchange_id);
    table.fact("thread", &run.thread_id);
    table.fact("stopped", words::stop_reason(run.stop_reason));
    table.fact("usage", words::usage(run.usage.as_ref()));
    if let Some(error) = &run.error {
        table.fact("error", format!("{} ({})", error.message, error.reason));
    }
    for call in &run.pending_tool_calls {
        table.fact("pending call", format!("{}({})  {}", call.name, call.arguments_json, call.call_id));
    }
    for observation in &run.observations {
        table.fact("call", attempt(observation));
    }
    for (key, value) in &run.labels {
        table.fact("label", format!("{key}={value}"));
    }
    table.fact("fingerprint", &run.fingerprint);
    table.fact("claimed", words::time(run.create_time.as_ref()));
    table.fact("changed", words::time(run.update_time.as_ref()));
    table
}

#[cfg(test)]
mod tests {
    use super::super::terminal::Terminal;
    use super::*;

    #[test]
    fn a_failed_run_says_why() {
        let error =
            pb::ErrorStatus { message: "gone".into(), reason: "PROVIDER_UNAVAILABLE".into(), ..Default::default() };
        let run = pb::Run {
            run_id: "r".into(),
            state: pb::RunState::Failed.into(),
            error: Some(error),
            ..Default::default()
        };
        let lines = facts(&run).lines(&Terminal::for_test());
        assert!(lines.contains(&"error      gone (PROVIDER_UNAVAILABLE)".to_owned()), "{lines:#?}");
        assert!(lines.contains(&"state      failed".to_owned()), "{lines:#?}");
    }
}
