//! Estimates, comparisons and accounting: the rows of the report's contract.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::measure::Dimension;

/// The full chain of denominators for one arm, dimension and segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccountingRow {
    /// Arm.
    pub arm: String,
    /// Dimension.
    pub dimension: Dimension,
    /// Segment as `key=value`; null for all tasks.
    pub segment: Option<String>,
    /// Trials that the plan holds.
    pub planned: u64,
    /// Trials that began.
    pub started: u64,
    /// Trials that came to an end of any kind that is recorded.
    pub finished: u64,
    /// Trials that say something about the agent.
    pub valid: u64,
    /// Trials with a grade on this dimension (not applicable and ungradable left out).
    pub graded: u64,
    /// Trials with a judge's verdict on this dimension.
    pub judged: u64,
    /// Trials that entered the estimate.
    pub scored: u64,
    /// Valid trials that the dimension does not concern.
    pub not_applicable: u64,
    /// Valid trials whose evidence lacks what the dimension needs.
    pub ungradable: u64,
    /// Valid trials on which nobody measured the dimension: quality without a judge.
    #[serde(default)]
    pub not_measured: u64,
    /// Trials that never started.
    pub not_started: u64,
    /// Trials lost to infrastructure, by boundary.
    pub excluded: BTreeMap<String, u64>,
}

/// Whether an estimate may be used, the first that applies (METHODS, Record).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EstimateStatus {
    /// Usable.
    Ok,
    /// Usable; wider than nominal.
    Conservative,
    /// Too few units to decide by.
    Exploratory,
    /// Printed, never decides.
    NotEstimable,
    /// Missing data or infrastructure only.
    NotDecidable,
    /// Not measured at all.
    NotMeasured,
    /// From a judge without a valid calibration.
    Uncalibrated,
    /// The correction is not identified.
    NotIdentified,
    /// Conditioned on something the arms influence.
    Selection,
}

/// One estimate of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EstimateRow {
    /// Arm.
    pub arm: String,
    /// Dimension.
    pub dimension: Dimension,
    /// Metric, for example `success_rate` or `tool_calls.p90`.
    pub metric: String,
    /// `k` of pass@k and pass^k.
    pub k: Option<u32>,
    /// Segment as `key=value`; null for all tasks.
    pub segment: Option<String>,
    /// Point estimate.
    pub value: Option<f64>,
    /// Lower limit; null where undefined or unbounded (notice `low_unbounded`).
    pub low: Option<f64>,
    /// Upper limit; null where undefined or unbounded (notice `high_unbounded`).
    pub high: Option<f64>,
    /// Two-sided level.
    pub level: f64,
    /// Method id.
    pub method: Option<String>,
    /// Tasks that entered.
    pub tasks: u64,
    /// Trials that entered.
    pub trials: u64,
    /// Effective number of independent units (n_c).
    pub n_c: Option<f64>,
    /// Whether it may be used.
    pub status: EstimateStatus,
    /// Why, where the status is not `ok`.
    pub reason: Option<String>,
    /// Worst and best value if every missing trial had failed or succeeded.
    pub bounds: Option<[f64; 2]>,
    /// Limits for exactly these tasks (`tasks_fixed_cp`), where they differ from the limits above.
    pub tasks_fixed: Option<[f64; 2]>,
    /// Standard deviation of task means.
    pub sd_between_tasks: Option<f64>,
    /// Standard deviation of trials within a task.
    pub sd_within_task: Option<f64>,
    /// Digest of the judge calibration behind it.
    pub calibration: Option<String>,
    /// Codes of warnings.
    pub notices: Vec<String>,
}

/// The word of a comparison (METHODS 6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionWord {
    /// The candidate is better.
    Better,
    /// The candidate is not worse by more than the margin.
    NonInferior,
    /// Neither better nor worse by more than the margin.
    Equivalent,
    /// The candidate is worse.
    Worse,
    /// Too little evidence.
    Inconclusive,
    /// Missing data or infrastructure stands in the way.
    NotDecidable,
}

impl DecisionWord {
    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::NonInferior => "non_inferior",
            Self::Equivalent => "equivalent",
            Self::Worse => "worse",
            Self::Inconclusive => "inconclusive",
            Self::NotDecidable => "not_decidable",
        }
    }
}

/// One paired comparison of two arms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonRow {
    /// Dimension.
    pub dimension: Dimension,
    /// Metric.
    pub metric: String,
    /// Baseline arm A.
    pub baseline: String,
    /// Candidate arm B.
    pub candidate: String,
    /// Segment as `key=value`; null for all tasks.
    pub segment: Option<String>,
    /// `difference` (B − A) or `ratio` (B / A).
    pub contrast: String,
    /// Whether more is better: `gain` or `loss`.
    pub direction: String,
    /// Point estimate of the contrast.
    pub value: Option<f64>,
    /// Lower limit.
    pub low: Option<f64>,
    /// Upper limit.
    pub high: Option<f64>,
    /// Two-sided level.
    pub level: f64,
    /// Method id.
    pub method: Option<String>,
    /// Two-sided p of the null of no difference, dual to the interval.
    pub p: Option<f64>,
    /// Method of the p.
    pub p_method: Option<String>,
    /// Adjusted p (Holm over the primary dimensions); null outside the family.
    pub p_adjusted: Option<f64>,
    /// Sign-flip p: a sensitivity line that never decides.
    pub p_sign_flip: Option<f64>,
    /// Paired tasks.
    pub tasks: u64,
    /// Planned tasks that are not paired.
    pub tasks_unpaired: u64,
    /// Effective number of independent units (n_c).
    pub n_c: Option<f64>,
    /// Margin: a difference, or a factor for ratios.
    pub margin: Option<f64>,
    /// Smallest true difference that this many tasks detect with power .80.
    pub mde: Option<f64>,
    /// Contrast and limits if every missing trial had gone worst for the candidate.
    pub worst: Option<[f64; 2]>,
    /// The same, best for the candidate.
    pub best: Option<[f64; 2]>,
    /// Whether the estimate behind it may be used.
    pub status: EstimateStatus,
    /// The word.
    pub decision: DecisionWord,
    /// Why, where the word was decided before the interval was looked at.
    pub reason: Option<String>,
    /// Codes of warnings.
    pub notices: Vec<String>,
    /// Whether it follows the locked plan.
    pub locked: bool,
    /// Whether it is in the primary family.
    pub primary: bool,
    /// What would settle an inconclusive word.
    pub settle: Option<Settle>,
}

/// What would settle an inconclusive comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settle {
    /// Tasks needed in all, at the trials per task of this run.
    pub tasks: u64,
    /// The same in one sentence, with what was assumed.
    pub text: String,
    /// Cost of the additional trials in US dollars, where prices and tokens are known.
    pub cost_usd: Option<f64>,
}

/// What a main comparison would say under another defensible rule on the same evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RobustnessRow {
    /// Dimension.
    pub dimension: Dimension,
    /// Metric.
    pub metric: String,
    /// The other rule: `missing_as_failure`, `first_trial_only`, `pooled_trials`, `paired_t` or
    /// `uncorrected_judge`.
    pub reading: String,
    /// Point estimate of the contrast.
    pub value: Option<f64>,
    /// Lower limit.
    pub low: Option<f64>,
    /// Upper limit.
    pub high: Option<f64>,
    /// The word.
    pub decision: DecisionWord,
    /// Whether it differs from the word of the comparison.
    pub changes: bool,
}

/// The per-task screen (METHODS 6.4b) of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScreenRow {
    /// Metric that was screened.
    pub metric: String,
    /// Tasks with at least two trials in both arms.
    pub candidates: u64,
    /// Tasks that could be tested.
    pub testable: u64,
    /// All others: counted, not called clean.
    pub untestable: u64,
    /// Tasks shown to have become worse, with their adjusted p.
    pub regressions: Vec<ScreenTask>,
    /// Tasks shown to have become better: descriptive.
    pub improvements: Vec<ScreenTask>,
    /// Tasks that passed at least two thirds in the baseline and in which a full break could not
    /// have been shown.
    pub cannot_detect_full_break: Vec<String>,
}

/// One rejected task of the screen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScreenTask {
    /// Task.
    pub task: String,
    /// One-sided Fisher p.
    pub p: f64,
    /// Holm-adjusted p within the testable set.
    pub p_adjusted: f64,
}

/// The drift screen (METHODS 6.6) of one metric: did the arms move against each other over time?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriftRow {
    /// Dimension.
    pub dimension: Dimension,
    /// Metric.
    pub metric: String,
    /// Baseline arm A.
    pub baseline: String,
    /// Candidate arm B.
    pub candidate: String,
    /// X, method `drift_statistic`; null where undefined.
    pub statistic: Option<f64>,
    /// Permutation p; null where undefined.
    pub p: Option<f64>,
    /// Blocks that hold trials of both arms.
    pub blocks: u64,
    /// Tasks present in both arms.
    pub tasks: u64,
    /// Permutations drawn.
    pub draws: u32,
    /// Whether p is below .05. That it is not proves nothing: the power is low.
    pub positive: bool,
    /// Whether blocks became the independent units of the comparisons, which absorbs the drift.
    pub absorbed: bool,
    /// Why there is no p.
    pub reason: Option<String>,
}

/// The gate: a conjunction of per-dimension rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// `passed`, `failed`, `inconclusive`, `infrastructure`, or `none` without rules.
    pub result: String,
    /// 0, 1, 3, 4, and 0 without rules.
    pub exit_code: u8,
    /// Every part.
    pub rules: Vec<GateRule>,
}

/// One part of the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateRule {
    /// Dimension.
    pub dimension: Dimension,
    /// Metric.
    pub metric: String,
    /// Rule.
    pub rule: String,
    /// Margin, where the rule has one.
    pub margin: Option<f64>,
    /// Bound of a rate, where the rule has one.
    pub rate: Option<f64>,
    /// `passed`, `failed`, `inconclusive` or `not_decidable`.
    pub result: String,
    /// The word or reason behind it.
    pub reason: Option<String>,
}
