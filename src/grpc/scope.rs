//! What each RPC asks of a credential. It must not know who has one.

use crate::app::access::{CallKind, Scope};
use crate::app::meters::OTHER_RPC;

/// What an RPC asks of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing: not even that there is one.
    Nothing,
    /// That it is taken.
    Somebody,
    /// That it has this scope.
    Scope(Scope),
    /// That it has this scope, and opens all namespaces.
    Server(Scope),
}

/// By its path, such as `/antiphon.v1.ThreadService/Get`. What is not there answers UNIMPLEMENTED, to somebody.
pub(super) fn of(path: &str) -> Needs {
    let Some((service, method)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) else {
        return Needs::Somebody;
    };
    match service.strip_prefix("antiphon.v1.") {
        Some(service) => ours(service, method).unwrap_or(Needs::Somebody),
        // What looks whether a server is there has no credential.
        None if service == "grpc.health.v1.Health" => Needs::Nothing,
        None => Needs::Somebody,
    }
}

/// The name of an RPC of the API, without its package; one name for every other path, so that nobody can make up names.
pub(super) fn name(path: &str) -> &str {
    let name = path.strip_prefix("/antiphon.v1.").unwrap_or_default();
    let known = name.split_once('/').is_some_and(|(service, method)| ours(service, method).is_some());
    if known { name } else { OTHER_RPC }
}

/// What kind of call an RPC is, by its path.
pub(super) fn kind(path: &str) -> CallKind {
    match path.rsplit('/').next().unwrap_or_default() {
        "Coordinate" => CallKind::Coordination,
        "Watch" | "Verify" | "Export" | "Import" | "Backup" | "CollectGarbage" | "ServerReflectionInfo" => {
            CallKind::Stream
        }
        method if method.starts_with("Stream") => CallKind::Stream,
        _ => CallKind::Unary,
    }
}

/// Whether it is told who called it: what changes the store as a whole, takes things out of it, or removes something.
pub(super) fn is_audited(path: &str) -> bool {
    match path.strip_prefix("/antiphon.v1.").and_then(|path| path.split_once('/')) {
        Some(("AdminService", method)) => {
            !matches!(method, "GetServerInfo" | "Stats" | "Verify" | "GetEraseReceipt" | "ListPins" | "ListExpiries")
        }
        Some(("ThreadService", method)) => matches!(method, "Restore" | "Delete"),
        _ => false,
    }
}

fn ours(service: &str, method: &str) -> Option<Needs> {
    use Scope::{Admin, Read, Write};
    let scope = match (service, method) {
        ("AdminService", "GetServerInfo") => return Some(Needs::Somebody),
        ("AdminService", "Reload") => return Some(Needs::Server(Admin)),
        (
            "AdminService",
            "Stats" | "Verify" | "Export" | "Import" | "Backup" | "Erase" | "GetEraseReceipt" | "CreatePin"
            | "DeletePin" | "ListPins" | "SetExpiry" | "ListExpiries" | "CollectGarbage",
        ) => Admin,
        (
            "CatalogService",
            "ListPrompts" | "InspectPrompt" | "ListProfiles" | "InspectProfile" | "ListBackends" | "InspectBackend"
            | "ListContracts" | "InspectContract",
        ) => Read,
        ("CoordinationService", "Get" | "List") => Read,
        ("CoordinationService", "Cancel" | "Answer") => Write,
        ("ExchangeService", "Explain" | "Inspect" | "StreamInspect") => Read,
        (
            "ExchangeService",
            "Run" | "Capture" | "StreamCapture" | "Record" | "Continue" | "StreamContinue" | "Prepare" | "Fork"
            | "Probe" | "StreamProbe" | "Coordinate",
        ) => Write,
        (
            "GraphService",
            "ListChildren" | "ListAncestors" | "GetCommonAncestor" | "Diff" | "GetGraph" | "Search" | "SumUsage",
        ) => Read,
        ("RunService", "Get" | "List" | "Watch") => Read,
        ("RunService", "Cancel") => Write,
        ("ThreadService", "Get" | "List" | "ListTurns" | "ListMoves") => Read,
        ("ThreadService", "Create" | "Update" | "Delete" | "Restore") => Write,
        ("ToolService", "GetCallTools" | "GetToolSet" | "ListToolOccurrences" | "ListToolDrifts") => Read,
        ("WorkspaceService", "ListDocuments" | "ReadDocument" | "StreamReadDocument" | "DiffDocuments") => Read,
        ("WorkspaceService", "WriteDocuments" | "StreamWriteDocument") => Write,
        _ => return None,
    };
    Some(Needs::Scope(scope))
}

#[cfg(test)]
mod tests {
    use prost_reflect::DescriptorPool;

    use super::*;
    use crate::grpc::pb;

    #[test]
    fn every_rpc_of_the_api_asks_for_something() {
        let pool = DescriptorPool::decode(pb::DESCRIPTOR).unwrap();
        let mut count = 0;
        for service in pool.services() {
            for method in service.methods() {
                let needs = ours(service.name(), method.name());
                assert!(needs.is_some(), "{} asks for nothing: give it a scope", method.full_name());
                count += 1;
            }
        }
        assert!(count > 50, "{count}");
    }

    #[test]
    fn streams_are_told_from_calls_with_one_answer() {
        let pool = DescriptorPool::decode(pb::DESCRIPTOR).unwrap();
        for method in pool.services().flat_map(|service| service.methods().collect::<Vec<_>>()) {
            let kind = kind(&format!("/{}/{}", method.parent_service().full_name(), method.name()));
            let streams = method.is_client_streaming() || method.is_server_streaming();
            assert_eq!(kind != CallKind::Unary, streams, "{}", method.full_name());
        }
        assert_eq!(kind("/antiphon.v1.ExchangeService/Coordinate"), CallKind::Coordination);
    }

    #[test]
    fn what_is_not_ours_asks_for_somebody_and_health_for_nobody() {
        assert_eq!(of("/grpc.health.v1.Health/Check"), Needs::Nothing);
        assert_eq!(of("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"), Needs::Somebody);
        assert_eq!(of("/antiphon.v1.ThreadService/Nope"), Needs::Somebody);
        assert_eq!(of("/antiphon.v1.AdminService/Reload"), Needs::Server(Scope::Admin));
        assert_eq!(of("nonsense"), Needs::Somebody);
    }
}
