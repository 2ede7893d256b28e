//! Assertions on state documents, and the differences between two of them.

use json_patch::Patch;
use serde_json::{Value, json};

use crate::base::digest::canonical;
use crate::grade::schema::Schema;
use crate::model::expect::{ChangeOp, StateAssertion, StateChange};

/// Differences between two documents that are looked for.
const DIFFERENCES: usize = 20;

/// What is wrong with a document under one assertion; `None` if the assertion holds.
pub(crate) fn broken_assertion(
    assertion: &StateAssertion,
    schema: Option<&Schema>,
    document: &Value,
) -> Option<String> {
    let pointer = &assertion.pointer;
    let found = document.pointer(pointer);
    if let Some(expected) = assertion.exists {
        let words = if expected { "is missing" } else { "exists" };
        return (found.is_some() != expected).then(|| format!("state `{pointer}` {words}"));
    }
    let Some(found) = found else {
        return Some(format!("state `{pointer}` is missing"));
    };
    if let Some(expected) = &assertion.equals {
        let differ = !same(found, expected);
        return differ.then(|| {
            let [found, expected] = [found, expected].map(short);
            format!("state `{pointer}` is {found}, not {expected} as expected")
        });
    }
    let problem = schema?.problems(found, 1).into_iter().next()?;
    Some(format!("state `{pointer}`: {problem}"))
}

/// The longest value that is printed in full.
const LONGEST: usize = 60;

/// A value as JSON, cut where it is long.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// How the change from `before` to `after` departs from the expected differences; empty if exactly
/// those happened.
///
/// The expected differences are applied to `before` in their order, as RFC 6902 says; one without a
/// value takes the value that `after` has at its path. What then differs from `after` was not
/// expected, or was expected and did not happen.
pub(crate) fn unexpected_changes<'a>(
    before: &Value,
    after: &Value,
    expected: impl Iterator<Item = &'a StateChange>,
) -> Vec<String> {
    let mut document = before.clone();
    let mut problems = vec![];
    let expected: Vec<&StateChange> = expected.collect();
    for (i, change) in expected.iter().enumerate() {
        let same = |later: &&&StateChange| later.op == change.op && later.path == change.path;
        let later = expected[i + 1..].iter().filter(same).count();
        if let Err(why) = apply(&mut document, after, change, later) {
            let op = op_name(change.op);
            problems.push(format!("expected {op} `{}`: {why}", change.path));
        }
    }
    if problems.is_empty() {
        let mut places = vec![];
        differences(&document, after, &mut String::new(), &mut places);
        let unexpected = |place| format!("unexpected difference at `{place}`");
        problems.extend(places.into_iter().map(unexpected));
    }
    problems
}

fn op_name(op: ChangeOp) -> &'static str {
    match op {
        ChangeOp::Add => "add",
        ChangeOp::Remove => "remove",
        ChangeOp::Replace => "replace",
    }
}

/// Applies one change; `later` is the number of further ones like it at the same path.
fn apply(
    document: &mut Value,
    after: &Value,
    change: &StateChange,
    later: usize,
) -> Result<(), &'static str> {
    let path = change.path.as_str();
    let old = document.pointer(path);
    let into_array = parent(document, path).is_some_and(Value::is_array);
    let value = change
        .value
        .as_ref()
        .or_else(|| value_at(after, path, later));
    match (change.op, old, value) {
        (ChangeOp::Add, Some(_), _) if !into_array => return Err("it was there before"),
        (ChangeOp::Remove | ChangeOp::Replace, None, _) => return Err("it was not there before"),
        (ChangeOp::Add | ChangeOp::Replace, _, None) => return Err("it is not there afterwards"),
        (ChangeOp::Replace, Some(old), Some(new)) if same(old, new) => {
            return Err("it did not change");
        }
        _ => {}
    }
    let operation = match change.op {
        ChangeOp::Remove => json!([{"op": "remove", "path": path}]),
        op => json!([{"op": op_name(op), "path": path, "value": value}]),
    };
    let patch: Patch = serde_json::from_value(operation).map_err(|_| "it is not a change")?;
    json_patch::patch(document, &patch).map_err(|_| "it cannot have happened")
}

fn parent<'a>(document: &'a Value, path: &str) -> Option<&'a Value> {
    let (parent, _) = path.rsplit_once('/')?;
    document.pointer(parent)
}

/// The value at a path; `-` is an appended element of an array, the last one but as many as are
/// appended later.
fn value_at<'a>(after: &'a Value, path: &str, later: usize) -> Option<&'a Value> {
    match path.strip_suffix("/-") {
        Some(array) if after.pointer(array).is_some_and(Value::is_array) => {
            after.pointer(array)?.as_array()?.iter().rev().nth(later)
        }
        _ => after.pointer(path),
    }
}

/// Whether two values have the same canonical form.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    a == b || canonical(a) == canonical(b)
}

/// Collects the JSON Pointers at which two documents differ, in order.
fn differences(a: &Value, b: &Value, path: &mut String, places: &mut Vec<String>) {
    if places.len() >= DIFFERENCES {
        return;
    }
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            let mut keys: Vec<&String> = x.keys().chain(y.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let step = key.replace('~', "~0").replace('/', "~1");
                differ_below(x.get(key), y.get(key), &step, path, places);
            }
        }
        (Value::Array(x), Value::Array(y)) => {
            for index in 0..x.len().max(y.len()) {
                let step = index.to_string();
                differ_below(x.get(index), y.get(index), &step, path, places);
            }
        }
        _ if !same(a, b) => places.push(path.clone()),
        _ => {}
    }
}

fn differ_below(
    a: Option<&Value>,
    b: Option<&Value>,
    step: &str,
    path: &mut String,
    places: &mut Vec<String>,
) {
    let length = path.len();
    path.push('/');
    path.push_str(step);
    match (a, b) {
        (Some(a), Some(b)) => differences(a, b, path, places),
        _ => places.push(path.clone()),
    }
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(before: Value, after: Value, expected: Value) -> Vec<String> {
        let expected: Vec<StateChange> = serde_json::from_value(expected).unwrap();
        unexpected_changes(&before, &after, expected.iter())
    }

    #[test]
    fn a_wrong_value_is_named_beside_the_expected_one() {
        let assertion: StateAssertion =
            serde_json::from_value(json!({"pointer": "/status", "equals": "refunded"})).unwrap();
        let broken = |found: Value| broken_assertion(&assertion, None, &json!({"status": found}));
        assert_eq!(broken(json!("refunded")), None);
        assert_eq!(
            broken(json!("paid")).unwrap(),
            r#"state `/status` is "paid", not "refunded" as expected"#
        );
        let long = broken(json!("x".repeat(500))).unwrap();
        assert!(long.contains('…') && long.len() < 200, "{long}");
    }

    #[test]
    fn exactly_the_expected_changes_pass() {
        let before = json!({"orders": {"1": {"status": "paid"}}, "refunds": ["a"], "n": 1});
        let after =
            json!({"orders": {"1": {"status": "refunded"}}, "refunds": ["a", "b"], "n": 1.0});
        let expected = json!([
            {"op": "replace", "path": "/orders/1/status", "value": "refunded"},
            {"op": "add", "path": "/refunds/-"}]);
        assert_eq!(
            changes(before.clone(), after.clone(), expected),
            [] as [String; 0]
        );
        let expected = json!([{"op": "add", "path": "/refunds/1", "value": "b"}]);
        assert_eq!(
            changes(before, after, expected),
            ["unexpected difference at `/orders/1/status`"]
        );
    }

    #[test]
    fn a_change_that_did_not_happen_is_named() {
        for (op, why) in [
            ("add", "it was there before"),
            ("replace", "it did not change"),
        ] {
            let expected = json!([{"op": op, "path": "/a"}]);
            let found = changes(json!({"a": 1}), json!({"a": 1}), expected);
            assert_eq!(found, [format!("expected {op} `/a`: {why}")]);
        }
        let gone = changes(
            json!({"a": 1}),
            json!({}),
            json!([{"op": "remove", "path": "/a"}]),
        );
        assert!(gone.is_empty());
        let kept = changes(
            json!({"a": 1}),
            json!({"a": 1}),
            json!([{"op": "remove", "path": "/a"}]),
        );
        assert_eq!(kept, ["unexpected difference at `/a`"]);
    }

    #[test]
    fn every_append_takes_its_own_element() {
        let add = json!({"op": "add", "path": "/l/-"});
        let list = |items: Value| json!({"l": items});
        let twice = json!([add, add]);
        for (before, after, expected, holds) in [
            (json!([1]), json!([1, 2, 3]), twice.clone(), true),
            (json!([1]), json!([1, 2]), twice.clone(), false),
            (json!([1]), json!([1, 2, 3, 4]), twice, false),
            (
                json!([1, 2]),
                json!([2, 3, 4]),
                json!([add, {"op": "remove", "path": "/l/0"}, add]),
                true,
            ),
            (
                json!([1]),
                json!([1, 2, 3]),
                json!([{"op": "add", "path": "/l/-", "value": 2}, add]),
                true,
            ),
        ] {
            let found = changes(list(before), list(after.clone()), expected);
            assert_eq!(found.is_empty(), holds, "{after}: {found:?}");
        }
    }

    #[test]
    fn a_null_is_a_value_and_not_an_absence() {
        let assertion = |v: Value| -> StateAssertion { serde_json::from_value(v).unwrap() };
        let null = assertion(json!({"pointer": "/a", "equals": null}));
        assert_eq!(broken_assertion(&null, None, &json!({"a": null})), None);
        assert!(broken_assertion(&null, None, &json!({})).is_some());
        let exists = assertion(json!({"pointer": "/a", "exists": true}));
        assert_eq!(broken_assertion(&exists, None, &json!({"a": null})), None);
        let absent = assertion(json!({"pointer": "/a", "exists": false}));
        assert!(broken_assertion(&absent, None, &json!({"a": null})).is_some());
    }
}
