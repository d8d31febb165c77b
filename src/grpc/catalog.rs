//! CatalogService: configured resources, no secrets. It must not decide anything.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::call::Call;
use super::convert::catalog::{self, Detail};
use super::page::{Query, Sizes};
use super::pb;
use super::pb::catalog_service_server::CatalogService;
use crate::app::{App, Caller};
use crate::domain::fault::{Fault, Reason};
use crate::engine::BackendView;

/// CatalogService.
pub(super) struct Catalogs {
    app: Arc<App>,
}

impl Catalogs {
    /// On the verbs.
    pub(super) fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

/// A page of things that are in the order of their ids.
fn page<T>(
    rpc: &str,
    call: &Call,
    page_size: i32,
    token: &str,
    all: impl Iterator<Item = (String, T)>,
) -> Result<(Vec<T>, String), Fault> {
    let size = Sizes::LIST.of(page_size)?;
    let query = Query::new(rpc, &call.caller.namespace);
    let after = query.position(token)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let mut rest = all.filter(|(id, _)| after.as_ref().is_none_or(|after| id > after)).peekable();
    let (mut items, mut last) = (Vec::new(), String::new());
    while items.len() < size
        && let Some((id, item)) = rest.next()
    {
        items.push(item);
        last = id;
    }
    let next = if rest.peek().is_some() { query.token(last.as_bytes()) } else { String::new() };
    Ok((items, next))
}

/// A backend's load is of all namespaces, so it is for who may see all.
fn load_for(caller: &Caller, view: BackendView) -> BackendView {
    match caller.only_namespace() {
        None => view,
        Some(_) => BackendView { in_use: 0, queued: 0, ..view },
    }
}

fn unknown(kind: &'static str, id: &str) -> Fault {
    if id.is_empty() {
        return Fault::field(format!("{kind}_id"), "is not set");
    }
    Fault::not_found(Reason::ResourceNotFound, kind, id).with("kind", kind).with("id", id)
}

#[tonic::async_trait]
impl CatalogService for Catalogs {
    async fn list_prompts(
        &self,
        request: Request<pb::ListPromptsRequest>,
    ) -> Result<Response<pb::ListPromptsResponse>, Status> {
        let call = Call::of(&request)?;
        let request = request.into_inner();
        call.answer(async {
            let setup = self.app.engine().setup();
            let namespace = &call.caller.namespace;
            let shows = |id: &str| setup.catalog().profile(id, namespace).is_some();
            let told = |prompt| catalog::prompt_to_pb(prompt, Detail::Line, shows);
            let all = setup.catalog().prompts.iter().map(|(id, prompt)| (id.clone(), told(prompt)));
            let (prompts, next_page_token) =
                page("CatalogService.ListPrompts", &call, request.page_size, &request.page_token, all)?;
            Ok(pb::ListPromptsResponse { prompts, next_page_token })
        })
        .await
    }

    async fn inspect_prompt(
        &self,
        request: Request<pb::InspectPromptRequest>,
    ) -> Result<Response<pb::InspectPromptResponse>, Status> {
        let call = Call::of(&request)?;
        let id = request.into_inner().prompt_id;
        call.answer(async {
            let setup = self.app.engine().setup();
            let prompt = setup.catalog().prompts.get(&id).ok_or_else(|| unknown("prompt", &id))?;
            let shows = |id: &str| setup.catalog().profile(id, &call.caller.namespace).is_some();
            Ok(pb::InspectPromptResponse { prompt: Some(catalog::prompt_to_pb(prompt, Detail::Whole, shows)) })
        })
        .await
    }

    async fn list_profiles(
        &self,
        request: Request<pb::ListProfilesRequest>,
    ) -> Result<Response<pb::ListProfilesResponse>, Status> {
        let call = Call::of(&request)?;
        let request = request.into_inner();
        call.answer(async {
            let setup = self.app.engine().setup();
            let known = setup.catalog();
            let all = known
                .profiles_of(&call.caller.namespace)
                .map(|profile| (profile.id.clone(), catalog::profile_to_pb(profile, known.default_profile.as_deref())));
            let (profiles, next_page_token) =
                page("CatalogService.ListProfiles", &call, request.page_size, &request.page_token, all)?;
            Ok(pb::ListProfilesResponse { profiles, next_page_token })
        })
        .await
    }

    async fn inspect_profile(
        &self,
        request: Request<pb::InspectProfileRequest>,
    ) -> Result<Response<pb::InspectProfileResponse>, Status> {
        let call = Call::of(&request)?;
        let id = request.into_inner().profile_id;
        call.answer(async {
            let setup = self.app.engine().setup();
            let known = setup.catalog();
            let profile = known.profile(&id, &call.caller.namespace).ok_or_else(|| unknown("profile", &id))?;
            Ok(pb::InspectProfileResponse {
                profile: Some(catalog::profile_to_pb(profile, known.default_profile.as_deref())),
            })
        })
        .await
    }

    async fn list_backends(
        &self,
        request: Request<pb::ListBackendsRequest>,
    ) -> Result<Response<pb::ListBackendsResponse>, Status> {
        let call = Call::of(&request)?;
        let request = request.into_inner();
        call.answer(async {
            let setup = self.app.engine().setup();
            let all = setup
                .backends()
                .filter(|view| setup.catalog().has_backend(&view.id, &call.caller.namespace))
                .map(|view| (view.id.clone(), catalog::backend_to_pb(load_for(&call.caller, view))));
            let (backends, next_page_token) =
                page("CatalogService.ListBackends", &call, request.page_size, &request.page_token, all)?;
            Ok(pb::ListBackendsResponse { backends, next_page_token })
        })
        .await
    }

    async fn inspect_backend(
        &self,
        request: Request<pb::InspectBackendRequest>,
    ) -> Result<Response<pb::InspectBackendResponse>, Status> {
        let call = Call::of(&request)?;
        let id = request.into_inner().backend_id;
        call.answer(async {
            let setup = self.app.engine().setup();
            let view = setup.backend(&id).filter(|_| setup.catalog().has_backend(&id, &call.caller.namespace));
            let view = load_for(&call.caller, view.ok_or_else(|| unknown("backend", &id))?);
            Ok(pb::InspectBackendResponse { backend: Some(catalog::backend_to_pb(view)) })
        })
        .await
    }

    async fn list_contracts(
        &self,
        request: Request<pb::ListContractsRequest>,
    ) -> Result<Response<pb::ListContractsResponse>, Status> {
        let call = Call::of(&request)?;
        let request = request.into_inner();
        call.answer(async {
            let setup = self.app.engine().setup();
            let all = setup
                .catalog()
                .contracts
                .iter()
                .map(|(id, contract)| (id.clone(), catalog::contract_to_pb(contract, Detail::Line)));
            let (contracts, next_page_token) =
                page("CatalogService.ListContracts", &call, request.page_size, &request.page_token, all)?;
            Ok(pb::ListContractsResponse { contracts, next_page_token })
        })
        .await
    }

    async fn inspect_contract(
        &self,
        request: Request<pb::InspectContractRequest>,
    ) -> Result<Response<pb::InspectContractResponse>, Status> {
        let call = Call::of(&request)?;
        let id = request.into_inner().contract_id;
        call.answer(async {
            let setup = self.app.engine().setup();
            let contract = setup.catalog().contracts.get(&id).ok_or_else(|| unknown("contract", &id))?;
            Ok(pb::InspectContractResponse { contract: Some(catalog::contract_to_pb(contract, Detail::Whole)) })
        })
        .await
    }
}
