//! A connection that can be cut: passes bytes between a client and a server, until told otherwise. Knows nothing of what they say.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) address: String,
    target: Arc<Mutex<String>>,
    open: Arc<Mutex<JoinSet<()>>>,
    accepting: AbortHandle,
    budget: Arc<Mutex<Budget>>,
}

/// How many bytes of the client pass before its connection is reset.
#[derive(Default)]
struct Budget {
    left: Option<usize>,
    cuts: u32,
}

impl Budget {
    /// Whether so many bytes still pass.
    fn spend(&mut self, bytes: usize) -> bool {
        let Some(left) = self.left else { return true };
        self.left = left.checked_sub(bytes);
        self.cuts += u32::from(self.left.is_none());
        self.left.is_some()
    }
}

impl Proxy {
    pub(crate) async fn new(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let target = Arc::new(Mutex::new(target.to_owned()));
        let open = Arc::new(Mutex::new(JoinSet::new()));
        let budget = Arc::default();
        let accepting =
            tokio::spawn(accept(listener, target.clone(), open.clone(), Arc::clone(&budget))).abort_handle();
        Self { address, target, open, accepting, budget }
    }

    /// Resets every connection that is open.
    pub(crate) fn cut(&self) {
        *self.open.lock().unwrap() = JoinSet::new();
    }

    pub(crate) fn point(&self, target: &str) {
        *self.target.lock().unwrap() = target.to_owned();
    }

    /// Resets the connection over which the client says so many bytes more, once.
    pub(crate) fn cut_after(&self, bytes: usize) {
        self.budget.lock().unwrap().left = Some(bytes);
    }

    /// How often that came to pass.
    pub(crate) fn cuts(&self) -> u32 {
        self.budget.lock().unwrap().cuts
    }

    /// Lets nobody in any more.
    pub(crate) fn close(&self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn accept(
    listener: TcpListener,
    target: Arc<Mutex<String>>,
    open: Arc<Mutex<JoinSet<()>>>,
    budget: Arc<Mutex<Budget>>,
) {
    while let Ok((near, _)) = listener.accept().await {
        let target = target.lock().unwrap().clone();
        let Ok(far) = TcpStream::connect(target).await else { continue };
        open.lock().unwrap().spawn(pass(near, far, budget.clone()));
    }
}

/// A connection that is cut is no fault of the proxy's.
async fn pass(mut near: TcpStream, mut far: TcpStream, budget: Arc<Mutex<Budget>>) {
    let ((mut from_near, mut to_near), (mut from_far, mut to_far)) = (near.split(), far.split());
    let up = async {
        let mut piece = vec![0; 16 * 1024];
        while let Ok(length @ 1..) = from_near.read(&mut piece).await {
            if !budget.lock().unwrap().spend(length) || to_far.write_all(&piece[..length]).await.is_err() {
                return;
            }
        }
    };
    let down = copy(&mut from_far, &mut to_near);
    tokio::select! {
        () = up => {}
        _ended = down => {}
    }
}
