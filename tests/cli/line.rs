//! A line between a command and its server that can be cut. It must not know what goes over it.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Passes everything on, both ways, until it is cut; then new connections are taken again.
pub(crate) struct Line {
    pub(crate) url: String,
    ends: Arc<Mutex<Vec<TcpStream>>>,
}

impl Line {
    /// To a server.
    pub(crate) fn to(url: &str) -> Self {
        let server: SocketAddr = url.trim_start_matches("http://").parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let ends: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let kept = ends.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(server) else { continue };
                kept.lock().unwrap().extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                let back = (far.try_clone().unwrap(), near.try_clone().unwrap());
                std::thread::spawn(move || pass(near, far));
                std::thread::spawn(move || pass(back.0, back.1));
            }
        });
        Self { url, ends }
    }

    /// Cuts every connection that there is.
    pub(crate) fn cut(&self) {
        for end in self.ends.lock().unwrap().drain(..) {
            // One that its owner closed is cut already.
            end.shutdown(Shutdown::Both).ok();
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    // However it ends, the other side is told.
    io::copy(&mut from, &mut to).ok();
    to.shutdown(Shutdown::Both).ok();
}
