//! Who may call: what a credential opens, and the door at which it is shown. It must not know where credentials are kept, nor how a call
//! carries one.

use std::fmt;
use std::future::Future;
use std::str::FromStr;
use std::sync::Arc;

use futures::future::BoxFuture;

mod limits;
mod peer;

pub use self::limits::{AtWork, CallKind, LimitUse, Limits};
pub use self::peer::{Busy, Peer};
use super::reload::Mistake;
use crate::domain::fault::{Fault, Reason};
use crate::domain::id::{Moment, Namespace};

/// Where it is told what was done to a store as a whole and who may do it: events for a log of their own, which is kept longer.
pub const AUDIT: &str = "antiphon::audit";

/// What a credential allows. None includes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Looking at what is stored and configured.
    Read,
    /// Executing, recording, and changing threads, documents and runs.
    Write,
    /// Looking after the namespace: exports, imports, erasure, retention, verification.
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A word that names no scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no scope: write `read`, `write` or `admin`")]
pub struct NoScope;

impl FromStr for Scope {
    type Err = NoScope;

    fn from_str(word: &str) -> Result<Self, NoScope> {
        Self::ALL.into_iter().find(|scope| scope.word() == word).ok_or(NoScope)
    }
}

/// Which namespaces a credential opens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Opens {
    /// This one.
    One(Namespace),
    /// Each, and the server as a whole.
    All,
}

/// The word for every namespace, where one is named.
pub const ALL_NAMESPACES: &str = "*";

impl fmt::Display for Opens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(namespace) => namespace.fmt(f),
            Self::All => f.write_str(ALL_NAMESPACES),
        }
    }
}

/// Somebody whose credential was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Names the credential where it is told who did something, such as the id of a key; empty for everybody where nobody is asked.
    pub name: String,
    /// Which namespaces it opens.
    pub opens: Opens,
    /// What it allows there.
    pub scopes: Vec<Scope>,
    /// When it expires; never when absent.
    pub expires: Option<Moment>,
    /// What it may use at most.
    pub limits: Limits,
}

impl Principal {
    /// Everybody, where nobody is asked for a credential.
    pub fn anybody() -> Self {
        Self {
            name: String::new(),
            opens: Opens::All,
            scopes: Scope::ALL.to_vec(),
            expires: None,
            limits: Limits::default(),
        }
    }

    /// Somebody who may do everything in one namespace.
    pub fn of(namespace: Namespace) -> Self {
        Self { opens: Opens::One(namespace), ..Self::anybody() }
    }

    /// Whether it allows this.
    ///
    /// # Errors
    /// SCOPE_MISSING.
    pub fn allows(&self, scope: Scope) -> Result<(), Fault> {
        if self.scopes.contains(&scope) {
            return Ok(());
        }
        let message =
            format!("this needs a credential with the scope `{scope}`, which the one that was sent does not have");
        Err(Fault::new(Reason::ScopeMissing, message).with("scope", scope))
    }

    /// The namespace of a call, which may name one.
    ///
    /// # Errors
    /// INVALID_FIELDS for what is no name, SCOPE_MISSING for one that the credential does not open, whether or not it holds anything.
    pub fn namespace(&self, named: Option<&str>) -> Result<Namespace, Fault> {
        let named = named.map(|name| {
            name.parse::<Namespace>().map_err(|error| Fault::field("antiphon-namespace", error.to_string()))
        });
        match (&self.opens, named.transpose()?) {
            (Opens::One(own), None) => Ok(own.clone()),
            (Opens::One(own), Some(named)) if named == *own => Ok(named),
            (Opens::One(own), Some(_)) => {
                let message = format!(
                    "the credential opens the namespace `{own}` and no other: leave `antiphon-namespace` out, or send another key"
                );
                Err(Fault::new(Reason::ScopeMissing, message).with("namespace", own))
            }
            (Opens::All, named) => Ok(named.unwrap_or_else(Namespace::default_namespace)),
        }
    }
}

/// Lets a call be at work; what it holds comes free when it is dropped.
#[derive(Default)]
pub struct Pass {
    _held: Option<Box<dyn Send>>,
    ends: Option<BoxFuture<'static, ()>>,
}

impl Pass {
    /// A pass that holds something for as long as the call is at work.
    pub fn holding(what: impl Send + 'static) -> Self {
        Self { _held: Some(Box::new(what)), ends: None }
    }

    /// A pass that is good until something happens: then the call ends, be it at work.
    #[must_use]
    pub fn until(self, ends: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { ends: Some(Box::pin(ends)), ..self }
    }

    /// What ends it.
    pub fn ends(&mut self) -> Option<&mut BoxFuture<'static, ()>> {
        self.ends.as_mut()
    }
}

/// Where credentials are looked at.
pub trait Door: Send + Sync {
    /// Whose credential this is; what was sent, without the name of its kind.
    ///
    /// # Errors
    /// UNAUTHENTICATED, which never says what of it was wrong.
    fn admit(&self, credential: Option<&str>) -> Result<Arc<Principal>, Fault>;

    /// Lets a call begin.
    ///
    /// # Errors
    /// LIMIT_EXCEEDED with when to come again.
    fn enter(&self, principal: &Principal, kind: CallKind) -> Result<Pass, Fault>;

    /// What a credential says that it is called, whether or not it is taken: for whoever looks at refusals. Never a part that is secret.
    fn named(&self, credential: &str) -> String;

    /// Who has limits, and what they have at work: of those that open this namespace alone, or of all.
    fn at_work(&self, only: Option<&Namespace>) -> Vec<AtWork>;

    /// Looks whether what it knows is still true. Blocks. Tells whether anything is otherwise.
    ///
    /// # Errors
    /// Every mistake at once. What has one stays as it was known, and the rest is as it is now.
    fn refresh(&self) -> Result<bool, Vec<Mistake>>;
}

/// A door that stands open.
pub struct OpenDoor(Arc<Principal>);

impl Default for OpenDoor {
    fn default() -> Self {
        Self(Arc::new(Principal::anybody()))
    }
}

impl Door for OpenDoor {
    fn admit(&self, _: Option<&str>) -> Result<Arc<Principal>, Fault> {
        Ok(Arc::clone(&self.0))
    }

    fn enter(&self, _: &Principal, _: CallKind) -> Result<Pass, Fault> {
        Ok(Pass::default())
    }

    fn named(&self, _: &str) -> String {
        String::new()
    }

    fn at_work(&self, _: Option<&Namespace>) -> Vec<AtWork> {
        Vec::new()
    }

    fn refresh(&self) -> Result<bool, Vec<Mistake>> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_opens_its_own_namespace_and_no_other() {
        let own = Namespace::new("billing");
        let somebody = Principal::of(own.clone());
        assert_eq!(somebody.namespace(None), Ok(own.clone()));
        assert_eq!(somebody.namespace(Some("billing")), Ok(own));
        assert_eq!(somebody.namespace(Some("legal")).unwrap_err().reason, Reason::ScopeMissing);
        assert_eq!(somebody.namespace(Some("Legal!")).unwrap_err().reason, Reason::InvalidFields);
        let operator = Principal::anybody();
        assert_eq!(operator.namespace(Some("legal")), Ok(Namespace::new("legal")));
        assert_eq!(operator.namespace(None), Ok(Namespace::default_namespace()));
    }

    #[test]
    fn no_scope_includes_another() {
        for scope in Scope::ALL {
            let somebody = Principal { scopes: vec![scope], ..Principal::anybody() };
            for asked in Scope::ALL {
                assert_eq!(somebody.allows(asked).is_ok(), asked == scope);
            }
            assert_eq!(scope.word().parse(), Ok(scope));
        }
        assert_eq!("root".parse::<Scope>(), Err(NoScope));
    }
}
