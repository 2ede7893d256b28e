//! Named grids: the designs of METHODS 1.5 and 6.2, and their like for amounts.
//!
//! METHODS names the values of its grids, not every cell; where it leaves a choice the one made
//! here is written down beside it.

mod differences;
mod rates;

use super::cell::{AmountCell, Cell};
use super::judged_tasks::{
    self,
    LabelChoice::{LevelPool, TaskThenTrial},
};
use crate::base::{Error, Result};

/// The grids, by name.
pub const NAMES: &[&str] = &[
    "rates",
    "rates-small",
    "pass-k",
    "always-fail",
    "bimodal",
    "graded",
    "difficulty",
    "clusters",
    "differences",
    "breaks",
    "difference-clusters",
    "amounts",
    "judged",
    "judged-levels",
    "judged-levels-quota",
    "judged-pairs",
    "counts",
    "judged-tasks",
    "judged-tasks-pool",
    "judged-tasks-weighted",
    "times",
    "times-clustered",
    "sequences",
    "sequences-even",
    "sequences-loss",
    "recovery",
    "agreement",
    "agreement-tasks",
];

/// The cells of a named grid.
///
/// # Errors
///
/// If there is no such grid; the hint lists all.
pub fn named(name: &str) -> Result<Vec<Cell>> {
    Ok(match name {
        "rates" => rates::rates(&[5, 10, 20, 50, 100, 300, 1000], 1),
        "rates-small" => rates::rates(&[5, 10, 20, 50], 1),
        // Tasks with fewer than k trials have no pass^k.
        "pass-k" => rates::rates(&[5, 10, 20, 50, 100, 300, 1000], 3),
        "always-fail" => rates::always_fail(),
        "bimodal" => rates::bimodal(),
        "graded" => rates::graded(),
        "difficulty" => rates::difficulty(),
        "clusters" => rates::clusters(),
        "differences" => differences::differences(),
        "breaks" => differences::breaks(),
        "difference-clusters" => differences::difference_clusters(),
        "amounts" => amounts(),
        "judged" => cells(super::judged::grid(), Cell::Judged),
        "judged-levels" => cells(super::levels::grid(), Cell::Levels),
        "judged-levels-quota" => cells(super::levels::quota_grid(), Cell::Levels),
        "judged-pairs" => cells(super::pairs::grid(), Cell::Pairs),
        "counts" => cells(super::counts::grid(), Cell::Counts),
        "judged-tasks" => cells(judged_tasks::grid(TaskThenTrial), Cell::JudgedTasks),
        "judged-tasks-pool" => cells(judged_tasks::grid(LevelPool), Cell::JudgedTasks),
        "judged-tasks-weighted" => cells(judged_tasks::weighted_grid(), Cell::JudgedTasks),
        "times" => cells(super::times::grid(1), Cell::Times),
        "times-clustered" => cells(super::times::grid(3), Cell::Times),
        "sequences" => cells(super::sequences::grid(), Cell::Sequence),
        // A sign test needs single trials and equal arms, non-inferiority a loss.
        "sequences-even" => cells(super::sequences::even_grid(), Cell::Sequence),
        "sequences-loss" => cells(super::sequences::loss_grid(), Cell::Sequence),
        "recovery" => cells(super::recovery::grid(), Cell::Recovery),
        "agreement" => cells(super::agreement::grid(), Cell::Agreement),
        "agreement-tasks" => cells(super::agreement::task_grid(), Cell::Agreement),
        _ => {
            return Err(Error::input(format!("no grid `{name}`"))
                .hint(format!("one of {}", NAMES.join(", "))));
        }
    })
}

fn cells<T>(designs: Vec<T>, kind: fn(T) -> Cell) -> Vec<Cell> {
    designs.into_iter().map(kind).collect()
}

/// METHODS 4: lognormal amounts, at three quantiles and with three spreads of the change.
fn amounts() -> Vec<Cell> {
    let mut cells = vec![];
    for units in [5u32, 10, 20, 50, 100, 200, 1000] {
        for trials in [1u32, 5] {
            for (sd_task, sd_trial) in [(0.0, 0.7), (0.7, 0.3), (1.5, 0.5)] {
                for (tau, sd_change) in [(0.5, 0.2), (0.9, 0.5), (0.95, 1.0)] {
                    let name = format!(
                        "G={units} m={trials} sd={sd_task}/{sd_trial} tau={tau} change={sd_change}"
                    );
                    cells.push(Cell::Amounts(AmountCell {
                        name: Some(name),
                        units,
                        trials,
                        sd_task,
                        sd_trial,
                        sd_change,
                        ratio: 1.2,
                        tau,
                    }));
                }
            }
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::rates::{ICC, RATES, some_always_fail, two_point};
    use super::*;
    use crate::app::coverage::cell::Types;

    #[test]
    fn every_grid_can_exist_and_has_no_name_twice() {
        for name in NAMES {
            let cells = named(name).unwrap();
            let mut seen = std::collections::BTreeSet::new();
            for cell in &cells {
                cell.check().unwrap();
                assert!(seen.insert(cell.name()), "{}", cell.name());
            }
            assert!(!cells.is_empty());
        }
        assert!(named("none").is_err());
    }

    #[test]
    fn shapes_have_the_mean_and_correlation_they_claim() {
        for p in RATES {
            for icc in ICC {
                for points in [Some(some_always_fail(p, icc)), two_point(p, icc)]
                    .into_iter()
                    .flatten()
                {
                    let mean: f64 = points.iter().map(|x| x.mass * x.theta).sum();
                    let var: f64 = points
                        .iter()
                        .map(|x| x.mass * (x.theta - mean).powi(2))
                        .sum();
                    assert!((mean - p).abs() < 1e-12);
                    assert!((var / (p * (1.0 - p)) - icc).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn types_is_closed() {
        let bad =
            r#"{"scores": {"units": 5, "trials": 5, "types": {"beta": {"p": 0.5, "rho": 1}}}}"#;
        assert!(serde_json::from_str::<Cell>(bad).is_err());
        assert!(
            matches!(Cell::beta(5, 5, 0.5, 0.5), Cell::Scores(c) if matches!(c.types, Types::Beta { .. }))
        );
    }
}
