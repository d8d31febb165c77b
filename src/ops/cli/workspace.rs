//! `antiphon workspace`: lists, reads, writes, removes and compares the documents of threads. It must not know what is in them.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::Context;
use super::failure::Failure;
use super::remote::{Remote, pages};
use super::table::{Cell, Table};
use super::terminal::Style;
use super::words;
use crate::grpc::pb;

/// Bytes of one message of a stream.
const CHUNK: usize = 128 * 1024;

/// What can be typed after `workspace`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "AT is THREAD for what is there now, THREAD@TURN or THREAD@RUN for what was there after it, @EXCHANGE for what was \
                        there when it was complete, @EXCHANGE^ for what its run started from, or =VERSION."
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// List documents by name
    List {
        /// Where: THREAD, THREAD@TURN, @EXCHANGE or =VERSION
        #[arg(value_name = "AT")]
        at: String,
        /// Only those whose name begins so
        #[arg(long, value_name = "TEXT")]
        prefix: Option<String>,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = super::number::between(1, u32::MAX))]
        limit: u32,
    },
    /// Write a document to the output or a file
    Read {
        /// Where: THREAD, THREAD@TURN, @EXCHANGE or =VERSION
        #[arg(value_name = "AT")]
        at: String,
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        /// Write it to this file instead
        #[arg(long, short = 'o', value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Put a document on a thread: a text, a file, or what is piped in
    Write(Write),
    /// Remove documents from a thread
    Remove {
        /// The thread
        #[arg(value_name = "THREAD")]
        thread: String,
        /// Their names
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
        /// Only if nobody changed the documents since this etag was read
        #[arg(long)]
        etag: Option<String>,
    },
    /// Show in which documents two versions differ
    Diff {
        /// One of them
        #[arg(value_name = "AT")]
        left: String,
        /// The other
        #[arg(value_name = "AT")]
        right: String,
        /// Only those whose name begins so
        #[arg(long, value_name = "TEXT")]
        prefix: Option<String>,
        /// Only their names
        #[arg(long)]
        names_only: bool,
    },
}

#[derive(clap::Args, Debug)]
struct Write {
    /// The thread
    #[arg(value_name = "THREAD")]
    thread: String,
    /// The document's name
    #[arg(value_name = "NAME")]
    name: String,
    /// What it says
    #[arg(value_name = "TEXT", conflicts_with = "file")]
    text: Option<String>,
    /// Take it from this file
    #[arg(long, short = 'f', value_name = "FILE")]
    file: Option<PathBuf>,
    /// Its media type
    #[arg(long, value_name = "TYPE")]
    media_type: Option<String>,
    /// Your own data, a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Only if nobody changed the documents since this etag was read
    #[arg(long)]
    etag: Option<String>,
    /// Make the command safe to repeat
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
}

/// Does it.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    match arguments.what {
        What::List { at, prefix, limit } => list(point(&at)?, prefix.unwrap_or_default(), limit, context).await,
        What::Read { at, name, output } => read(point(&at)?, name, output.as_deref(), context).await,
        What::Write(arguments) => write(arguments, context).await,
        What::Remove { thread, names, etag } => remove(thread, names, etag.unwrap_or_default(), context).await,
        What::Diff { left, right, prefix, names_only } => {
            let request = pb::DiffDocumentsRequest {
                left: Some(point(&left)?),
                right: Some(point(&right)?),
                name_prefix: prefix.unwrap_or_default(),
                include_unified_diff: !names_only,
                page_size: 1_000,
                page_token: String::new(),
            };
            diff(request, context).await
        }
    }
}

/// A version as it is typed.
fn point(text: &str) -> Result<pb::WorkspacePoint, Failure> {
    use pb::thread_turn_point::At;
    use pb::workspace_point::Point;
    let point = if let Some(exchange) = text.strip_prefix('@') {
        let (id, before) = exchange.strip_suffix('^').map_or((exchange, false), |id| (id, true));
        Point::Exchange(pb::ExchangeWorkspace { exchange_id: id.to_owned(), before })
    } else if let Some(root) = text.strip_prefix('=') {
        Point::Root(pb::WorkspaceRoot { workspace_root: root.to_owned() })
    } else {
        let (thread, at) = match text.split_once('@') {
            None => (text, None),
            Some((_, "")) => {
                return Err(Failure::usage(format!("{text}: after @ comes the number of a turn or the id of a run")));
            }
            Some((thread, at)) => (
                thread,
                Some(match at.parse() {
                    Ok(turn) => At::AfterTurn(pb::AfterTurn { turn }),
                    Err(_) => At::AfterRun(pb::AfterRun { run_id: at.to_owned() }),
                }),
            ),
        };
        Point::Thread(pb::ThreadTurnPoint { thread_id: thread.to_owned(), at })
    };
    Ok(pb::WorkspacePoint { point: Some(point) })
}

async fn list(at: pb::WorkspacePoint, prefix: String, limit: u32, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    let version = std::sync::Mutex::new(None);
    let fetch = async |page_size, page_token| {
        let request =
            pb::ListDocumentsRequest { at: Some(at.clone()), name_prefix: prefix.clone(), page_size, page_token };
        let page = remote.workspaces().list_documents(remote.request(request)).await?.into_inner();
        if let Ok(mut version) = version.lock() {
            version.get_or_insert(page.version.unwrap_or_default());
        }
        Ok((page.documents, page.next_page_token))
    };
    let (documents, more) = remote.within(pages(limit, fetch)).await?;
    let version = version.into_inner().ok().flatten();
    let terminal = &mut *context.terminal;
    if terminal.is_json() {
        return Ok(terminal.json(&pb::ListDocumentsResponse { documents, version, next_page_token: String::new() })?);
    }
    let mut table = Table::new(&["NAME", "SIZE", "TYPE", "CHANGED"]);
    for document in &documents {
        table.row(vec![
            Cell::new(&document.name, Style::Name),
            words::bytes(document.size_bytes).into(),
            Cell::cut(&document.media_type, 40),
            words::time(document.update_time.as_ref()).into(),
        ]);
    }
    let lines = table.lines(terminal);
    terminal.lines(lines)?;
    if let Some(version) = version {
        let etag = if version.etag.is_empty() { String::new() } else { format!(", etag {}", version.etag) };
        let count = words::count(version.document_count, "document");
        let line = format!("{count}, {}, version {}{etag}", words::bytes(version.size_bytes), version.workspace_root);
        let line = terminal.paint_err(Style::Dim, &line);
        terminal.note(&line)?;
    }
    if more {
        terminal.note(&format!("there are more than {limit}; --limit shows more"))?;
    }
    Ok(())
}

async fn read(
    at: pb::WorkspacePoint,
    name: String,
    output: Option<&Path>,
    context: &mut Context<'_>,
) -> Result<(), Failure> {
    use pb::stream_read_document_response::Part;
    let remote = context.remote().await?;
    if context.terminal.is_json() && output.is_none() {
        let request = remote.request(pb::ReadDocumentRequest { at: Some(at), name });
        let read = remote.within(async { Ok(remote.workspaces().read_document(request).await?) }).await?;
        return Ok(context.terminal.json(&read.into_inner())?);
    }
    let request = remote.request(pb::StreamReadDocumentRequest { at: Some(at), name, offset: 0 });
    let terminal = &mut *context.terminal;
    remote
        .within(async {
            let mut stream = remote.workspaces().stream_read_document(request).await?.into_inner();
            let mut opened = None;
            let mut file = None;
            while let Some(told) = stream.message().await? {
                match told.part {
                    Some(Part::Opened(first)) => {
                        // Not before there is such a document: a file that is there is not lost for a name that is not.
                        if let Some(path) = output {
                            file = Some(std::fs::File::create(path).map_err(|error| Failure::file(path, error))?);
                        }
                        opened = Some(first);
                    }
                    Some(Part::Chunk(chunk)) => match (&mut file, output) {
                        (Some(file), Some(path)) => {
                            std::io::Write::write_all(file, &chunk.data).map_err(|error| Failure::file(path, error))?;
                        }
                        _ => terminal.write_bytes(&chunk.data)?,
                    },
                    None => {}
                }
            }
            let opened = opened.ok_or_else(|| Failure::incomplete("document"))?;
            if terminal.is_json() {
                terminal.json(&opened)?;
            }
            Ok(())
        })
        .await
}

async fn write(arguments: Write, context: &mut Context<'_>) -> Result<(), Failure> {
    use pb::stream_write_document_request::Part;
    let mut source: Box<dyn Read + Send> = match (arguments.text, &arguments.file) {
        (Some(text), _) => Box::new(std::io::Cursor::new(text.into_bytes())),
        (None, Some(path)) => Box::new(std::fs::File::open(path).map_err(|error| Failure::file(path, error))?),
        (None, None) if context.terminal.input_is_piped() => context.terminal.take_input(),
        (None, None) => {
            return Err(Failure::usage("there is nothing to write: give a text, --file, or pipe it in"));
        }
    };
    let remote = context.remote().await?;
    let open = pb::OpenDocument {
        thread_id: arguments.thread,
        name: arguments.name,
        media_type: arguments.media_type.unwrap_or_default(),
        metadata_json: arguments.metadata.unwrap_or_default(),
        etag: arguments.etag.unwrap_or_default(),
        request_id: arguments.request_id.unwrap_or_default(),
    };
    let (parts, outgoing) = tokio::sync::mpsc::channel(4);
    // A file that cannot be read to its end ends the stream without `commit`, so that nothing is written.
    let feeding = tokio::task::spawn_blocking(move || {
        let send = |part| parts.blocking_send(pb::StreamWriteDocumentRequest { part: Some(part) }).is_ok();
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; CHUNK];
        if !send(Part::Open(open)) {
            return Ok(());
        }
        loop {
            let length = source.read(&mut buffer)?;
            let Some(data) = buffer.get(..length).filter(|data| !data.is_empty()) else { break };
            hasher.update(data);
            if !send(Part::Chunk(pb::DocumentChunk { data: bytes::Bytes::copy_from_slice(data) })) {
                return Ok(());
            }
        }
        send(Part::Commit(pb::CommitDocument { content_blake3: hasher.finalize().to_hex().to_string() }));
        Ok::<_, std::io::Error>(())
    });
    let outgoing = remote.request(tokio_stream::wrappers::ReceiverStream::new(outgoing));
    let written = remote.within(async { Ok(remote.workspaces().stream_write_document(outgoing).await?) }).await;
    if let Ok(Err(error)) = feeding.await {
        return Err(match &arguments.file {
            Some(path) => Failure::file(path, error),
            None => error.into(),
        });
    }
    let written = written?.into_inner();
    if context.terminal.is_json() {
        return Ok(context.terminal.json(&written)?);
    }
    tell(written.version, context)
}

async fn remove(thread: String, names: Vec<String>, etag: String, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    let edit = |name| pb::DocumentEdit { edit: Some(pb::document_edit::Edit::Remove(pb::RemoveDocument { name })) };
    let edits = names.into_iter().map(edit).collect();
    let request = pb::WriteDocumentsRequest { thread_id: thread, edits, etag, request_id: String::new() };
    let request = remote.request(request);
    let written = remote.within(async { Ok(remote.workspaces().write_documents(request).await?) }).await?;
    let written = written.into_inner();
    if context.terminal.is_json() {
        return Ok(context.terminal.json(&written)?);
    }
    tell(written.version, context)
}

/// The version that came of a write: what a later look at this state needs.
fn tell(version: Option<pb::WorkspaceVersion>, context: &mut Context<'_>) -> Result<(), Failure> {
    let version = version.ok_or_else(|| Failure::incomplete("version"))?;
    context.terminal.line(&format!("={}", version.workspace_root))?;
    let count = words::count(version.document_count, "document");
    let line = format!("{count}, {}, etag {}", words::bytes(version.size_bytes), version.etag);
    let line = context.terminal.paint_err(Style::Dim, &line);
    Ok(context.terminal.note(&line)?)
}

async fn diff(mut request: pb::DiffDocumentsRequest, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote: Remote = context.remote().await?;
    loop {
        let asked = remote.request(request.clone());
        let page = remote.within(async { Ok(remote.workspaces().diff_documents(asked).await?) }).await?.into_inner();
        if context.terminal.is_json() {
            context.terminal.json_line(&page)?;
        } else {
            for one in &page.documents {
                show(one, context)?;
            }
        }
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            return Ok(());
        }
    }
}

/// One document that differs: a line, then what changed in its text where that is known.
pub(super) fn show(one: &pb::DocumentDiff, context: &mut Context<'_>) -> Result<(), Failure> {
    let (sign, style) = match one.kind() {
        pb::ChangeKind::Added => ("+", Style::Good),
        pb::ChangeKind::Removed => ("-", Style::Bad),
        _ => ("~", Style::Odd),
    };
    let size = |side: &Option<pb::Document>| side.as_ref().map(|document| words::bytes(document.size_bytes));
    let sizes = [size(&one.left), size(&one.right)].into_iter().flatten().collect::<Vec<_>>().join(" -> ");
    let terminal = &mut *context.terminal;
    let line = format!("{sign} document {}  {sizes}", terminal.foreign(&one.name));
    let line = terminal.paint(style, &line);
    terminal.line(&line)?;
    for line in one.unified_diff.lines().skip(2) {
        let style = match line.as_bytes().first() {
            Some(b'+') => Style::Good,
            Some(b'-') => Style::Bad,
            Some(b'@') => Style::Dim,
            _ => Style::Plain,
        };
        let line = terminal.paint(style, &terminal.foreign(line));
        terminal.line(&line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pb::thread_turn_point::At;
    use pb::workspace_point::Point;

    #[test]
    fn a_version_is_typed_in_one_word() {
        let read = |text: &str| point(text).unwrap().point.unwrap();
        let on = |at| Point::Thread(pb::ThreadTurnPoint { thread_id: "t:1".into(), at });
        assert_eq!(read("t:1"), on(None));
        assert_eq!(read("t:1@2"), on(Some(At::AfterTurn(pb::AfterTurn { turn: 2 }))));
        assert_eq!(read("t:1@r.2"), on(Some(At::AfterRun(pb::AfterRun { run_id: "r.2".into() }))));
        let exchange = |before| Point::Exchange(pb::ExchangeWorkspace { exchange_id: "e".into(), before });
        assert_eq!((read("@e"), read("@e^")), (exchange(false), exchange(true)));
        assert_eq!(read("="), Point::Root(pb::WorkspaceRoot::default()));
        assert!(matches!(point("t@"), Err(Failure::Usage(_))));
    }
}
