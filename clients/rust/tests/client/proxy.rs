//! A connection that can be cut: passes bytes between a client and a server, until told otherwise. Knows nothing of what they say.

use std::sync::{Arc, Mutex};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) address: String,
    target: Arc<Mutex<String>>,
    open: Arc<Mutex<JoinSet<()>>>,
    accepting: AbortHandle,
}

impl Proxy {
    pub(crate) async fn new(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let target = Arc::new(Mutex::new(target.to_owned()));
        let open = Arc::new(Mutex::new(JoinSet::new()));
        let accepting = tokio::spawn(accept(listener, target.clone(), open.clone())).abort_handle();
        Self { address, target, open, accepting }
    }

    /// Resets every connection that is open.
    pub(crate) fn cut(&self) {
        *self.open.lock().unwrap() = JoinSet::new();
    }

    pub(crate) fn point(&self, target: &str) {
        *self.target.lock().unwrap() = target.to_owned();
    }

    /// Lets nobody in any more.
    pub(crate) fn close(&self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn accept(listener: TcpListener, target: Arc<Mutex<String>>, open: Arc<Mutex<JoinSet<()>>>) {
    while let Ok((mut near, _)) = listener.accept().await {
        let target = target.lock().unwrap().clone();
        let Ok(mut far) = TcpStream::connect(target).await else { continue };
        open.lock().unwrap().spawn(async move {
            // A connection that is cut is no fault of the proxy's.
            let _cut = copy_bidirectional(&mut near, &mut far).await.is_err();
        });
    }
}
