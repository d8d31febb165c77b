//! How often an answer without its form may be asked for again, of all who say so. It must not know how it is asked for.

use serde_json::Value;

use super::Resolver;
use crate::domain::fault::{Fault, Reason};
use crate::domain::settings::{Contract, Source};
use crate::engine::backend::client;
use crate::engine::settings::{Written, name};

/// Where a request says it.
const FIELD: &str = "repair.attempts";

impl Resolver<'_> {
    /// How often the answer may be asked for again. Only a request can ask for what makes no sense; defaults are passed over there.
    pub(super) fn repair(
        &self,
        layers: [(Option<u32>, Source); 4],
        contract: &Contract,
        backend_id: &str,
        written: &mut Written,
    ) -> Result<u32, Fault> {
        let found = layers.into_iter().find_map(|(attempts, source)| attempts.map(|attempts| (attempts, source)));
        let Some((attempts, source)) = found else { return Ok(0) };
        let max = self.setup.catalog.max_repair_attempts;
        let clients = self.setup.stand(backend_id).is_ok_and(|stand| stand.description.kind == client::KIND);
        let refused = if attempts == 0 {
            None
        } else if *contract == Contract::Text {
            Some(Fault::field(FIELD, "has nothing to repair, since any text will do: set `contract` as well"))
        } else if clients {
            let text = format!("backend `{backend_id}` leaves the call to the client, and so are its repairs");
            let fault = Fault::new(Reason::BackendUnsupported, text).at(FIELD, "must be 0 for this backend");
            Some(fault.with("backend_id", backend_id).with("feature", "repair"))
        } else if attempts > max {
            let text = format!("is {attempts}: at most {max} repairs are made; ask for fewer");
            let fault = Fault::new(Reason::LimitExceeded, format!("{FIELD} {text}")).at(FIELD, text);
            Some(fault.with("limit", "max_repair_attempts").with("max", max).with("value", attempts))
        } else {
            None
        };
        match refused {
            Some(fault) if source == Source::Request => return Err(fault),
            Some(_) => return Ok(0),
            None => written.json(name::REPAIR, &Value::from(attempts), source),
        }
        Ok(attempts)
    }
}
