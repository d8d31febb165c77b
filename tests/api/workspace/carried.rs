//! Documents on the way from one store to another: exported, backed up and imported with the points that they belong to, each line checked, and left
//! out where that is asked for.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use pb::graph_scope::Scope;
use tonic::Code;

use super::streams::{noise, open, receive, send, whole};
use crate::look;
use crate::support::documents::{
    after_run, after_turn, all, before, began, copy, exchange, forked, list, live, put, read, remove, these, went_on,
    wrote,
};
use crate::support::server::Running;
use crate::support::transfer::{self, counts, export, findings, import, import_as};
use crate::support::{ask, refused};

async fn restore(server: &Running, to: &str) {
    let request = pb::RestoreRequest { thread_id: "t".into(), to: Some(ask::point(to)), ..Default::default() };
    server.threads().restore(request).await.unwrap();
}

async fn moves(server: &Running, thread: &str) -> Vec<pb::ThreadMove> {
    let request = pb::ListMovesRequest { thread_id: thread.into(), ..Default::default() };
    server.threads().list_moves(request).await.unwrap().into_inner().moves
}

/// A thread `t` of three turns with documents before and after each, one of them large, that went back and on again; a fork `f` with documents of its
/// own; and a thread `other` that has nothing to do with them. Gives the exchanges.
async fn furnished() -> (Running, Vec<String>) {
    let server = Running::echo().await;
    let mut ids = vec![began(&server, "t").await.exchange_id];
    wrote(&server, "t", vec![put("plan", "one"), put("todo", "")]).await;
    ids.push(went_on(&server, "t", "r2").await.exchange_id);
    let many: Vec<_> = (0..200).map(|n| put(&format!("many/{n:03}"), format!("text {n}"))).collect();
    for edits in many.chunks(100) {
        wrote(&server, "t", edits.to_vec()).await;
    }
    send(&server, whole(open("large"), &noise(1_500_000))).await.unwrap();
    wrote(&server, "t", vec![put("plan", "two"), copy("same", live("t"), "plan")]).await;
    ids.push(went_on(&server, "t", "r3").await.exchange_id);
    wrote(&server, "t", vec![put("plan", "aside"), remove("todo")]).await;
    restore(&server, &ids[0]).await;
    ids.push(went_on(&server, "t", "r4").await.exchange_id);
    wrote(&server, "t", vec![put("plan", "four")]).await;
    forked(&server, "t", Some(1), "f").await;
    wrote(&server, "f", vec![put("only-of-the-fork", "f")]).await;
    ids.push(went_on(&server, "f", "f2").await.exchange_id);
    began(&server, "other").await;
    wrote(&server, "other", vec![put("nobody-elses", "x")]).await;
    (server, ids)
}

/// What a caller can see of the documents of threads `t` and `f`, at every point.
async fn seen(server: &Running, ids: &[String]) -> Vec<String> {
    let mut points = vec![live("t"), live("f"), after_turn("t", 1), after_turn("t", 2), after_run("f", "f2")];
    points.extend(ids.iter().flat_map(|id| [before(id), exchange(id)]));
    let mut seen = vec![format!("{:?} {:?}", moves(server, "t").await, moves(server, "f").await)];
    for at in points {
        let listed = list(server, at.clone()).await.unwrap();
        // Large ones are compared by their hash alone.
        let has_large = listed.documents.iter().any(|document| document.name == "large");
        let texts = if has_large { Default::default() } else { all(server, at).await };
        seen.push(format!("{listed:?} {texts:?}"));
    }
    seen
}

fn only(thread: &str) -> Vec<pb::GraphScope> {
    vec![pb::GraphScope { scope: Some(Scope::ThreadPath(pb::ThreadPathScope { thread_id: thread.into() })) }]
}

async fn export_without(server: &Running, scopes: Vec<pb::GraphScope>) -> (String, pb::TransferSummary) {
    let request = pb::ExportRequest { scopes, omit_documents: true, ..Default::default() };
    transfer::read(server.admin().export(request).await.unwrap().into_inner()).await.unwrap()
}

fn count(records: &[pb::RecordCount], kind: &str) -> u64 {
    records.iter().find(|record| record.kind == kind).map_or(0, |record| record.count)
}

/// Everything comes back as of every turn, every exchange, every move, and live with its etag; a second import changes nothing; and what was imported
/// goes on, and is exported the same.
#[tokio::test(flavor = "multi_thread")]
async fn documents_come_back_as_of_every_point() {
    let (server, ids) = furnished().await;
    let (lines, summary) = export(&server, Vec::new()).await;
    assert!(lines.lines().all(|line| line.len() < 1 << 20), "large content comes in pieces");
    let other = Running::echo().await;
    let imported = import(&other, &lines).await.unwrap();
    assert_eq!(counts(&imported.summary.stored), counts(&summary.records), "everything is new");
    assert!(imported.summary.matched.is_empty() && imported.findings.is_empty());
    for kind in ["workspace", "workspace node", "move of a head", "part"] {
        assert!(count(&summary.records, kind) > 0, "{kind}");
    }
    assert_eq!(seen(&other, &ids).await, seen(&server, &ids).await);
    look::verified(&other).await;
    let again = import(&other, &lines).await.unwrap();
    assert!(again.summary.stored.is_empty(), "{:?}", again.summary.stored);
    assert_eq!(counts(&again.summary.matched), counts(&summary.records));
    let (twice, _) = export(&other, Vec::new()).await;
    let body =
        |lines: &str| lines.lines().skip(1).map(str::to_owned).filter(|l| !l.contains("\"end\"")).collect::<Vec<_>>();
    assert_eq!(body(&twice), body(&lines), "what was imported is exported the same");
    let other = other.restart().await;
    assert_eq!(seen(&other, &ids).await, seen(&server, &ids).await);
    let etag = list(&other, live("t")).await.unwrap().version.unwrap().etag;
    assert_eq!(etag, list(&server, live("t")).await.unwrap().version.unwrap().etag);
    let more =
        pb::WriteDocumentsRequest { thread_id: "t".into(), edits: vec![put("more", "1")], etag, ..Default::default() };
    other.workspaces().write_documents(more).await.unwrap();
    restore(&other, &ids[2]).await;
    assert_eq!(read(&other, live("t"), "plan").await.unwrap(), "aside");
    let (opened, chunks) = receive(&other, "large", 0).await.unwrap();
    assert_eq!(opened.document.unwrap().size_bytes, 1_500_000);
    assert!(chunks.concat() == noise(1_500_000));
    went_on(&other, "t", "r5").await;
    look::verified(&other).await;
    // What is there stays as it is: the thread moved on since.
    let later = import(&other, &lines).await.unwrap();
    assert!(later.summary.stored.is_empty(), "{:?}", later.summary.stored);
    assert_eq!(look::thread(&other, "t").await.head_run_id, "r5");
    look::verified(&other).await;
}

/// A part of the graph brings the documents that its exchanges, its threads and their moves need, and nobody else's.
#[tokio::test(flavor = "multi_thread")]
async fn a_part_brings_its_own_documents_only() {
    let (server, ids) = furnished().await;
    let (lines, _) = export(&server, only("t")).await;
    assert!(!lines.contains("nobody-elses") && !lines.contains("only-of-the-fork"));
    let other = Running::echo().await;
    import(&other, &lines).await.unwrap();
    look::verified(&other).await;
    assert_eq!(moves(&other, "t").await, moves(&server, "t").await);
    for at in [live("t"), after_turn("t", 1), before(&ids[2]), exchange(&ids[2])] {
        assert_eq!(list(&other, at.clone()).await.unwrap(), list(&server, at).await.unwrap());
    }
    let (lines, summary) = export(&server, only("f")).await;
    assert!(!lines.contains("many/") && lines.contains("only-of-the-fork"));
    assert_eq!(count(&summary.records, "workspace"), 1);
    let scope = only("t").pop();
    let mut stream = other.admin().verify(pb::VerifyRequest { scope, max_findings: 0 }).await.unwrap().into_inner();
    while let Some(response) = stream.message().await.unwrap() {
        match response.event.unwrap() {
            pb::verify_response::Event::Completed(summary) => {
                let whole = look::verified(&other).await;
                for kind in ["workspace", "workspace node", "move of a head", "part"] {
                    assert_eq!(count(&summary.checked, kind), whole[kind], "every {kind} belongs to the thread");
                }
            }
            pb::verify_response::Event::Finding(finding) => panic!("{finding:?}"),
            pb::verify_response::Event::Progress(_) => {}
        }
    }
}

/// Documents are left out where that is asked for: no word of them is sent, what is imported is whole without them, and the import says so.
#[tokio::test(flavor = "multi_thread")]
async fn documents_can_be_left_out() {
    let (server, ids) = furnished().await;
    let (lines, summary) = export_without(&server, Vec::new()).await;
    for kind in ["workspace", "workspace node", "part"] {
        assert_eq!(count(&summary.records, kind), 0, "{kind}");
    }
    for word in ["\"plan\"", "nobody-elses", "only-of-the-fork", "workspaceBefore", "workspaceAfter"] {
        assert!(!lines.contains(word), "{word}");
    }
    let other = Running::echo().await;
    let imported = import(&other, &lines).await.unwrap();
    let told: Vec<_> = imported.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!((told, imported.summary.skipped_count), (vec!["documents_omitted"], 0));
    look::verified(&other).await;
    assert_eq!(look::threads(&other).await, look::threads(&server).await);
    for at in [live("t"), live("f"), after_turn("t", 1), exchange(&ids[2])] {
        assert_eq!(all(&other, at).await, these([]));
    }
    let ends = |moves: Vec<pb::ThreadMove>| {
        moves.into_iter().map(|one| (one.from_exchange_id, one.to_exchange_id)).collect::<Vec<_>>()
    };
    assert_eq!(ends(moves(&other, "t").await), ends(moves(&server, "t").await));
    assert!(moves(&other, "t").await.iter().all(|one| one.from_workspace_root.is_empty()));
    let again = import(&other, &lines).await.unwrap();
    assert!(again.summary.stored.is_empty(), "{:?}", again.summary.stored);
    // A part of it too, which is another export than that with documents.
    let (part, _) = export_without(&server, only("t")).await;
    import(&Running::echo().await, &part).await.unwrap();
}

/// An import that broke off anywhere goes on when it is sent again, and is whole in the end.
#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_broke_off_goes_on() {
    let (server, ids) = furnished().await;
    let (lines, summary) = export(&server, Vec::new()).await;
    let all: Vec<&str> = lines.lines().collect();
    let last = |kind: &str| all.iter().rposition(|line| line.contains(&format!("\"kind\":\"{kind}\""))).unwrap();
    for at in [last("workspace_node"), last("move_of_a_head"), last("move_of_a_head") + 1, last("thread"), last("part")]
    {
        let other = Running::echo().await;
        let cut = all[..at].join("\n") + "\n";
        let status = import_as(&other, pb::ImportOpen::default(), &cut, 7).await.unwrap_err();
        assert_eq!(refused::fact(&status, "problem"), "truncated");
        assert_eq!(findings(&other).await, Vec::<String>::new(), "what is stored is whole");
        let rest = import(&other, &lines).await.unwrap();
        assert!(count(&rest.summary.stored, "workspace node") < count(&summary.records, "workspace node"));
        assert_eq!(seen(&other, &ids).await, seen(&server, &ids).await);
        look::verified(&other).await;
    }
}

/// Lines of documents that are wrong are refused like any other, and a dry run finds them too.
#[tokio::test(flavor = "multi_thread")]
async fn lines_of_documents_are_checked() {
    let (server, _) = furnished().await;
    let (lines, summary) = export(&server, Vec::new()).await;
    let all: Vec<&str> = lines.lines().collect();
    let first = |kind: &str| all.iter().position(|line| line.contains(&format!("\"kind\":\"{kind}\""))).unwrap();
    let (node, moved, part) = (first("workspace_node"), first("move_of_a_head"), first("part"));
    let with = |at: usize, line: &str| {
        all.iter().enumerate().map(|(n, l)| format!("{}\n", if n == at { line } else { l })).collect::<String>()
    };
    let without = |at: usize| {
        let kept = all.iter().enumerate().filter(|(n, _)| *n != at);
        kept.map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    let thread = all.iter().enumerate().skip(moved).find(|(_, line)| line.contains("\"kind\":\"thread\"")).unwrap().0;
    let cases = [
        ("a changed name", with(node, &all[node].replacen("\"name\":\"", "\"name\":\"x", 1)), "checksum_mismatch"),
        ("a missing node", without(node), "missing_reference"),
        ("missing content", without(part), "missing_reference"),
        ("a thread that does not follow its moves", with(thread, all[first("thread")]), "missing_thread"),
        ("another number", with(moved, &all[moved].replacen("\"key\":\"t ", "\"key\":\"t 1", 1)), "checksum_mismatch"),
    ];
    for (what, input, problem) in cases {
        for dry_run in [true, false] {
            let other = Running::echo().await;
            let open = pb::ImportOpen { dry_run, ..Default::default() };
            let status = import_as(&other, open, &input, 100).await.expect_err(what);
            refused::is(&status, Code::InvalidArgument, Reason::InvalidFields);
            assert_eq!(refused::fact(&status, "problem"), problem, "{what}: {status:?}");
            assert_eq!(findings(&other).await, Vec::<String>::new(), "{what}: what is stored is whole");
        }
    }
    let other = Running::echo().await;
    let open = pb::ImportOpen { dry_run: true, ..Default::default() };
    let tried = import_as(&other, open, &lines, 50).await.unwrap();
    assert_eq!(counts(&tried.summary.stored), counts(&summary.records));
    assert!(look::threads(&other).await.is_empty() && look::verified(&other).await.is_empty());
}
