//! AdminService: what the server is, and whether what it stores is whole. It must not decide anything.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::call::Call;
use super::convert::{admin, moment, retention as convert_retention, transfer};
use super::pb;
use super::pb::admin_service_server::AdminService;
use super::retention;
use super::status::response;
use super::transfer::{receiving, sending};
use super::unimplemented;
use crate::app::App;
use crate::app::access::Door;
use crate::domain::fault::Fault;
use crate::domain::id::Moment;

/// Findings of a verification that are told when the caller says nothing.
const FINDINGS: u32 = 1_000;
/// Findings of a verification that are told at most.
const MAX_FINDINGS: u32 = 100_000;

/// What is known of a server when it starts.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Its version.
    pub version: &'static str,
    /// The kind of its store.
    pub store_kind: &'static str,
    /// The version of its store's format.
    pub format_version: u32,
    /// The store is gone when the server stops.
    pub ephemeral: bool,
    /// The limits that hold for as long as it runs: name, value, unit.
    pub limits: Vec<(&'static str, u64, &'static str)>,
    /// When it was started.
    pub started_at: Moment,
}

/// AdminService.
pub(super) struct Admin {
    app: Arc<App>,
    door: Arc<dyn Door>,
    facts: Facts,
    started: Instant,
}

impl Admin {
    /// On the verbs.
    pub(super) fn new(app: Arc<App>, door: Arc<dyn Door>, facts: Facts) -> Self {
        Self { app, door, facts, started: Instant::now() }
    }

    fn info(&self, call: &Call) -> pb::ServerInfo {
        let setup = self.app.engine().setup();
        let repairs = ("max_repair_attempts", u64::from(setup.catalog().max_repair_attempts), "count");
        let limits = self.facts.limits.iter().chain([&repairs]).map(|(name, value, unit)| pb::Limit {
            name: (*name).to_owned(),
            value: *value,
            unit: (*unit).to_owned(),
        });
        pb::ServerInfo {
            version: self.facts.version.to_owned(),
            api_version: "antiphon.v1".to_owned(),
            namespace: call.caller.namespace.to_string(),
            store: Some(admin::store_to_pb(
                self.facts.store_kind,
                self.facts.format_version,
                self.facts.ephemeral,
                self.app.health(),
            )),
            draining: self.app.is_draining(),
            start_time: Some(moment::to_pb(self.facts.started_at)),
            uptime: Some(duration(self.started.elapsed())),
            limits: limits.collect(),
            unimplemented_features: unimplemented::features().into_iter().map(str::to_owned).collect(),
            configured: Some(admin::counts_to_pb(&setup, &call.caller.namespace)),
        }
    }
}

fn duration(elapsed: Duration) -> prost_types::Duration {
    moment::duration_to_pb(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}

#[tonic::async_trait]
impl AdminService for Admin {
    type VerifyStream = BoxStream<'static, Result<pb::VerifyResponse, Status>>;
    type ExportStream = BoxStream<'static, Result<pb::ExportResponse, Status>>;
    type ImportStream = BoxStream<'static, Result<pb::ImportResponse, Status>>;
    type BackupStream = BoxStream<'static, Result<pb::BackupResponse, Status>>;
    type CollectGarbageStream = BoxStream<'static, Result<pb::CollectGarbageResponse, Status>>;

    async fn get_server_info(
        &self,
        request: Request<pb::GetServerInfoRequest>,
    ) -> Result<Response<pb::GetServerInfoResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async { Ok(pb::GetServerInfoResponse { server_info: Some(self.info(&call)) }) }).await
    }

    async fn verify(&self, request: Request<pb::VerifyRequest>) -> Result<Response<Self::VerifyStream>, Status> {
        let call = Call::of(&request)?;
        let request = request.into_inner();
        let scope = transfer::part_from_pb(request.scope).map_err(|fault| call.status(&fault))?;
        let max = match request.max_findings {
            0 => FINDINGS,
            max if max > MAX_FINDINGS => {
                let fault =
                    Fault::field("max_findings", format!("is {max}: at most {MAX_FINDINGS} are told; ask for fewer"));
                return Err(call.status(&fault));
            }
            max => max,
        };
        let (out, verified) = mpsc::channel(64);
        let (app, of, started) = (Arc::clone(&self.app), call.clone(), Instant::now());
        let (failed, failure) = mpsc::channel(1);
        // Ends when the caller goes, since nobody receives then.
        tokio::spawn(async move {
            if let Err(fault) = app.verify(&of.caller, scope.as_ref(), max, &out).await {
                drop(failed.send(Err(of.status(&fault))).await);
            }
        });
        let told = ReceiverStream::new(verified)
            .map(move |event| Ok(admin::verified_to_pb(event, duration(started.elapsed()))));
        let stream: Self::VerifyStream = Box::pin(told.chain(ReceiverStream::new(failure)));
        Ok(response(stream, call.request_id.as_ref(), None))
    }

    async fn stats(&self, request: Request<pb::StatsRequest>) -> Result<Response<pb::StatsResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(async {
            let at_work = self.door.at_work(call.caller.only_namespace());
            Ok(admin::stats_to_pb(self.app.stats(&call.caller, &at_work).await?))
        })
        .await
    }

    async fn export(&self, request: Request<pb::ExportRequest>) -> Result<Response<Self::ExportStream>, Status> {
        use pb::export_response::Event;
        let call = Call::of(&request)?;
        let exporting = call
            .until_deadline(async {
                let (scopes, omit_documents, resume) = transfer::export_from_pb(request.into_inner())?;
                self.app.export(&call.caller, &scopes, omit_documents, resume).await
            })
            .await
            .map_err(|fault| call.status(&fault))?;
        let told = |event| pb::ExportResponse { event: Some(event) };
        let request_id = call.request_id.clone();
        let stream = sending(
            call,
            exporting,
            move |started| told(Event::Started(started)),
            move |event| told(transfer::exported_to_pb(event)),
        );
        Ok(response(stream, request_id.as_ref(), None))
    }

    async fn import(
        &self,
        request: Request<Streaming<pb::ImportRequest>>,
    ) -> Result<Response<Self::ImportStream>, Status> {
        let call = Call::of(&request)?;
        let request_id = call.request_id.clone();
        let stream = receiving(Arc::clone(&self.app), call, request.into_inner());
        Ok(response(stream, request_id.as_ref(), None))
    }

    async fn backup(&self, request: Request<pb::BackupRequest>) -> Result<Response<Self::BackupStream>, Status> {
        use pb::backup_response::Event;
        let call = Call::of(&request)?;
        let all = request.get_ref().all_namespaces;
        let begun = call.until_deadline(self.app.backup(&call.caller, all)).await;
        let exporting = begun.map_err(|fault| call.status(&fault))?;
        let told = |event| pb::BackupResponse { event: Some(event) };
        let request_id = call.request_id.clone();
        let stream = sending(
            call,
            exporting,
            move |started| told(Event::Started(started)),
            move |event| told(transfer::backed_up_to_pb(event)),
        );
        Ok(response(stream, request_id.as_ref(), None))
    }

    async fn erase(&self, request: Request<pb::EraseRequest>) -> Result<Response<pb::EraseResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(retention::erase(&self.app, &call, request.into_inner())).await
    }

    async fn get_erase_receipt(
        &self,
        request: Request<pb::GetEraseReceiptRequest>,
    ) -> Result<Response<pb::GetEraseReceiptResponse>, Status> {
        let call = Call::of(&request)?;
        let id = request.into_inner().receipt_id;
        call.answer(async {
            let erasure = self.app.erase_receipt(&call.caller, &id).await?;
            Ok(pb::GetEraseReceiptResponse { receipt: Some(convert_retention::erased_to_pb(erasure)) })
        })
        .await
    }

    async fn create_pin(
        &self,
        request: Request<pb::CreatePinRequest>,
    ) -> Result<Response<pb::CreatePinResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(retention::pin(&self.app, &call, request.into_inner())).await
    }

    async fn delete_pin(
        &self,
        request: Request<pb::DeletePinRequest>,
    ) -> Result<Response<pb::DeletePinResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(retention::unpin(&self.app, &call, request.into_inner())).await
    }

    async fn list_pins(&self, request: Request<pb::ListPinsRequest>) -> Result<Response<pb::ListPinsResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(retention::pins(&self.app, &call, request.into_inner())).await
    }

    async fn set_expiry(
        &self,
        request: Request<pb::SetExpiryRequest>,
    ) -> Result<Response<pb::SetExpiryResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(retention::expire(&self.app, &call, request.into_inner())).await
    }

    async fn list_expiries(
        &self,
        request: Request<pb::ListExpiriesRequest>,
    ) -> Result<Response<pb::ListExpiriesResponse>, Status> {
        let call = Call::of(&request)?;
        call.answer(retention::expiries(&self.app, &call, request.into_inner())).await
    }

    async fn collect_garbage(
        &self,
        request: Request<pb::CollectGarbageRequest>,
    ) -> Result<Response<Self::CollectGarbageStream>, Status> {
        let call = Call::of(&request)?;
        let how = convert_retention::collect_from_pb(request.into_inner()).map_err(|fault| call.status(&fault))?;
        let request_id = call.request_id.clone();
        Ok(response(retention::collecting(Arc::clone(&self.app), call, how), request_id.as_ref(), None))
    }

    async fn reload(&self, request: Request<pb::ReloadRequest>) -> Result<Response<pb::ReloadResponse>, Status> {
        let call = Call::of(&request)?;
        let dry_run = request.into_inner().dry_run;
        call.answer(async { Ok(admin::reloaded_to_pb(self.app.reload(dry_run).await?)) }).await
    }
}
