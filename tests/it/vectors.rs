//! Every reference vector through the calculator, compared as `reference/vectors/README.md` says.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Reasons that are codes and must match; others are sentences and only have to be present.
fn is_code(reason: &str) -> bool {
    reason
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && reason.contains('_')
}

/// All cases of a folder beside the number of its files.
fn cases(folder: &str) -> (Vec<Value>, usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    files.sort();
    files.retain(|f| f.extension().is_some_and(|e| e == "json"));
    let count = files.len();
    let read =
        |file| -> Vec<Value> { serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap() };
    (files.into_iter().flat_map(read).collect(), count)
}

/// The places at which `got` differs from `want`.
fn compare(want: &Value, got: &Value, tolerance: &Value, path: &str, wrong: &mut Vec<String>) {
    let mut say = || wrong.push(format!("  {path}: {got} is not {want}"));
    match want {
        Value::Object(fields) => {
            for (name, want) in fields {
                let got = got.get(name).unwrap_or(&Value::Null);
                compare(want, got, tolerance, &format!("{path}.{name}"), wrong);
            }
        }
        Value::Array(items) => match got.as_array() {
            Some(found) if found.len() == items.len() => {
                for (i, (want, got)) in items.iter().zip(found).enumerate() {
                    compare(want, got, tolerance, &format!("{path}[{i}]"), wrong);
                }
            }
            _ => say(),
        },
        Value::Number(number) => {
            let want = number.as_f64().unwrap();
            let allowed = tolerance["abs"].as_f64().unwrap_or(0.0)
                + tolerance["rel"].as_f64().unwrap_or(0.0) * want.abs();
            if !got
                .as_f64()
                .is_some_and(|got| (got - want).abs() <= allowed)
            {
                say();
            }
        }
        Value::String(reason) if path.ends_with("undefined_reason") && !is_code(reason) => {
            if !got.is_string() {
                say();
            }
        }
        other => {
            if other != got {
                say();
            }
        }
    }
}

#[test]
fn every_vector_is_reproduced() {
    let (cases, files) = cases("tests/reference/vectors");
    assert_eq!((cases.len(), files), (328, 17));
    reproduce(&cases);
}

/// Methods that the vectors do not know, from scripts of our own in `reference/scripts`.
#[test]
fn our_own_references_are_reproduced() {
    let (cases, files) = cases("tests/reference/own");
    assert_eq!((cases.len(), files), (8, 1));
    reproduce(&cases);
}

fn reproduce(cases: &[Value]) {
    let (mut wrong, mut passed) = (vec![], 0);
    for case in cases {
        let method = case["method"].as_str().unwrap();
        let answer = assize::app::calculator::calculate(case);
        let mut found = vec![];
        compare(
            &case["expected"],
            &answer["result"],
            &case["tolerance"],
            "",
            &mut found,
        );
        if found.is_empty() && answer.get("error").is_none() {
            passed += 1;
        } else {
            let error = answer
                .get("error")
                .map(Value::to_string)
                .unwrap_or_default();
            wrong.push(format!(
                "{} {method} {error}\n{}",
                case["id"],
                found.join("\n")
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{passed} passed, {} failed\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
