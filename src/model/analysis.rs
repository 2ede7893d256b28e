//! The analysis that is locked before the first trial: margins, rules, level, weights.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::ArmId;
use crate::model::measure::Dimension;

/// How tasks are weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WeightsSpec {
    /// Every task counts the same.
    #[default]
    EqualTask,
    /// Every trial counts the same.
    Trials,
    /// Every cluster counts the same, split equally over its tasks.
    EqualCluster,
}

/// Decision rules as written in `suite.yaml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionSpec {
    /// Arm that is in use now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<ArmId>,
    /// Arm that may replace it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<ArmId>,
    /// Two-sided error level; intervals have level 1 − alpha. Default: 0.05.
    #[serde(default = "five_percent")]
    pub alpha: f64,
    /// Whether arms that were not interleaved may be compared all the same. Default: `checked`.
    #[serde(default)]
    pub schedule: Schedule,
    /// Dimensions that form the family over which `better` is adjusted (Holm). Default: those that
    /// have a rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub primary: Vec<Dimension>,
    /// Margins by dimension (its main metric) or by metric name, for example `outcome: 0.05` or
    /// `tool_calls.mean: 1.2`; differences in the unit of the rate, ratios as a factor above 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub margins: BTreeMap<String, f64>,
    /// Rules of the gate; all must pass. Without rules there is no gate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleSpec>,
    /// Widen the paired interval so that a full break among ties is missed less often (METHODS 6.2).
    #[serde(default)]
    pub strict: bool,
    /// One-sided error of `max_rate` and `min_rate` where it is not half of `alpha` (METHODS 6.4):
    /// 0.05 lets 299 clean tasks show a rate of at most 0.01, where 368 are needed without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_alpha: Option<f64>,
}

impl Default for DecisionSpec {
    fn default() -> Self {
        Self {
            baseline: None,
            candidate: None,
            alpha: five_percent(),
            schedule: Schedule::default(),
            primary: vec![],
            margins: BTreeMap::new(),
            rules: vec![],
            strict: false,
            gate_alpha: None,
        }
    }
}

/// What is known about the order in which the arms ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Interleaving is required and checked.
    #[default]
    Checked,
    /// As `checked`, and live trials of one task (or cluster) all lie in one of ten blocks, so that
    /// blocks can be the independent units if the drift screen is positive (METHODS 6.6).
    WholeTasks,
    /// Recorded arms: the author of the suite declares that time of day played no part.
    Assumed,
}

/// One rule of the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// Dimension it is about.
    pub dimension: Dimension,
    /// Metric within the dimension. Default: the dimension's main metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// What must hold.
    pub rule: RuleKind,
    /// Margin of `non_inferior` and `equivalent`. Default: the one under `margins`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// Bound of `max_rate` and `min_rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

/// Kinds of gate rules (METHODS 6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// The candidate is not worse by more than the margin.
    NonInferior,
    /// The candidate is better.
    Superior,
    /// The candidate is neither worse nor better by more than the margin.
    Equivalent,
    /// The candidate's rate is at most `rate`.
    MaxRate,
    /// The candidate's rate is at least `rate`.
    MinRate,
    /// No single task is shown to have broken.
    NoTaskRegression,
}

impl RuleKind {
    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::NonInferior => "non_inferior",
            Self::Superior => "superior",
            Self::Equivalent => "equivalent",
            Self::MaxRate => "max_rate",
            Self::MinRate => "min_rate",
            Self::NoTaskRegression => "no_task_regression",
        }
    }
}

fn five_percent() -> f64 {
    0.05
}
