//! What can go wrong inside the engine, panics included, and how it is said to a person. It must not know keys,
//! groups or files beyond the name of the directory.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::io::ErrorKind;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

use crate::store::Error;

/// Why the engine did not do what it was asked.
#[derive(Debug)]
pub(super) enum Fault {
    /// It said so.
    Engine(::sled::Error),
    /// It panicked; with what it said and where.
    Panicked(String),
    /// It gave chunks that are not one whole value.
    Torn(String),
    /// The store was closed.
    Closed,
}

impl From<::sled::Error> for Fault {
    fn from(error: ::sled::Error) -> Self {
        Self::Engine(error)
    }
}

impl Fault {
    /// The cause for the log: never content, for the engine does not print values.
    pub(super) fn cause(&self) -> String {
        match self {
            Self::Engine(error) => error.to_string(),
            Self::Panicked(what) | Self::Torn(what) => what.clone(),
            Self::Closed => "closed".into(),
        }
    }

    /// What a caller is told about a store in `dir`.
    pub(super) fn into_error(self, dir: &Path) -> Error {
        match self {
            Self::Closed => Error::Closed,
            Self::Torn(what) => damaged(dir, &what),
            Self::Panicked(_) => damaged(dir, "the storage engine found something it cannot make sense of"),
            Self::Engine(::sled::Error::Io(error)) => match error.kind() {
                ErrorKind::UnexpectedEof | ErrorKind::InvalidData => damaged(dir, "a file is shorter than it was"),
                _ => Error::Unavailable(format!("the store in {} cannot be reached: {error}", dir.display())),
            },
            Self::Engine(::sled::Error::Unsupported(what)) => {
                Error::Unavailable(format!("the store in {} cannot be used by this server: {what}", dir.display()))
            }
            Self::Engine(::sled::Error::Corruption { .. }) => damaged(dir, "a checksum does not match"),
            Self::Engine(::sled::Error::ReportableBug(_) | ::sled::Error::CollectionNotFound(_)) => {
                damaged(dir, "the storage engine contradicts itself")
            }
        }
    }
}

/// The one message about damage: what to do comes with it.
pub(super) fn damaged(dir: &Path, what: &str) -> Error {
    Error::Corrupt(format!(
        "the store in {} is damaged: {what}. Stop the server and keep a copy of the directory; `antiphon verify` tells \
         what is still whole and `antiphon export` saves it. Where they cannot open it either, load the newest export \
         into an empty directory with `antiphon import`",
        dir.display()
    ))
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
    static HEARD: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Calls into the engine. Its panics become faults, and print nothing: the process-wide hook is wrapped once,
/// and only threads inside this function are silent. A hook that is set later should call the one before it.
pub(super) fn guarded<T>(call: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    static WRAP: Once = Once::new();
    WRAP.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if QUIET.get() {
                HEARD.set(Some(info.to_string()));
            } else {
                loud(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    // What a panic leaves behind is the engine's: after one, the store takes no more writes.
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    QUIET.set(before);
    result.unwrap_or_else(|payload| Err(Fault::Panicked(HEARD.take().unwrap_or_else(|| text(payload.as_ref())))))
}

fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_message_that_names_the_ways_out_and_not_the_panic() {
        let fault = guarded::<()>(|| panic!("tried to serialize Uninitialized")).unwrap_err();
        assert!(fault.cause().contains("tried to serialize"), "the log has the cause: {}", fault.cause());
        let error = fault.into_error(Path::new("/data/x")).to_string();
        for word in ["/data/x", "antiphon verify", "antiphon export", "antiphon import"] {
            assert!(error.contains(word), "{word} is missing in: {error}");
        }
        assert!(!error.contains("Uninitialized") && !error.contains("panicked"), "{error}");
        assert!(!QUIET.get(), "the thread is loud again");
    }

    #[test]
    fn a_fault_inside_a_call_comes_through_as_it_is() {
        assert!(matches!(guarded::<()>(|| Err(Fault::Closed)), Err(Fault::Closed)));
    }
}
