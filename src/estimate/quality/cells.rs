//! One arm's verdicts and labels of a judge, by task.

use crate::estimate::cells::share;
use crate::model::judged::{Drawn, JudgeCell, JudgeColumn};
use crate::model::score::{RowState, ScoreTable};
use crate::stats::sum::mean;

/// What a judge and people said about one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedTrial {
    /// Trial number.
    pub index: u32,
    /// Level of the verdict.
    pub level: u32,
    /// What the verdict is worth, from 0 to 1.
    pub worth: f64,
    /// What people's label is worth, if there is one, and how the trial was drawn.
    pub label: Option<(f64, Option<Drawn>)>,
}

/// One arm's judged trials by task; every vector has one entry per task of the score table.
#[derive(Clone, Debug, PartialEq)]
pub struct QualityCells {
    /// Trials with a usable verdict.
    pub judged: Vec<Vec<JudgedTrial>>,
    /// Trials that were started and have none.
    pub missing: Vec<u32>,
    /// Of these, trials that the judge was asked about and gave no usable answer.
    pub unusable: Vec<u32>,
    /// Trials that were started, but for those that a stop of the run cut off.
    pub started: Vec<u32>,
    /// Planned trials.
    pub planned: Vec<u32>,
}

impl QualityCells {
    /// Gathers one arm's cells of a judge.
    pub fn gather(table: &ScoreTable, arm: usize, column: &JudgeColumn) -> Self {
        let tasks = table.tasks.len();
        let mut cells = Self {
            judged: vec![vec![]; tasks],
            missing: vec![0; tasks],
            unusable: vec![0; tasks],
            started: vec![0; tasks],
            planned: vec![0; tasks],
        };
        for row in (0..table.len()).filter(|&row| usize::from(table.arm[row]) == arm) {
            let task = table.task[row] as usize;
            cells.planned[task] += 1;
            if table.state[row].is_to_run() {
                continue;
            }
            cells.started[task] += 1;
            let asked_in_vain =
                table.state[row] == RowState::Valid && column.cell[row] == JudgeCell::Unusable;
            cells.unusable[task] += u32::from(asked_in_vain);
            let usable = match (table.state[row], column.cell[row]) {
                (RowState::Valid, JudgeCell::Level(level)) => {
                    column.worth(level).map(|worth| (level, worth))
                }
                _ => None,
            };
            match usable {
                Some((level, worth)) => cells.judged[task].push(JudgedTrial {
                    index: table.index[row],
                    level,
                    worth,
                    label: column.label[row].as_ref().map(|l| (l.worth, l.drawn)),
                }),
                None => cells.missing[task] += 1,
            }
        }
        cells
    }

    /// Missing over planned trials of some tasks, those that never started left out.
    pub fn missing_rate(&self, tasks: &[usize]) -> f64 {
        share(&self.missing, &self.planned, tasks)
    }

    /// Whether the judge was asked about this arm and nothing usable came of any of it.
    pub fn all_lost(&self) -> bool {
        self.judged.iter().all(Vec::is_empty) && self.unusable.iter().any(|n| *n > 0)
    }

    /// Judged trials of some tasks.
    pub fn trials(&self, tasks: &[usize]) -> u64 {
        tasks.iter().map(|&t| self.judged[t].len() as u64).sum()
    }

    /// Mean worth of a task's verdicts.
    pub fn mean(&self, task: usize) -> Option<f64> {
        mean(
            &self.judged[task]
                .iter()
                .map(|t| t.worth)
                .collect::<Vec<f64>>(),
        )
    }

    /// Labelled trials that were drawn in a known way.
    pub(super) fn drawn<'a>(
        &'a self,
        tasks: &'a [usize],
    ) -> impl Iterator<Item = (&'a JudgedTrial, Drawn)> {
        tasks
            .iter()
            .flat_map(|&t| &self.judged[t])
            .filter_map(|t| Some((t, t.label?.1?)))
    }
}
