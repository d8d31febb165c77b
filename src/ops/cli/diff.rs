//! `antiphon diff`: two exchanges side by side, what was said after their paths parted and what they were told to do. It must not compare.

use super::Context;
use super::failure::Failure;
use super::terminal::Style;
use super::words;
use crate::grpc::pb;

/// What can be typed after `diff`.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// One exchange
    #[arg(value_name = "LEFT")]
    left: String,
    /// The other
    #[arg(value_name = "RIGHT")]
    right: String,
    /// Show messages that are the same, too
    #[arg(long)]
    all: bool,
}

/// Does it, a page at a time. As JSON each page is a line.
pub(super) async fn run(arguments: Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let remote = context.remote().await?;
    let point = |exchange_id| Some(pb::ExchangePoint { exchange_id });
    let mut request = pb::DiffRequest {
        left: point(arguments.left),
        right: point(arguments.right),
        omit_same_messages: !arguments.all,
        ..pb::DiffRequest::default()
    };
    loop {
        let asked = remote.request(request.clone());
        let page = remote.within(async { Ok(remote.graphs().diff(asked).await?) }).await?.into_inner();
        if context.terminal.is_json() {
            context.terminal.json_line(&page)?;
        } else {
            show(&page, request.page_token.is_empty(), context)?;
        }
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            return Ok(());
        }
    }
}

fn show(page: &pb::DiffResponse, is_first: bool, context: &mut Context<'_>) -> Result<(), Failure> {
    let terminal = &mut *context.terminal;
    if is_first {
        let line = match page.common_ancestor_exchange_id.as_str() {
            "" => "they have nothing in common".to_owned(),
            ancestor => format!("both follow from {ancestor}"),
        };
        let counts = format!("{line}; after it {} on the left, {} on the right", page.left_count, page.right_count);
        terminal.line(&terminal.paint(Style::Dim, &counts))?;
    }
    for one in &page.settings {
        let value = |side: &Option<pb::EffectiveSetting>| side.as_ref().map(|setting| setting.value_json.clone());
        changed(&format!("setting {}", one.name), value(&one.left), value(&one.right), context)?;
    }
    for one in &page.tools {
        let schema = |side: &Option<pb::Tool>| side.as_ref().map(|tool| tool.input_schema_json.clone());
        changed(&format!("tool {}", one.name), schema(&one.left), schema(&one.right), context)?;
    }
    for one in &page.messages {
        let what = format!("message {}", one.index);
        let said = |side: &Option<pb::Message>| side.as_ref().map(|message| words::preview(message, 200));
        if one.kind() == pb::ChangeKind::Same {
            let said = said(&one.left).unwrap_or_default();
            context.terminal.line(&format!("  {what}  {}", context.terminal.foreign(&said)))?;
        } else {
            changed(&what, said(&one.left), said(&one.right), context)?;
        }
    }
    for one in &page.documents {
        super::workspace::show(one, context)?;
    }
    Ok(())
}

fn changed(what: &str, left: Option<String>, right: Option<String>, context: &mut Context<'_>) -> Result<(), Failure> {
    for (sign, style, side) in [("-", Style::Bad, left), ("+", Style::Good, right)] {
        if let Some(side) = side {
            let line = format!("{sign} {what}  {}", context.terminal.foreign(&side));
            let line = context.terminal.paint(style, &line);
            context.terminal.line(&line)?;
        }
    }
    Ok(())
}
