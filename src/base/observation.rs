//! A value, or a reason why there is none.

use serde::{Deserialize, Serialize};

/// A value, or the reason why it is missing; never NaN and never zero by default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation<T> {
    /// It was observed.
    Value(T),
    /// It was not, and this is why (a snake_case code, or a code with details after a colon).
    Missing(String),
}

impl<T> Observation<T> {
    /// The value, if there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Missing(_) => None,
        }
    }

    /// The reason, if there is no value.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Value(_) => None,
            Self::Missing(reason) => Some(reason),
        }
    }
}
