//! `antiphon usage`: what runs consumed, each counted once. It must not add anything up itself.

use super::Context;
use super::failure::Failure;
use super::part::Part;
use super::request::{pair, pairs};
use super::table::Table;
use super::words;
use crate::grpc::pb;
use pb::usage_scope::Runs;

/// What can be typed after `usage`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    part: Part,
    /// This run; may be given again
    #[arg(long, value_name = "ID")]
    run: Vec<String>,
    /// Runs with this label; with several, those that have all
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = pair)]
    labels: Vec<String>,
}

/// Does it.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let labels: std::collections::BTreeMap<String, String> = pairs(&arguments.labels, "--label")?.into_iter().collect();
    let mut named: Vec<Runs> = arguments.part.build().map(Runs::Graph).into_iter().collect();
    if !arguments.run.is_empty() {
        named.push(Runs::RunSet(pb::RunSet { run_ids: arguments.run }));
    }
    if !labels.is_empty() {
        named.push(Runs::LabelSet(pb::LabelSet { labels }));
    }
    if named.is_empty() {
        let message = "whose usage? give --exchange, --below, --thread, --tree, --run or --label";
        return Err(Failure::usage(message.to_owned()));
    }
    let scopes = named.into_iter().map(|runs| pb::UsageScope { runs: Some(runs) }).collect();
    let remote = context.remote().await?;
    let request = remote.request(pb::SumUsageRequest { scopes });
    let sum = remote.within(async { Ok(remote.graphs().sum_usage(request).await?) }).await?.into_inner();
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&sum)?);
    }
    let mut facts = Table::facts();
    facts.fact("usage", words::usage(sum.usage.as_ref()));
    facts.fact("runs", sum.run_count.to_string());
    facts.fact("complete", sum.complete_count.to_string());
    facts.fact("in part", sum.partial_count.to_string());
    facts.fact("unknown", sum.unknown_count.to_string());
    for cost in &sum.cost_estimates {
        let part = if cost.completeness() == pb::UsageCompleteness::Complete { "" } else { ", for what has a price" };
        facts.fact("may have cost", format!("{} {}{part}", cost.amount, cost.currency));
    }
    let lines = facts.lines(terminal);
    terminal.lines(lines)?;
    let mut table = Table::new(&["BACKEND", "MODEL", "CALLS", "USAGE"]);
    for model in &sum.models {
        table.row(vec![
            (&model.backend_id).into(),
            (&model.model).into(),
            model.attempt_count.to_string().into(),
            words::usage(model.usage.as_ref()).into(),
        ]);
    }
    let lines = table.lines(terminal);
    Ok(terminal.lines(lines)?)
}
