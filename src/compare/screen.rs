//! The per-task screen: gains and losses on different tasks must not cancel unseen (METHODS 6.4b).

use serde::Serialize;

use super::gate::RuleResult;
use crate::base::{Error, Result};
use crate::stats::multiplicity::{Adjustment, Testable, adjust, tarone};
use crate::stats::special::{Draw, hypergeometric_cdf, positive_p};
use crate::stats::tolerance::{above, at_most};

/// One task's binary trials in both arms.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenTask {
    /// The task's name.
    pub task: String,
    /// Successes in A.
    pub a_successes: u32,
    /// Valid trials in A.
    pub a_trials: u32,
    /// Successes in B.
    pub b_successes: u32,
    /// Valid trials in B.
    pub b_trials: u32,
}

impl ScreenTask {
    fn candidate(&self) -> bool {
        self.a_trials >= 2 && self.b_trials >= 2
    }

    /// The same task with the arms exchanged.
    pub fn exchanged(&self) -> Self {
        Self {
            task: self.task.clone(),
            a_successes: self.b_successes,
            a_trials: self.b_trials,
            b_successes: self.a_successes,
            b_trials: self.a_trials,
        }
    }

    fn draw(&self, b_successes: u32) -> Draw {
        Draw {
            total: u64::from(self.a_trials) + u64::from(self.b_trials),
            marked: u64::from(self.a_successes) + u64::from(b_successes),
            drawn: u64::from(self.b_trials),
        }
    }

    /// One-sided Fisher for "B worse".
    fn p(&self) -> f64 {
        let draw = self.draw(self.b_successes);
        positive_p(hypergeometric_cdf(u64::from(self.b_successes), draw))
    }

    /// The smallest p that these margins allow.
    fn smallest_p(&self) -> f64 {
        let draw = self.draw(self.b_successes);
        positive_p(hypergeometric_cdf(draw.min(), draw))
    }

    /// The p if every trial of B had failed.
    fn p_of_full_break(&self) -> f64 {
        positive_p(hypergeometric_cdf(0, self.draw(0)))
    }

    /// Whether it passed at least two of three trials in A.
    fn mostly_passed(&self) -> bool {
        self.a_trials > 0 && 3 * u64::from(self.a_successes) >= 2 * u64::from(self.a_trials)
    }
}

/// One candidate task of the screen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScreenedTask {
    /// The task's name.
    pub task: String,
    /// One-sided Fisher p for "B worse".
    pub p: f64,
    /// The smallest p that its margins allow.
    pub p_min: f64,
    /// Whether that is small enough to be tested at all.
    pub testable: bool,
    /// Holm-adjusted p among the testable tasks.
    pub p_holm: Option<f64>,
}

/// The outcome of the screen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Screen {
    /// Tarone's K: full breaks are tested at α/K.
    #[serde(rename = "K")]
    pub k: u64,
    /// Tasks with at least two trials in both arms, in input order.
    pub tasks: Vec<ScreenedTask>,
    /// Tasks on which B is worse, family-wise at α.
    pub regressed: Vec<String>,
    /// Tasks on which B is better: a separate, descriptive family.
    pub improved: Vec<String>,
    /// Tasks that could not be tested, candidates or not; they are not clean.
    pub untestable: usize,
    /// Tasks that mostly passed in A and whose full break would not have been found.
    pub cannot_detect_full_break: Vec<String>,
    /// What the rule `no_task_regression` makes of it.
    pub result: RuleResult,
}

/// Screens every task for a loss (method `task_screen`; Tarone 1990, Holm 1979, Fisher's exact
/// test), family-wise error `alpha`.
///
/// Assumes independent trials within task and arm. "Passed" means that no full break was found,
/// never that no task got worse.
///
/// # Errors
///
/// If a task has more successes than trials.
pub fn task_screen(tasks: &[ScreenTask], alpha: f64) -> Result<Screen> {
    let wrong = |t: &&ScreenTask| t.a_successes > t.a_trials || t.b_successes > t.b_trials;
    if let Some(task) = tasks.iter().find(wrong) {
        return Err(Error::input(format!(
            "task `{}`: more successes than trials",
            task.task
        )));
    }
    let losses = family(
        tasks.iter().filter(|t| t.candidate()).cloned().collect(),
        alpha,
    )?;
    let gains = family(
        tasks
            .iter()
            .filter(|t| t.candidate())
            .map(ScreenTask::exchanged)
            .collect(),
        alpha,
    )?;
    let blind: Vec<String> = tasks
        .iter()
        .filter(|t| t.mostly_passed() && above(t.p_of_full_break(), losses.testable.bar))
        .map(|t| t.task.clone())
        .collect();
    let measured = tasks.iter().any(|t| t.a_trials > 0 && t.b_trials > 0);
    let result = if !losses.rejected.is_empty() {
        RuleResult::Failed
    } else if !blind.is_empty() {
        RuleResult::Inconclusive
    } else if !measured {
        RuleResult::NotDecidable
    } else {
        RuleResult::Passed
    };
    Ok(Screen {
        k: losses.testable.k,
        untestable: tasks.len() - losses.testable.set.iter().filter(|t| **t).count(),
        tasks: losses.tasks,
        regressed: losses.rejected,
        improved: gains.rejected,
        cannot_detect_full_break: blind,
        result,
    })
}

struct Family {
    testable: Testable,
    tasks: Vec<ScreenedTask>,
    rejected: Vec<String>,
}

fn family(candidates: Vec<ScreenTask>, alpha: f64) -> Result<Family> {
    let smallest: Vec<f64> = candidates.iter().map(ScreenTask::smallest_p).collect();
    let testable = tarone(&smallest, alpha);
    let p: Vec<f64> = candidates.iter().map(ScreenTask::p).collect();
    let tested: Vec<f64> = p
        .iter()
        .zip(&testable.set)
        .filter(|(_, in_set)| **in_set)
        .map(|(p, _)| *p)
        .collect();
    let mut holm = adjust(Adjustment::Holm, &tested)?.into_iter();
    let tasks: Vec<ScreenedTask> = candidates
        .into_iter()
        .enumerate()
        .map(|(i, task)| ScreenedTask {
            task: task.task,
            p: p[i],
            p_min: smallest[i],
            testable: testable.set[i],
            p_holm: if testable.set[i] { holm.next() } else { None },
        })
        .collect();
    let rejects = |t: &&ScreenedTask| t.p_holm.is_some_and(|p| at_most(p, alpha));
    let rejected = tasks
        .iter()
        .filter(rejects)
        .map(|t| t.task.clone())
        .collect();
    Ok(Family {
        testable,
        tasks,
        rejected,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, a: (u32, u32), b: (u32, u32)) -> ScreenTask {
        ScreenTask {
            task: name.to_owned(),
            a_successes: a.0,
            a_trials: a.1,
            b_successes: b.0,
            b_trials: b.1,
        }
    }

    #[test]
    fn a_gain_elsewhere_does_not_hide_a_break() {
        let tasks = [
            task("a", (5, 5), (0, 5)),
            task("b", (0, 5), (5, 5)),
            task("c", (5, 5), (5, 5)),
        ];
        let got = task_screen(&tasks, 0.05).unwrap();
        assert_eq!(
            (got.regressed, got.improved),
            (vec!["a".to_owned()], vec!["b".to_owned()])
        );
        assert_eq!(got.result, RuleResult::Failed);
    }

    #[test]
    fn nothing_measured_is_nothing_passed() {
        for tasks in [vec![], vec![task("a", (0, 5), (0, 0))]] {
            let got = task_screen(&tasks, 0.05).unwrap();
            assert_eq!(got.result, RuleResult::NotDecidable);
        }
    }

    #[test]
    fn impossible_counts_are_errors() {
        assert!(task_screen(&[task("a", (6, 5), (0, 5))], 0.05).is_err());
    }
}
