//! Pages: sizes, and tokens that belong to one query (AIP-158). It must not know what is listed.

use super::convert::bounds;
use crate::domain::bounds::Bounds;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::Namespace;

/// Version of the form of tokens.
const VERSION: u8 = 1;
/// Bytes of the check before the position.
const CHECK: usize = 16;
/// Longest token that is looked at, in characters.
const MAX_TOKEN: usize = 4_096;

/// Sizes of a list's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// When the caller says nothing.
    pub default: usize,
    /// What they are pages of.
    pub of: Of,
}

/// What pages are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A list of things, each of which may be large.
    List,
    /// A graph, of which little is told.
    Graph,
}

impl Sizes {
    /// Of most lists.
    pub const LIST: Self = Self { default: 50, of: Of::List };
    /// Of histories.
    pub const HISTORY: Self = Self { default: 100, of: Of::List };

    /// The size of a page: what was asked for, the default for zero, never more than the most.
    ///
    /// # Errors
    /// When it is negative.
    pub fn of(self, page_size: i32) -> Result<usize, Fault> {
        let max = self.max(&bounds::in_force());
        match usize::try_from(page_size) {
            Ok(0) => Ok(self.default.min(max)),
            Ok(size) => Ok(size.min(max)),
            Err(_) => Err(Fault::field("page_size", format!("must not be negative: 1 to {max}"))),
        }
    }

    /// Items of one page at most.
    fn max(self, bounds: &Bounds) -> usize {
        match self.of {
            Of::List => bounds.page.max,
            Of::Graph => bounds.graph_page.max,
        }
    }
}

/// What is listed: everything that decides which items come and in which order, page size and token aside.
pub struct Query {
    hasher: blake3::Hasher,
}

impl Query {
    /// A query of an RPC, such as `ThreadService.List`, in a namespace.
    pub fn new(rpc: &str, namespace: &Namespace) -> Self {
        let query = Self { hasher: blake3::Hasher::new_derive_key("antiphon page token 1") };
        query.with(rpc).with(namespace.as_str())
    }

    /// With one more text of it. Each counts with its length, so that no two lists of texts are the same.
    #[must_use]
    pub fn with(mut self, text: &str) -> Self {
        self.hasher.update(&(text.len() as u64).to_be_bytes());
        self.hasher.update(text.as_bytes());
        self
    }

    /// With several more texts, counted.
    #[must_use]
    pub fn with_all<'a>(mut self, texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut count = 0_u64;
        for text in texts {
            self = self.with(text);
            count += 1;
        }
        self.hasher.update(&count.to_be_bytes());
        self
    }

    /// The token for the page after a position, which is whatever the list needs to go on.
    pub fn token(&self, position: &[u8]) -> String {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.check(position));
        bytes.extend_from_slice(position);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The position in a token; absent in an empty one, which asks for the first page.
    ///
    /// # Errors
    /// When it is damaged, or of another query.
    pub fn position(&self, token: &str) -> Result<Option<Vec<u8>>, Fault> {
        if token.is_empty() {
            return Ok(None);
        }
        if token.len() > MAX_TOKEN {
            let given = token.len();
            let what = format!("is {given} characters long: at most {MAX_TOKEN} are looked at; send it as it came");
            return Err(Fault::new(Reason::PageTokenInvalid, format!("page_token {what}")).at("page_token", what));
        }
        let bytes = decode(token);
        let position = bytes.as_deref().and_then(|bytes| {
            let (version, rest) = bytes.split_first()?;
            let (check, position) = rest.split_at_checked(CHECK)?;
            (*version == VERSION && check == self.check(position)).then(|| position.to_vec())
        });
        position.map(Some).ok_or_else(|| {
            let message = "the page token is damaged or of another query: send `next_page_token` as it came, with the \
                           same request, or leave it out to begin again";
            Fault::new(Reason::PageTokenInvalid, message).at("page_token", "is damaged or of another query")
        })
    }

    fn check(&self, position: &[u8]) -> [u8; CHECK] {
        let mut hasher = self.hasher.clone();
        hasher.update(position);
        let mut check = [0; CHECK];
        hasher.finalize_xof().fill(&mut check);
        check
    }
}

fn decode(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect::<Option<_>>();
    bytes.filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(label: &str) -> Query {
        Query::new("ThreadService.List", &Namespace::new("a")).with_all(["team", label])
    }

    #[test]
    fn a_token_brings_its_position_back() {
        for position in [&b""[..], b"t-42", &[0, 255, 7]] {
            let token = query("x").token(position);
            assert_eq!(query("x").position(&token), Ok(Some(position.to_vec())));
        }
        assert_eq!(query("x").position(""), Ok(None));
    }

    #[test]
    fn a_token_of_another_query_is_refused() {
        let token = query("x").token(b"t-42");
        let elsewhere = Query::new("ThreadService.List", &Namespace::new("b")).with_all(["team", "x"]);
        let other_rpc = Query::new("RunService.List", &Namespace::new("a")).with_all(["team", "x"]);
        let split = Query::new("ThreadService.List", &Namespace::new("a")).with_all(["teamx", ""]);
        for other in [query("y"), elsewhere, other_rpc, split] {
            assert_eq!(other.position(&token).unwrap_err().reason, Reason::PageTokenInvalid);
        }
    }

    #[test]
    fn a_damaged_token_is_refused() {
        let token = query("x").token(b"t-42");
        for at in 0..token.len() {
            let mut damaged = token.clone();
            let digit = if token.as_bytes()[at] == b'0' { "1" } else { "0" };
            damaged.replace_range(at..=at, digit);
            assert_eq!(query("x").position(&damaged).unwrap_err().reason, Reason::PageTokenInvalid, "{damaged}");
            assert!(query("x").position(&token[..at]).is_err() || at == 0);
        }
        for nonsense in ["z", "語", "0", &"0".repeat(10_000)] {
            assert_eq!(query("x").position(nonsense).unwrap_err().fields[0].path, "page_token");
        }
        // One of the greatest length is looked at.
        let long = query("x").token(&[7; (MAX_TOKEN / 2) - CHECK - 1]);
        assert_eq!((long.len(), query("x").position(&long).is_ok()), (MAX_TOKEN, true));
    }

    #[test]
    fn sizes_have_a_default_and_a_most() {
        assert_eq!(Sizes::LIST.of(0), Ok(50));
        assert_eq!(Sizes::LIST.of(7), Ok(7));
        assert_eq!(Sizes::HISTORY.of(0), Ok(100));
        assert_eq!(Sizes::LIST.of(i32::MAX), Ok(1_000));
        let refused = Sizes::LIST.of(-1).unwrap_err();
        assert_eq!((refused.reason, refused.fields[0].path.as_str()), (Reason::InvalidFields, "page_size"));
    }
}
