//! Listing and comparing documents: by name, in pages of one version, with what changed in texts.

use antiphon::domain::fault::Reason;
use antiphon::grpc::pb;
use tonic::Code;

use crate::support::ask;
use crate::support::documents::{after_turn, began, forked, live, put, remove, root, went_on, wrote};
use crate::support::refused;
use crate::support::server::Running;

fn name(number: usize) -> String {
    format!("n/{number:03}")
}

fn changed(diff: &pb::DocumentDiff) -> (String, pb::ChangeKind) {
    (diff.name.clone(), diff.kind())
}

/// Pages are of the version that the first one was of, whatever is written between them.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_goes_on_in_the_version_that_it_began_in() {
    let server = Running::echo().await;
    began(&server, "t").await;
    wrote(&server, "t", (0..120).map(|number| put(&name(number), "x")).collect()).await;
    wrote(&server, "t", vec![put("a", "x"), put("z", "x")]).await;
    let request = |token: &str, prefix: &str| pb::ListDocumentsRequest {
        at: Some(live("t")),
        name_prefix: prefix.into(),
        page_size: 50,
        page_token: token.into(),
    };
    let mut client = server.workspaces();
    let first = client.list_documents(request("", "n/")).await.unwrap().into_inner();
    assert!(!first.version.clone().unwrap().etag.is_empty());
    wrote(&server, "t", vec![remove(&name(60)), put("n/later", "x")]).await;
    let mut names: Vec<String> = first.documents.iter().map(|document| document.name.clone()).collect();
    let mut token = first.next_page_token.clone();
    while !token.is_empty() {
        let page = client.list_documents(request(&token, "n/")).await.unwrap().into_inner();
        let version = page.version.unwrap();
        assert_eq!(version.workspace_root, first.version.clone().unwrap().workspace_root);
        assert_eq!(version.etag, "", "it is live no longer");
        names.extend(page.documents.into_iter().map(|document| document.name));
        token = page.next_page_token;
    }
    assert_eq!(names, (0..120).map(name).collect::<Vec<_>>());
    let other = client.list_documents(request(&first.next_page_token, "a")).await.unwrap_err();
    refused::is(&other, Code::InvalidArgument, Reason::PageTokenInvalid);
    let none = client.list_documents(request("", "nothing")).await.unwrap().into_inner();
    assert_eq!((none.documents.len(), none.next_page_token.as_str()), (0, ""));
}

/// Two versions differ in what was added, removed and changed; what was only written again does not count.
#[tokio::test(flavor = "multi_thread")]
async fn two_versions_are_compared() {
    let server = Running::echo().await;
    began(&server, "t").await;
    let edits = vec![put("same", "x"), put("plan", "a\nb\nc\n"), put("gone", "1\n"), put("bytes", vec![0xff])];
    wrote(&server, "t", edits).await;
    went_on(&server, "t", "r2").await;
    let edits =
        vec![put("same", "x"), put("plan", "a\nB\nc\n"), remove("gone"), put("new", "2\n"), put("bytes", vec![0xfe])];
    wrote(&server, "t", edits).await;
    let request = |left, right| pb::DiffDocumentsRequest {
        left: Some(left),
        right: Some(right),
        include_unified_diff: true,
        ..Default::default()
    };
    let mut client = server.workspaces();
    let diff = client.diff_documents(request(after_turn("t", 1), live("t"))).await.unwrap().into_inner();
    use pb::ChangeKind::{Added, Changed, Removed};
    let kinds: Vec<_> = diff.documents.iter().map(changed).collect();
    let expected = [("bytes", Changed), ("gone", Removed), ("new", Added), ("plan", Changed)];
    assert_eq!(kinds, expected.map(|(name, kind)| (name.to_owned(), kind)));
    let texts: Vec<&str> = diff.documents.iter().map(|one| one.unified_diff.as_str()).collect();
    assert_eq!(texts[0], "", "no text");
    assert_eq!(texts[1], "--- gone\n+++ gone\n@@ -1 +0,0 @@\n-1\n");
    assert_eq!(texts[3], "--- plan\n+++ plan\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
    assert!(diff.documents[2].left.is_none() && diff.documents[1].right.is_none());
    assert_eq!(diff.documents[3].left.as_ref().unwrap().content_blake3, blake3::hash(b"a\nb\nc\n").to_hex().as_str());
    assert_eq!((diff.left.unwrap().document_count, diff.right.unwrap().document_count), (4, 4));
    let same = client.diff_documents(request(live("t"), live("t"))).await.unwrap().into_inner();
    assert_eq!(same.documents, []);
    let nobody = client.diff_documents(request(live("t"), live("nobody"))).await.unwrap_err();
    refused::is(&nobody, Code::NotFound, Reason::ThreadNotFound);
}

/// A long comparison comes in pages of the two versions that the first one was of.
#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_comes_in_pages() {
    let server = Running::echo().await;
    began(&server, "t").await;
    wrote(&server, "t", (0..250).map(|number| put(&name(number), "x")).collect()).await;
    forked(&server, "t", None, "f").await;
    wrote(&server, "f", (0..250).step_by(3).map(|number| put(&name(number), "y")).collect()).await;
    let request = |token: &str| pb::DiffDocumentsRequest {
        left: Some(live("t")),
        right: Some(live("f")),
        name_prefix: "n/1".into(),
        page_size: 10,
        page_token: token.into(),
        ..Default::default()
    };
    let (mut names, mut token, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = server.workspaces().diff_documents(request(&token)).await.unwrap().into_inner();
        names.extend(page.documents.iter().map(|one| one.name.clone()));
        token = page.next_page_token;
        pages += 1;
        wrote(&server, "f", vec![put(&name(100), "later"), put(&name(199), "later")]).await;
        if token.is_empty() {
            break;
        }
    }
    let expected: Vec<String> = (100..200).filter(|number| number % 3 == 0).map(name).collect();
    assert_eq!((names, pages), (expected, 4));
    assert_eq!(crate::support::documents::list(&server, root("")).await.unwrap().documents.len(), 0);
}

/// Comparing two exchanges compares their documents too, after the messages, in pages that count both.
#[tokio::test(flavor = "multi_thread")]
async fn exchanges_are_compared_with_their_documents() {
    let server = Running::echo().await;
    began(&server, "t").await;
    forked(&server, "t", None, "f").await;
    wrote(&server, "t", vec![put("a", "1"), put("b", "1"), put("c", "1")]).await;
    wrote(&server, "f", vec![put("a", "1"), put("b", "2"), put("d", "1")]).await;
    let left = went_on(&server, "t", "t2").await.exchange_id;
    let right = went_on(&server, "f", "f2").await.exchange_id;
    let request = |token: &str, page_size, aspects: &[pb::DiffAspect]| pb::DiffRequest {
        left: Some(ask::point(&left)),
        right: Some(ask::point(&right)),
        aspects: aspects.iter().map(|aspect| (*aspect).into()).collect(),
        page_size,
        page_token: token.into(),
        ..Default::default()
    };
    use pb::ChangeKind::{Added, Changed, Removed};
    let expected = [("b", Changed), ("c", Removed), ("d", Added)].map(|(name, kind)| (name.to_owned(), kind));
    let mut client = server.graphs();
    let only = client.diff(request("", 0, &[pb::DiffAspect::Documents])).await.unwrap().into_inner();
    assert_eq!(only.documents.iter().map(changed).collect::<Vec<_>>(), expected);
    assert!(only.messages.is_empty() && only.settings.is_empty() && only.next_page_token.is_empty());
    for page_size in [1, 2, 3, 4, 100] {
        let (mut messages, mut documents, mut token) = (0, Vec::new(), String::new());
        loop {
            let page = client.diff(request(&token, page_size, &[])).await.unwrap().into_inner();
            assert!(page.messages.len() + page.documents.len() <= usize::try_from(page_size).unwrap());
            assert!(documents.is_empty() || page.messages.is_empty(), "messages come first");
            messages += page.messages.len();
            documents.extend(page.documents.iter().map(changed));
            token = page.next_page_token;
            if token.is_empty() {
                break;
            }
        }
        assert_eq!((messages, documents), (2, expected.to_vec()), "in pages of {page_size}");
    }
}
