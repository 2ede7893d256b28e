//! How far an interval may be used.

use serde::{Deserialize, Serialize};

/// The first of these that applies to an interval (METHODS, Record), strongest objection first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Missing data or infrastructure stand in the way.
    NotDecidable,
    /// The data do not identify the estimand, whatever their amount.
    NotIdentified,
    /// Too few units; the interval is printed and never decides.
    NotEstimable,
    /// The interval may be too short; it never decides a gate.
    Exploratory,
    /// The interval is valid and wider than necessary.
    Conservative,
    /// Nothing to object.
    Ok,
}

impl Status {
    /// The snake_case word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotDecidable => "not_decidable",
            Self::NotIdentified => "not_identified",
            Self::NotEstimable => "not_estimable",
            Self::Exploratory => "exploratory",
            Self::Conservative => "conservative",
            Self::Ok => "ok",
        }
    }
}
