//! Blocks of content that anybody may say: texts, images and documents, with their cache markers. It must not know roles.

use super::quirks::{MarkersKept, Quirks};
use crate::domain::message::{CacheMarker, Kind, Media, Message, Part};
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
        let can_last = |part: &&Part| part.cache_marker.is_some() && is_markable(part);
        let skip = match quirks.cache_markers_kept {
            MarkersKept::First => 0,
            MarkersKept::Last => {
                let all = messages.iter().flat_map(|message| &message.parts).filter(can_last).count();
                all.saturating_sub(quirks.max_cache_markers)
            }
        };
        Self { skip, left: quirks.max_cache_markers }
    }

    /// The marker of a block, at the end of its fields.
    pub(super) fn write(&mut self, marker: Option<&CacheMarker>, out: &mut Writer, adapted: &mut Adaptations) {
        let Some(marker) = marker else { return };
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

/// It becomes a block that may have a marker.
pub(super) fn is_markable(part: &Part) -> bool {
    match &part.kind {
        Kind::Text(text) | Kind::Refusal(text) => !text.trim().is_empty(),
        Kind::Image(..) | Kind::File(..) | Kind::ToolCall(_) | Kind::ToolResult(_) => true,
        Kind::Reasoning(_) | Kind::Unknown(..) => false,
    }
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
