//! Single values of a record: absent if missing or null, an error if of the wrong kind.

use serde_json::{Map, Number, Value};

use crate::model::trace::{ExternalResult, Usage};

/// An optional value, or a sentence that says what is wrong with it.
pub(crate) type Maybe<T> = Result<Option<T>, String>;

/// The value under the first of these keys that is present and not null.
pub(crate) fn present<'a>(record: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    keys.iter()
        .filter_map(|key| record.get(*key))
        .find(|value| !value.is_null())
}

/// A name: text or a whole number.
pub(crate) fn name(record: &Map<String, Value>, keys: &[&str]) -> Maybe<String> {
    match present(record, keys) {
        None => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
        // Data frames write 3 as 3.0 where another row has no number.
        Some(Value::Number(number)) if whole(number).is_some() => Ok(whole(number)),
        Some(other) => Err(format!("`{}` is not a name: {}", keys[0], kind_of(other))),
    }
}

fn whole(number: &Number) -> Option<String> {
    match number.as_f64().filter(|_| number.is_f64()) {
        None => Some(number.to_string()),
        Some(float) => (float.fract() == 0.0 && float.abs() < 1e15).then(|| format!("{float}")),
    }
}

/// A trial index, as a number or as its digits.
pub(crate) fn index(record: &Map<String, Value>, keys: &[&str]) -> Maybe<u32> {
    let Some(value) = present(record, keys) else {
        return Ok(None);
    };
    let number = match value {
        Value::Number(number) => whole(number),
        Value::String(digits) => Some(digits.clone()),
        _ => None,
    };
    match number.and_then(|digits| digits.parse().ok()) {
        Some(index) => Ok(Some(index)),
        None => Err(format!(
            "`{}` is not a trial number from 0: {}",
            keys[0],
            kind_of(value)
        )),
    }
}

/// A yes or no.
pub(crate) fn flag(record: &Map<String, Value>, key: &str) -> Maybe<bool> {
    match present(record, &[key]) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(other) => Err(format!("`{key}` is not true or false: {}", kind_of(other))),
    }
}

/// A finite number that is not negative.
pub(crate) fn amount(record: &Map<String, Value>, keys: &[&str]) -> Maybe<f64> {
    let Some(value) = present(record, keys) else {
        return Ok(None);
    };
    match value.as_f64().filter(|n| n.is_finite() && *n >= 0.0) {
        Some(amount) => Ok(Some(amount)),
        None => Err(format!(
            "`{}` is not a number from 0: {}",
            keys[0],
            kind_of(value)
        )),
    }
}

/// A recorded result in [0, 1].
pub(crate) fn external(
    value: Option<&Value>,
    key: &str,
    provenance: &str,
) -> Maybe<ExternalResult> {
    let value = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value,
    };
    match value.as_f64() {
        Some(number) if (0.0..=1.0).contains(&number) => Ok(Some(ExternalResult {
            value: number,
            provenance: provenance.to_owned(),
        })),
        Some(number) => Err(format!("`{key}` is {number}, outside [0, 1]")),
        None => Err(format!("`{key}` is not a number: {}", kind_of(value))),
    }
}

/// Tokens and cost of one model call, by the names that providers use; `None` if none is there.
pub(crate) fn usage(message: &Map<String, Value>) -> Option<Usage> {
    let empty = Map::new();
    let counts = message
        .get("usage")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let tokens = |keys: &[&str]| present(counts, keys).and_then(Value::as_u64);
    let cached = counts
        .get("prompt_tokens_details")
        .or_else(|| counts.get("input_tokens_details"))
        .and_then(|details| details.get("cached_tokens"))
        .and_then(Value::as_u64);
    let cost = present(message, &["cost", "cost_usd"])
        .or_else(|| present(counts, &["cost", "cost_usd"]))
        .and_then(Value::as_f64)
        .filter(|cost| cost.is_finite() && *cost >= 0.0);
    let usage = Usage {
        input_tokens: tokens(&["prompt_tokens", "input_tokens"]),
        output_tokens: tokens(&["completion_tokens", "output_tokens"]),
        cached_tokens: cached,
        cost_usd: cost,
    };
    (usage != Usage::default()).then_some(usage)
}

/// Whether a value says that there is nothing: null, false, 0, an empty text, list or object, or one
/// that holds nothing but such values. Logs write an absent error in all these ways.
pub(crate) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => {
            let word = text.trim().to_ascii_lowercase();
            ["", "none", "null"].contains(&word.as_str())
        }
        Value::Array(items) => items.iter().all(is_nothing),
        Value::Object(members) => members.values().all(is_nothing),
    }
}

/// What a value is, for errors; short, since a value can be of any length.
pub(crate) fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) if text.chars().count() > 40 => {
            format!("the text `{}…`", text.chars().take(40).collect::<String>())
        }
        Value::String(text) => format!("the text `{text}`"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn null_is_absent_and_the_wrong_kind_is_said() {
        let record =
            map(json!({"a": null, "b": 3, "c": "x", "d": -1, "e": 2.5, "f": 4.0, "g": "5"}));
        assert_eq!(name(&record, &["f"]), Ok(Some("4".to_owned())));
        assert_eq!(
            (index(&record, &["f"]), index(&record, &["g"])),
            (Ok(Some(4)), Ok(Some(5)))
        );
        assert!(name(&record, &["e"]).is_err() && index(&record, &["c"]).is_err());
        assert_eq!(name(&record, &["a", "b"]), Ok(Some("3".to_owned())));
        assert_eq!(index(&record, &["a"]), Ok(None));
        assert_eq!(index(&record, &["b"]), Ok(Some(3)));
        assert!(index(&record, &["d"]).is_err() && index(&record, &["e"]).is_err());
        assert!(flag(&record, "c").unwrap_err().contains("the text `x`"));
        assert!(amount(&record, &["d"]).is_err());
    }

    #[test]
    fn an_absent_error_is_written_in_many_ways() {
        for nothing in [
            json!(null),
            json!(false),
            json!(0),
            json!(" "),
            json!("None"),
            json!([]),
            json!({}),
            json!({"message": null, "code": ""}),
        ] {
            assert!(is_nothing(&nothing), "{nothing}");
        }
        for something in [json!("x"), json!(500), json!({"code": 500}), json!(["x"])] {
            assert!(!is_nothing(&something), "{something}");
        }
    }

    #[test]
    fn a_reward_is_a_number_from_0_to_1_or_absent() {
        let read = |value: Value| external(Some(&value), "reward", "reward");
        assert_eq!(read(json!(1)).unwrap().unwrap().value, 1.0);
        assert_eq!(read(Value::Null), Ok(None));
        for wrong in [
            json!(1.01),
            json!(-0.1),
            json!("1"),
            json!("NaN"),
            json!(true),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn usage_is_absent_where_nothing_is_counted() {
        assert_eq!(usage(&map(json!({"usage": null}))), None);
        let message = json!({"usage": {"prompt_tokens": 5, "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 3}}, "cost": 0.25});
        let expected = Usage {
            input_tokens: Some(5),
            output_tokens: Some(2),
            cached_tokens: Some(3),
            cost_usd: Some(0.25),
        };
        assert_eq!(usage(&map(message)), Some(expected));
    }
}
