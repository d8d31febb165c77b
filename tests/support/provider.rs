//! A provider on loopback that answers by a script, one entry a request, and keeps what it was asked; or as a function of each request decides,
//! and then it keeps nothing. It speaks HTTP/1.1 by hand, so that every write, gap and end is as scripted. It must not know dialects.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use super::within;

/// What answers one request.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) steps: Vec<Step>,
    pub(crate) end: End,
    /// The length goes into the head, and the body is not chunked.
    pub(crate) sized: bool,
}

/// One thing of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A write of its own, flushed.
    Write(Bytes),
    /// A pause, where a script needs reads to be apart.
    Gap(Duration),
    /// A halt until the test opens the gate.
    Wait(Gate),
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Whole, then a clean close.
    Close,
    /// A close without the end of the body.
    Cut,
    /// A TCP reset.
    Reset,
    /// The connection stays open until the client closes it.
    Hold,
    /// Nothing at all is answered, and the connection stays open.
    Silence,
}

/// Holds an answer back until the test lets it go on.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<Semaphore>);

impl Gate {
    pub(crate) fn closed() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    pub(crate) fn open(&self) {
        self.0.close();
    }

    async fn passed(&self) {
        // An error is how a closed semaphore, which is an open gate, says so.
        assert!(self.0.acquire().await.is_err());
    }
}

impl Entry {
    /// An answer of writes that ends cleanly.
    pub(crate) fn new(status: u16, content_type: &str, writes: &[&str]) -> Self {
        let steps = writes.iter().map(|write| Step::Write(Bytes::copy_from_slice(write.as_bytes()))).collect();
        let headers = vec![("content-type".to_owned(), content_type.as_bytes().to_vec())];
        Self { status, headers, steps, end: End::Close, sized: false }
    }

    pub(crate) fn json(body: &str) -> Self {
        Self::new(200, "application/json", &[body])
    }

    pub(crate) fn events(writes: &[&str]) -> Self {
        Self::new(200, "text/event-stream", writes)
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub(crate) fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    pub(crate) fn sized(mut self) -> Self {
        self.sized = true;
        self
    }

    pub(crate) fn wait(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Wait(gate.clone()));
        self
    }

    pub(crate) fn write(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.steps.push(Step::Write(Bytes::copy_from_slice(bytes.as_ref())));
        self
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// What happened at the provider.
#[derive(Default)]
struct Log {
    requests: Vec<Request>,
    /// For each request: how the answer to it ended.
    outcomes: Vec<Option<Outcome>>,
    unscripted: usize,
}

/// How the answer to a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As scripted.
    Played,
    /// The client closed the connection before.
    ClientClosed,
}

/// Decides what answers a request.
type Decide = Box<dyn Fn(&Request) -> Entry + Send + Sync>;

struct State {
    script: Mutex<VecDeque<Entry>>,
    decide: Option<Decide>,
    log: Mutex<Log>,
    changed: watch::Sender<()>,
}

impl State {
    fn note(&self, write: impl FnOnce(&mut Log)) {
        write(&mut lock(&self.log));
        self.changed.send_replace(());
    }
}

/// The provider; it is gone when this is dropped.
pub(crate) struct Provider {
    address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Provider {
    pub(crate) async fn start(script: impl IntoIterator<Item = Entry>) -> Self {
        Self::with(script.into_iter().collect(), None).await
    }

    /// One that answers each request as is decided when it comes.
    pub(crate) async fn deciding(decide: impl Fn(&Request) -> Entry + Send + Sync + 'static) -> Self {
        Self::with(VecDeque::new(), Some(Box::new(decide))).await
    }

    async fn with(script: VecDeque<Entry>, decide: Option<Decide>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            script: Mutex::new(script),
            decide,
            log: Mutex::default(),
            changed: watch::Sender::new(()),
        });
        let shared = state.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, shared.clone()));
                // Those that are over are not kept.
                while connections.try_join_next().is_some() {}
            }
        });
        Self { address, state, task }
    }

    /// The address of the API.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn script(&self, entry: Entry) {
        lock(&self.state.script).push_back(entry);
    }

    /// How many requests came.
    pub(crate) fn count(&self) -> usize {
        lock(&self.state.log).requests.len()
    }

    /// How many came that no entry was there for.
    pub(crate) fn unscripted(&self) -> usize {
        lock(&self.state.log).unscripted
    }

    /// The request of a number, from 0; waits for it.
    pub(crate) async fn request(&self, number: usize) -> Request {
        self.until(&format!("request {number}"), |log| log.requests.get(number).cloned()).await
    }

    /// How the answer to the request of a number ended; waits for it.
    pub(crate) async fn outcome(&self, number: usize) -> Outcome {
        let what = format!("the end of the answer to request {number}");
        self.until(&what, |log| log.outcomes.get(number).copied().flatten()).await
    }

    async fn until<T>(&self, what: &str, look: impl Fn(&Log) -> Option<T>) -> T {
        let mut changes = self.state.changed.subscribe();
        within(what, async {
            loop {
                changes.borrow_and_update();
                if let Some(found) = look(&lock(&self.state.log)) {
                    return found;
                }
                changes.changed().await.unwrap();
            }
        })
        .await
    }
}

async fn serve(mut stream: TcpStream, state: Arc<State>) {
    let Some(request) = read_request(&mut stream).await else { return };
    if let Some(decide) = &state.decide {
        respond(&mut stream, &decide(&request)).await;
        return;
    }
    let entry = lock(&state.script).pop_front();
    let is_scripted = entry.is_some();
    let entry = entry.unwrap_or_else(|| {
        Entry::new(500, "application/json", &[r#"{"error":{"message":"no entry of the script is left"}}"#])
    });
    let mut number = 0;
    state.note(|log| {
        number = log.requests.len();
        log.requests.push(request);
        log.outcomes.push(None);
        log.unscripted += usize::from(!is_scripted);
    });
    let outcome = respond(&mut stream, &entry).await;
    drop(stream);
    state.note(|log| log.outcomes[number] = Some(outcome));
}

/// Plays an entry to a client, up to the way in which it closes.
async fn respond(stream: &mut TcpStream, entry: &Entry) -> Outcome {
    let (mut reads, mut writes) = stream.split();
    let outcome = tokio::select! {
        played = play(entry, &mut writes) => if played { Outcome::Played } else { Outcome::ClientClosed },
        () = client_closes(&mut reads) => Outcome::ClientClosed,
    };
    if entry.end == End::Reset {
        stream.set_zero_linger().unwrap();
    }
    outcome
}

/// Plays an entry; false when the client was gone before its end.
async fn play(entry: &Entry, out: &mut (impl AsyncWrite + Unpin)) -> bool {
    let written = async {
        if entry.end == End::Silence {
            return std::future::pending().await;
        }
        out.write_all(&head(entry)).await?;
        for step in &entry.steps {
            match step {
                Step::Write(bytes) if entry.sized => out.write_all(bytes).await?,
                Step::Write(bytes) if bytes.is_empty() => {}
                Step::Write(bytes) => {
                    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                    chunk.extend_from_slice(bytes);
                    chunk.extend_from_slice(b"\r\n");
                    out.write_all(&chunk).await?;
                }
                // A provider that takes its time, which is what the test is about.
                Step::Gap(gap) => tokio::time::sleep(*gap).await,
                Step::Wait(gate) => gate.passed().await,
            }
            out.flush().await?;
        }
        match entry.end {
            End::Close if !entry.sized => out.write_all(b"0\r\n\r\n").await?,
            End::Hold => return std::future::pending().await,
            End::Close | End::Cut | End::Reset | End::Silence => {}
        }
        out.flush().await
    };
    let written: std::io::Result<()> = written.await;
    written.is_ok()
}

fn head(entry: &Entry) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\nconnection: close\r\n", entry.status).into_bytes();
    if entry.sized {
        let length: usize =
            entry.steps.iter().map(|step| if let Step::Write(bytes) = step { bytes.len() } else { 0 }).sum();
        head.extend_from_slice(format!("content-length: {length}\r\n").as_bytes());
    } else {
        head.extend_from_slice(b"transfer-encoding: chunked\r\n");
    }
    for (name, value) in &entry.headers {
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

async fn client_closes(reads: &mut (impl AsyncRead + Unpin)) {
    let mut byte = [0];
    while let Ok(1..) = reads.read(&mut byte).await {}
}

async fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let mut first = lines.next().unwrap().split(' ');
    let (method, target) = (first.next().unwrap().to_owned(), first.next().unwrap().to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length").map(|(_, value)| value.parse().unwrap());
    let length: usize = length.unwrap_or(0);
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Request { method, target, headers, body: Bytes::from(bytes).slice(end..) })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}
