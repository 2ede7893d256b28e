//! Names that users give: they become parts of file names, reports and command lines.

use crate::base::Error;
use crate::load::check::At;

/// Long enough for a sentence, short enough for a file name on every system.
const LONGEST: usize = 200;

/// Checks a name of a suite, task, arm or fault.
pub(crate) fn check(name: &str, what: &str, at: &At, problems: &mut Vec<Error>) {
    if let Some(reason) = fault(name) {
        let shown = name.escape_debug();
        problems.push(at.problem(format!("the {what} name \"{shown}\" {reason}")));
    }
}

fn fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("is empty")
    } else if name.chars().any(char::is_control) {
        Some("holds a control character")
    } else if name.contains(['/', '\\']) {
        Some("holds a path separator")
    } else if name == "." || name == ".." {
        Some("means a folder")
    } else if name.trim() != name {
        Some("begins or ends with white space")
    } else if name.len() > LONGEST {
        Some("is longer than 200 bytes")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_break_files_or_tables_are_refused() {
        for good in [
            "0",
            "refund-requires-order-lookup",
            "gpt-4o",
            "Größe 3",
            "a.b:c",
        ] {
            assert_eq!(fault(good), None, "{good}");
        }
        let long = "x".repeat(201);
        for bad in [
            "", "a/b", "a\\b", "..", "a\nb", "a\0", " a", "a ", "\u{85}", &long,
        ] {
            assert!(fault(bad).is_some(), "{bad:?}");
        }
    }
}
