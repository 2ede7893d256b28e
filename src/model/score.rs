//! The score table: columns with one row per planned trial.

use crate::base::{ArmId, TaskId};
use crate::model::judged::JudgeColumn;
use crate::model::measure::Measure;
use crate::model::preference::PreferenceColumn;
use crate::model::trial::Boundary;

/// All planned trials of a run as columns; every estimate and comparison is made from it.
///
/// Shapes: `arm`, `task`, `index`, `state` and each measure's columns have one entry per planned
/// trial, ordered by arm, task, index as the plan lists them. `arm` and `task` index into `arms` and
/// `tasks`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScoreTable {
    /// Arms in plan order.
    pub arms: Vec<ArmId>,
    /// Tasks in plan order.
    pub tasks: Vec<TaskId>,
    /// Cluster of each task, where the suite declares clusters (labels numbered from 0).
    pub clusters: Option<Vec<u32>>,
    /// Segment columns: for each segment key its value per task.
    pub segments: Vec<SegmentColumn>,
    /// Arm of each row.
    pub arm: Vec<u16>,
    /// Task of each row.
    pub task: Vec<u32>,
    /// Trial index of each row.
    pub index: Vec<u32>,
    /// Block of the schedule in which the trial of each row ran; empty where no arm ran live.
    pub block: Vec<Option<u32>>,
    /// How each row ended, as far as denominators are concerned.
    pub state: Vec<RowState>,
    /// The stored status of each row's trial, as an index into `endings`; `None` where none is stored,
    /// and empty in a table that was not read from a run.
    pub ending: Vec<Option<u16>>,
    /// The statuses that occur, as [`TrialStatus`](crate::model::trial::TrialStatus) writes them.
    pub endings: Vec<String>,
    /// Measures.
    pub measures: Vec<MeasureColumn>,
    /// Why valid trials have no value, counted.
    pub unscored: Vec<Unscored>,
    /// Judges, in order of their names.
    pub judges: Vec<JudgeColumn>,
    /// Judges that compare two arms, in order of their names.
    pub preferences: Vec<PreferenceColumn>,
}

/// Why some valid trials of an arm have no value of a measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Unscored {
    /// Arm.
    pub arm: u16,
    /// Measure.
    pub measure: Measure,
    /// The reason, as a snake_case code.
    pub reason: String,
    /// Trials.
    pub trials: u64,
}

/// One segment key with a value per task.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentColumn {
    /// Metadata key.
    pub key: String,
    /// Value per task; `None` where a task has none.
    pub values: Vec<Option<String>>,
}

/// One measure with a cell per row.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureColumn {
    /// What was measured.
    pub measure: Measure,
    /// Values; meaningful only where `cell` says [`CellState::Scored`].
    pub value: Vec<f64>,
    /// What each cell holds.
    pub cell: Vec<CellState>,
}

/// How the trial of a row ended, as far as denominators are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowState {
    /// Never started: a budget ended a randomised schedule. Not missing.
    NotStarted,
    /// A trial of a live arm that was broken off because the run was stopped; it runs again when the run
    /// goes on. Not missing.
    CutOff,
    /// Completed, failed by the agent, or ended by a limit: says something about the agent.
    Valid,
    /// Infrastructure broke. Missing.
    Infra(Boundary),
}

impl RowState {
    /// Whether the trial is still to be run: it says nothing yet, and nothing broke around it.
    pub fn is_to_run(self) -> bool {
        matches!(self, Self::NotStarted | Self::CutOff)
    }
}

/// What one cell holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellState {
    /// A value.
    Scored,
    /// The measure does not concern this trial; a trial that is not valid has such cells too, for
    /// what its task never asks. Not missing.
    NotApplicable,
    /// The trial is valid, but the evidence lacks the value. Missing.
    Ungradable,
    /// The trial itself is not valid, see the row's state.
    NoTrial,
}

impl ScoreTable {
    /// The column of a measure.
    pub fn column(&self, measure: Measure) -> Option<&MeasureColumn> {
        self.measures.iter().find(|c| c.measure == measure)
    }

    /// The most frequent reason why an arm's valid trials have no value of a measure.
    pub fn main_reason(&self, arm: u16, measure: Measure) -> Option<&str> {
        self.unscored
            .iter()
            .filter(|u| u.arm == arm && u.measure == measure)
            .max_by_key(|u| (u.trials, std::cmp::Reverse(&u.reason)))
            .map(|u| u.reason.as_str())
    }

    /// Whether a limit that the trial of a row ran into cut a measure short: the trial would have gone on,
    /// so the value is only the least that it could have been (right-censored, METHODS 4.4).
    pub fn is_censored(&self, row: usize, measure: Measure) -> bool {
        let ending = self.ending.get(row).copied().flatten();
        ending
            .and_then(|number| self.endings.get(usize::from(number)))
            .and_then(|text| text.strip_prefix("limit_reached:"))
            .and_then(limited_measure)
            == Some(measure)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.arm.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.arm.is_empty()
    }
}

/// The measure that a limit cuts short, by the names that suites and recorded runs give limits; `None`
/// where none is bounded by it.
fn limited_measure(limit: &str) -> Option<Measure> {
    Some(match limit {
        "wall_time_s" | "wall_time" | "max_time" | "time" | "time_limit" | "timeout"
        | "latency" | "latency_ms" => Measure::LatencyMs,
        "steps" | "max_steps" | "turns" | "max_turns" => Measure::Steps,
        "tool_calls" | "max_tool_calls" => Measure::ToolCalls,
        "tokens" | "max_tokens" => Measure::Tokens,
        "input_tokens" => Measure::InputTokens,
        "output_tokens" => Measure::OutputTokens,
        "cost" | "max_cost" | "cost_usd" => Measure::CostUsd,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_censors_its_own_measure_only() {
        let table = ScoreTable {
            ending: vec![Some(0), Some(1), None, Some(2)],
            endings: [
                "limit_reached:wall_time_s",
                "completed",
                "limit_reached:errors",
            ]
            .map(str::to_owned)
            .to_vec(),
            ..ScoreTable::default()
        };
        let censored = |row| table.is_censored(row, Measure::LatencyMs);
        assert_eq!(
            [0, 1, 2, 3, 4].map(censored),
            [true, false, false, false, false]
        );
        assert!(!table.is_censored(0, Measure::Steps));
    }
}
