//! A status as sources write it: a word, a number, or the object form of our own store.

use serde_json::Value;

use crate::model::trial::TrialStatus;
use crate::trace::import::scalar::kind_of;
use crate::trace::import::status::status_from_word;

/// The status that a record states, if it states one.
///
/// # Errors
///
/// A sentence if it has another form than a word, a number or our own object.
pub(crate) fn of(value: Option<&Value>) -> Result<Option<TrialStatus>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(word)) if word.trim().is_empty() => Ok(None),
        Some(Value::String(word)) => Ok(Some(status_from_word(word))),
        Some(Value::Number(number)) => Ok(Some(status_from_word(&number.to_string()))),
        Some(object @ Value::Object(_)) => serde_json::from_value(object.clone())
            .map(Some)
            .map_err(|error| format!("`status` is an object, but not of our own form: {error}")),
        Some(other) => Err(format!("`status` is not a word: {}", kind_of(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::trial::Boundary;
    use serde_json::json;

    #[test]
    fn words_numbers_and_our_own_object() {
        let read = |value: Value| of(Some(&value));
        let limited = read(json!("429")).unwrap();
        assert_eq!(limited, read(json!(429)).unwrap());
        let own = TrialStatus::infra(Boundary::Tool, "gone", "why");
        assert_eq!(read(serde_json::to_value(&own).unwrap()), Ok(Some(own)));
        assert_eq!(read(json!("")), Ok(None));
        assert!(read(json!([1])).is_err());
    }
}
