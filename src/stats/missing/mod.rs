//! Bounds for what is missing (METHODS 10; Manski 1989, 2003).

mod screen;

pub use screen::{MissingComparison, PooledArm, missing_comparison, missing_sign_flip};

use serde::Serialize;

use crate::base::{Error, Result};
use crate::stats::clustered::{RateEstimate, sen_cp};
use crate::stats::paired::{DifferenceEstimate, bp_hall};
use crate::stats::sample::{Clustered, Paired, TaskScore};
use crate::stats::units::Weights;
use crate::stats::{Level, Limits};

/// What one planned task yielded, and what is missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartialTask {
    /// Sum of the valid trials' values, each in \[0, 1\].
    pub sum: f64,
    /// Valid trials n_i.
    pub observed: u32,
    /// Missing trials k_i: planned, started, not valid.
    pub missing: u32,
}

impl PartialTask {
    /// Every missing trial set to 0 (`worst`) or 1; a task without any planned trial counts as one.
    fn completed(self, best: bool) -> TaskScore {
        let trials = self.observed.saturating_add(self.missing);
        let value = if best { 1.0 } else { 0.0 };
        if trials == 0 {
            return TaskScore {
                sum: value,
                trials: 1,
            };
        }
        TaskScore {
            sum: self.sum + value * f64::from(self.missing),
            trials,
        }
    }
}

fn complete(tasks: &[PartialTask], best: bool) -> Vec<TaskScore> {
    tasks.iter().map(|t| t.completed(best)).collect()
}

/// Bounds of a pooled rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PooledBounds {
    /// The rate of the valid trials; `None` without any.
    pub complete_case: Option<f64>,
    /// The rate if all missing trials failed; `None` without trials.
    pub worst: Option<f64>,
    /// The rate if all missing trials passed; `None` without trials.
    pub best: Option<f64>,
    /// Share of trials that are missing; `None` without trials.
    pub missing_rate: Option<f64>,
}

/// Trial-weighted bounds \[s/(n+k), (s+k)/(n+k)\] (method `manski_bounds`): display only, the
/// estimand weights tasks.
pub fn manski_bounds(successes: f64, observed: u64, missing: u64) -> PooledBounds {
    let (n, k) = (observed as f64, missing as f64);
    let share = |x: f64, n: f64| (n > 0.0).then(|| x / n);
    PooledBounds {
        complete_case: share(successes, n),
        worst: share(successes, n + k),
        best: share(successes + k, n + k),
        missing_rate: share(k, n + k),
    }
}

/// Task-level bounds of a rate over all planned tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskBounds {
    /// The rate if everything missing failed; `None` without planned tasks.
    pub worst: Option<f64>,
    /// The rate if everything missing passed.
    pub best: Option<f64>,
    /// Missing over planned trials; `None` without planned trials.
    pub missing_rate: Option<f64>,
    /// Lower limit of the worst completion.
    pub lower: Option<f64>,
    /// Upper limit of the best completion.
    pub upper: Option<f64>,
    /// The worst completion's rate and interval.
    pub worst_rate: RateEstimate,
    /// The best completion's rate and interval.
    pub best_rate: RateEstimate,
}

/// Bounds of a rate over all planned tasks with the interval around them (method
/// `manski_bounds_tasks`; Horowitz & Manski 2000): SEN-CP on the worst and the best completion.
///
/// For losses (violations), `worst` is the lower bound of the rate; the caller mirrors.
///
/// Wide by design, and unreliable only as SEN-CP is; it does not hold what a task that was never
/// planned would have shown.
///
/// # Errors
///
/// As [`Clustered::new`].
pub fn manski_tasks(
    tasks: &[PartialTask],
    clusters: Option<&[u32]>,
    weights: &Weights,
    level: Level,
) -> Result<TaskBounds> {
    check(tasks)?;
    let rate = |best: bool| -> Result<RateEstimate> {
        Ok(sen_cp(
            &Clustered::new(&complete(tasks, best), clusters, weights)?,
            level,
        ))
    };
    let (worst_rate, best_rate) = (rate(false)?, rate(true)?);
    Ok(TaskBounds {
        worst: worst_rate.estimate,
        best: best_rate.estimate,
        missing_rate: missing_rate(tasks),
        lower: worst_rate.lower,
        upper: best_rate.upper,
        worst_rate,
        best_rate,
    })
}

/// Missing over planned trials; `None` without planned trials.
pub fn missing_rate(tasks: &[PartialTask]) -> Option<f64> {
    let missing: u64 = tasks.iter().map(|t| u64::from(t.missing)).sum();
    let planned: u64 = missing + tasks.iter().map(|t| u64::from(t.observed)).sum::<u64>();
    (planned > 0).then(|| missing as f64 / planned as f64)
}

fn check(tasks: &[PartialTask]) -> Result<()> {
    match tasks
        .iter()
        .position(|t| !(t.sum >= -1e-9 && t.sum <= f64::from(t.observed) + 1e-9))
    {
        Some(i) => Err(Error::input(format!(
            "task {i} (from 0): sum {} of {} valid trials",
            tasks[i].sum, tasks[i].observed
        ))),
        None => Ok(()),
    }
}

/// Task-level bounds of a difference B − A over all planned tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DifferenceBounds {
    /// B's missing trials failed and A's passed.
    pub worst: DifferenceEstimate,
    /// B's missing trials passed and A's failed.
    pub best: DifferenceEstimate,
}

impl DifferenceBounds {
    /// Lower limit of the worst and upper limit of the best completion.
    pub fn limits(&self) -> Option<Limits> {
        Some(Limits {
            lower: self.worst.lower?,
            upper: self.best.upper?,
        })
    }
}

/// Bounds of a difference B − A over all planned tasks with intervals (method
/// `manski_difference_tasks`): BP-Hall on the worst and the best completion.
///
/// Both arms list all planned tasks in the same order.
///
/// Wide by design, and unreliable only as BP-Hall is, with random clusters of very unequal weight for
/// one.
///
/// # Errors
///
/// As [`Paired::from_arms`].
///
/// Source: Horowitz & Manski 2000; Manski 2003.
pub fn manski_difference(
    a: &[PartialTask],
    b: &[PartialTask],
    clusters: Option<&[u32]>,
    weights: &Weights,
    level: Level,
    strict: bool,
) -> Result<DifferenceBounds> {
    check(a)?;
    check(b)?;
    let case = |best: bool| -> Result<DifferenceEstimate> {
        let (a, b) = (complete(a, !best), complete(b, best));
        Ok(bp_hall(
            &Paired::from_arms(&a, &b, clusters, weights)?,
            level,
            strict,
        ))
    };
    Ok(DifferenceBounds {
        worst: case(false)?,
        best: case(true)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_never_ran_may_be_anything() {
        let tasks = [
            PartialTask {
                sum: 2.0,
                observed: 2,
                missing: 0,
            },
            PartialTask {
                sum: 0.0,
                observed: 0,
                missing: 0,
            },
        ];
        let got = manski_tasks(&tasks, None, &Weights::EqualTask, Level::p95()).unwrap();
        assert_eq!((got.worst, got.best), (Some(0.5), Some(1.0)));
    }

    #[test]
    fn nothing_missing_leaves_one_point() {
        let a = [PartialTask {
            sum: 1.0,
            observed: 2,
            missing: 0,
        }; 3];
        let got =
            manski_difference(&a, &a, None, &Weights::EqualTask, Level::p95(), false).unwrap();
        assert_eq!(got.worst, got.best);
        assert_eq!(manski_bounds(0.0, 0, 0).worst, None);
    }
}
