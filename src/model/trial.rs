//! Trials: one attempt at one task by one arm.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::{ArmId, Digest, Notice, TaskId, TrialId};
use crate::model::measure::Measure;
use crate::model::trace::Trace;

/// How a trial ended. What the agent did and what broke around it never share a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum TrialStatus {
    /// It ran to its end.
    Completed,
    /// The agent itself failed: crash, refusal, malformed output.
    AgentFailed {
        /// Why, as a snake_case code.
        reason: String,
    },
    /// A declared limit was reached; that is the agent's failure.
    LimitReached {
        /// Which limit.
        which: String,
    },
    /// Something around the agent broke; the trial says nothing about the agent.
    Infra {
        /// Where.
        boundary: Boundary,
        /// What, as a snake_case code.
        code: String,
        /// The source's own words, if any.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        detail: String,
    },
}

impl TrialStatus {
    /// An infrastructure error.
    pub fn infra(boundary: Boundary, code: &str, detail: impl Into<String>) -> Self {
        Self::Infra {
            boundary,
            code: code.to_owned(),
            detail: detail.into(),
        }
    }

    /// Whether the trial says something about the agent.
    pub fn is_valid(&self) -> bool {
        !matches!(self, Self::Infra { .. })
    }

    /// Whether the agent failed by itself or reached a limit, whatever the trace holds.
    pub fn is_agent_failure(&self) -> bool {
        matches!(self, Self::AgentFailed { .. } | Self::LimitReached { .. })
    }

    /// The boundary of an infrastructure error.
    pub fn boundary(&self) -> Option<Boundary> {
        match self {
            Self::Infra { boundary, .. } => Some(*boundary),
            _ => None,
        }
    }
}

impl fmt::Display for TrialStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::AgentFailed { reason } => write!(f, "agent_failed:{reason}"),
            Self::LimitReached { which } => write!(f, "limit_reached:{which}"),
            Self::Infra { boundary, code, .. } => write!(f, "infra:{boundary}:{code}"),
        }
    }
}

/// Where infrastructure broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// The initial state could not be made.
    Fixture,
    /// The harness itself, or something nobody can name.
    Runner,
    /// The model's provider.
    Provider,
    /// A tool of the environment.
    Tool,
    /// A deterministic grader.
    Grader,
    /// A model judge.
    Judge,
    /// Two trials wrote one resource.
    ResourceConflict,
    /// A cache answered in place of the model.
    WarmCache,
    /// The evidence is incomplete.
    Trace,
    /// The trial was cancelled.
    Cancelled,
}

impl Boundary {
    /// All boundaries.
    pub const ALL: [Boundary; 10] = [
        Self::Fixture,
        Self::Runner,
        Self::Provider,
        Self::Tool,
        Self::Grader,
        Self::Judge,
        Self::ResourceConflict,
        Self::WarmCache,
        Self::Trace,
        Self::Cancelled,
    ];

    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixture => "fixture",
            Self::Runner => "runner",
            Self::Provider => "provider",
            Self::Tool => "tool",
            Self::Grader => "grader",
            Self::Judge => "judge",
            Self::ResourceConflict => "resource_conflict",
            Self::WarmCache => "warm_cache",
            Self::Trace => "trace",
            Self::Cancelled => "cancelled",
        }
    }

    /// The boundary with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|b| b.name() == name)
    }
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A trial as an importer hands it over, before it has an id.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedTrial {
    /// Arm named by the source, where it names one.
    pub arm: Option<ArmId>,
    /// Task.
    pub task: TaskId,
    /// Trial index from 0; `None` if the source does not number its trials, then they are numbered
    /// in the order of reading.
    pub index: Option<u32>,
    /// How it ended.
    pub status: TrialStatus,
    /// The evidence; `None` if the source holds results only.
    pub trace: Option<Trace>,
    /// Results that the source recorded directly (a table of outcomes, costs, tokens).
    pub recorded: BTreeMap<Measure, f64>,
    /// Digest of the input that the agent was given, where the source records it.
    pub input_digest: Option<Digest>,
    /// Task facts that the source carries (segment, cluster), for suites made from a table.
    pub task_metadata: BTreeMap<String, String>,
    /// Warnings of the importer.
    pub notices: Vec<Notice>,
    /// Where it stood: line of a JSONL or CSV file (from 1), or record number (from 1).
    pub place: u64,
}

/// A stored trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// blake3 of suite digest, task digest, arm digest and index.
    pub id: TrialId,
    /// Arm.
    pub arm: ArmId,
    /// Task.
    pub task: TaskId,
    /// Index from 0 within arm and task.
    pub index: u32,
    /// How it ended.
    pub status: TrialStatus,
    /// Results that the source recorded directly.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub recorded: BTreeMap<Measure, f64>,
    /// Digest of the input that the agent was given, where the source records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_digest: Option<Digest>,
    /// Warnings of the importer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// Block of the schedule in which a live trial ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// How earlier attempts at this trial ended, which broke on infrastructure and were run again;
    /// they are counted and never samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<TrialStatus>,
    /// Calls of the model that were sent again after a failure of its provider.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub model_retries: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A trial as a live run hands it to the store.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveTrial {
    /// The trial.
    pub trial: Trial,
    /// Its evidence.
    pub trace: Option<Trace>,
    /// Ids of the model's responses; one that another trial had already came out of a cache.
    pub response_ids: Vec<String>,
}
