//! What the server adds to a provider: a provider that takes its time, called directly and through the server. It must not know how the
//! server calls it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::Row;
use super::measure;
use super::work::Load;
use crate::grpc::pb;
use crate::grpc::pb::exchange_service_client::ExchangeServiceClient;
use crate::ops::cli::failure::Failure;
use crate::ops::cli::remote::{Link, Remote};

/// How long the provider takes.
const TAKES: Duration = Duration::from_millis(30);
/// How many call it at once.
const CALLERS: usize = 16;

const HEAD: &str = r#"{"id":"bench","created":1,"model":"bench","#;
const USAGE: &str = r#""usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;

/// Serves at an address while it measures.
pub(super) async fn measure(address: SocketAddr, remote: &Remote, load: &Load) -> Result<Vec<Row>, Failure> {
    let listener = TcpListener::bind(address).await.map_err(|error| Failure::broken(&error))?;
    let serving = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    let client = reqwest::Client::builder().no_proxy().build().map_err(|error| Failure::broken(&error))?;
    let mut rows = Vec::new();
    for streamed in [false, true] {
        let mut direct = Vec::new();
        let mut captures = Vec::new();
        for seed in 0..CALLERS {
            direct.push(Direct::new(&client, address, streamed));
            let messages = load.turn(seed as u64).messages.into_iter().take(1).collect();
            captures.push(Through { client: remote.exchanges(), messages });
        }
        let alone = measure::timed(direct, load.time, Direct::call).await?;
        let (until, through) = if streamed {
            ("first token", measure::timed(captures, load.time, Through::stream).await?)
        } else {
            ("answer", measure::timed(captures, load.time, Through::capture).await?)
        };
        rows.push(Row::of(&format!("{until} of a provider that takes {TAKES:?}"), CALLERS, alone));
        rows.push(Row::of(&format!("{until} of the same through Capture"), CALLERS, through));
    }
    serving.abort();
    Ok(rows)
}

/// The provider's side of a connection. It ends with the connection.
async fn answer(stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let body = read(&mut stream).await?;
        let streamed = body.windows(STREAM.len()).any(|window| window == STREAM);
        tokio::time::sleep(TAKES).await;
        for piece in pieces(streamed) {
            stream.write_all(piece.as_bytes()).await?;
            stream.flush().await?;
        }
    }
}

const STREAM: &[u8] = br#""stream":true"#;
/// What only the first piece of a streamed answer has.
const DELTA: &[u8] = br#""delta":{"role""#;

/// An answer as it is sent.
fn pieces(streamed: bool) -> Vec<String> {
    let head = |kind: &str, length: usize| {
        format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n")
    };
    if !streamed {
        let choice = r#""choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"#;
        let body = format!("{HEAD}{choice}{USAGE}");
        return vec![head("application/json", body.len()) + &body];
    }
    let first = r#""choices":[{"index":0,"delta":{"role":"assistant","content":"ok"},"finish_reason":null}]}"#;
    let last = r#""choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"#;
    let first = format!("data: {HEAD}{first}\n\n");
    let last = format!("data: {HEAD}{last}{USAGE}\n\ndata: [DONE]\n\n");
    vec![head("text/event-stream", first.len() + last.len()) + &first, last]
}

/// The body of the next message.
async fn read(stream: &mut BufReader<TcpStream>) -> std::io::Result<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().map_err(|_| std::io::ErrorKind::InvalidData)?;
            }
            Some(_) => {}
            None if line.trim().is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(body)
}

/// Who calls the provider without the server: with the HTTP client the server has, and nothing around it.
struct Direct {
    client: reqwest::Client,
    url: String,
    body: String,
}

impl Direct {
    fn new(client: &reqwest::Client, address: SocketAddr, streamed: bool) -> Self {
        let message = r#"{"role":"user","content":"ok"}"#;
        let body = format!(r#"{{"model":"bench","messages":[{message}],"stream":{streamed}}}"#);
        Self { client: client.clone(), url: format!("http://{address}/"), body }
    }

    /// Timed until the answer is whole, or a streamed one begins to arrive.
    async fn call(self) -> Result<(Self, Duration), Failure> {
        let started = Instant::now();
        let request = self.client.post(&self.url).body(self.body.clone()).header("content-type", "application/json");
        let took = async {
            let mut answer = request.send().await?.error_for_status()?;
            let mut first = None;
            while let Some(piece) = answer.chunk().await? {
                if piece.windows(DELTA.len()).any(|window| window == DELTA) {
                    first.get_or_insert_with(|| started.elapsed());
                }
            }
            reqwest::Result::Ok(first.unwrap_or_else(|| started.elapsed()))
        };
        let took = took.await.map_err(|error| Failure::broken(&error))?;
        Ok((self, took))
    }
}

/// Who calls it through the server.
struct Through {
    client: ExchangeServiceClient<Link>,
    messages: Vec<pb::Message>,
}

impl Through {
    fn request(&self) -> pb::CaptureRequest {
        let request = pb::ExecutionRequest { messages: self.messages.clone(), ..pb::ExecutionRequest::default() };
        pb::CaptureRequest { execution: Some(pb::capture_request::Execution::Request(request)), thread: None }
    }

    async fn capture(mut self) -> Result<(Self, Duration), Failure> {
        let request = self.request();
        let started = Instant::now();
        self.client.capture(request).await?;
        Ok((self, started.elapsed()))
    }

    async fn stream(mut self) -> Result<(Self, Duration), Failure> {
        let capture = Some(self.request());
        let started = Instant::now();
        let mut stream = self.client.stream_capture(pb::StreamCaptureRequest { capture }).await?.into_inner();
        let mut first = None;
        while let Some(message) = stream.message().await? {
            if let Some(pb::stream_capture_response::Event::Progress(progress)) = message.event
                && let Some(pb::progress::Event::Delta(_)) = progress.event
            {
                first.get_or_insert_with(|| started.elapsed());
            }
        }
        let first = first.ok_or_else(|| Failure::incomplete("delta"))?;
        Ok((self, first))
    }
}
