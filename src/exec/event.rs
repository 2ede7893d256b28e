//! What the executor tells whoever watches.

use serde::Serialize;

use crate::base::{ArmId, TaskId, TrialId};
use crate::model::trial::TrialStatus;

/// Something happened; trials are reported only once they are durable.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ExecEvent {
    /// Trials are about to be run.
    Started {
        /// Trials of the schedule.
        planned: u64,
        /// Of these stored already.
        stored: u64,
    },
    /// A trial is stored.
    Trial(StoredTrial),
    /// An earlier trial turned out to say nothing about its agent.
    Amended {
        /// Its id.
        id: TrialId,
        /// Its status from now on.
        status: String,
    },
    /// No further trial is started.
    Stopping {
        /// Why.
        reason: String,
    },
    /// All trials that were started are stored.
    Ended {
        /// Trials that were not started.
        not_started: u64,
    },
}

/// A trial that is stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredTrial {
    /// Arm.
    pub arm: ArmId,
    /// Task.
    pub task: TaskId,
    /// Index from 0.
    pub trial: u32,
    /// How it ended.
    #[serde(skip)]
    pub status: TrialStatus,
    /// The same in words.
    #[serde(rename = "status")]
    pub status_text: String,
    /// What it cost in US dollars, where that is known.
    pub cost_usd: Option<f64>,
    /// How long it took.
    pub elapsed_ms: u64,
}
