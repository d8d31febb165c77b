//! What is wrong with a request, and where: all problems of a request at once, each with its field's path. It must not know any message.

use std::fmt;
use std::sync::Arc;

use super::bounds;
use crate::domain::bounds::{Beyond, Bounds};
use crate::domain::fault::{Fault, Field, Reason};
use crate::grpc::status::FIELDS_LEFT_OUT;

/// Problems that are kept of one request; the rest is counted. A request of many messages may be wrong in each of them.
const KEPT: usize = 64;
/// Longest part of a map's key that is shown, in characters.
const SHOWN_KEY: usize = 63;

/// Where a field is: a chain through the fields that hold it, so that nothing is written before something is wrong.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

impl Path<'static> {
    /// The request itself.
    pub const ROOT: Self = Self { parent: None, step: Step::Root };
}

impl<'a> Path<'a> {
    /// A field of what is here.
    pub fn field(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Field(name) }
    }

    /// An item of the list that is here.
    pub fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }

    /// An entry of the map that is here.
    pub fn key(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Key(key) }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Field(name) if self.parent.is_some_and(|parent| parent.parent.is_some()) => write!(f, ".{name}"),
            Step::Field(name) => f.write_str(name),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{:?}]", key.chars().take(SHOWN_KEY).collect::<String>()),
        }
    }
}

/// Problems of one request.
#[derive(Debug)]
pub struct Problems {
    bounds: Arc<Bounds>,
    found: Vec<Problem>,
    left_out: usize,
    beyond: Option<Beyond>,
}

impl Default for Problems {
    fn default() -> Self {
        Self { bounds: bounds::in_force(), found: Vec::new(), left_out: 0, beyond: None }
    }
}

#[derive(Debug)]
struct Problem {
    field: Field,
    kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Field,
    Schema,
    NotImplemented(&'static str),
}

impl Problems {
    /// What is taken at most.
    pub fn bounds(&self) -> Arc<Bounds> {
        Arc::clone(&self.bounds)
    }

    /// One of the problems is that something is beyond a bound. The first is told, for programs.
    pub fn beyond(&mut self, beyond: Option<Beyond>) {
        self.beyond = self.beyond.or(beyond.filter(|beyond| beyond.key.is_some()));
    }

    /// A field is missing, malformed or contradicts another: what is wrong and what to do, to be read after its path.
    pub fn add(&mut self, at: &Path<'_>, message: impl Into<String>) {
        self.push(at, message.into(), Kind::Field);
    }

    /// A schema cannot be used.
    pub fn schema(&mut self, at: &Path<'_>, message: impl Into<String>) {
        self.push(at, message.into(), Kind::Schema);
    }

    /// The API names it and this server does not do it yet; `feature` is one of [`crate::grpc::unimplemented`].
    pub fn not_implemented(&mut self, at: &Path<'_>, feature: &'static str) {
        let message = format!("uses `{feature}`, which this version of the server does not do yet: leave it out");
        self.push(at, message, Kind::NotImplemented(feature));
    }

    fn push(&mut self, at: &Path<'_>, message: String, kind: Kind) {
        if self.found.len() == KEPT {
            self.left_out += 1;
            return;
        }
        self.found.push(Problem { field: Field { path: at.to_string(), message }, kind });
    }

    /// All problems as one fault. Its reason is the schema's or the feature's only if nothing is wrong besides, so that a caller who mends
    /// what is named does not meet the next problem after it.
    ///
    /// # Errors
    /// When there is a problem.
    pub fn finish(self) -> Result<(), Fault> {
        let Some(first) = self.found.first() else {
            return Ok(());
        };
        let one_kind = self.found.iter().all(|problem| match (&problem.kind, &first.kind) {
            (Kind::NotImplemented(_), Kind::NotImplemented(_)) => true,
            (one, other) => one == other,
        });
        let mut fault = match first.kind {
            Kind::NotImplemented(feature) if one_kind => Fault::not_implemented(feature),
            Kind::Schema if one_kind => {
                Fault::new(Reason::SchemaInvalid, format!("{} {}", first.field.path, first.field.message))
                    .with("field", &first.field.path)
            }
            _ => Fault::fields(Vec::new()),
        };
        let fields: Vec<Field> = self.found.into_iter().map(|problem| problem.field).collect();
        if fault.reason == Reason::InvalidFields {
            fault = Fault::fields(fields);
        } else {
            fault.fields = fields;
        }
        if let Some(Beyond { key: Some(key), max, value }) = self.beyond {
            fault = fault.with("limit", key).with("max", max).with("value", value);
        }
        Err(if self.left_out > 0 { fault.with(FIELDS_LEFT_OUT, self.left_out) } else { fault })
    }
}

/// Reads a whole request.
///
/// # Errors
/// When anything is wrong with it; names everything that is.
pub fn whole<T>(read: impl FnOnce(&Path<'_>, &mut Problems) -> Option<T>) -> Result<T, Fault> {
    let mut problems = Problems::default();
    let value = read(&Path::ROOT, &mut problems);
    problems.finish()?;
    value.ok_or_else(|| Fault::new(Reason::Internal, "a request was neither understood nor refused"))
}

/// A field that must be there: a message, or the chosen one of several.
pub fn required<T>(value: Option<T>, choices: &str, at: &Path<'_>, problems: &mut Problems) -> Option<T> {
    if value.is_none() {
        problems.add(at, format!("is not set: set {choices}"));
    }
    value
}

/// A text that must not be empty.
pub fn filled(text: String, at: &Path<'_>, problems: &mut Problems) -> Option<String> {
    if text.is_empty() {
        problems.add(at, "must not be empty");
        return None;
    }
    Some(text)
}

/// A text where empty means absent.
pub fn absent_if_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// An enum's value; not the zero one, nor a number that is not one of its own. `words` are the choices, for the message.
pub fn chosen<E: TryFrom<i32>>(number: i32, words: &str, at: &Path<'_>, problems: &mut Problems) -> Option<E> {
    if number == 0 {
        problems.add(at, format!("is not set: use {words}"));
        return None;
    }
    E::try_from(number).map_err(|_| problems.add(at, format!("has the unknown value {number}: use {words}"))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(add: impl FnOnce(&Path<'_>, &mut Problems)) -> Fault {
        whole(|at, problems| {
            add(at, problems);
            Some(())
        })
        .unwrap_err()
    }

    #[test]
    fn paths_name_each_step() {
        let (root, request) = (Path::ROOT, Path::ROOT.field("request"));
        let messages = request.field("messages");
        let message = messages.index(2);
        let name = message.field("name");
        assert_eq!(name.to_string(), "request.messages[2].name");
        assert_eq!(root.field("labels").key("a\n").to_string(), r#"labels["a\n"]"#);
        assert_eq!(root.to_string(), "");
    }

    #[test]
    fn all_problems_are_named_at_once() {
        let fault = fault(|at, problems| {
            problems.add(&at.field("text"), "must not be empty");
            problems.schema(&at.field("schema"), "is not JSON");
            problems.not_implemented(&at.field("history_view"), "history_view");
        });
        assert_eq!(fault.reason, Reason::InvalidFields);
        let paths: Vec<_> = fault.fields.iter().map(|field| field.path.as_str()).collect();
        assert_eq!(paths, ["text", "schema", "history_view"]);
        assert!(fault.message.starts_with("text must not be empty; schema is not JSON; "), "{}", fault.message);
    }

    #[test]
    fn one_kind_of_problem_keeps_its_reason() {
        let schema = fault(|at, problems| problems.schema(&at.field("schema"), "is not JSON"));
        assert_eq!((schema.reason, schema.metadata["field"].as_str()), (Reason::SchemaInvalid, "schema"));
        let feature = fault(|at, problems| {
            problems.not_implemented(&at.field("a"), "history_view");
            problems.not_implemented(&at.field("b"), "prepared");
        });
        assert_eq!((feature.reason, feature.metadata["feature"].as_str()), (Reason::NotImplemented, "history_view"));
        assert_eq!(feature.fields.len(), 2);
    }

    #[test]
    fn a_flood_of_problems_is_counted_and_not_kept() {
        let fault = fault(|at, problems| (0..1_000).for_each(|index| problems.add(&at.index(index), "is wrong")));
        assert_eq!((fault.fields.len(), fault.metadata[FIELDS_LEFT_OUT].as_str()), (KEPT, "936"));
    }

    #[test]
    fn a_value_without_a_problem_or_a_problem_without_a_value_is_told() {
        assert_eq!(whole(|_, _| Some(1)), Ok(1));
        assert_eq!(whole(|_, _| None::<()>).unwrap_err().reason, Reason::Internal);
    }
}
