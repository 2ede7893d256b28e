//! Recovery where a fault demonstrably fired (METHODS 5).

use serde::Serialize;

use crate::base::{Error, Result, Seed};
use crate::stats::Level;
use crate::stats::clustered::{RateEstimate, sen_cp};
use crate::stats::missing::{PartialTask, TaskBounds, manski_tasks, missing_sign_flip};
use crate::stats::sample::{Clustered, TaskScore};
use crate::stats::sum::mean;
use crate::stats::tolerance::{above, below};
use crate::stats::units::Weights;

/// One task's trials with an injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultTask {
    /// Trials in which the fault was planned.
    pub injected: u32,
    /// Those in which it fired.
    pub reached: u32,
    /// Those of them that recovered.
    pub recovered: u32,
}

/// Recovery given that the fault fired.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recovery {
    /// Reached over injected trials; `None` without injected trials.
    pub reach_rate: Option<f64>,
    /// Tasks with at least one reached trial.
    pub tasks_reached: usize,
    /// Indices of the tasks whose fault never fired.
    pub unreached: Vec<usize>,
    /// Recovery with every reached task counting the same.
    pub equal_task: RateEstimate,
    /// Recovery with every reached trial counting the same.
    pub reached_weighted: RateEstimate,
    /// Bounds over all injected trials: the unreached all failed, or all recovered.
    pub bounds: TaskBounds,
}

/// Recovery rate among reached trials (method `recovery_given_reached`), by SEN-CP.
///
/// Reaching the fault is itself an outcome: compare arms only on tasks reached in both, and show
/// the bounds where reach rates differ. Recovery is not eventual success.
///
/// # Errors
///
/// If recovered ≤ reached ≤ injected is broken, or as [`Clustered::new`].
pub fn recovery(tasks: &[FaultTask], clusters: Option<&[u32]>, level: Level) -> Result<Recovery> {
    let broken = |t: &FaultTask| t.recovered > t.reached || t.reached > t.injected;
    if let Some(i) = tasks.iter().position(broken) {
        return Err(Error::input(format!("task {i} (from 0): {:?}", tasks[i]))
            .hint("recovered ≤ reached ≤ injected"));
    }
    let scores: Vec<TaskScore> = tasks
        .iter()
        .map(|t| TaskScore::binary(t.recovered, t.reached))
        .collect();
    let rate = |weights: &Weights| -> Result<RateEstimate> {
        Ok(sen_cp(&Clustered::new(&scores, clusters, weights)?, level))
    };
    let partial: Vec<PartialTask> = tasks
        .iter()
        .filter(|t| t.injected > 0)
        .map(partial)
        .collect();
    let labels: Option<Vec<u32>> = clusters.map(|labels| {
        labels
            .iter()
            .zip(tasks)
            .filter(|(_, t)| t.injected > 0)
            .map(|(l, _)| *l)
            .collect()
    });
    let total = |f: fn(&FaultTask) -> u32| tasks.iter().map(|t| f64::from(f(t))).sum::<f64>();
    let injected = total(|t| t.injected);
    Ok(Recovery {
        reach_rate: (injected > 0.0).then(|| total(|t| t.reached) / injected),
        tasks_reached: tasks.iter().filter(|t| t.reached > 0).count(),
        unreached: (0..tasks.len())
            .filter(|&i| tasks[i].reached == 0)
            .collect(),
        equal_task: rate(&Weights::EqualTask)?,
        reached_weighted: rate(&Weights::Trials)?,
        bounds: manski_tasks(&partial, labels.as_deref(), &Weights::EqualTask, level)?,
    })
}

fn partial(task: &FaultTask) -> PartialTask {
    PartialTask {
        sum: f64::from(task.recovered),
        observed: task.reached,
        missing: task.injected - task.reached,
    }
}

/// Whether reach rates differ so much that a comparison of recovery is marked `selection`: p < .1 or
/// a difference of more than .1 (METHODS 5). What is not known does not count.
pub fn reach_differs(p: Option<f64>, difference: Option<f64>) -> bool {
    p.is_some_and(|p| below(p, 0.1)) || difference.is_some_and(|d| above(d.abs(), 0.1))
}

/// Whether two arms reached their faults alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReachComparison {
    /// Mean over tasks of A's reach rate, on the tasks injected in both arms.
    pub rate_a: Option<f64>,
    /// The same of B.
    pub rate_b: Option<f64>,
    /// Sign-flip p for equal reach rates.
    pub p: f64,
    /// Whether reach rates differ ([`reach_differs`]): a comparison of recovery is then marked
    /// `selection`, since who reaches the fault is itself an outcome.
    pub selection: bool,
    /// Indices of the tasks reached in both arms: the only ones on which recovery is compared.
    pub both: Vec<usize>,
}

/// Compares reach rates of two arms on the same tasks (METHODS 5).
///
/// # Errors
///
/// If the arms or the labels differ in length.
pub fn compare_reach(
    a: &[FaultTask],
    b: &[FaultTask],
    clusters: Option<&[u32]>,
    seed: Seed,
    draws: u64,
) -> Result<ReachComparison> {
    let part = |t: &FaultTask| PartialTask {
        sum: 0.0,
        observed: t.reached.min(t.injected),
        missing: t.injected.saturating_sub(t.reached),
    };
    // What was not reached is what is missing, so the test is that of missing rates.
    let (pa, pb): (Vec<_>, Vec<_>) = (a.iter().map(part).collect(), b.iter().map(part).collect());
    let p = missing_sign_flip(&pa, &pb, clusters, seed, draws)?.p_two_sided;
    let injected = || (0..a.len()).filter(|&i| a[i].injected > 0 && b[i].injected > 0);
    let rate = |arm: &[FaultTask]| {
        let each: Vec<f64> = injected()
            .map(|i| f64::from(arm[i].reached) / f64::from(arm[i].injected))
            .collect();
        mean(&each)
    };
    let (rate_a, rate_b) = (rate(a), rate(b));
    let gap = rate_a.zip(rate_b).map(|(a, b)| b - a);
    Ok(ReachComparison {
        rate_a,
        rate_b,
        p,
        selection: reach_differs(Some(p), gap),
        both: (0..a.len())
            .filter(|&i| a[i].reached > 0 && b[i].reached > 0)
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_that_never_fired_is_no_failure() {
        let tasks = [
            FaultTask {
                injected: 4,
                reached: 4,
                recovered: 4,
            },
            FaultTask {
                injected: 4,
                reached: 0,
                recovered: 0,
            },
        ];
        let got = recovery(&tasks, None, Level::p95()).unwrap();
        assert_eq!(
            (got.equal_task.estimate, got.unreached),
            (Some(1.0), vec![1])
        );
        assert_eq!((got.bounds.worst, got.bounds.best), (Some(0.5), Some(1.0)));
        let bad = FaultTask {
            injected: 1,
            reached: 2,
            recovered: 0,
        };
        assert!(recovery(&[bad], None, Level::p95()).is_err());
    }

    #[test]
    fn reach_differs_by_either_sign_or_by_p() {
        assert!(reach_differs(None, Some(-0.2)) && reach_differs(Some(0.05), Some(0.0)));
        assert!(!reach_differs(Some(0.1), Some(0.1)) && !reach_differs(None, None));
    }

    #[test]
    fn unequal_reach_is_selection() {
        let task = |reached| FaultTask {
            injected: 4,
            reached,
            recovered: 0,
        };
        let run = |b: &[FaultTask]| {
            compare_reach(&[task(4), task(3), task(0)], b, None, Seed(1), 9999).unwrap()
        };
        let same = run(&[task(4), task(3), task(0)]);
        assert_eq!((same.selection, same.both), (false, vec![0, 1]));
        let fewer = run(&[task(2), task(3), task(0)]);
        assert!(fewer.selection && fewer.p == 1.0);
    }
}
