//! `antiphon graph`: draws a part of the graph, as text, for Graphviz or as Mermaid, or tells it as data. It must not know how the server
//! draws.

use super::Context;
use super::failure::Failure;
use super::part::Part;
use super::terminal::harmless;
use crate::grpc::pb;

/// What can be typed after `graph`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    part: Part,
    /// In which form
    #[arg(long, short = 'f', value_enum, default_value = "text")]
    format: Format,
    /// How much of it
    #[arg(long, short = 'd', value_enum, default_value = "turns")]
    detail: Detail,
    /// With the beginnings of messages
    #[arg(long, short = 'p')]
    previews: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Text,
    Dot,
    Mermaid,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Detail {
    /// Every exchange
    Exchanges,
    /// The last exchange of each turn
    Turns,
    /// Roots, points where branches part, heads and ends
    Forks,
}

/// Does it, a page at a time. As JSON each page is a line.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let Some(scope) = arguments.part.build() else {
        return Err(Failure::usage("which part? give --exchange, --below, --thread or --tree".to_owned()));
    };
    let remote = context.remote().await?;
    let format = match arguments.format {
        _ if context.terminal.is_json() => pb::GraphFormat::Data,
        Format::Text => pb::GraphFormat::Text,
        Format::Dot => pb::GraphFormat::Dot,
        Format::Mermaid => pb::GraphFormat::Mermaid,
    };
    let detail = match arguments.detail {
        Detail::Exchanges => pb::GraphDetail::Exchanges,
        Detail::Turns => pb::GraphDetail::Turns,
        Detail::Forks => pb::GraphDetail::Forks,
    };
    let mut request = pb::GetGraphRequest {
        scope: Some(scope),
        format: format.into(),
        detail: detail.into(),
        include_previews: arguments.previews,
        ..pb::GetGraphRequest::default()
    };
    loop {
        let asked = remote.request(request.clone());
        let page = remote.within(async { Ok(remote.graphs().get_graph(asked).await?) }).await?.into_inner();
        request.page_token.clone_from(&page.next_page_token);
        if context.terminal.is_json() {
            context.terminal.json_line(&page)?;
        } else {
            for line in page.text.lines() {
                context.terminal.line(&harmless(line))?;
            }
        }
        if request.page_token.is_empty() {
            return Ok(());
        }
    }
}
