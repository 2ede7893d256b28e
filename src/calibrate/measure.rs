//! Shares, bootstrapped statistics and means as rows of a certificate.

use std::collections::HashMap;

use crate::base::{Result, Seed};
use crate::model::calibration::Measured;
use crate::stats::agreement::{Counted, item_interval, task_interval};
use crate::stats::bootstrap::Resampling;
use crate::stats::clustered::sen_cp;
use crate::stats::confusion::Confusion;
use crate::stats::mean::{MeanEstimate, t_mean};
use crate::stats::sample::{Clustered, TaskScore};
use crate::stats::sum::mean;
use crate::stats::undefined::{Defined, Undefined};
use crate::stats::units::Weights;
use crate::stats::{Level, Status};

/// How everything is measured.
#[derive(Clone, Copy, Debug)]
pub struct Measuring {
    /// Two-sided level.
    pub level: Level,
    /// Bootstrap replicates.
    pub replicates: u32,
    /// Root of all randomness.
    pub seed: Seed,
    /// Whether the units are raters of whom one gave most labels: too few to be resampled.
    pub few_raters: bool,
}

impl Measuring {
    /// How to measure over items or tasks.
    pub fn new(level: Level, replicates: u32, seed: Seed) -> Self {
        Self {
            level,
            replicates,
            seed,
            few_raters: false,
        }
    }

    /// The same where raters are the units of what is held against people.
    pub fn over_raters(self, few_raters: bool) -> Self {
        Self { few_raters, ..self }
    }

    /// The same with a seed of its own for one purpose.
    pub fn child(self, label: &str) -> Self {
        Self {
            seed: self.seed.child(label),
            ..self
        }
    }

    /// How to resample.
    pub fn plan(self) -> Resampling {
        Resampling {
            replicates: self.replicates,
            level: self.level,
            seed: self.seed,
        }
    }
}

/// Task numbers of items, where some task has several of them.
pub fn tasks_of<'a>(tasks: impl IntoIterator<Item = Option<&'a str>>) -> Option<Vec<u32>> {
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut next = 0;
    let mut numbers = vec![];
    for task in tasks {
        let mut fresh = || {
            next += 1;
            next - 1
        };
        numbers.push(match task {
            Some(task) => *known.entry(task).or_insert_with(fresh),
            None => fresh(),
        });
    }
    ((next as usize) < numbers.len()).then_some(numbers)
}

/// A row that says only why there is no value.
pub fn undefined(name: &str, items: usize, reason: &str) -> Measured {
    Measured {
        name: name.to_owned(),
        items: items as u64,
        reason: Some(reason.to_owned()),
        ..Measured::default()
    }
}

/// A share of items: Clopper–Pearson for independent items, `sen_cp` over tasks else.
///
/// # Errors
///
/// None for flags; as [`Clustered::new`].
pub fn share(name: &str, hits: &[bool], tasks: Option<&[u32]>, level: Level) -> Result<Measured> {
    let part = hits.iter().filter(|h| **h).count() as u64;
    let whole = hits.len() as u64;
    let blank = Measured {
        part: Some(part),
        ..undefined(name, hits.len(), "no_items")
    };
    if hits.is_empty() {
        return Ok(blank);
    }
    if let Some(tasks) = tasks {
        let values: Vec<f64> = hits.iter().map(|&h| f64::from(h)).collect();
        return Ok(Measured {
            part: Some(part),
            ..graded_share(name, &values, Some(tasks), level)?
        });
    }
    let counts = Confusion {
        true_positive: part,
        false_negative: whole - part,
        ..Confusion::default()
    };
    let Some(share) = counts.rates(level).sensitivity else {
        return Ok(blank);
    };
    Ok(Measured {
        value: Some(share.value),
        low: Some(share.limits.lower),
        high: Some(share.limits.upper),
        method: Some("clopper_pearson".to_owned()),
        reason: None,
        ..blank
    })
}

/// A mean of values in [0, 1], one per item, with `sen_cp` limits over tasks (or over items).
///
/// # Errors
///
/// As [`Clustered::new`].
pub fn graded_share(
    name: &str,
    values: &[f64],
    tasks: Option<&[u32]>,
    level: Level,
) -> Result<Measured> {
    if values.is_empty() {
        return Ok(undefined(name, 0, "no_items"));
    }
    let scores: Vec<TaskScore> = values
        .iter()
        .map(|&sum| TaskScore { sum, trials: 1 })
        .collect();
    let sample = Clustered::new(&scores, tasks, &Weights::EqualTask)?;
    let found = sen_cp(&sample, level);
    let usable = found.status > Status::NotEstimable;
    let limits = found.limits().filter(|_| usable);
    let lacking = (!usable).then(|| "too_few_units".to_owned());
    Ok(Measured {
        name: name.to_owned(),
        value: found.estimate,
        low: limits.map(|l| l.lower),
        high: limits.map(|l| l.upper),
        method: Some(found.method.to_owned()),
        items: values.len() as u64,
        part: None,
        units: tasks.map(|_| found.units as u64),
        p: None,
        reason: found.reason.map(str::to_owned).or(lacking),
    })
}

/// A statistic with its BCa interval over items or tasks; `point` is the statistic itself.
pub fn bootstrapped(
    name: &str,
    items: usize,
    point: Defined<f64>,
    statistic: Defined<&dyn Counted>,
    tasks: Option<&[u32]>,
    measuring: Measuring,
) -> Measured {
    let (value, statistic) = match (point, statistic) {
        (Ok(value), Ok(statistic)) => (value, statistic),
        (Err(reason), _) | (_, Err(reason)) => return undefined(name, items, reason.code()),
    };
    let plan = measuring.child(name).plan();
    let interval = match tasks {
        // A handful of raters, one of whom has most of the items, resamples to itself.
        _ if measuring.few_raters => Err(Undefined("too_few_raters")),
        Some(tasks) => task_interval(statistic, tasks, &plan),
        None => item_interval(statistic, &plan),
    };
    let units = tasks
        .and_then(|t| t.iter().max())
        .map(|t| u64::from(*t) + 1);
    let row = Measured {
        value: Some(value),
        units,
        reason: None,
        ..undefined(name, items, "")
    };
    match interval {
        // Resamples that all say the same, or nothing at all, are no interval.
        Ok(found) if !spreads(found.interval.low, found.interval.high) => Measured {
            reason: Some("degenerate_resamples".to_owned()),
            ..row
        },
        Ok(found) => Measured {
            low: Some(found.interval.low),
            high: Some(found.interval.high),
            method: Some(found.interval.method),
            p: found.p,
            ..row
        },
        Err(reason) => Measured {
            reason: Some(reason.code().to_owned()),
            ..row
        },
    }
}

/// Whether limits lie apart by more than rounding.
fn spreads(low: f64, high: f64) -> bool {
    low.is_finite() && high.is_finite() && high - low > 1e-9
}

/// A mean estimate as a row.
pub fn of_mean(name: &str, items: usize, method: &str, found: &MeanEstimate) -> Measured {
    Measured {
        name: name.to_owned(),
        value: found.estimate,
        low: found.lower,
        high: found.upper,
        method: Some(method.to_owned()),
        items: items as u64,
        part: None,
        units: None,
        p: found.p,
        reason: found.reason.map(str::to_owned),
    }
}

/// A mean with Student's t over items, or over the means of tasks.
pub fn mean_over(name: &str, values: &[f64], tasks: Option<&[u32]>, level: Level) -> Measured {
    let means = task_means(values, tasks);
    let row = of_mean(name, values.len(), "t_mean", &t_mean(&means, level));
    Measured {
        units: tasks.map(|_| means.len() as u64),
        ..row
    }
}

/// Means by task, in the order in which tasks first appear.
pub fn task_means(values: &[f64], tasks: Option<&[u32]>) -> Vec<f64> {
    let Some(tasks) = tasks else {
        return values.to_vec();
    };
    let mut order: Vec<u32> = vec![];
    let mut by_task: HashMap<u32, Vec<f64>> = HashMap::new();
    for (&task, &value) in tasks.iter().zip(values) {
        let own = by_task.entry(task).or_default();
        if own.is_empty() {
            order.push(task);
        }
        own.push(value);
    }
    order
        .iter()
        .filter_map(|task| mean(&by_task[task]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_one_task_are_not_independent() {
        let hits: Vec<bool> = (0..200).map(|i| i / 10 % 4 != 0).collect();
        let tasks: Vec<u32> = (0..200).map(|i| i / 10).collect();
        let alone = share("accuracy", &hits, None, Level::p95()).unwrap();
        let within = share("accuracy", &hits, Some(&tasks), Level::p95()).unwrap();
        assert_eq!((alone.value, within.value), (Some(0.75), Some(0.75)));
        assert_eq!((within.part, within.units), (Some(150), Some(20)));
        assert!(within.low.unwrap() < alone.low.unwrap() - 0.05);
    }

    #[test]
    fn one_task_has_no_interval() {
        let row = share("accuracy", &[true; 30], Some(&[0; 30]), Level::p95()).unwrap();
        assert_eq!(
            (row.low, row.reason.as_deref()),
            (None, Some("too_few_units"))
        );
        let none = share("accuracy", &[], None, Level::p95()).unwrap();
        assert_eq!(
            (none.value, none.reason.as_deref()),
            (None, Some("no_items"))
        );
    }

    #[test]
    fn tasks_are_numbered_only_where_they_group() {
        assert_eq!(tasks_of([Some("a"), Some("b"), None]), None);
        assert_eq!(tasks_of([Some("a"), None, Some("a")]), Some(vec![0, 1, 0]));
    }
}
