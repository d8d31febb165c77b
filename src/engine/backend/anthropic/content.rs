//! Blocks of content that anybody may say: texts, images and documents, with their cache markers. It must not know roles.

use super::quirks::{MarkersKept, Quirks};
use crate::domain::message::{CacheMarker, Kind, Media, Message, Part, Role};
use crate::engine::backend::Failure;
use crate::engine::backend::wire::{Adaptations, Writer, unsupported};

/// The cache markers of a request, counted as they go out.
pub(super) struct Markers {
    /// So many of them are passed over.
    skip: usize,
    /// So many more go out.
    left: usize,
}

impl Markers {
    /// For these messages.
    pub(super) fn new(quirks: &Quirks, messages: &[Message]) -> Self {
        let skip = match quirks.cache_markers_kept {
            MarkersKept::First => 0,
            MarkersKept::Last => {
                let sent =
                    |message: &Message| message.parts.iter().filter_map(|part| marker(message.role, part)).count();
                let all: usize = messages.iter().map(sent).sum();
                all.saturating_sub(quirks.max_cache_markers)
            }
        };
        Self { skip, left: quirks.max_cache_markers }
    }

    /// The marker of a part, at the end of the fields of its block.
    pub(super) fn write(&mut self, role: Role, part: &Part, out: &mut Writer, adapted: &mut Adaptations) {
        let Some(marker) = marker(role, part) else { return };
        if self.skip > 0 || self.left == 0 {
            self.skip = self.skip.saturating_sub(1);
            adapted.add("cache_markers_dropped");
            return;
        }
        self.left -= 1;
        out.key("cache_control").object(|out| {
            out.key("type").text("ephemeral");
            if !marker.ttl.is_empty() {
                out.key("ttl").text(&marker.ttl);
            }
        });
    }
}

/// The marker that the block of a part has: its own where it becomes a block that may have one. A result has the last of those within it, if
/// none of its own, since what is in it has none.
fn marker(role: Role, part: &Part) -> Option<&CacheMarker> {
    match &part.kind {
        Kind::Text(text) | Kind::Refusal(text) if text.trim().is_empty() => None,
        Kind::Image(..) | Kind::File(..) if role == Role::Assistant => None,
        Kind::Reasoning(_) | Kind::Unknown(..) => None,
        Kind::ToolResult(result) => {
            let within = || result.parts.iter().rev().find_map(|part| part.cache_marker.as_ref());
            part.cache_marker.as_ref().or_else(within)
        }
        Kind::Text(_) | Kind::Refusal(_) | Kind::Image(..) | Kind::File(..) | Kind::ToolCall(_) => {
            part.cache_marker.as_ref()
        }
    }
}

/// There is a marker in the part that its block does not have.
pub(super) fn loses_marker(role: Role, part: &Part) -> bool {
    let within = match &part.kind {
        Kind::ToolResult(result) => result.parts.iter().filter(|part| part.cache_marker.is_some()).count(),
        _ => 0,
    };
    let all = within + usize::from(part.cache_marker.is_some());
    all > usize::from(marker(role, part).is_some())
}

/// The beginning of a block of a part: without the closing bracket, so that more fields can follow.
pub(super) fn open_block(
    quirks: &Quirks,
    part: &Part,
    index: usize,
    out: &mut Writer,
    adapted: &mut Adaptations,
) -> Result<(), Failure> {
    out.open(b'{');
    match &part.kind {
        Kind::Text(text) | Kind::Refusal(text) => {
            out.key("type").text("text");
            out.key("text").text(text);
            Ok(())
        }
        Kind::Image(media, detail) => {
            if !detail.is_empty() {
                adapted.add("image_detail_dropped");
            }
            image(quirks, media, index, out)
        }
        Kind::File(media, name) => file(quirks, media, name, index, out, adapted),
        Kind::ToolCall(_) | Kind::ToolResult(_) | Kind::Reasoning(_) | Kind::Unknown(..) => {
            let message = format!("message {index} has a part that its role cannot have in this dialect");
            Err(unsupported("messages.parts", message))
        }
    }
}

fn image(quirks: &Quirks, media: &Media, index: usize, out: &mut Writer) -> Result<(), Failure> {
    if !quirks.images {
        return Err(unsupported("images", format!("message {index} has an image, and this backend takes none")));
    }
    out.key("type").text("image");
    source(out, media);
    Ok(())
}

fn file(
    quirks: &Quirks,
    media: &Media,
    name: &str,
    index: usize,
    out: &mut Writer,
    adapted: &mut Adaptations,
) -> Result<(), Failure> {
    if !quirks.files {
        return Err(unsupported("files", format!("message {index} has a file, and this backend takes none")));
    }
    out.key("type").text("document");
    match media {
        Media::Inline(media_type, bytes) if is_text(media_type) => {
            let Ok(text) = std::str::from_utf8(bytes) else {
                let message = format!("message {index} has a file of the type `{media_type}` that is not UTF-8");
                return Err(unsupported("files", message));
            };
            if media_type != "text/plain" {
                adapted.add("file_sent_as_plain_text");
            }
            out.key("source").object(|out| {
                out.key("type").text("text");
                out.key("media_type").text("text/plain");
                out.key("data").text(text);
            });
        }
        Media::Inline(media_type, _) if media_type != "application/pdf" => {
            let message =
                format!("message {index} has a file of the type `{media_type}`: this dialect takes PDF and text");
            return Err(unsupported("files", message));
        }
        Media::Inline(..) | Media::Link(..) => source(out, media),
    }
    if !name.is_empty() {
        out.key("title").text(name);
    }
    Ok(())
}

/// A file whose bytes are text.
fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/") || matches!(media_type, "application/json" | "application/xml")
}

fn source(out: &mut Writer, media: &Media) {
    out.key("source").object(|out| match media {
        Media::Inline(media_type, bytes) => {
            out.key("type").text("base64");
            out.key("media_type").text(media_type);
            out.key("data").base64_text(bytes);
        }
        Media::Link(url, _) => {
            out.key("type").text("url");
            out.key("url").text(url);
        }
    });
}
