//! The id of every call. It must not know any RPC, nor who calls.

use tonic::{Request, Status};

use super::status::RequestId;
use crate::domain::source::Ids;

/// Gives each call a request id, ours unless the caller brings a usable one.
pub fn identify(ids: &dyn Ids, mut request: Request<()>) -> Result<Request<()>, Status> {
    let given = request.metadata().get("antiphon-request-id").and_then(|value| value.to_str().ok());
    let usable = given
        .filter(|id| !id.is_empty() && id.len() <= MAX_REQUEST_ID && id.bytes().all(|byte| byte.is_ascii_graphic()));
    let id = match usable {
        Some(id) => RequestId::new(id),
        None => RequestId::new(ids.uuid().to_string()),
    };
    request.extensions_mut().insert(id);
    Ok(request)
}

/// Longest request id that is taken from a caller, in bytes.
const MAX_REQUEST_ID: usize = 128;
