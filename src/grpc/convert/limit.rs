//! Limits of what a request has: whether they are kept, and what is said where they are not, which is what was given, the most that is taken
//! and the way out. It must not know what any of them is.

use super::{Path, Problems};
use crate::domain::bounds::Most;
use crate::domain::json;

/// Whether there are so many at most; `what` is the word for them, `remedy` what to do where there are more.
pub fn count(
    given: usize,
    most: impl Into<Most>,
    what: &str,
    remedy: &str,
    at: &Path<'_>,
    problems: &mut Problems,
) -> bool {
    within(given, most, at, problems, |max| format!("has {given} {what}: at most {max} are taken; {remedy}"))
}

/// Whether there are some, and so many at most; `ask` says of what to give.
pub fn some(
    given: usize,
    most: impl Into<Most>,
    what: &str,
    ask: &str,
    at: &Path<'_>,
    problems: &mut Problems,
) -> bool {
    let most = most.into();
    let told = |max| format!("has {given} {what}: {ask}1 to {max}");
    if given == 0 {
        problems.add(at, told(most.max));
    }
    within(given, most, at, problems, told) && given > 0
}

/// Whether a text has so many bytes at most.
pub fn bytes(text: &str, most: impl Into<Most>, at: &Path<'_>, problems: &mut Problems) -> bool {
    let given = text.len();
    within(given, most, at, problems, |max| format!("is {given} bytes long: at most {max} are taken; shorten it"))
}

/// Whether a text has so many characters at most.
pub fn characters(text: &str, most: impl Into<Most>, at: &Path<'_>, problems: &mut Problems) -> bool {
    let given = text.chars().count();
    within(given, most, at, problems, |max| format!("has {given} characters: at most {max} are taken; shorten it"))
}

/// Whether the brackets of a text are nested so deep at most.
pub fn levels(text: &str, most: Most, at: &Path<'_>, problems: &mut Problems) -> bool {
    let given = json::depth(text);
    within(given, most, at, problems, |max| json::too_deep(text, max).unwrap_or_default())
}

fn within(
    given: usize,
    most: impl Into<Most>,
    at: &Path<'_>,
    problems: &mut Problems,
    told: impl FnOnce(usize) -> String,
) -> bool {
    let most = most.into();
    let beyond = most.beyond(given);
    if beyond.is_some() {
        problems.add(at, told(most.max));
        problems.beyond(beyond);
    }
    beyond.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc::convert::problem::whole;

    #[test]
    fn the_most_is_taken_and_one_more_is_refused_with_both_figures() {
        let told = |read: &dyn Fn(&Path<'_>, &mut Problems) -> bool| {
            let fault = whole(|at, problems| read(&at.field("x"), problems).then_some(())).err()?;
            Some(fault.fields.into_iter().next()?.message)
        };
        assert_eq!(told(&|at, problems| count(2, 2, "tools", "offer fewer", at, problems)), None);
        let many = told(&|at, problems| count(3, 2, "tools", "offer fewer", at, problems)).unwrap();
        assert_eq!(many, "has 3 tools: at most 2 are taken; offer fewer");
        assert_eq!(told(&|at, problems| bytes("é", 2, at, problems)), None);
        let long = told(&|at, problems| bytes("é", 1, at, problems)).unwrap();
        assert_eq!(long, "is 2 bytes long: at most 1 are taken; shorten it");
        assert_eq!(told(&|at, problems| characters("éé", 2, at, problems)), None);
        let long = told(&|at, problems| characters("éé", 1, at, problems)).unwrap();
        assert_eq!(long, "has 2 characters: at most 1 are taken; shorten it");
    }
}
