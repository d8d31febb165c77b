//! What a message or a result says, as a text or as an array of parts: texts, images and files. It must not know roles.

use super::quirks::{Files, Quirks};
use crate::domain::message::{Kind, Media, Part};
use crate::engine::backend::Failure;
use crate::engine::backend::wire::{Adaptations, Writer, unsupported};

/// A text alone as such, and everything else as an array of input parts.
pub(super) fn content(
    quirks: &Quirks,
    parts: &[&Part],
    out: &mut Writer,
    adapted: &mut Adaptations,
) -> Result<(), Failure> {
    let mut texts = Vec::new();
    for part in parts {
        if part.cache_marker.is_some() {
            adapted.add("cache_markers_dropped");
        }
        if let Kind::Text(text) = &part.kind {
            texts.push(text.as_str());
        }
    }
    if texts.len() == parts.len() && (texts.len() <= 1 || !quirks.text_arrays) {
        if texts.len() > 1 {
            adapted.add("texts_joined");
        }
        out.joined(texts);
        return Ok(());
    }
    out.open(b'[');
    for part in parts {
        out.open(b'{');
        match &part.kind {
            Kind::Text(text) => {
                out.key("type").text("input_text");
                out.key("text").text(text);
            }
            Kind::Image(media, detail) => image(quirks, media, detail, out)?,
            Kind::File(media, name) => file(quirks, media, name, out)?,
            _ => {}
        }
        out.close(b'}');
    }
    out.close(b']');
    Ok(())
}

fn image(quirks: &Quirks, media: &Media, detail: &str, out: &mut Writer) -> Result<(), Failure> {
    if !quirks.images {
        return Err(unsupported("images", "this backend takes no images"));
    }
    out.key("type").text("input_image");
    match media {
        Media::Inline(media_type, bytes) => out.key("image_url").data_url(media_type, bytes),
        Media::Link(url, _) => out.key("image_url").text(url),
    }
    if !detail.is_empty() {
        out.key("detail").text(detail);
    }
    Ok(())
}

fn file(quirks: &Quirks, media: &Media, name: &str, out: &mut Writer) -> Result<(), Failure> {
    out.key("type").text("input_file");
    match (media, quirks.files) {
        (_, Files::None) => return Err(unsupported("files", "this backend takes no files")),
        (Media::Link(..), Files::Inline) => {
            return Err(unsupported("file_links", "this backend takes files with their bytes, not as links"));
        }
        (Media::Link(url, _), Files::Links) => out.key("file_url").text(url),
        (Media::Inline(media_type, bytes), _) => {
            // The API wants a name beside the bytes.
            out.key("filename").text(if name.is_empty() { "file" } else { name });
            out.key("file_data").data_url(media_type, bytes);
        }
    }
    Ok(())
}
