//! What AdminService does about keeping, expiring, erasing and collecting: each reads its request, asks `app` and writes its answer. It must not
//! decide anything.

use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::call::Call;
use super::convert::retention as convert;
use super::fingerprint;
use super::page::{Query, Sizes};
use super::pb;
use crate::app::App;
use crate::app::retention::Collecting;
use crate::app::thread::Repeatable;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{Hash, Moment};

/// Erases.
pub(super) async fn erase(app: &App, call: &Call, request: pb::EraseRequest) -> Result<pb::EraseResponse, Fault> {
    let fingerprint = fingerprint::erase(&request);
    let (asked, request_id) = convert::erase_from_pb(request)?;
    let erasure = app.erase(&call.caller, asked, &Repeatable { request_id, fingerprint }).await?;
    let replayed = erasure.replayed;
    Ok(pb::EraseResponse { receipt: Some(convert::erased_to_pb(erasure)), replayed })
}

/// Sets a pin.
pub(super) async fn pin(app: &App, call: &Call, request: pb::CreatePinRequest) -> Result<pb::CreatePinResponse, Fault> {
    let fingerprint = fingerprint::create_pin(&request);
    let (pin, request_id) = convert::pin_from_pb(request)?;
    let (pin, replayed) = app.create_pin(&call.caller, pin, &Repeatable { request_id, fingerprint }).await?;
    Ok(pb::CreatePinResponse { pin: Some(convert::pin_to_pb(pin)), replayed })
}

/// Takes a pin away.
pub(super) async fn unpin(
    app: &App,
    call: &Call,
    request: pb::DeletePinRequest,
) -> Result<pb::DeletePinResponse, Fault> {
    let fingerprint = fingerprint::delete_pin(&request);
    let (id, request_id) = convert::unpin_from_pb(request)?;
    app.delete_pin(&call.caller, &id, &Repeatable { request_id, fingerprint }).await?;
    Ok(pb::DeletePinResponse {})
}

/// Lists pins.
pub(super) async fn pins(app: &App, call: &Call, request: pb::ListPinsRequest) -> Result<pb::ListPinsResponse, Fault> {
    let size = Sizes::LIST.of(request.page_size)?;
    let query = Query::new("AdminService.ListPins", &call.caller.namespace);
    let after = query.position(&request.page_token)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let pins = app.list_pins(&call.caller, after.as_deref(), size).await?;
    let next = pins.last().filter(|_| pins.len() == size).map(|pin| query.token(pin.id.as_bytes()));
    let pins = pins.into_iter().map(convert::pin_to_pb).collect();
    Ok(pb::ListPinsResponse { pins, next_page_token: next.unwrap_or_default() })
}

/// Sets when something expires.
pub(super) async fn expire(
    app: &App,
    call: &Call,
    request: pb::SetExpiryRequest,
) -> Result<pb::SetExpiryResponse, Fault> {
    let fingerprint = fingerprint::set_expiry(&request);
    let (target, at, request_id) = convert::expiry_from_pb(request)?;
    let due = app.set_expiry(&call.caller, target, at, &Repeatable { request_id, fingerprint }).await?;
    Ok(pb::SetExpiryResponse { expiry: Some(convert::due_to_pb(due)) })
}

/// Lists what expires.
pub(super) async fn expiries(
    app: &App,
    call: &Call,
    request: pb::ListExpiriesRequest,
) -> Result<pb::ListExpiriesResponse, Fault> {
    let size = Sizes::LIST.of(request.page_size)?;
    let before = convert::before_from_pb(request.before_time)?;
    let query = Query::new("AdminService.ListExpiries", &call.caller.namespace)
        .with(&before.map_or_else(String::new, |before| before.0.to_string()));
    let after = query.position(&request.page_token)?.map(|bytes| position(&bytes)).transpose()?;
    let found = app.list_expiries(&call.caller, after, before, size).await?;
    let next = found
        .last()
        .filter(|_| found.len() == size)
        .map(|((at, hash), _)| query.token(&[at.0.to_be_bytes().as_slice(), hash.0.as_slice()].concat()));
    let expiries = found.into_iter().map(|(_, due)| convert::due_to_pb(due)).collect();
    Ok(pb::ListExpiriesResponse { expiries, next_page_token: next.unwrap_or_default() })
}

fn position(bytes: &[u8]) -> Result<(Moment, Hash), Fault> {
    let parts = bytes
        .split_first_chunk::<8>()
        .and_then(|(at, hash)| Some((Moment(u64::from_be_bytes(*at)), Hash(hash.try_into().ok()?))));
    parts.ok_or_else(|| Fault::new(Reason::PageTokenInvalid, "the page token is damaged: begin again without one"))
}

/// The stream of a collection.
pub(super) fn collecting(
    app: Arc<App>,
    call: Call,
    how: Collecting,
) -> BoxStream<'static, Result<pb::CollectGarbageResponse, Status>> {
    let (out, told) = mpsc::channel(16);
    let (failed, failure) = mpsc::channel(1);
    // Ends when the caller goes, since nobody receives then.
    tokio::spawn(async move {
        let of = call.clone();
        let outcome = of.guarded(app.collect_garbage(&call.caller, how, &out)).await;
        if let Err(fault) = outcome.and_then(|done| done) {
            drop(out);
            failed.send(Err(call.status(&fault))).await.ok();
        }
    });
    let told = ReceiverStream::new(told).map(move |garbage| Ok(convert::garbage_to_pb(garbage, how.dry_run)));
    told.chain(ReceiverStream::new(failure)).boxed()
}
