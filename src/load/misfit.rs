//! What is said about a value that does not fit its schema.

use jsonschema::error::{TypeKind, ValidationErrorKind as Fault};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use crate::load::document::{child, steps};
use crate::load::nearest;

/// One misfit: what is said about it, and what must go for the rest to fit.
pub(crate) struct Misfit {
    pub pointer: String,
    pub message: String,
    pub hint: Option<String>,
}

/// Says what an error of a validator means; `schema` is the one that was broken.
pub(crate) fn explain(error: &ValidationError, schema: &Value, found: &mut Vec<Misfit>) {
    let pointer = error.instance_path().as_str();
    let instance = error.instance();
    match error.kind() {
        Fault::AdditionalProperties { unexpected } => {
            let known = known_keys(error, schema);
            for key in unexpected {
                let known = known.iter().map(String::as_str);
                found.push(Misfit {
                    pointer: child(pointer, key),
                    message: format!("unknown key `{key}`{}", within(pointer)),
                    hint: Some(nearest::hint(key, known, "keys")),
                });
            }
        }
        Fault::Required { property } => {
            let key = property.as_str().unwrap_or_default();
            found.push(missing(pointer, key));
        }
        Fault::Type { kind } => {
            found.push(wrong_type(pointer, &expected_types(kind), instance));
        }
        Fault::Constant { .. } | Fault::Enum { .. } => {
            found.push(wrong_name(pointer, &options(error), instance));
        }
        Fault::AnyOf { context } | Fault::OneOfNotValid { context } => {
            branches(pointer, context, instance, schema, found);
        }
        Fault::Minimum { limit } => found.push(out_of_range(pointer, "at least", limit, instance)),
        Fault::Maximum { limit } => found.push(out_of_range(pointer, "at most", limit, instance)),
        _ => found.push(Misfit {
            pointer: pointer.to_owned(),
            message: format!("{}: {error}", name(pointer)),
            hint: None,
        }),
    }
}

/// Of several possible shapes, explains the one that was meant: not another type altogether,
/// and the one whose tag is there.
fn branches(
    pointer: &str,
    branches: &[Vec<ValidationError>],
    instance: &Value,
    schema: &Value,
    found: &mut Vec<Misfit>,
) {
    let of_type = |b: &&Vec<ValidationError>| !b.iter().any(|e| is_type_error_at(e, pointer));
    let possible: Vec<&Vec<ValidationError>> = branches.iter().filter(of_type).collect();
    if possible.is_empty() {
        let names: Vec<String> = branches.iter().flatten().flat_map(options).collect();
        if !names.is_empty() {
            found.push(wrong_name(pointer, &names, instance));
            return;
        }
        let types: Vec<String> = branches
            .iter()
            .flatten()
            .filter_map(|e| match e.kind() {
                Fault::Type { kind } => Some(expected_types(kind)),
                _ => None,
            })
            .flatten()
            .collect();
        found.push(wrong_type(pointer, &types, instance));
        return;
    }
    let tag_of = |b: &Vec<ValidationError>| b.iter().find_map(|e| tag_error(e));
    if let Some(meant) = possible
        .iter()
        .filter(|b| tag_of(b).is_none())
        .min_by_key(|b| b.len())
    {
        meant.iter().for_each(|e| explain(e, schema, found));
        return;
    }
    let names: Vec<String> = possible
        .iter()
        .flat_map(|b| b.iter())
        .flat_map(options)
        .collect();
    let (place, wrong) = tag_of(possible[0]).unwrap_or((pointer.to_owned(), instance.clone()));
    found.push(wrong_name(&place, &names, &wrong));
}

/// The keys that the schema knows beside an `additionalProperties` that failed.
fn known_keys(error: &ValidationError, schema: &Value) -> Vec<String> {
    let path = error.schema_path().as_str();
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    schema
        .pointer(&format!("{parent}/properties"))
        .and_then(Value::as_object)
        .map(|keys| keys.keys().cloned().collect())
        .unwrap_or_default()
}

fn is_type_error_at(error: &ValidationError, pointer: &str) -> bool {
    matches!(error.kind(), Fault::Type { .. }) && error.instance_path().as_str() == pointer
}

/// Where a tag stood and what it said, if the error is about a tag or a name from a closed list.
fn tag_error(error: &ValidationError) -> Option<(String, Value)> {
    let wrong = matches!(error.kind(), Fault::Constant { .. } | Fault::Enum { .. });
    wrong.then(|| {
        let place = error.instance_path().as_str().to_owned();
        (place, error.instance().clone().into_owned())
    })
}

/// A missing key is not reported beside the unknown key that was meant to be it.
pub(crate) fn drop_echoes(found: &mut Vec<Misfit>) {
    let meant: Vec<(String, String)> = found
        .iter()
        .filter_map(|m| {
            let hint = m.hint.as_deref()?;
            let key = hint.strip_prefix("did you mean `")?.strip_suffix("`?")?;
            let parent = m.pointer.rsplit_once('/')?.0;
            Some((parent.to_owned(), missing(parent, key).message))
        })
        .collect();
    found.retain(|m| !meant.contains(&(m.pointer.clone(), m.message.clone())));
}

/// A required key that is not there.
fn missing(pointer: &str, key: &str) -> Misfit {
    Misfit {
        pointer: pointer.to_owned(),
        message: format!("key `{key}` is missing{}", within(pointer)),
        hint: None,
    }
}

/// A value of another type than the schema wants.
fn wrong_type(pointer: &str, types: &[String], instance: &Value) -> Misfit {
    let mut types: Vec<&str> = types.iter().map(String::as_str).collect();
    types.dedup();
    let text_wanted = types.contains(&"a text") && (instance.is_number() || instance.is_boolean());
    Misfit {
        pointer: pointer.to_owned(),
        message: format!(
            "{} must be {}, not {}",
            name(pointer),
            types.join(" or "),
            shown(instance)
        ),
        hint: text_wanted.then(|| format!("write it in quotes: \"{instance}\"")),
    }
}

/// A name that is not in the closed list.
fn wrong_name(pointer: &str, names: &[String], instance: &Value) -> Misfit {
    let wrong = instance.as_str().unwrap_or_default();
    let names = names.iter().map(String::as_str);
    Misfit {
        pointer: pointer.to_owned(),
        message: format!("{} can't be {}", name(pointer), shown(instance)),
        hint: Some(nearest::hint(wrong, names, "values")),
    }
}

/// A number beyond its bound.
fn out_of_range(pointer: &str, bound: &str, limit: &Value, instance: &Value) -> Misfit {
    Misfit {
        pointer: pointer.to_owned(),
        message: format!("{} must be {bound} {limit}, not {instance}", name(pointer)),
        hint: None,
    }
}

/// The names that an error says were allowed.
fn options(error: &ValidationError) -> Vec<String> {
    let text = |v: &Value| v.as_str().map(str::to_owned);
    match error.kind() {
        Fault::Constant { expected_value } => text(expected_value).into_iter().collect(),
        Fault::Enum { options } => {
            let all = options.as_array().map(Vec::as_slice).unwrap_or_default();
            all.iter().filter_map(text).collect()
        }
        _ => vec![],
    }
}

/// The types that an error says were allowed, in plain words; null is never asked for.
fn expected_types(kind: &TypeKind) -> Vec<String> {
    let all: Vec<JsonType> = match kind {
        TypeKind::Single(one) => vec![*one],
        TypeKind::Multiple(set) => set.iter().collect(),
    };
    let named = |t: &JsonType| match t {
        JsonType::Null => None,
        JsonType::Boolean => Some("true or false"),
        JsonType::Integer => Some("a whole number"),
        JsonType::Number => Some("a number"),
        JsonType::String => Some("a text"),
        JsonType::Array => Some("a list"),
        JsonType::Object => Some("a mapping"),
    };
    all.iter().filter_map(named).map(str::to_owned).collect()
}

/// A value as problems show it: short values themselves, long ones by their kind.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "empty".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
        Value::String(text) if text.chars().count() > 40 => "a long text".to_owned(),
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

/// A JSON Pointer as people write paths: `expect.calls[0].name`.
pub(crate) fn dotted(pointer: &str) -> String {
    let mut path = String::new();
    for step in steps(pointer) {
        if step.bytes().all(|b| b.is_ascii_digit()) && !path.is_empty() {
            path.push_str(&format!("[{step}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&step);
        }
    }
    path
}

/// A path in back quotes, or `this` for the whole file.
fn name(pointer: &str) -> String {
    if pointer.is_empty() {
        "this".to_owned()
    } else {
        format!("`{}`", dotted(pointer))
    }
}

/// Where a key belongs, for the end of a sentence.
fn within(pointer: &str) -> String {
    if pointer.is_empty() {
        String::new()
    } else {
        format!(" in `{}`", dotted(pointer))
    }
}
