//! The caller's own data, which becomes JSON. Knows nothing of what it is said with.

use serde::Serialize;

use crate::error::{Error, Result};

/// Data as JSON, or why it is none; said where it goes out, since what is built gives no errors.
pub(crate) fn as_json(data: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(data).map_err(|error| error.to_string())
}

/// Metadata as it goes out: empty where there is none.
pub(crate) fn metadata_json(metadata: Option<Result<String, String>>) -> Result<String> {
    Ok(metadata.transpose().map_err(|why| Error::invalid(format!("metadata: {why}")))?.unwrap_or_default())
}
