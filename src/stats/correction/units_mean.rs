//! Means over units with BP-Hall limits, and square-and-add: what the rectifier forms share.

use crate::base::{Error, Result};
use crate::stats::paired::BpHall;
use crate::stats::sum::sum;
use crate::stats::units::{Units, Weights};
use crate::stats::{Level, Limits};

/// Tasks with their clusters and weights, as both rectifier forms take them.
#[derive(Clone, Copy, Debug)]
pub struct TaskFrame<'a> {
    /// The random cluster of each task; `None` where tasks are independent.
    pub clusters: Option<&'a [u32]>,
    /// How tasks are weighted.
    pub weights: &'a Weights,
}

/// A weighted mean over some of the tasks, with the units it rests on.
pub(super) struct UnitsMean {
    pub units: Units,
    pub value: f64,
    values: Vec<f64>,
}

impl UnitsMean {
    /// The mean over tasks that have a value; `None` if no task has one.
    ///
    /// # Errors
    ///
    /// As [`Units::new`], and for weights by trials, which values of tasks do not have.
    pub fn of(values: &[Option<f64>], frame: &TaskFrame) -> Result<Option<Self>> {
        if *frame.weights == Weights::Trials {
            return Err(Error::input(
                "weights by trials are not defined for task means",
            ));
        }
        let present: Vec<u32> = values.iter().map(|v| u32::from(v.is_some())).collect();
        if !present.contains(&1) {
            return Ok(None);
        }
        let units = Units::new(&present, frame.clusters, frame.weights)?;
        if units.is_empty() {
            return Ok(None);
        }
        let values: Vec<f64> = units.kept.iter().filter_map(|&i| values[i]).collect();
        let value = sum(units.weights.iter().zip(&values).map(|(w, v)| w * v));
        Ok(Some(Self {
            units,
            value,
            values,
        }))
    }

    /// Squared standard error of the mean.
    pub fn variance(&self) -> f64 {
        super::tasks::mean_variance(&self.units, |i| self.values[i])
    }

    /// Unclipped BP-Hall limits (METHODS 6.2).
    pub fn limits(&self, level: Level) -> Option<Limits> {
        let sums = self.units.sums(|i| self.units.weights[i] * self.values[i]);
        let means: Vec<f64> = sums
            .zip(&self.units.unit_weights)
            .map(|(s, w)| s / w)
            .collect();
        let moments = BpHall::new(&means, &self.units.unit_weights, self.units.n_c)?;
        Some(moments.unclipped(level))
    }
}

/// Limits of `centre` from the distances of one part's limits and a normal half-width, in squares.
pub(super) fn square_and_add(centre: f64, part: f64, limits: Limits, half: f64) -> Limits {
    Limits {
        lower: centre - (part - limits.lower).hypot(half),
        upper: centre + (limits.upper - part).hypot(half),
    }
}
