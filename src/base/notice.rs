//! Typed warnings that travel with results.

use serde::{Deserialize, Serialize};

/// A warning attached to a result: a stable code, and what a person should know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Notice {
    /// Stable snake_case code, for example `schedule_assumed`.
    pub code: String,
    /// One sentence for people; empty where the code says it all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl Notice {
    /// A notice that needs no explanation.
    pub fn code(code: &str) -> Self {
        Self {
            code: code.to_owned(),
            detail: String::new(),
        }
    }

    /// A notice with a sentence.
    pub fn with(code: &str, detail: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            detail: detail.into(),
        }
    }
}
