//! The locked plan: what will run, and how it will be analysed.

use serde::{Deserialize, Serialize};

use crate::base::{ArmId, Digest, RunId, Seed, SuiteId, TaskId, TrialId};
use crate::model::analysis::{DecisionSpec, WeightsSpec};

/// The newest run format that this version reads and the one it writes.
pub const RUN_FORMAT: u32 = 1;

/// A plan, locked before the first trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Format of the run.
    pub format: u32,
    /// Run id: the first 12 digits of the plan digest.
    pub run: RunId,
    /// Digest of everything below (not of `format` and `run`).
    pub digest: Digest,
    /// What the digest covers.
    pub body: PlanBody,
}

/// What the plan digest covers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanBody {
    /// Suite.
    pub suite: SuiteId,
    /// Its version.
    pub suite_version: String,
    /// Its digest.
    pub suite_digest: Digest,
    /// Digest of the fixtures and programs that live trials use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Digest>,
    /// The tasks in order, with their digests.
    pub tasks: Vec<PlannedTask>,
    /// The arms, baseline first, then candidate, then others by name.
    pub arms: Vec<PlannedArm>,
    /// Root of all randomness.
    pub seed: Seed,
    /// How the comparison will be decided.
    pub analysis: Analysis,
}

/// A task of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedTask {
    /// Task.
    pub id: TaskId,
    /// Digest of the task.
    pub digest: Digest,
}

/// An arm of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedArm {
    /// Arm.
    pub id: ArmId,
    /// Digest of the arm.
    pub digest: Digest,
    /// Model behind it, where declared.
    pub model: Option<String>,
    /// Planned trials per task; where nobody stated them, the most that were recorded of a task.
    pub trials: u32,
    /// Whether the trials were stated. Otherwise what was recorded is what was planned, and only a
    /// task without any trial is missing.
    pub stated: bool,
    /// Whether its trials were recorded elsewhere, so that the arms did not run interleaved.
    pub recorded: bool,
}

/// The analysis, fixed before the first trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Analysis {
    /// Decision rules with baseline and candidate filled in; `None` if nothing is to be decided.
    pub decision: Option<DecisionSpec>,
    /// Weights of the tasks.
    pub weights: WeightsSpec,
    /// Segment keys.
    pub segments: Vec<String>,
    /// Cluster key.
    pub cluster: Option<String>,
}

/// One trial that a plan asks for, with its place in the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialSpec {
    /// Its id, see [`Plan::trial_id`].
    pub id: TrialId,
    /// Arm.
    pub arm: ArmId,
    /// Task.
    pub task: TaskId,
    /// Index from 0 within arm and task.
    pub index: u32,
    /// Block of the schedule, from 0.
    pub block: u32,
    /// Root of whatever is random within the trial; it follows from the plan's seed and the id.
    pub seed: u64,
}

impl Plan {
    /// Locks a plan: takes the digest and names the run after it.
    pub fn lock(body: PlanBody) -> Self {
        let value = serde_json::to_value(&body).unwrap_or_default();
        let digest = Digest::of_json(&value);
        Self {
            format: RUN_FORMAT,
            run: RunId::new(digest.short()),
            digest,
            body,
        }
    }

    /// The arm with this id.
    pub fn arm(&self, id: &ArmId) -> Option<&PlannedArm> {
        self.body.arms.iter().find(|a| &a.id == id)
    }

    /// The task with this id.
    pub fn task(&self, id: &TaskId) -> Option<&PlannedTask> {
        self.body.tasks.iter().find(|t| &t.id == id)
    }

    /// The id of one planned trial.
    pub fn trial_id(&self, arm: &PlannedArm, task: &PlannedTask, index: u32) -> TrialId {
        let suite = self.body.suite_digest.as_str();
        let index = index.to_string();
        let digest = Digest::of_parts(&[suite, task.digest.as_str(), arm.digest.as_str(), &index]);
        TrialId::new(digest.as_str())
    }
}
