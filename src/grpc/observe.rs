//! What every call goes through: an id, a principal, a span. It must not know any RPC.

use secrecy::SecretString;
use tonic::{Request, Status};

use super::status::RequestId;
use crate::app::Caller;
use crate::domain::id::Namespace;
use crate::domain::source::Ids;

/// Gives each call a request id, ours unless the caller brings a usable one, and its principal: everybody is in the default namespace as long
/// as there are no keys.
pub fn admit(ids: &dyn Ids, mut request: Request<()>) -> Result<Request<()>, Status> {
    let given = request.metadata().get("antiphon-request-id").and_then(|value| value.to_str().ok());
    let usable = given
        .filter(|id| !id.is_empty() && id.len() <= MAX_REQUEST_ID && id.bytes().all(|byte| byte.is_ascii_graphic()));
    let id = match usable {
        Some(id) => RequestId::new(id),
        None => RequestId::new(ids.uuid().to_string()),
    };
    let credential =
        request.metadata_mut().remove(CREDENTIAL).and_then(|value| value.to_str().ok().map(SecretString::from));
    request.extensions_mut().insert(id);
    request.extensions_mut().insert(Caller { credential, ..Caller::new(Namespace::default_namespace()) });
    Ok(request)
}

/// The metadata in which a caller brings its own credential for the provider, for this call only.
const CREDENTIAL: &str = "antiphon-provider-credential";

/// Longest request id that is taken from a caller, in bytes.
const MAX_REQUEST_ID: usize = 128;
