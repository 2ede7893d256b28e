//! JSON Schemas and JSON Pointers inside contracts.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ReferencingError, ValidationError};
use serde_json::Value;

use crate::base::Error;
use crate::load::check::At;
use crate::load::misfit::{self, Misfit};

/// Checks that a JSON Schema is one, and that it can be used without fetching anything.
pub(crate) fn schema(schema: &Value, at: &At, problems: &mut Vec<Error>) {
    if !schema.is_object() && !schema.is_boolean() {
        let message = format!(
            "`{}` must be a JSON Schema: a mapping, true or false",
            at.name()
        );
        problems.push(at.problem(message));
        return;
    }
    if let Some(found) = broken(schema, at) {
        problems.extend(found);
        return;
    }
    if let Err(error) = jsonschema::validator_for(schema) {
        problems.push(uncompiled(&error, at));
    }
}

/// Every place in which the schema breaks the rules of its own draft; `None` if there is none.
fn broken(schema: &Value, at: &At) -> Option<Vec<Error>> {
    let rules = jsonschema::meta::validator_for(schema).ok()?;
    let mut misfits = vec![];
    for error in rules.iter_errors(schema) {
        misfit::explain(&error, &Value::Null, &mut misfits);
    }
    let told = |m: &Misfit| {
        let message = format!("`{}` is not a JSON Schema: {}", at.name(), m.message);
        let problem = at.down(&m.pointer).problem(message);
        m.hint.iter().fold(problem, |p, hint| p.hint(hint))
    };
    (!misfits.is_empty()).then(|| misfits.iter().map(told).collect())
}

fn uncompiled(error: &ValidationError, at: &At) -> Error {
    let told = |reason: &str| at.problem(format!("the JSON Schema of `{}` {reason}", at.name()));
    match error.kind() {
        ValidationErrorKind::Referencing(ReferencingError::Unretrievable { uri, .. }) => {
            told(&format!("refers to `{uri}`, and nothing is fetched"))
                .hint("put what it needs under `$defs` and refer to `#/$defs/NAME`")
        }
        _ => told(&format!("can't be used: {error}")),
    }
}

/// Checks a JSON Pointer (RFC 6901).
pub(crate) fn pointer(pointer: &str, at: &At, problems: &mut Vec<Error>) {
    let Some(reason) = pointer_fault(pointer) else {
        return;
    };
    let message = format!(
        "`{}` is not a JSON Pointer: \"{pointer}\" {reason}",
        at.name()
    );
    let problem = at.problem(message);
    problems.push(if pointer.starts_with('/') {
        problem
    } else {
        problem.hint(format!("write \"/{}\"", pointer.replace('.', "/")))
    });
}

fn pointer_fault(pointer: &str) -> Option<&'static str> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Some("does not begin with `/`");
    }
    let after_tilde = pointer.split('~').skip(1);
    let escaped = after_tilde.into_iter().all(|s| s.starts_with(['0', '1']));
    (!escaped).then_some("has a `~` that is neither `~0` nor `~1`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_follow_rfc_6901() {
        for good in ["", "/", "/a/0/b", "/a~1b/~0"] {
            assert_eq!(pointer_fault(good), None, "{good}");
        }
        for bad in ["a/b", "/a~", "/a~2b"] {
            assert!(pointer_fault(bad).is_some(), "{bad}");
        }
    }
}
