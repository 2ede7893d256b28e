//! One arm's cells of one measure, gathered by task.

use crate::model::metric::{Metric, MetricKind};
use crate::model::score::{CellState, RowState, ScoreTable};

/// Counts and sums per planned task; every vector has one entry per task of the score table.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskCells {
    /// Sum of the scored values.
    pub sum: Vec<f64>,
    /// Sum of their squares.
    pub squares: Vec<f64>,
    /// Trials with a value.
    pub scored: Vec<u32>,
    /// Trials that were started and have no value though the measure may concern them (a task that
    /// never asks for it does not concern even its infrastructure errors):
    /// infrastructure errors and ungradable evidence.
    pub missing: Vec<u32>,
    /// Trials that the measure does not concern.
    pub not_applicable: Vec<u32>,
    /// Planned trials that were started; those that never were, or that a stop of the run cut off, say
    /// nothing and are not missing.
    pub planned: Vec<u32>,
    /// Planned trials that never started, or that a stop of the run cut off.
    pub not_started: Vec<u32>,
    /// Trials whose value a limit cut short (METHODS 4.4); they are among `scored`.
    pub censored: Vec<u32>,
}

impl TaskCells {
    /// Gathers the cells of a metric's measure for one arm.
    pub fn gather(table: &ScoreTable, arm: u16, metric: &Metric) -> Self {
        Self::gather_where(table, arm, metric, |_| true)
    }

    /// The same for those rows of the table that `keep` names.
    pub fn gather_where(
        table: &ScoreTable,
        arm: u16,
        metric: &Metric,
        keep: impl Fn(usize) -> bool,
    ) -> Self {
        let tasks = table.tasks.len();
        let mut cells = Self {
            sum: vec![0.0; tasks],
            squares: vec![0.0; tasks],
            scored: vec![0; tasks],
            missing: vec![0; tasks],
            not_applicable: vec![0; tasks],
            planned: vec![0; tasks],
            not_started: vec![0; tasks],
            censored: vec![0; tasks],
        };
        let Some(column) = table.column(metric.measure) else {
            return cells;
        };
        for row in (0..table.len()).filter(|&row| table.arm[row] == arm && keep(row)) {
            let task = table.task[row] as usize;
            if table.state[row].is_to_run() {
                cells.not_started[task] += 1;
                continue;
            }
            cells.planned[task] += 1;
            match (table.state[row], column.cell[row]) {
                (RowState::NotStarted | RowState::CutOff, _) => {}
                (RowState::Infra(_), CellState::NotApplicable) => cells.not_applicable[task] += 1,
                (RowState::Infra(_), _)
                | (RowState::Valid, CellState::Ungradable | CellState::NoTrial) => {
                    cells.missing[task] += 1;
                }
                (RowState::Valid, CellState::Scored) => {
                    cells.add(task, transformed(metric, column.value[row]));
                    cells.censored[task] += u32::from(table.is_censored(row, metric.measure));
                }
                (RowState::Valid, CellState::NotApplicable) => match metric.kind {
                    MetricKind::RateAll | MetricKind::PerTrial => cells.add(task, 0.0),
                    _ => cells.not_applicable[task] += 1,
                },
            }
        }
        cells
    }

    fn add(&mut self, task: usize, value: f64) {
        self.sum[task] += value;
        self.squares[task] += value * value;
        self.scored[task] += 1;
    }

    /// Trials with a value in these tasks.
    pub fn scored_in(&self, tasks: &[usize]) -> u64 {
        total(&self.scored, tasks)
    }

    /// Trials in these tasks whose value a limit cut short.
    pub fn censored_in(&self, tasks: &[usize]) -> u64 {
        total(&self.censored, tasks)
    }

    /// Missing over planned trials in these tasks, those that never started or that the measure does
    /// not concern left out of both; 0 where nothing was planned.
    pub fn missing_rate(&self, tasks: &[usize]) -> f64 {
        let missing = total(&self.missing, tasks) as f64;
        let planned =
            total(&self.planned, tasks) as f64 - total(&self.not_applicable, tasks) as f64;
        if planned > 0.0 {
            missing / planned
        } else {
            0.0
        }
    }

    /// Whether a task has trials, all of which the measure does not concern.
    pub fn never_applies(&self, task: usize) -> bool {
        self.scored[task] == 0 && self.missing[task] == 0 && self.not_applicable[task] > 0
    }

    /// Whether a task has planned trials none of which was started: the randomised schedule ended
    /// before, so the task says nothing and is not missing (METHODS 10).
    pub fn never_started(&self, task: usize) -> bool {
        self.planned[task] == 0 && self.not_started[task] > 0
    }

    /// Mean of a task's scored values.
    pub fn mean(&self, task: usize) -> Option<f64> {
        (self.scored[task] > 0).then(|| self.sum[task] / f64::from(self.scored[task]))
    }

    /// Standard deviation of task means, and pooled standard deviation of trials within a task; each
    /// `None` where it is not identified.
    pub fn spread(&self, tasks: &[usize]) -> Spread {
        let means: Vec<f64> = tasks.iter().filter_map(|&t| self.mean(t)).collect();
        let mut within = (0.0, 0u64);
        for &task in tasks.iter().filter(|&&t| self.scored[t] >= 2) {
            let n = f64::from(self.scored[task]);
            within.0 += (self.squares[task] - self.sum[task] * self.sum[task] / n).max(0.0);
            within.1 += u64::from(self.scored[task]) - 1;
        }
        Spread {
            between: standard_deviation(&means),
            within: (within.1 > 0).then(|| (within.0 / within.1 as f64).sqrt()),
        }
    }
}

/// Spread of a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Standard deviation of task means.
    pub between: Option<f64>,
    /// Pooled standard deviation of trials within a task.
    pub within: Option<f64>,
}

fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

fn total(counts: &[u32], tasks: &[usize]) -> u64 {
    tasks.iter().map(|&t| u64::from(counts[t])).sum()
}

/// One count over another in some tasks; 0 where there is nothing to lose.
pub(super) fn share(part: &[u32], of: &[u32], tasks: &[usize]) -> f64 {
    match total(of, tasks) {
        0 => 0.0,
        all => total(part, tasks) as f64 / all as f64,
    }
}

/// The value that a metric takes of a trial: "at least one" for rates of counts.
pub(crate) fn transformed(metric: &Metric, value: f64) -> f64 {
    use crate::model::measure::Measure::{DuplicateEffects, Violations};
    let counted = matches!(metric.measure, Violations | DuplicateEffects);
    match metric.kind {
        MetricKind::Rate | MetricKind::RateAll if counted => f64::from(u8::from(value > 0.0)),
        _ => value,
    }
}

/// The scored values of one arm and measure, with the task of each.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialValues {
    /// Values in table order.
    pub value: Vec<f64>,
    /// Task of each value.
    pub task: Vec<u32>,
    /// Whether a limit cut each value short.
    pub censored: Vec<bool>,
}

impl TrialValues {
    /// Gathers the scored values of a metric's measure for one arm within some tasks.
    pub fn gather(table: &ScoreTable, arm: u16, metric: &Metric, tasks: &[usize]) -> Self {
        let mut values = Self {
            value: vec![],
            task: vec![],
            censored: vec![],
        };
        let Some(column) = table.column(metric.measure) else {
            return values;
        };
        let mut wanted = vec![false; table.tasks.len()];
        tasks.iter().for_each(|&t| wanted[t] = true);
        for row in 0..table.len() {
            let keep = table.arm[row] == arm
                && table.state[row] == RowState::Valid
                && column.cell[row] == CellState::Scored
                && wanted[table.task[row] as usize];
            if keep {
                values.value.push(column.value[row]);
                values.task.push(table.task[row]);
                values.censored.push(table.is_censored(row, metric.measure));
            }
        }
        values
    }
}
