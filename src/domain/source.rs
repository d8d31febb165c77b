//! Where the present moment and new ids come from: parameters of everything that needs them, made real in one place. It must not know any
//! clock or random source.

use uuid::Uuid;

use super::id::Moment;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The present moment. Never used to order anything.
    fn now(&self) -> Moment;
}

/// Makes ids.
pub trait Ids: Send + Sync {
    /// A UUIDv7 that was never given before.
    fn uuid(&self) -> Uuid;
}
