//! pass@k and pass^k from repeated trials (METHODS 2).

use serde::Serialize;

use crate::base::{Error, Result};
use crate::stats::clustered::{RateEstimate, sen_cp};
use crate::stats::sample::{Clustered, TaskScore};
use crate::stats::sum::variance;
use crate::stats::units::Weights;
use crate::stats::{Level, Status};

/// One task's whole-number results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Successes {
    /// Valid trials n.
    pub trials: u32,
    /// Successes c ≤ n.
    pub successes: u32,
}

/// Which of the two questions is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassKind {
    /// pass@k: at least one of k trials succeeds.
    At,
    /// pass^k: all of k trials succeed.
    Hat,
}

/// pass@k or pass^k over tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassK {
    /// The mean over the tasks with n ≥ k, with its SEN-CP interval.
    pub rate: RateEstimate,
    /// The value of each task as given; `None` where n < k.
    pub per_task: Vec<Option<f64>>,
    /// Naive standard error of the unweighted mean, for comparison with other software.
    pub se: Option<f64>,
    /// Tasks with n ≥ k and a positive weight.
    pub tasks_used: usize,
    /// The others.
    pub tasks_excluded: usize,
}

/// The unbiased estimate for one task; `None` where n < k.
///
/// pass@k = 1 − C(n−c,k)/C(n,k) (Chen et al. 2021), pass^k = C(c,k)/C(n,k) (Yao et al. 2024), as
/// products, so nothing overflows.
pub fn pass_task(kind: PassKind, task: Successes, k: u32) -> Option<f64> {
    if task.trials < k {
        return None;
    }
    let chosen = match kind {
        PassKind::At => task.trials - task.successes,
        PassKind::Hat => task.successes,
    };
    let all: f64 = (0..k)
        .map(|j| f64::from(chosen.saturating_sub(j)) / f64::from(task.trials - j))
        .product();
    Some(if kind == PassKind::At { 1.0 - all } else { all })
}

/// pass@k or pass^k over tasks (methods `pass_at_k`, `pass_hat_k`) with the SEN-CP interval on the
/// per-task values, taking m_i = max(1, ⌊n/k⌋).
///
/// Tasks with n < k are undefined: excluded and counted, never failures. Without any other task
/// the reason is `too_few_trials_for_k`. Plan n ≥ 2k: with n = k each task has one observation.
///
/// # Errors
///
/// If k is 0, a task has more successes than trials, or as [`Clustered::new`].
pub fn pass_k(
    kind: PassKind,
    tasks: &[Successes],
    k: u32,
    clusters: Option<&[u32]>,
    weights: &Weights,
    level: Level,
) -> Result<PassK> {
    if k == 0 {
        return Err(Error::input("k is 0").hint("k counts trials, from 1"));
    }
    if let Some(i) = tasks.iter().position(|t| t.successes > t.trials) {
        let Successes { trials, successes } = tasks[i];
        return Err(Error::input(format!(
            "task {i} (from 0): {successes} of {trials} trials"
        )));
    }
    let per_task: Vec<Option<f64>> = tasks.iter().map(|&t| pass_task(kind, t, k)).collect();
    let scores: Vec<TaskScore> = tasks
        .iter()
        .zip(&per_task)
        .map(|(t, value)| score(*t, *value, k))
        .collect();
    let sample = Clustered::new(&scores, clusters, weights)?;
    let mut rate = sen_cp(&sample, level);
    rate.trials = sample
        .units
        .kept
        .iter()
        .map(|&i| u64::from(tasks[i].trials))
        .sum();
    if rate.estimate.is_none() && tasks.iter().any(|t| t.trials > 0) {
        (rate.status, rate.reason) = (Status::NotEstimable, Some("too_few_trials_for_k"));
    }
    let se = variance(&sample.means).map(|v| (v / sample.means.len() as f64).sqrt());
    let used = sample.means.len();
    Ok(PassK {
        rate,
        per_task,
        se,
        tasks_used: used,
        tasks_excluded: tasks.len() - used,
    })
}

fn score(task: Successes, value: Option<f64>, k: u32) -> TaskScore {
    let trials = if value.is_some() {
        (task.trials / k).max(1)
    } else {
        0
    };
    TaskScore {
        sum: value.unwrap_or(0.0) * f64::from(trials),
        trials,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(successes: u32, trials: u32) -> Successes {
        Successes { trials, successes }
    }

    #[test]
    fn products_agree_with_binomial_coefficients() {
        let at = pass_task(PassKind::At, task(6, 8), 2).unwrap();
        assert!((at - 0.9642857142857143).abs() < 1e-15);
        assert_eq!(pass_task(PassKind::Hat, task(1, 5), 2), Some(0.0));
        assert_eq!(pass_task(PassKind::At, task(5, 5), 5), Some(1.0));
        let large = pass_task(PassKind::Hat, task(4_000_000_000, 4_294_967_295), 1000).unwrap();
        assert!(large > 0.0 && large < 1.0);
    }

    #[test]
    fn too_few_trials_are_excluded_and_not_failures() {
        let run = |tasks: &[Successes]| {
            pass_k(
                PassKind::Hat,
                tasks,
                4,
                None,
                &Weights::EqualTask,
                Level::p95(),
            )
            .unwrap()
        };
        let some = run(&[task(4, 4), task(3, 3)]);
        assert_eq!((some.rate.estimate, some.tasks_excluded), (Some(1.0), 1));
        let none = run(&[task(3, 3)]);
        assert_eq!(
            (none.rate.estimate, none.rate.reason),
            (None, Some("too_few_trials_for_k"))
        );
    }

    #[test]
    fn impossible_counts_are_errors() {
        let bad = pass_k(
            PassKind::At,
            &[task(6, 5)],
            1,
            None,
            &Weights::EqualTask,
            Level::p95(),
        );
        assert!(bad.is_err());
    }
}
