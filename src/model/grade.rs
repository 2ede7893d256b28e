//! Grades: what deterministic graders found in one trial.

use serde::{Deserialize, Serialize};

use crate::model::measure::{Dimension, Measure};

/// What one rule found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The rule holds.
    Pass,
    /// The rule is broken.
    Fail,
    /// A graded value in [0, 1].
    Value(f64),
    /// The rule does not concern this trial (snake_case reason).
    NotApplicable(String),
    /// The evidence lacks what the rule needs (snake_case reason); never a failure.
    Ungradable(String),
}

impl Finding {
    /// The snake_case name used in every file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Value(_) => "value",
            Self::NotApplicable(_) => "not_applicable",
            Self::Ungradable(_) => "ungradable",
        }
    }
}

/// The grade that one rule gave one trial, with the events it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// Dimension.
    pub dimension: Dimension,
    /// The rule, for example `final_schema` or `must_ask_before_write`.
    pub rule: String,
    /// What it found.
    pub finding: Finding,
    /// Sequence numbers of the events it rests on.
    pub events: Vec<u64>,
    /// What was wrong, for people; empty for a pass. Holds no private text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Codes of warnings, for example `order_unknown`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// One measure of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// What was measured.
    pub measure: Measure,
    /// The value, or why there is none.
    pub cell: Cell,
}

/// A value of a trial, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// Measured.
    Value(f64),
    /// Does not concern this trial: reported, and not missing.
    NotApplicable(String),
    /// The evidence lacks it: missing.
    Ungradable(String),
}

/// Everything that grading found in one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialGrades {
    /// One per rule.
    pub grades: Vec<Grade>,
    /// At most one per measure.
    pub scores: Vec<Score>,
}
