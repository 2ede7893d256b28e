//! What is independent of what: tasks with weights, gathered into units.

use crate::base::{Error, Result};
use crate::stats::sum::sum;
use crate::stats::tolerance::below;

/// How tasks are weighted in an average.
#[derive(Clone, Debug, PartialEq)]
pub enum Weights {
    /// Every task counts the same: the default.
    EqualTask,
    /// Every trial counts the same.
    Trials,
    /// Every random cluster counts the same, split equally over its tasks.
    EqualCluster,
    /// One non-negative weight per task; only their ratios matter.
    Explicit(Vec<f64>),
}

/// Tasks with normalised weights, gathered into the units that count as independent.
///
/// A unit is a random cluster where clusters are given, otherwise a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    /// Indices, into the tasks as given, of those that enter.
    pub kept: Vec<usize>,
    /// Indices of those that do not: no valid trial, or no weight.
    pub dropped: Vec<usize>,
    /// w_i of the kept tasks; sum 1.
    pub weights: Vec<f64>,
    /// Which unit, from 0, each kept task belongs to.
    pub unit_of: Vec<u32>,
    /// W_u of each unit; sum 1.
    pub unit_weights: Vec<f64>,
    /// Kept tasks by unit, in stored order within a unit; `starts` says where each unit begins.
    members: Vec<u32>,
    starts: Vec<u32>,
    /// n_c = 1/ΣW_u²: how many equal units would be worth the same; 0 without units.
    pub n_c: f64,
    /// Whether some unit holds more than twice the average weight.
    pub unequal: bool,
}

impl Units {
    /// Gathers tasks into units; `trials` holds the valid trials of each task.
    ///
    /// Tasks without valid trial or weight are dropped and the rest is renormalised. No unit may
    /// be left; that is not an error. Only ratios of weights matter, so weights whose sum overflows
    /// are fine; one that is lost beside the largest is no weight.
    ///
    /// # Errors
    ///
    /// If labels or explicit weights have another length than `trials`, or a weight is negative,
    /// not finite, or all are zero.
    pub fn new(trials: &[u32], clusters: Option<&[u32]>, weights: &Weights) -> Result<Self> {
        check_length("cluster labels", clusters.map(<[u32]>::len), trials.len())?;
        if let Weights::Explicit(given) = weights {
            check_length("weights", Some(given.len()), trials.len())?;
            check_weights(given)?;
        }
        let rescaled = rescaled(weights);
        let weights = rescaled.as_ref().unwrap_or(weights);
        let (kept, dropped): (Vec<usize>, Vec<usize>) = (0..trials.len()).partition(|&i| {
            trials[i] > 0 && !matches!(weights, Weights::Explicit(given) if given[i] == 0.0)
        });
        let unit_of = number_units(&kept, clusters);
        let raw = raw_weights(&kept, trials, &unit_of, weights);
        Ok(Self::gather(kept, dropped, raw, unit_of))
    }

    fn gather(
        kept: Vec<usize>,
        dropped: Vec<usize>,
        mut weights: Vec<f64>,
        unit_of: Vec<u32>,
    ) -> Self {
        let total = sum(weights.iter().copied());
        weights.iter_mut().for_each(|w| *w /= total);
        let (members, starts) = by_unit(&unit_of);
        let count = starts.len() - 1;
        let unit_weights: Vec<f64> = unit_sums(&members, &starts, |i| weights[i]).collect();
        let squares = sum(unit_weights.iter().map(|w| w * w));
        let n_c = if count == 0 { 0.0 } else { 1.0 / squares };
        let heaviest = unit_weights.iter().copied().fold(0.0, f64::max);
        let unequal = count > 0 && heaviest > 2.0 / count as f64 + 1e-9;
        Self {
            kept,
            dropped,
            weights,
            unit_of,
            unit_weights,
            members,
            starts,
            n_c,
            unequal,
        }
    }

    /// Number of units U.
    pub fn len(&self) -> usize {
        self.unit_weights.len()
    }

    /// Whether no task is left.
    pub fn is_empty(&self) -> bool {
        self.unit_weights.is_empty()
    }

    /// Sums a value per kept task (by its position among the kept) within each unit.
    pub fn sums<'a>(
        &'a self,
        per_task: impl Fn(usize) -> f64 + 'a,
    ) -> impl Iterator<Item = f64> + 'a {
        unit_sums(&self.members, &self.starts, per_task)
    }

    /// Whether there are too few units for any decision: n_c < 2.
    pub fn too_few(&self) -> bool {
        below(self.n_c, 2.0)
    }

    /// Whether unequal units are too few for more than exploration: n_c < 10.
    pub fn few_and_unequal(&self) -> bool {
        self.unequal && below(self.n_c, 10.0)
    }
}

fn check_length(what: &str, given: Option<usize>, tasks: usize) -> Result<()> {
    match given {
        Some(length) if length != tasks => {
            Err(Error::input(format!("{length} {what} for {tasks} tasks"))
                .hint("give one per task, in the same order"))
        }
        _ => Ok(()),
    }
}

fn check_weights(given: &[f64]) -> Result<()> {
    if let Some(i) = given.iter().position(|w| !w.is_finite() || *w < 0.0) {
        return Err(
            Error::input(format!("weight {} of task {i} (from 0)", given[i]))
                .hint("weights are finite and not negative"),
        );
    }
    if !given.is_empty() && given.iter().all(|&w| w == 0.0) {
        return Err(Error::input("all weights are zero").hint("at least one task must count"));
    }
    Ok(())
}

/// Explicit weights over their largest, where their sum would overflow or has lost digits below the
/// smallest normal number; `None` where they can be used as they are.
fn rescaled(weights: &Weights) -> Option<Weights> {
    let Weights::Explicit(given) = weights else {
        return None;
    };
    let total: f64 = given.iter().sum();
    let largest = given.iter().copied().fold(0.0, f64::max);
    let fits = total.is_normal() || largest == 0.0;
    (!fits).then(|| Weights::Explicit(given.iter().map(|w| w / largest).collect()))
}

/// Numbers units from 0 in the order in which they appear.
fn number_units(kept: &[usize], clusters: Option<&[u32]>) -> Vec<u32> {
    let Some(labels) = clusters else {
        return (0..kept.len() as u32).collect();
    };
    let mut seen = std::collections::HashMap::new();
    kept.iter()
        .map(|&i| {
            let next = seen.len() as u32;
            *seen.entry(labels[i]).or_insert(next)
        })
        .collect()
}

fn raw_weights(kept: &[usize], trials: &[u32], unit_of: &[u32], weights: &Weights) -> Vec<f64> {
    match weights {
        Weights::EqualTask => vec![1.0; kept.len()],
        Weights::Trials => kept.iter().map(|&i| f64::from(trials[i])).collect(),
        Weights::Explicit(given) => kept.iter().map(|&i| given[i]).collect(),
        Weights::EqualCluster => {
            let (_, starts) = by_unit(unit_of);
            let size = |u: u32| starts[u as usize + 1] - starts[u as usize];
            unit_of.iter().map(|&u| 1.0 / f64::from(size(u))).collect()
        }
    }
}

/// Lists tasks by unit and says where each unit begins, with one more entry for the end.
fn by_unit(unit_of: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let count = unit_of.iter().max().map_or(0, |&u| u as usize + 1);
    let mut starts = vec![0u32; count + 1];
    for &unit in unit_of {
        starts[unit as usize + 1] += 1;
    }
    for unit in 0..count {
        starts[unit + 1] += starts[unit];
    }
    let mut next = starts.clone();
    let mut members = vec![0u32; unit_of.len()];
    for (task, &unit) in unit_of.iter().enumerate() {
        members[next[unit as usize] as usize] = task as u32;
        next[unit as usize] += 1;
    }
    (members, starts)
}

fn unit_sums<'a>(
    members: &'a [u32],
    starts: &'a [u32],
    per_task: impl Fn(usize) -> f64 + 'a,
) -> impl Iterator<Item = f64> + 'a {
    starts.windows(2).map(move |ends| {
        let tasks = &members[ends[0] as usize..ends[1] as usize];
        sum(tasks.iter().map(|&i| per_task(i as usize)))
    })
}

/// An estimate of a share, with what rounding left beyond 0 and 1 removed (METHODS, Numerics).
pub fn snap_share(share: f64) -> f64 {
    if share <= 1e-12 {
        0.0
    } else if 1.0 - share <= 1e-12 {
        1.0
    } else {
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_tasks_are_listed_and_the_rest_renormalised() {
        let weights = Weights::Explicit(vec![1.0, 0.0, 2.0, 5.0]);
        let units = Units::new(&[3, 3, 3, 0], None, &weights).unwrap();
        assert_eq!((units.kept, units.dropped), (vec![0, 2], vec![1, 3]));
        assert_eq!(units.weights, [1.0 / 3.0, 2.0 / 3.0]);
    }

    #[test]
    fn equal_clusters_share_their_weight() {
        let labels = [7, 9, 7, 7];
        let units = Units::new(&[1; 4], Some(&labels), &Weights::EqualCluster).unwrap();
        assert_eq!(units.unit_of, [0, 1, 0, 0]);
        assert!((units.weights[1] - 0.5).abs() < 1e-15);
        assert!((units.n_c - 2.0).abs() < 1e-12 && !units.unequal && !units.too_few());
    }

    #[test]
    fn only_ratios_of_weights_matter_at_any_size() {
        let units = |given: [f64; 3]| {
            Units::new(&[1; 3], None, &Weights::Explicit(given.to_vec())).unwrap()
        };
        let plain = units([1.0, 1.0, 1.0]);
        assert_eq!(units([1e308; 3]), plain);
        assert_eq!(units([1e-320; 3]), plain);
        // Beside 1e308 a weight of 1e-320 is none.
        let lost = units([1e-320, 1e308, 1e308]);
        assert_eq!((lost.dropped, lost.n_c), (vec![0], 2.0));
    }

    #[test]
    fn bad_weights_are_errors() {
        for bad in [
            vec![1.0, -1.0],
            vec![0.0, 0.0],
            vec![1.0, f64::NAN],
            vec![1.0],
        ] {
            assert!(Units::new(&[1, 1], None, &Weights::Explicit(bad)).is_err());
        }
        assert!(Units::new(&[1, 1], Some(&[1]), &Weights::EqualTask).is_err());
    }

    #[test]
    fn no_unit_is_no_error() {
        let units = Units::new(&[0, 0], None, &Weights::Trials).unwrap();
        assert!(units.is_empty() && units.n_c == 0.0 && units.dropped == [0, 1]);
    }
}
