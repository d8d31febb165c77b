//! What a turn was resolved to, as it is kept while the client makes the call. It must not know how it was resolved, nor the history.

use crate::domain::message::Message;
use crate::domain::settings::{Contract, EffectiveSetting, Parameters, ToolChoice, Warning};
use crate::domain::tool::Offer;

/// One resolved execution: everything but the history and the credential.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The profile.
    pub profile_id: String,
    /// Its backend.
    pub backend_id: String,
    /// The model, as the provider names it.
    pub model: String,
    /// Parameters of the call.
    pub parameters: Parameters,
    /// What form the answer must have.
    pub contract: Contract,
    /// The tools offered, and those that stand from now on.
    pub offer: Offer,
    /// How freely they may be called.
    pub tool_choice: ToolChoice,
    /// Groups calls at the provider.
    pub session_id: Option<String>,
    /// What the turn adds to the history.
    pub messages: Vec<Message>,
    /// Each setting with its source.
    pub settings: Vec<EffectiveSetting>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}
