//! `antiphon info`: what the server is and how it is. It must not know how it is shown elsewhere.

use std::collections::BTreeMap;

use super::Context;
use super::failure::Failure;
use super::table::Table;
use super::words;
use crate::grpc::pb;

/// What can be typed after `info`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {}

/// Shows it.
pub(super) async fn run(_: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    let request = pb::GetServerInfoRequest {};
    let call = async { Ok(remote.admin().get_server_info(remote.request(request)).await?.into_inner()) };
    let response = remote.within(call).await?;
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&response)?);
    }
    let info = response.server_info.ok_or_else(|| Failure::incomplete("server info"))?;
    let lines = facts(&info).lines(terminal);
    Ok(terminal.lines(lines)?)
}

fn facts(info: &pb::ServerInfo) -> Table {
    let mut table = Table::facts();
    table.fact("version", &info.version);
    table.fact("api", &info.api_version);
    table.fact("namespace", &info.namespace);
    table.fact("state", if info.draining { "shutting down" } else { "" });
    table.fact("started", words::time(info.start_time.as_ref()));
    table.fact("up for", words::api_duration(info.uptime.as_ref()));
    if let Some(store) = &info.store {
        let kept = if store.ephemeral { ", gone when the server stops" } else { "" };
        let health = words::store_health(store.health);
        table.fact("store", format!("{} format {}, {health}{kept}", store.kind, store.format_version));
        table.fact("", &store.health_reason);
    }
    if let Some(counts) = info.configured {
        let counts = [
            words::count(counts.profiles.into(), "profile"),
            words::count(counts.backends.into(), "backend"),
            words::count(counts.prompts.into(), "prompt"),
            words::count(counts.contracts.into(), "contract"),
        ];
        table.fact("configured", counts.join(", "));
    }
    for limit in &info.limits {
        // The name ends with its unit already.
        table.fact("limit", format!("{} = {}", limit.name, limit.value));
    }
    for (service, features) in by_service(&info.unimplemented_features) {
        table.fact("not yet", format!("{service}: {}", features.join(", ")));
    }
    table
}

/// Features under the service, or whatever else stands before the dot.
fn by_service(features: &[String]) -> BTreeMap<&str, Vec<&str>> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for feature in features {
        let (group, name) = feature.split_once('.').unwrap_or(("fields", feature));
        groups.entry(group).or_default().push(name);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::super::terminal::Terminal;
    use super::*;

    #[test]
    fn a_store_that_is_not_kept_says_so() {
        let store = pb::StoreInfo {
            kind: "sled".into(),
            format_version: 1,
            health: pb::StoreHealth::Writable.into(),
            ephemeral: true,
            ..Default::default()
        };
        let unimplemented_features = ["A.X", "A.Y", "lone"].map(str::to_owned).to_vec();
        let info = pb::ServerInfo { store: Some(store), unimplemented_features, ..Default::default() };
        let lines = facts(&info).lines(&Terminal::for_test());
        let expected = [
            "store    sled format 1, writable, gone when the server stops",
            "not yet  A: X, Y",
            "not yet  fields: lone",
        ];
        assert_eq!(lines, expected);
    }
}
