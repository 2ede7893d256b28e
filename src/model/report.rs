//! The report: a versioned contract, and what its formatters need beside it.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::estimate::{
    AccountingRow, ComparisonRow, DriftRow, EstimateRow, Gate, RobustnessRow, ScreenRow,
};
use crate::model::judging::JudgeRow;
use crate::model::measure::Dimension;
use crate::model::preference::PreferenceRow;
use crate::model::trial::Boundary;

/// The version of `report.json`; keys may be added within a version.
pub const REPORT_FORMAT: u32 = 1;

/// Everything a report says; `report.json` is exactly this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Version of this contract.
    pub format: u32,
    /// The run.
    pub run: RunInfo,
    /// The arms, baseline first.
    pub arms: Vec<ArmInfo>,
    /// Denominators.
    pub accounting: Vec<AccountingRow>,
    /// Estimates.
    pub estimates: Vec<EstimateRow>,
    /// Comparisons.
    pub comparisons: Vec<ComparisonRow>,
    /// What pairwise judges said of the compared arms; empty where none was asked.
    #[serde(default)]
    pub preferences: Vec<PreferenceRow>,
    /// What the main comparisons would say under other defensible rules.
    #[serde(default)]
    pub robustness: Vec<RobustnessRow>,
    /// Per-task screens.
    pub screens: Vec<ScreenRow>,
    /// Drift screens of the compared pair; empty where the arms did not run live.
    #[serde(default)]
    pub drift: Vec<DriftRow>,
    /// What only live runs have: retries and caches, by arm.
    #[serde(default)]
    pub live: Vec<LiveRow>,
    /// Arms that did not answer before the run began; then nothing was run, and the gate says
    /// `infrastructure`.
    #[serde(default)]
    pub preflight: Vec<PreflightRow>,
    /// The judges behind quality, and whether they may decide.
    #[serde(default)]
    pub judges: Vec<JudgeRow>,
    /// How far a live run came that ended before its schedule did; nothing of it decides.
    #[serde(default)]
    pub stopped: Option<StoppedEarly>,
    /// The gate.
    pub gate: Gate,
    /// What each rule found in each arm, with examples.
    pub rules: Vec<RuleRow>,
    /// Tasks whose recorded inputs differ between the arms.
    pub input_differs: Option<InputDiffers>,
    /// Infrastructure errors by arm, boundary and code.
    pub infrastructure: Vec<InfrastructureRow>,
    /// The rules by which this report counts.
    pub reporting_rules: Vec<ReportingRule>,
    /// Versions, digests, platform.
    pub environment: Environment,
    /// Warnings about the run as a whole: code and sentence.
    pub notices: Vec<RunNotice>,
}

impl Report {
    /// What infrastructure lost, by arm, in the order of the arms.
    pub fn lost(&self) -> impl Iterator<Item = Lost<'_>> {
        let of = |arm: &'_ ArmInfo| {
            // What a stop cut off is said as such, and runs again.
            let cut_off = |row: &InfrastructureRow| {
                !arm.recorded && row.boundary == Boundary::Cancelled.name()
            };
            let own = |row: &&InfrastructureRow| row.arm == arm.name && !cut_off(row);
            let mut causes: Vec<_> = self.infrastructure.iter().filter(own).collect();
            causes.sort_by_key(|row| std::cmp::Reverse(row.trials));
            causes
        };
        let started = |arm: &str| {
            let mut rows = self.accounting.iter();
            rows.find(|row| row.arm == arm && row.segment.is_none())
                .map_or(0, |row| row.started)
        };
        self.arms
            .iter()
            .map(move |arm| Lost {
                arm: &arm.name,
                started: started(&arm.name),
                causes: of(arm),
            })
            .filter(|lost| !lost.causes.is_empty())
    }
}

/// What infrastructure lost of one arm.
pub struct Lost<'a> {
    /// Arm.
    pub arm: &'a str,
    /// Trials that were started.
    pub started: u64,
    /// Why they were lost, the most frequent cause first.
    pub causes: Vec<&'a InfrastructureRow>,
}

impl fmt::Display for Lost<'_> {
    /// For example `new: 48 of 48 trials (provider unauthorized: 47, tool tool_died: 1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost: u64 = self.causes.iter().map(|row| row.trials).sum();
        let cause = |row: &&InfrastructureRow| {
            let blank = if row.code.is_empty() { "" } else { " " };
            format!("{}{blank}{}: {}", row.boundary, row.code, row.trials)
        };
        let causes: Vec<String> = self.causes.iter().map(cause).collect();
        let (arm, started) = (self.arm, self.started);
        write!(
            f,
            "{arm}: {lost} of {started} trials ({})",
            causes.join(", ")
        )
    }
}

/// The run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunInfo {
    /// Run id.
    pub id: String,
    /// Suite id.
    pub suite: String,
    /// Suite version.
    pub suite_version: String,
    /// Suite digest.
    pub suite_digest: String,
    /// Plan digest.
    pub plan_digest: String,
    /// Root of all randomness.
    pub seed: u64,
    /// Planned tasks.
    pub tasks: u64,
}

/// One arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmInfo {
    /// Name.
    pub name: String,
    /// Digest.
    pub digest: String,
    /// Model, where declared.
    pub model: Option<String>,
    /// Host and path of its endpoint, for an arm that was asked over HTTP.
    #[serde(default)]
    pub endpoint: Option<String>,
    /// Planned trials per task.
    pub trials: u32,
    /// Whether its trials were recorded elsewhere.
    pub recorded: bool,
}

/// What one rule found in one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuleRow {
    /// Arm.
    pub arm: String,
    /// Dimension.
    pub dimension: Dimension,
    /// Rule.
    pub rule: String,
    /// Trials in which it holds.
    pub pass: u64,
    /// Trials in which it is broken.
    pub fail: u64,
    /// Trials with a graded value.
    pub value: u64,
    /// Trials it does not concern.
    pub not_applicable: u64,
    /// Trials whose evidence lacks what it needs, by reason.
    pub ungradable: BTreeMap<String, u64>,
    /// Examples of broken trials with their events.
    pub examples: Vec<Evidence>,
}

/// A pointer into the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Task.
    pub task: String,
    /// Trial index.
    pub trial: u32,
    /// Event sequence numbers.
    pub events: Vec<u64>,
    /// What was found there.
    pub detail: String,
}

/// Tasks whose recorded inputs differ between the arms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InputDiffers {
    /// How many tasks differ.
    pub differ: u64,
    /// How many tasks could be compared.
    pub compared: u64,
    /// The tasks that differ.
    pub tasks: Vec<String>,
}

/// An arm that did not answer when it was asked once, before anything was spent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreflightRow {
    /// Arm.
    pub arm: String,
    /// Boundary.
    pub boundary: String,
    /// Code.
    pub code: String,
    /// What was found, without keys.
    pub detail: String,
}

/// A live run that ended before its schedule did, or in which trials in flight were cancelled when it was
/// stopped. Neither those nor the trials that were planned and not started are missing: they are still to
/// be run, and until then nothing is decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoppedEarly {
    /// Trials that were started, over all live arms.
    pub started: u64,
    /// Those of them that were cancelled when the run was stopped.
    #[serde(default)]
    pub cancelled: u64,
    /// Trials that were planned for them.
    pub planned: u64,
    /// What stopped the run that was executed last; `None` if nobody could say, because its process was
    /// killed.
    pub by: Option<String>,
}

impl fmt::Display for StoppedEarly {
    /// For example `90 of 120 trials started, 4 of them cancelled; interrupted`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} trials started", self.started, self.planned)?;
        if self.cancelled > 0 {
            write!(f, ", {} of them cancelled", self.cancelled)?;
        }
        write!(f, "; {}", self.by.as_deref().unwrap_or("its process ended"))
    }
}

/// Infrastructure errors of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InfrastructureRow {
    /// Arm.
    pub arm: String,
    /// Boundary.
    pub boundary: String,
    /// Code.
    pub code: String,
    /// Trials.
    pub trials: u64,
}

/// What only a live arm has: retries and caches. None of it is a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveRow {
    /// Arm.
    pub arm: String,
    /// Attempts that broke on infrastructure and were run again.
    pub retried: u64,
    /// Trials that had such attempts.
    pub retried_trials: u64,
    /// Calls of the model that were sent again after a failure of its provider.
    pub model_retries: u64,
    /// Trials in which a cache answered in place of the model; excluded.
    pub warm_cache: u64,
    /// Valid trials in which the provider read nothing from its prompt cache.
    pub cold: PromptCache,
    /// Valid trials in which it read something from it.
    pub warm: PromptCache,
}

/// Valid trials of an arm by what the provider's prompt cache did; those of which it does not say are
/// in neither.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromptCache {
    /// Trials.
    pub trials: u64,
    /// Tokens read from the prompt cache.
    pub cached_tokens: u64,
    /// Median time of these trials in milliseconds.
    pub latency_ms_p50: Option<f64>,
    /// Mean cost of these trials in US dollars.
    pub cost_usd_mean: Option<f64>,
}

/// One rule by which the report counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportingRule {
    /// What it is about.
    pub about: String,
    /// The rule in one sentence.
    pub rule: String,
}

/// Versions and digests; no clock, so that the same run gives the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Version of assize.
    pub assize: String,
    /// Operating system and architecture for which it was built.
    pub platform: String,
    /// Digests of suite, arms and judges by name.
    pub digests: BTreeMap<String, String>,
}

/// A warning about the run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunNotice {
    /// Stable code.
    pub code: String,
    /// One sentence.
    pub text: String,
}

/// A sample for a person to look at: two observations that disagree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DisagreementRow {
    /// `trial_vs_trial` or `arm_vs_arm`.
    pub kind: String,
    /// Dimension.
    pub dimension: Dimension,
    /// Task.
    pub task: String,
    /// Segment values of the task, `key=value` joined by `;`.
    pub segment: Option<String>,
    /// First arm.
    pub arm_a: String,
    /// Its trial.
    pub trial_a: u32,
    /// Its score.
    pub score_a: f64,
    /// Evidence of the first: events and what was found.
    pub evidence_a: String,
    /// Second arm.
    pub arm_b: String,
    /// Its trial.
    pub trial_b: u32,
    /// Its score.
    pub score_b: f64,
    /// Evidence of the second.
    pub evidence_b: String,
    /// How many such pairs the stratum holds, and how many were drawn.
    pub stratum: String,
}

/// A sample for a person to look at: a judge and somebody who answers otherwise; whose output it is stays
/// hidden.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeDisagreementRow {
    /// `judge_vs_human`, `judge_vs_grader`, `judge_vs_judge`, `judge_vs_itself`, `judge_vs_order` or
    /// `rater_vs_rater`.
    pub kind: String,
    /// The item under a code that tells nothing of its arm.
    pub item: String,
    /// Task.
    pub task: Option<String>,
    /// The judge, with repeat or order where that is what differs.
    pub who_a: String,
    /// Its answer.
    pub answer_a: String,
    /// Who answers otherwise: people, the grader, another judge, another repeat or order.
    pub who_b: String,
    /// The other answer.
    pub answer_b: String,
    /// What the judge saw, blinded.
    pub evidence: String,
    /// How many such items the stratum holds, and how many were drawn.
    pub stratum: String,
}

/// A broken rule in one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailureRow {
    /// Arm.
    pub arm: String,
    /// Task.
    pub task: String,
    /// Trial index.
    pub trial: u32,
    /// Dimension.
    pub dimension: Dimension,
    /// Rule.
    pub rule: String,
    /// Event sequence numbers, joined by blanks.
    pub events: String,
    /// What was wrong.
    pub detail: String,
}
