//! What a write of documents may have.

use antiphon::grpc::pb;
use pb::document_edit::Edit;

use super::{Edge, beyond, kept, object};
use crate::support::documents::{began, live, put, write};
use crate::support::server::Running;

fn one(document: pb::PutDocument) -> pb::WriteDocumentsRequest {
    write("t", vec![pb::DocumentEdit { edit: Some(Edit::Put(document)) }])
}

fn document() -> pb::PutDocument {
    pb::PutDocument { name: "n".into(), ..Default::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_write() {
    let server = Running::echo().await;
    began(&server, "t").await;
    let edges: &[Edge<pb::WriteDocumentsRequest>] = &[
        ("edits", 256, |count| write("t", (0..count).map(|number| put(&format!("d{number}"), "x")).collect())),
        ("edits[0].put.name", 512, |bytes| one(pb::PutDocument { name: "n".repeat(bytes), ..document() })),
        ("edits[0].put.media_type", 255, |characters| {
            one(pb::PutDocument { media_type: "m".repeat(characters), ..document() })
        }),
        ("edits[0].put.metadata_json", 16_384, |bytes| {
            one(pb::PutDocument { metadata_json: object(bytes), ..document() })
        }),
        ("edits[0].put.data", 1_048_576, |bytes| one(pb::PutDocument { data: vec![7; bytes].into(), ..document() })),
    ];
    let written = async |request| server.workspaces().write_documents(request).await;
    kept(&server, edges, written).await;
    beyond(&written(write("t", Vec::new())).await.unwrap_err(), "edits", 256, 0);
    let listed = crate::support::documents::list(&server, live("t")).await.unwrap();
    assert_eq!(listed.version.unwrap().document_count, 256 + 2, "all were written");
}
