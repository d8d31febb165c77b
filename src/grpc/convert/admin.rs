//! What the server is and what a verification found. It must not know how either is learnt.

use std::collections::BTreeMap;

use prost_types::Duration;

use crate::app::access::LimitUse;
use crate::app::reload::{Mistake, Reloaded};
use crate::app::stats::Stats;
use crate::app::verify::Verified;
use crate::domain::id::Namespace;
use crate::engine::{Change, Setup, What};
use crate::grpc::convert::moment;
use crate::grpc::pb;
use crate::store::Health;
use crate::store::layout::Kind;
use crate::store::tally::Amount;
use crate::store::verify::{Finding, Report};

/// The store.
pub fn store_to_pb(kind: &str, format_version: u32, ephemeral: bool, health: Health) -> pb::StoreInfo {
    let (health, health_reason) = match health {
        Health::Writable => (pb::StoreHealth::Writable, String::new()),
        Health::ReadOnly(why) => (pb::StoreHealth::ReadOnly, why),
    };
    pb::StoreInfo { kind: kind.to_owned(), format_version, health: health.into(), health_reason, ephemeral }
}

/// How many resources are configured for a namespace.
pub fn counts_to_pb(setup: &Setup, namespace: &Namespace) -> pb::ConfiguredCounts {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let catalog = setup.catalog();
    pb::ConfiguredCounts {
        prompts: count(catalog.prompts.len()),
        profiles: count(catalog.profiles_of(namespace).count()),
        backends: count(setup.backends().filter(|view| catalog.has_backend(&view.id, namespace)).count()),
        contracts: count(catalog.contracts.len()),
    }
}

/// What a reload did.
pub fn reloaded_to_pb(reloaded: Reloaded) -> pb::ReloadResponse {
    let change = |Change { kind, id, what }: Change| {
        let change = match what {
            What::Added => pb::ChangeKind::Added,
            What::Removed => pb::ChangeKind::Removed,
            What::Changed => pb::ChangeKind::Changed,
        };
        pb::ConfigChange { kind: kind.to_owned(), id, change: change.into() }
    };
    let problem = |Mistake { file, place, message }: Mistake| pb::ConfigProblem { file, place, message };
    pb::ReloadResponse {
        applied: reloaded.applied,
        changes: reloaded.changes.into_iter().map(change).collect(),
        problems: reloaded.mistakes.into_iter().map(problem).collect(),
    }
}

/// What a namespace holds.
pub fn stats_to_pb(stats: Stats) -> pb::StatsResponse {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    pb::StatsResponse {
        records: amounts_to_pb(&stats.tally.records),
        disk_bytes: stats.disk_bytes,
        logical_bytes: stats.tally.logical_bytes,
        active_runs: count(stats.active_runs),
        open_coordinations: stats.tally.open_coordinations,
        attached_coordinations: count(stats.attached_coordinations),
        exact: stats.exact,
        time: Some(moment::to_pb(stats.at)),
        limits: stats.limits.into_iter().map(use_to_pb).collect(),
    }
}

fn use_to_pb(LimitUse { name, used, max, unit, credential, namespace }: LimitUse) -> pb::LimitUse {
    pb::LimitUse { name: name.into_owned(), used, value: max, unit, credential, namespace }
}

/// Records by kind.
pub fn amounts_to_pb(records: &BTreeMap<Kind, Amount>) -> Vec<pb::RecordCount> {
    let record = |(kind, amount): (&Kind, &Amount)| pb::RecordCount {
        kind: kind.word().to_owned(),
        count: amount.count,
        size_bytes: amount.bytes,
    };
    records.iter().map(record).collect()
}

/// One event of a verification.
pub fn verified_to_pb(verified: Verified, elapsed: Duration) -> pb::VerifyResponse {
    use pb::verify_response::Event;
    let event = match verified {
        Verified::Progress(report) => {
            Event::Progress(pb::VerifyProgress { checked_count: report.records.values().sum(), total_count: None })
        }
        Verified::Finding(finding) => Event::Finding(finding_to_pb(finding)),
        Verified::Done(report, stopped_early) => Event::Completed(summary(&report, stopped_early, elapsed)),
    };
    pb::VerifyResponse { event: Some(event) }
}

fn summary(report: &Report, stopped_early: bool, elapsed: Duration) -> pb::VerifySummary {
    let checked = report.records.iter().map(|(kind, count)| pb::RecordCount {
        kind: kind.word().to_owned(),
        count: *count,
        size_bytes: 0,
    });
    pb::VerifySummary {
        checked: checked.collect(),
        finding_count: report.findings,
        erased_count: report.erased,
        stopped_early,
        duration: Some(elapsed),
    }
}

fn finding_to_pb(finding: Finding) -> pb::Finding {
    pb::Finding {
        code: "damaged_record".to_owned(),
        kind: finding.kind.map_or_else(String::new, |kind| kind.word().to_owned()),
        record: finding.record,
        message: finding.problem,
        remedy: "stop the server, keep a copy of its data folder, and restore the last backup or export".to_owned(),
    }
}
