//! Limits of what a request has: whether they are kept, and what is said where they are not, which is what was given, the most that is taken
//! and the way out. It must not know what any of them is.

use super::{Path, Problems};

/// Whether there are so many at most; `what` is the word for them, `remedy` what to do where there are more.
pub fn count(given: usize, max: usize, what: &str, remedy: &str, at: &Path<'_>, problems: &mut Problems) -> bool {
    if given > max {
        problems.add(at, format!("has {given} {what}: at most {max} are taken; {remedy}"));
    }
    given <= max
}

/// Whether a text has so many bytes at most.
pub fn bytes(text: &str, max: usize, at: &Path<'_>, problems: &mut Problems) -> bool {
    let given = text.len();
    if given > max {
        problems.add(at, format!("is {given} bytes long: at most {max} are taken; shorten it"));
    }
    given <= max
}

/// Whether a text has so many characters at most.
pub fn characters(text: &str, max: usize, at: &Path<'_>, problems: &mut Problems) -> bool {
    let given = text.chars().count();
    if given > max {
        problems.add(at, format!("has {given} characters: at most {max} are taken; shorten it"));
    }
    given <= max
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
