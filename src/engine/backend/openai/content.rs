//! What a message says, as a text or as an array of parts: texts, images and files. It must not know roles.

use super::quirks::{Files, Quirks};
use crate::domain::message::{Kind, Media, Part};
use crate::engine::backend::Failure;
use crate::engine::backend::wire::{Adaptations, Writer, unsupported};

/// A text alone as such, and everything else as an array of parts.
pub(super) fn content(
    quirks: &Quirks,
    parts: &[&Part],
    out: &mut Writer,
    adapted: &mut Adaptations,
) -> Result<(), Failure> {
    let mut texts = Vec::new();
    for part in parts {
        if part.cache_marker.is_some() && !quirks.cache_markers {
            adapted.add("cache_markers_dropped");
        }
        if part.provider_data.is_some() {
            // This dialect attaches nothing to what is said.
            adapted.add("foreign_data_dropped");
        }
        if let Kind::Text(text) | Kind::Refusal(text) = &part.kind {
            texts.push(text.as_str());
        }
    }
    let only_text = texts.len() == parts.len();
    let marked = quirks.cache_markers && parts.iter().any(|part| part.cache_marker.is_some());
    if only_text && !marked && (texts.len() <= 1 || !quirks.text_arrays) {
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
            Kind::Text(text) | Kind::Refusal(text) => {
                out.key("type").text("text");
                out.key("text").text(text);
            }
            Kind::Image(media, detail) => image(quirks, media, detail, out)?,
            Kind::File(media, name) => file(quirks, media, name, out)?,
            _ => {}
        }
        if let (Some(marker), true) = (&part.cache_marker, quirks.cache_markers) {
            out.key("cache_control").object(|out| {
                out.key("type").text("ephemeral");
                if !marker.ttl.is_empty() {
                    out.key("ttl").text(&marker.ttl);
                }
            });
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
    out.key("type").text("image_url");
    out.key("image_url").object(|out| {
        address(out.key("url"), media);
        if !detail.is_empty() {
            out.key("detail").text(detail);
        }
    });
    Ok(())
}

fn file(quirks: &Quirks, media: &Media, name: &str, out: &mut Writer) -> Result<(), Failure> {
    match (media, quirks.files) {
        (_, Files::None) => return Err(unsupported("files", "this backend takes no files")),
        (Media::Link(..), Files::Inline) => {
            return Err(unsupported("file_links", "this backend takes files with their bytes, not as links"));
        }
        (Media::Inline(..), Files::Inline) | (_, Files::Links) => {}
    }
    out.key("type").text("file");
    out.key("file").object(|out| {
        if !name.is_empty() {
            out.key("filename").text(name);
        }
        address(out.key("file_data"), media);
    });
    Ok(())
}

fn address(out: &mut Writer, media: &Media) {
    match media {
        Media::Inline(media_type, bytes) => out.data_url(media_type, bytes),
        Media::Link(url, _) => out.text(url),
    }
}
