//! Who is at the other end of a connection, and whether a call of theirs is at work. It must not know how connections are made.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tonic::codegen::http::Extensions;

/// The other end of a connection, as each of its calls has it among its extensions.
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

    /// The address of the one who makes a call; empty where it is not known.
    pub(super) fn address_of(extensions: &Extensions) -> String {
        extensions.get::<Self>().map(Self::address).unwrap_or_default()
    }

    /// A call of the one who makes it is at work for as long as this is kept.
    pub(super) fn busy(extensions: &Extensions) -> Option<Busy> {
        extensions.get::<Self>().map(Self::call)
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
