//! Matchers for the arguments of calls.

use serde_json::{Map, Value};

use crate::base::Digest;
use crate::grade::schema::Schema;
use crate::grade::state::same;
use crate::model::expect::ArgRule;

/// Problems with one call's arguments that are looked for.
const PROBLEMS: usize = 5;

/// What is wrong with one call's arguments under a rule; empty if it holds. Values are not shown
/// except short ones that a JSON Schema complains about.
pub(crate) fn broken_rule(rule: &ArgRule, schema: Option<&Schema>, value: &Value) -> Vec<String> {
    let mut problems = schema.map_or(vec![], |s| s.problems(value, PROBLEMS));
    if let Some(expected) = &rule.exact
        && !same(
            &without(value, &rule.ignore),
            &without(expected, &rule.ignore),
        )
    {
        problems.push("arguments are not exactly the expected ones".to_owned());
    }
    if let Some(expected) = &rule.subset {
        let mut places = vec![];
        missing_from(value, expected, &mut String::new(), &mut places);
        problems.extend(
            places
                .into_iter()
                .map(|p| format!("argument `{p}` is not as expected")),
        );
    }
    if let Some(hash) = &rule.hash {
        let digest = Digest::of_json(&without(value, &rule.ignore));
        if !digest.as_str().starts_with(&hash.to_ascii_lowercase()) {
            problems.push(format!(
                "canonical arguments hash to {}, expected {hash}",
                digest.short()
            ));
        }
    }
    problems
}

/// A value without the ignored keys. An ignored element of an array becomes null, so that the others
/// keep their places.
fn without(value: &Value, ignore: &[String]) -> Value {
    let mut value = value.clone();
    for key in ignore {
        match key.rsplit_once('/') {
            Some((parent, last)) if key.starts_with('/') => {
                let last = last.replace("~1", "/").replace("~0", "~");
                if let Some(parent) = value.pointer_mut(parent) {
                    drop_key(parent, &last);
                }
            }
            _ => drop_key(&mut value, key),
        }
    }
    value
}

fn drop_key(parent: &mut Value, key: &str) {
    match parent {
        Value::Object(map) => {
            map.remove(key);
        }
        Value::Array(items) => {
            if let Some(item) = key.parse::<usize>().ok().and_then(|i| items.get_mut(i)) {
                *item = Value::Null;
            }
        }
        _ => {}
    }
}

/// Collects the pointers at which a value lacks what is expected; objects may hold more, everything
/// else must be equal.
fn missing_from(value: &Value, expected: &Value, path: &mut String, places: &mut Vec<String>) {
    match (value, expected) {
        (Value::Object(value), Value::Object(expected)) => {
            for (key, expected) in expected {
                let length = path.len();
                path.push('/');
                path.push_str(&key.replace('~', "~0").replace('/', "~1"));
                match value.get(key) {
                    Some(value) => missing_from(value, expected, path, places),
                    None => places.push(path.clone()),
                }
                path.truncate(length);
            }
        }
        _ if same(value, expected) => {}
        _ => places.push(path.clone()),
    }
}

/// Whether two argument objects are equal, on some keys only if those are given.
pub(crate) fn equal_on(
    expected: &Map<String, Value>,
    actual: &Value,
    keys: Option<&[String]>,
) -> bool {
    let Some(actual) = actual.as_object() else {
        return false;
    };
    let equal = |key: &String| match (expected.get(key), actual.get(key)) {
        (Some(a), Some(b)) => same(a, b),
        (None, None) => true,
        _ => false,
    };
    match keys {
        Some(keys) => keys.iter().all(equal),
        None => expected.len() == actual.len() && expected.keys().all(equal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn broken(rule: Value, value: Value) -> usize {
        let rule: ArgRule = serde_json::from_value(rule).unwrap();
        broken_rule(&rule, None, &value).len()
    }

    #[test]
    fn exact_leaves_out_what_is_ignored_on_both_sides() {
        let rule = json!({"exact": {"a": 1, "at": 5, "o": {"t": 1}}, "ignore": ["at", "/o/t"]});
        assert_eq!(broken(rule.clone(), json!({"a": 1.0, "o": {}})), 0);
        assert_eq!(
            broken(rule.clone(), json!({"a": 1, "at": 7, "o": {"t": 9}})),
            0
        );
        assert_eq!(broken(rule, json!({"a": 1, "o": {}, "more": 1})), 1);
    }

    #[test]
    fn subset_reaches_into_objects_and_not_into_arrays() {
        let rule = json!({"subset": {"a": {"b": 1}, "l": [1]}});
        assert_eq!(
            broken(
                rule.clone(),
                json!({"a": {"b": 1, "c": 2}, "l": [1], "x": 0})
            ),
            0
        );
        assert_eq!(broken(rule, json!({"a": {"b": 2}, "l": [1, 2]})), 2);
    }

    #[test]
    fn a_hash_is_of_the_canonical_form() {
        let digest = Digest::of_json(&json!({"a": 1, "b": "x"}));
        let rule = json!({"hash": digest.short().to_uppercase(), "ignore": ["t"]});
        assert_eq!(
            broken(rule.clone(), json!({"b": "x", "a": 1.0, "t": "now"})),
            0
        );
        assert_eq!(broken(rule, json!({"b": "x", "a": 2})), 1);
    }
}
