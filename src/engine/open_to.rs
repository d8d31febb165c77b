//! Which namespaces may use something that is configured. It must not know what it is.

use std::collections::BTreeSet;

use crate::domain::id::Namespace;

/// The namespaces that may use something; all where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenTo(Option<BTreeSet<Namespace>>);

impl OpenTo {
    /// From the names in a configuration.
    ///
    /// # Errors
    /// What is wrong with one.
    pub fn of(names: Option<&[String]>) -> Result<Self, String> {
        let Some(names) = names else { return Ok(Self(None)) };
        if names.is_empty() {
            return Err("must not be empty: leave it out for all, or take the whole entry out".to_owned());
        }
        let parse = |name: &String| name.parse::<Namespace>().map_err(|error| format!("`{name}` {error}"));
        names.iter().map(parse).collect::<Result<_, _>>().map(|names| Self(Some(names)))
    }

    /// Those that may use both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        match (&self.0, &other.0) {
            (Some(own), Some(others)) => Self(Some(own.intersection(others).cloned().collect())),
            (own, others) => Self(own.clone().or_else(|| others.clone())),
        }
    }

    /// Whether this one may.
    pub fn allows(&self, namespace: &Namespace) -> bool {
        self.0.as_ref().is_none_or(|names| names.contains(namespace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> OpenTo {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        OpenTo::of(Some(&names)).unwrap()
    }

    #[test]
    fn who_is_on_both_lists_may() {
        let (a, b) = (Namespace::new("a"), Namespace::new("b"));
        assert!(OpenTo::default().allows(&a));
        let both = of(&["a", "b"]).and(&of(&["b", "c"]));
        assert_eq!((both.allows(&a), both.allows(&b)), (false, true));
        assert!(OpenTo::default().and(&of(&["b"])).allows(&b));
        assert!(!of(&["a"]).and(&of(&["b"])).allows(&a));
        assert!(OpenTo::of(Some(&[])).is_err());
        assert!(OpenTo::of(Some(&["A!".to_owned()])).unwrap_err().contains("A!"));
    }
}
