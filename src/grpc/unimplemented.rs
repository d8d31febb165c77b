//! What the API names and this server does not do yet: one list, from which refusals, the server's own account of itself and the checks of
//! the source are made. It must not hold anything that works.
//!
//! Fields and values are refused where requests are read. Every RPC is there.

#[cfg(test)]
mod tests;

/// Fields and values of enums: none. What comes later is named here, and refused where requests are read as `Fault::not_implemented`.
pub const FIELDS: &[&str] = &[];

/// Reasons of errors that nothing produces yet.
pub const REASONS: &[&str] = &[];

/// Every feature that is refused, by name.
pub fn features() -> Vec<&'static str> {
    let mut features = FIELDS.to_vec();
    features.sort_unstable();
    features
}
