//! Variances, tokens and costs of a pilot run.

use std::path::Path;

use super::Variances;
use crate::app::evaluate::Evaluation;
use crate::base::{Error, Result};
use crate::estimate::{TaskCells, task_scores};
use crate::model::metric::Metric;
use crate::plan::PlanOptions;
use crate::stats::clustered::TaskSpread;
use crate::stats::power::variance_components;
use crate::stats::sample::Paired;
use crate::stats::sum::mean_of;
use crate::store::RunStore;

/// What a pilot run tells.
pub(super) struct Pilot {
    pub variances: Variances,
    /// Baseline and candidate.
    pub arms: [PilotArm; 2],
    pub source: String,
}

/// Means over the tasks of one arm of the pilot, of each the mean of its valid trials, as the designs that are
/// priced give every task the same number of trials; `None` where nothing was recorded.
pub(super) struct PilotArm {
    pub name: String,
    pub input_tokens: Option<f64>,
    pub output_tokens: Option<f64>,
    pub cost_usd: Option<f64>,
}

/// Reads a pilot.
///
/// # Errors
///
/// If it does not say which arms to compare, or has fewer than two independent paired tasks.
pub(super) fn from_pilot(run: &Path, roles: &PlanOptions, metric: &Metric) -> Result<Pilot> {
    let store = RunStore::open(run)?;
    let evaluation = Evaluation::new(vec![&store], roles)?;
    let (a, b) = evaluation.roles().ok_or_else(|| {
        Error::input("the pilot does not say which arms to compare")
            .in_file(run)
            .hint("name them with `--baseline` and `--candidate`")
    })?;
    let cells = [a, b].map(|arm| TaskCells::gather(&evaluation.table, arm as u16, metric));
    let paired: Vec<usize> = (0..evaluation.table.tasks.len())
        .filter(|&t| cells.iter().all(|cells| cells.scored[t] > 0))
        .collect();
    let context = evaluation.context(&store.plan())?;
    let sample = Paired::from_arms(
        &task_scores(&cells[0], &paired),
        &task_scores(&cells[1], &paired),
        context.clusters(&paired).as_deref(),
        &context.weights,
    )?;
    let too_few =
        || Error::input("the pilot has fewer than two independent paired tasks").in_file(run);
    let variance = sample.unit_variance().ok_or_else(too_few)?;
    let tasks_per_unit = paired.len() as f64 / sample.units.n_c;
    Ok(Pilot {
        variances: split(variance, tasks_per_unit, &cells, &paired),
        arms: [a, b].map(|arm| pilot_arm(&evaluation, arm)),
        source: format!(
            "pilot run {} ({} paired tasks)",
            store.plan_file().run,
            paired.len()
        ),
    })
}

/// Splits the variance of a unit's difference, as the pilot's trials show it, into its parts.
///
/// An arm's part is known where its tasks have [`FEWEST_REPEATS`] trials beyond their first. A known part is taken out at the
/// pilot's number of trials and, for the total, put in again at one trial.
fn split(
    variance: f64,
    tasks_per_unit: f64,
    cells: &[TaskCells; 2],
    paired: &[usize],
) -> Variances {
    let within = [0, 1].map(|arm| {
        let spreads: Vec<TaskSpread> = paired.iter().map(|&t| spread(&cells[arm], t)).collect();
        let repeats: u32 = spreads.iter().map(|s| s.trials.saturating_sub(1)).sum();
        let enough = repeats >= FEWEST_REPEATS;
        variance_components(&spreads).within.filter(|_| enough)
    });
    let per_trial = |arm: usize| {
        let inverse = paired
            .iter()
            .map(|&t| 1.0 / f64::from(cells[arm].scored[t]));
        inverse.sum::<f64>() / paired.len().max(1) as f64
    };
    let known = |arm: usize| within[arm].unwrap_or(0.0) / tasks_per_unit;
    let parts = [0, 1].map(|arm| known(arm) * per_trial(arm));
    let rest = (variance - parts[0] - parts[1]).max(0.0);
    let separable = within[0].is_some() && within[1].is_some();
    Variances {
        difference: separable.then_some(rest),
        within_a: within[0],
        within_b: within[1],
        one_trial: rest + known(0) + known(1),
        tasks_per_unit,
    }
}

/// Degrees of freedom under which a variance within tasks is taken for unknown: a few pairs of binary trials
/// that happen to agree would say that it is 0.
const FEWEST_REPEATS: u32 = 10;

fn spread(cells: &TaskCells, task: usize) -> TaskSpread {
    TaskSpread {
        sum: cells.sum[task],
        squares: cells.squares[task],
        trials: cells.scored[task],
    }
}

fn pilot_arm(evaluation: &Evaluation, arm: usize) -> PilotArm {
    let mean = |metric: &str| {
        let metric = Metric::from_name(metric)?;
        let cells = TaskCells::gather(&evaluation.table, arm as u16, &metric);
        task_mean(&cells)
    };
    PilotArm {
        name: evaluation.table.arms[arm].to_string(),
        input_tokens: mean("input_tokens.mean"),
        output_tokens: mean("output_tokens.mean"),
        cost_usd: mean("cost_usd.mean"),
    }
}

fn task_mean(cells: &TaskCells) -> Option<f64> {
    let recorded = cells.sum.iter().zip(&cells.scored).filter(|(_, n)| **n > 0);
    mean_of(recorded.map(|(sum, n)| sum / f64::from(*n)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells of tasks with the given trials.
    fn cells(tasks: &[&[f64]]) -> TaskCells {
        let none = || vec![0; tasks.len()];
        TaskCells {
            sum: tasks.iter().map(|t| t.iter().sum()).collect(),
            squares: tasks
                .iter()
                .map(|t| t.iter().map(|v| v * v).sum())
                .collect(),
            scored: tasks.iter().map(|t| t.len() as u32).collect(),
            missing: none(),
            not_started: none(),
            censored: none(),
            not_applicable: none(),
            planned: tasks.iter().map(|t| t.len() as u32).collect(),
        }
    }

    #[test]
    fn one_trial_per_task_shows_the_total_only() {
        let one = || cells(&[&[1.0], &[0.0], &[1.0]]);
        let got = split(0.4, 1.0, &[one(), one()], &[0, 1, 2]);
        assert_eq!(
            (got.difference, got.within_a, got.within_b),
            (None, None, None)
        );
        assert_eq!(got.one_trial, 0.4);
    }

    #[test]
    fn a_known_part_enters_the_total_at_one_trial() {
        // Within tasks of A: .5, 0 and .5 of two trials each, hence 1/3 per trial; four times over.
        let repeated = |tasks: [&'static [f64]; 3]| cells(&tasks.repeat(4));
        let two = || repeated([&[1.0, 0.0], &[1.0, 1.0], &[0.0, 1.0]]);
        let one = || repeated([&[1.0], &[0.0], &[1.0]]);
        let all: Vec<usize> = (0..12).collect();
        let half = split(0.4, 1.0, &[two(), one()], &all);
        assert_eq!((half.difference, half.within_b), (None, None));
        assert!((half.within_a.unwrap() - 1.0 / 3.0).abs() < 1e-15);
        assert!((half.one_trial - (0.4 + 1.0 / 6.0)).abs() < 1e-15);
        let both = split(0.4, 1.0, &[two(), two()], &all);
        assert!((both.difference.unwrap() - (0.4 - 1.0 / 3.0)).abs() < 1e-15);
        assert!((both.one_trial - (0.4 + 1.0 / 3.0)).abs() < 1e-15);
    }

    #[test]
    fn one_pair_of_trials_does_not_show_what_luck_is() {
        let mut tasks: Vec<&[f64]> = vec![&[1.0]; 29];
        tasks.push(&[1.0, 1.0]);
        let all: Vec<usize> = (0..30).collect();
        let got = split(0.4, 1.0, &[cells(&tasks), cells(&tasks)], &all);
        assert_eq!(
            (got.within_a, got.within_b, got.difference),
            (None, None, None)
        );
        assert!(!got.separable());
    }

    #[test]
    fn a_task_with_more_trials_weighs_no_more() {
        let mut tasks: Vec<&[f64]> = vec![&[1.0]; 9];
        tasks.push(&[11.0; 10]);
        tasks.push(&[]);
        assert_eq!(task_mean(&cells(&tasks)), Some(2.0));
        assert_eq!(task_mean(&cells(&[&[]])), None);
    }
}
