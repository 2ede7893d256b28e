//! Results as JSON.

use serde_json::{Map, Value};

/// A result under construction.
#[derive(Debug, Default)]
pub(super) struct Answer(Map<String, Value>);

impl Answer {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds any value.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a number, null if there is none.
    pub(super) fn number(self, name: &str, value: impl Into<Option<f64>>) -> Self {
        let value = number(value.into());
        self.with(name, value)
    }

    /// Adds the reason why something is undefined, if there is one.
    pub(super) fn reason(self, reason: Option<&str>) -> Self {
        self.why("undefined_reason", reason)
    }

    /// Adds the reason of one part of the result under its own name, if there is one.
    pub(super) fn why(self, name: &str, reason: Option<&str>) -> Self {
        match reason {
            Some(reason) => self.with(name, reason),
            None => self,
        }
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

impl From<Answer> for Value {
    fn from(answer: Answer) -> Self {
        answer.into_value()
    }
}

/// A number as JSON: infinite as a word, and nothing that is not a number.
pub(super) fn number(value: Option<f64>) -> Value {
    match value {
        Some(v) if v == f64::INFINITY => "inf".into(),
        Some(v) if v == f64::NEG_INFINITY => "-inf".into(),
        Some(v) if v.is_finite() => v.into(),
        _ => Value::Null,
    }
}

/// Numbers as a JSON array.
pub(super) fn numbers(values: &[f64]) -> Value {
    values.iter().map(|&v| number(Some(v))).collect()
}
