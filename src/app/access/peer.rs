//! Who is at the other end of a connection, and whether a call of theirs is at work. It must not know how connections are made.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The other end of a connection, as each of its calls has it.
#[derive(Clone, Debug)]
pub struct Peer {
    address: Option<SocketAddr>,
    calls: Arc<AtomicUsize>,
}

impl Peer {
    /// The other end of a new connection.
    pub fn new(address: Option<SocketAddr>) -> Self {
        Self { address, calls: Arc::default() }
    }

    /// Whether a call is at work.
    pub fn is_busy(&self) -> bool {
        self.calls.load(Ordering::Acquire) > 0
    }

    /// Its address; empty where it is not known.
    pub fn address(&self) -> String {
        self.address.map(|address| address.to_string()).unwrap_or_default()
    }

    /// A call is at work for as long as this is kept.
    pub fn call(&self) -> Busy {
        self.calls.fetch_add(1, Ordering::AcqRel);
        Busy(Arc::clone(&self.calls))
    }
}

/// A call at work.
#[derive(Debug)]
pub struct Busy(Arc<AtomicUsize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
