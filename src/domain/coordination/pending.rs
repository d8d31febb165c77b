//! Ids of what a coordination waits for. Each holds the number of the frame that asked, so that what became of an earlier one is found in
//! the journal without an index. It must not know what is waited for.

use std::fmt;

use uuid::Uuid;

/// A decision, a batch of tool calls or a generation that waits for the client. Always ours, and opaque to callers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PendingId(String);

impl PendingId {
    /// For what the frame of a number asks; `unique` tells it from those of other coordinations.
    pub fn new(letter: char, sequence: u64, unique: Uuid) -> Self {
        Self(format!("{letter}{sequence}-{}", unique.simple()))
    }

    /// Wraps an id that was given out, or that a caller says was.
    pub fn given(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The number of the frame that asked; absent when it is none of our ids.
    pub fn sequence(&self) -> Option<u64> {
        let (number, unique) = self.0.get(1..)?.split_once('-')?;
        (unique.len() == 32).then(|| number.parse().ok())?
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PendingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_which_frame_asked() {
        let id = PendingId::new('d', 17, Uuid::from_u128(5));
        assert_eq!((id.sequence(), id.as_str().starts_with("d17-")), (Some(17), true));
        for other in ["", "d", "d17", "d17-abc", "dx-00000000000000000000000000000005", "äö"] {
            assert_eq!(PendingId::given(other).sequence(), None, "{other}");
        }
    }
}
