//! Positions in lists as bytes, for the tokens of pages. It must not know what is listed.

use crate::app::graph::{DiffPosition, Position, SearchPosition};
use crate::app::restore::MovesFrom;
use crate::app::tool::{DriftsFrom, OccurrencesFrom};
use crate::app::workspace::After;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{ExchangeId, Hash, RunId};
use crate::domain::workspace::Root;

/// Reads a position from its beginning.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or_else(damaged)?;
        self.0 = rest;
        Ok(*first)
    }

    fn id(&mut self) -> Result<ExchangeId, Fault> {
        self.fixed().map(ExchangeId::from_bytes)
    }

    fn number(&mut self) -> Result<u64, Fault> {
        self.fixed().map(u64::from_be_bytes)
    }

    fn short(&mut self) -> Result<u32, Fault> {
        self.fixed().map(u32::from_be_bytes)
    }

    /// A value with nothing after it.
    fn end<T>(&self, value: T) -> Result<T, Fault> {
        if self.0.is_empty() { Ok(value) } else { Err(damaged()) }
    }
}

fn damaged() -> Fault {
    Fault::new(Reason::PageTokenInvalid, "the page token is damaged: begin again without one")
}

/// An exchange.
pub(super) fn exchange(bytes: &[u8]) -> Result<ExchangeId, Fault> {
    let mut reader = Reader(bytes);
    let id = reader.id()?;
    reader.end(id)
}

/// A number.
pub(super) fn number(bytes: &[u8]) -> Result<u64, Fault> {
    let mut reader = Reader(bytes);
    let number = reader.number()?;
    reader.end(number)
}

/// The end of a path and a depth on it.
pub(super) fn on_path(bytes: &[u8]) -> Result<(ExchangeId, u64), Fault> {
    let mut reader = Reader(bytes);
    let at = (reader.id()?, reader.number()?);
    reader.end(at)
}

/// From which drift on to list.
pub(super) fn drifts(bytes: &[u8]) -> Result<DriftsFrom, Fault> {
    let mut reader = Reader(bytes);
    let from = match reader.fixed::<1>()? {
        [b'p'] => DriftsFrom::Path { end: reader.id()?, depth: reader.number()?, skip: reader.short()? },
        [b't'] => DriftsFrom::Below {
            top: reader.id()?,
            at: reader.id()?,
            is_done: reader.fixed::<1>()? != [0],
            skip: reader.short()?,
        },
        _ => return Err(damaged()),
    };
    reader.end(from)
}

/// The bytes of that.
pub(super) fn of_drifts(at: &DriftsFrom) -> Vec<u8> {
    match at {
        DriftsFrom::Path { end, depth, skip } => {
            [&b"p"[..], end.as_bytes(), &depth.to_be_bytes(), &skip.to_be_bytes()].concat()
        }
        DriftsFrom::Below { top, at, is_done, skip } => {
            [&b"t"[..], top.as_bytes(), at.as_bytes(), &[u8::from(*is_done)], &skip.to_be_bytes()].concat()
        }
    }
}

/// From which call on to list.
pub(super) fn occurrences(bytes: &[u8]) -> Result<OccurrencesFrom, Fault> {
    let mut reader = Reader(bytes);
    let from = match reader.fixed::<1>()? {
        [b'e'] => OccurrencesFrom::Newest { top: None, before: reader.id()? },
        [b't'] => OccurrencesFrom::Newest { top: Some(reader.id()?), before: reader.id()? },
        [b'p'] => OccurrencesFrom::Path { end: reader.id()?, depth: reader.number()? },
        _ => return Err(damaged()),
    };
    reader.end(from)
}

/// The bytes of that.
pub(super) fn of_occurrences(at: &OccurrencesFrom) -> Vec<u8> {
    match at {
        OccurrencesFrom::Newest { top: None, before } => [&b"e"[..], before.as_bytes()].concat(),
        OccurrencesFrom::Newest { top: Some(top), before } => [&b"t"[..], top.as_bytes(), before.as_bytes()].concat(),
        OccurrencesFrom::Path { end, depth } => [&b"p"[..], end.as_bytes(), &depth.to_be_bytes()].concat(),
    }
}

/// Where a comparison goes on.
pub(super) fn diff(bytes: &[u8]) -> Result<DiffPosition, Fault> {
    let mut reader = Reader(bytes);
    let index = reader.number()?;
    let left = (reader.number()?, reader.short()?);
    let right = (reader.number()?, reader.short()?);
    let after_document = match reader.0 {
        [] => None,
        [_, name @ ..] => Some(text(Reader(name))?),
    };
    Ok(DiffPosition { index, left, right, after_document })
}

/// The bytes of that.
pub(super) fn of_diff(at: &DiffPosition) -> Vec<u8> {
    let side = |(depth, skip): (u64, u32)| [&depth.to_be_bytes()[..], &skip.to_be_bytes()].concat();
    let document = at.after_document.as_ref().map(|name| [&[1][..], name.as_bytes()].concat()).unwrap_or_default();
    [at.index.to_be_bytes().to_vec(), side(at.left), side(at.right), document].concat()
}

fn root(reader: &mut Reader<'_>) -> Result<Root, Fault> {
    match reader.fixed::<1>()? {
        [0] => Ok(None),
        _ => Ok(Some(Hash(reader.fixed()?))),
    }
}

fn text(reader: Reader<'_>) -> Result<String, Fault> {
    String::from_utf8(reader.0.to_vec()).map_err(|_| damaged())
}

/// Where a list of documents goes on.
pub(super) fn documents(bytes: &[u8]) -> Result<After, Fault> {
    let mut reader = Reader(bytes);
    Ok(After { root: root(&mut reader)?, name: text(reader)? })
}

/// Where a comparison of two versions goes on.
pub(super) fn two_documents(bytes: &[u8]) -> Result<([Root; 2], String), Fault> {
    let mut reader = Reader(bytes);
    let roots = [root(&mut reader)?, root(&mut reader)?];
    Ok((roots, text(reader)?))
}

/// The bytes of either.
pub(super) fn of_documents(roots: &[Root], name: &str) -> Vec<u8> {
    let root = |root: &Root| root.map_or_else(|| vec![0], |hash| [&[1][..], &hash.0].concat());
    roots.iter().map(root).chain([name.as_bytes().to_vec()]).collect::<Vec<_>>().concat()
}

/// From where on moves of a head are listed.
pub(super) fn moves(bytes: &[u8]) -> Result<MovesFrom, Fault> {
    let mut reader = Reader(bytes);
    let at = MovesFrom { head: reader.id()?, before: reader.number()? };
    reader.end(at)
}

/// The bytes of that.
pub(super) fn of_moves(at: MovesFrom) -> Vec<u8> {
    [&at.head.as_bytes()[..], &at.before.to_be_bytes()].concat()
}

/// Where a walk goes on.
pub(super) fn walk(bytes: &[u8]) -> Result<Position, Fault> {
    let mut reader = Reader(bytes);
    let (scope, last) = (reader.id()?, reader.id()?);
    let (hidden, level) = (reader.number()?, reader.short()?);
    let shown = if reader.0.is_empty() { None } else { Some(reader.id()?) };
    reader.end(Position { scope, last, shown, hidden, level })
}

/// The bytes of that.
pub(super) fn of_walk(at: &Position) -> Vec<u8> {
    let shown = at.shown.map(|id| id.as_bytes().to_vec()).unwrap_or_default();
    let numbers = [&at.hidden.to_be_bytes()[..], &at.level.to_be_bytes()].concat();
    [at.scope.as_bytes().to_vec(), at.last.as_bytes().to_vec(), numbers, shown].concat()
}

/// Where a search goes on.
pub(super) fn search(bytes: &[u8]) -> Result<SearchPosition, Fault> {
    let (kind, rest) = bytes.split_first().ok_or_else(damaged)?;
    match kind {
        b'e' => exchange(rest).map(SearchPosition::Exchanges),
        b'p' => on_path(rest).map(|(id, depth)| SearchPosition::Path(id, depth)),
        b'r' if rest.is_empty() => Ok(SearchPosition::Runs(None)),
        b'r' => {
            let id: RunId = std::str::from_utf8(rest).map_err(|_| damaged())?.parse().map_err(|_| damaged())?;
            Ok(SearchPosition::Runs(Some(id)))
        }
        _ => Err(damaged()),
    }
}

/// The bytes of that.
pub(super) fn of_search(at: &SearchPosition) -> Vec<u8> {
    match at {
        SearchPosition::Exchanges(id) => [&b"e"[..], id.as_bytes()].concat(),
        SearchPosition::Path(id, depth) => [&b"p"[..], id.as_bytes(), &depth.to_be_bytes()].concat(),
        SearchPosition::Runs(id) => [&b"r"[..], id.as_ref().map_or("", RunId::as_str).as_bytes()].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_come_back_and_what_is_damaged_is_refused() {
        let id = ExchangeId::from_bytes([7; 16]);
        for shown in [None, Some(ExchangeId::from_bytes([9; 16]))] {
            let at = Position { scope: id, last: ExchangeId::from_bytes([8; 16]), shown, hidden: 3, level: 2 };
            let bytes = of_walk(&at);
            assert_eq!(walk(&bytes).unwrap(), at);
            assert!(walk(&bytes[1..]).is_err());
        }
        for after_document in [None, Some(String::new()), Some("notes/a".to_owned())] {
            let at = DiffPosition { index: 1, left: (2, 3), right: (4, 5), after_document };
            assert_eq!(diff(&of_diff(&at)).unwrap(), at);
        }
        let root = Some(Hash([3; 32]));
        for roots in [[None, root], [root, None]] {
            assert_eq!(two_documents(&of_documents(&roots, "a")).unwrap(), (roots, "a".to_owned()));
            let [root, _] = roots;
            assert_eq!(documents(&of_documents(&[root], "é")).unwrap(), After { root, name: "é".to_owned() });
        }
        assert!(documents(&[1, 2]).is_err() && documents(&[0, 0xff]).is_err());
        let at = MovesFrom { head: id, before: 7 };
        assert_eq!(moves(&of_moves(at)).unwrap(), at);
        assert!(diff(&[0; 9]).is_err());
        let other = ExchangeId::from_bytes([9; 16]);
        for at in [
            DriftsFrom::Path { end: id, depth: 3, skip: 4 },
            DriftsFrom::Below { top: id, at: other, is_done: false, skip: 4 },
            DriftsFrom::Below { top: id, at: other, is_done: true, skip: 0 },
        ] {
            let bytes = of_drifts(&at);
            assert_eq!(drifts(&bytes).unwrap(), at);
            assert!(drifts(&bytes[1..]).is_err() && drifts(&[&bytes[..], &[0]].concat()).is_err());
        }
        for at in [
            OccurrencesFrom::Newest { top: None, before: id },
            OccurrencesFrom::Newest { top: Some(other), before: id },
            OccurrencesFrom::Path { end: id, depth: 7 },
        ] {
            let bytes = of_occurrences(&at);
            assert_eq!(occurrences(&bytes).unwrap(), at);
            assert!(occurrences(&bytes[1..]).is_err() && occurrences(&[&bytes[..], &[0]].concat()).is_err());
        }
        let all = [
            SearchPosition::Exchanges(id),
            SearchPosition::Path(id, 9),
            SearchPosition::Runs(None),
            SearchPosition::Runs(Some(RunId::new("r"))),
        ];
        for at in all {
            assert_eq!(search(&of_search(&at)).unwrap(), at);
        }
        assert!(search(b"").is_err() && search(b"x").is_err() && search(b"e1").is_err());
    }
}
