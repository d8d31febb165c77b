//! The process's surroundings as a parameter: environment variables, made real in one place. It must not know what any variable means.

use std::path::{Path, PathBuf};

/// Looks up environment variables. An empty one counts as absent.
pub trait Environment: Send + Sync {
    /// The value of a variable, if it is set, not empty, and text.
    fn var(&self, name: &str) -> Option<String>;
}

/// The environment of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn var(&self, name: &str) -> Option<String> {
        #[expect(clippy::disallowed_methods, reason = "the one place where the environment is read")]
        let value = std::env::var(name);
        value.ok().filter(|value| !value.is_empty())
    }
}

/// A folder of the user by the rules for base directories: the variable where it is an absolute path, else `fallback` under the home folder.
pub fn user_folder(environment: &dyn Environment, variable: &str, fallback: &str) -> Option<PathBuf> {
    let absolute = |name: &str| environment.var(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(Path::new(fallback))))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Variables that a test sets.
    #[derive(Default)]
    pub(crate) struct FakeEnvironment(BTreeMap<String, String>);

    impl FakeEnvironment {
        pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
            self.0.insert(name.to_owned(), value.into());
            self
        }
    }

    impl Environment for FakeEnvironment {
        fn var(&self, name: &str) -> Option<String> {
            self.0.get(name).cloned().filter(|value| !value.is_empty())
        }
    }

    #[test]
    fn folders_follow_the_variable_and_fall_back_to_home() {
        let folder = |env: FakeEnvironment| user_folder(&env, "XDG_DATA_HOME", ".local/share");
        assert_eq!(folder(FakeEnvironment::default()), None);
        let home = || FakeEnvironment::default().with("HOME", "/home/a");
        assert_eq!(folder(home()), Some(PathBuf::from("/home/a/.local/share")));
        assert_eq!(folder(home().with("XDG_DATA_HOME", "/data")), Some(PathBuf::from("/data")));
        assert_eq!(folder(home().with("XDG_DATA_HOME", "data")), Some(PathBuf::from("/home/a/.local/share")));
    }
}
