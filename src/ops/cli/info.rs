//! `antiphon info`: what the server is and how it is. It must not know how it is shown elsewhere.

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
        let text = format!(
            "{} profiles, {} backends, {} prompts, {} contracts",
            counts.profiles, counts.backends, counts.prompts, counts.contracts
        );
        table.fact("configured", text);
    }
    for limit in &info.limits {
        // The name ends with its unit already.
        table.fact("limit", format!("{} = {}", limit.name, limit.value));
    }
    table.fact("not yet", info.unimplemented_features.join(", "));
    table
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
        let info = pb::ServerInfo { version: "1".into(), store: Some(store), ..Default::default() };
        let lines = facts(&info).lines(&Terminal::for_test());
        assert_eq!(lines, ["version  1", "store    sled format 1, writable, gone when the server stops"]);
    }
}
