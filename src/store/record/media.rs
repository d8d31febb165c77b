//! Media inside messages: taking the large ones out into records of their own, and bringing them back. It must not know what the messages
//! belong to.

use std::collections::BTreeMap;
use std::convert::Infallible;

use bytes::Bytes;

use super::{Malformed, hash, hash_bytes, twin};
use crate::domain::content::Hasher;
use crate::domain::id::Hash;

/// Media from this length on get a record of their own: below, one more key costs more than it saves.
const LARGE: usize = 4096;

/// Takes the large media out of messages.
pub(super) fn take_out<'a>(
    messages: impl Iterator<Item = &'a mut twin::Message>,
    hasher: &Hasher,
) -> BTreeMap<Hash, Bytes> {
    let mut parts = BTreeMap::new();
    let Ok(()) = each::<Infallible>(messages, &mut |source| {
        if let twin::media::Source::Inline(inline) = source
            && inline.data.len() >= LARGE
        {
            let hash = hasher.part(&inline.data);
            let media_type = std::mem::take(&mut inline.media_type);
            parts.insert(hash, std::mem::take(&mut inline.data));
            *source = twin::media::Source::Kept(twin::KeptMedia { media_type, hash: hash_bytes(&hash) });
        }
        Ok(())
    });
    parts
}

/// Hashes of what was taken out, each once.
pub(super) fn taken_out<'a>(messages: impl Iterator<Item = &'a mut twin::Message>) -> Result<Vec<Hash>, Malformed> {
    let mut hashes = Vec::new();
    each(messages, &mut |source| {
        if let twin::media::Source::Kept(kept) = source {
            let hash = hash(&kept.hash, "media.kept.hash")?;
            if !hashes.contains(&hash) {
                hashes.push(hash);
            }
        }
        Ok(())
    })?;
    Ok(hashes)
}

/// Puts what was taken out back in its place.
pub(super) fn bring_in<'a>(
    messages: impl Iterator<Item = &'a mut twin::Message>,
    parts: &BTreeMap<Hash, Bytes>,
) -> Result<(), Malformed> {
    each(messages, &mut |source| {
        if let twin::media::Source::Kept(kept) = source {
            let data = parts.get(&hash(&kept.hash, "media.kept.hash")?).ok_or(Malformed::missing("media.kept"))?;
            let media_type = std::mem::take(&mut kept.media_type);
            *source = twin::media::Source::Inline(twin::InlineMedia { media_type, data: data.clone() });
        }
        Ok(())
    })
}

type Visit<'a, E> = dyn FnMut(&mut twin::media::Source) -> Result<(), E> + 'a;

fn each<'a, E>(mut messages: impl Iterator<Item = &'a mut twin::Message>, visit: &mut Visit<'_, E>) -> Result<(), E> {
    messages.try_for_each(|message| each_of(&mut message.parts, visit))
}

fn each_of<E>(parts: &mut [twin::Part], visit: &mut Visit<'_, E>) -> Result<(), E> {
    use twin::part::Kind;
    for part in parts {
        let media = match &mut part.kind {
            Some(Kind::Image(image)) => image.media.as_mut(),
            Some(Kind::File(file)) => file.media.as_mut(),
            Some(Kind::ToolResult(result)) => {
                each_of(&mut result.parts, visit)?;
                None
            }
            _ => None,
        };
        if let Some(source) = media.and_then(|media| media.source.as_mut()) {
            visit(source)?;
        }
    }
    Ok(())
}
