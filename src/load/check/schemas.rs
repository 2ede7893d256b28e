//! JSON Schemas and JSON Pointers inside contracts.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ReferencingError, ValidationError};
use serde_json::Value;

use crate::base::Error;
use crate::load::check::At;
use crate::load::misfit::{self, Misfit};
use crate::load::nearest;

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
    keywords(schema, at, problems);
}

/// Keywords of JSON Schema, drafts 4 to 2020-12, and what OpenAPI adds.
const KEYWORDS: [&str; 66] = [
    "$schema",
    "$id",
    "$ref",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$vocabulary",
    "$comment",
    "$defs",
    "$recursiveRef",
    "$recursiveAnchor",
    "id",
    "definitions",
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxContains",
    "minContains",
    "maxProperties",
    "minProperties",
    "required",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "prefixItems",
    "items",
    "additionalItems",
    "contains",
    "title",
    "description",
    "default",
    "deprecated",
    "readOnly",
    "writeOnly",
    "examples",
    "example",
    "format",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "nullable",
    "discriminator",
];

/// Unknown keywords are legal and say nothing, so that a misspelt one would hold for every value. One that
/// is like no keyword is let be: it is somebody's annotation.
fn keywords(schema: &Value, at: &At, problems: &mut Vec<Error>) {
    let Value::Object(members) = schema else {
        return;
    };
    for (key, value) in members {
        let at = at.to(key);
        match key.as_str() {
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                for (name, inner) in value.as_object().into_iter().flatten() {
                    keywords(inner, &at.to(name), problems);
                }
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                for (i, inner) in value.as_array().into_iter().flatten().enumerate() {
                    keywords(inner, &at.to(i), problems);
                }
            }
            "enum" | "const" | "default" | "examples" | "example" => {}
            key if KEYWORDS.contains(&key) => keywords(value, &at, problems),
            key => problems.extend(meant(key).map(|meant| {
                let problem = at.problem(format!("`{}` is no keyword of JSON Schema", at.name()));
                problem.hint(format!("did you mean `{meant}`?"))
            })),
        }
    }
}

/// The keyword that was meant: not by the beginning of a longer one alone, and not by a letter or two.
fn meant(key: &str) -> Option<&'static str> {
    let near = nearest::nearest(key, KEYWORDS)?;
    let short = key.len() < 3 || near.len() < 4;
    let begun = near.starts_with(key) && near.len() > key.len() + 1;
    (!short && !begun).then_some(near)
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
