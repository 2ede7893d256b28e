//! Validated samples: one arm's task scores, and paired differences of two arms.

use crate::base::{Error, Result};
use crate::stats::sum::sum;
use crate::stats::units::{Units, Weights, snap_share};

/// What one task achieved in one arm: the sum of its trial values, each in \[0, 1\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskScore {
    /// Sum of the valid trials' values (successes, if binary).
    pub sum: f64,
    /// Number of valid trials m_i.
    pub trials: u32,
}

impl TaskScore {
    /// A binary score.
    pub fn binary(successes: u32, trials: u32) -> Self {
        Self {
            sum: f64::from(successes),
            trials,
        }
    }

    /// The task mean y_i, or `None` without a valid trial.
    pub fn mean(self) -> Option<f64> {
        (self.trials > 0).then(|| (self.sum / f64::from(self.trials)).clamp(0.0, 1.0))
    }

    /// # Errors
    ///
    /// If the sum is not a number between 0 and the number of trials.
    fn check(self, index: usize) -> Result<()> {
        let most = f64::from(self.trials);
        // A sum of graded values may exceed its bound by rounding.
        if self.sum >= -1e-9 && self.sum <= most + 1e-9 * most.max(1.0) {
            return Ok(());
        }
        let message = format!(
            "task {index} (from 0): sum {} of {} trials",
            self.sum, self.trials
        );
        Err(Error::input(message).hint("every trial value lies between 0 and 1"))
    }
}

/// One arm's task scores with weights and units.
#[derive(Clone, Debug, PartialEq)]
pub struct Clustered {
    /// Which tasks enter, their weights and their units.
    pub units: Units,
    /// Task means y_i of the kept tasks.
    pub means: Vec<f64>,
    /// Trials m_i of the kept tasks.
    pub trials: Vec<u32>,
}

impl Clustered {
    /// Validates task scores and gathers them into units.
    ///
    /// # Errors
    ///
    /// If a sum is not between 0 and its number of trials, or as [`Units::new`].
    pub fn new(tasks: &[TaskScore], clusters: Option<&[u32]>, weights: &Weights) -> Result<Self> {
        for (index, task) in tasks.iter().enumerate() {
            task.check(index)?;
        }
        let counts: Vec<u32> = tasks.iter().map(|t| t.trials).collect();
        let units = Units::new(&counts, clusters, weights)?;
        // A kept task has a valid trial, so its mean exists.
        let means = units.kept.iter().filter_map(|&i| tasks[i].mean()).collect();
        let trials = units.kept.iter().map(|&i| tasks[i].trials).collect();
        Ok(Self {
            units,
            means,
            trials,
        })
    }

    /// The weighted mean p̂ = Σ w_i y_i with rounding at 0 and 1 removed; `None` without units.
    pub fn estimate(&self) -> Option<f64> {
        let terms = self
            .units
            .weights
            .iter()
            .zip(&self.means)
            .map(|(w, y)| w * y);
        (!self.units.is_empty()).then(|| snap_share(sum(terms)))
    }

    /// Number of trials used.
    pub fn trial_count(&self) -> u64 {
        self.trials.iter().map(|&m| u64::from(m)).sum()
    }
}

/// Paired differences d_i = y_B − y_A with weights and units.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    /// Which tasks enter, their weights and their units.
    pub units: Units,
    /// d_i of the kept tasks.
    pub differences: Vec<f64>,
    /// D_u = Σ_{i∈u} w_i d_i / W_u of each unit.
    pub unit_means: Vec<f64>,
}

impl Paired {
    /// Takes task differences, each in \[−1, 1\].
    ///
    /// # Errors
    ///
    /// If a difference is not in \[−1, 1\], if `weights` is [`Weights::Trials`] (differences have
    /// no trials), or as [`Units::new`].
    pub fn new(differences: &[f64], clusters: Option<&[u32]>, weights: &Weights) -> Result<Self> {
        if *weights == Weights::Trials {
            return Err(Error::input(
                "weights by trials need the trials, not the differences",
            ));
        }
        if let Some(i) = differences
            .iter()
            .position(|d| d.is_nan() || d.abs() > 1.0 + 1e-9)
        {
            return Err(Error::input(format!(
                "difference {} of task {i} (from 0)",
                differences[i]
            ))
            .hint("differences of scores in [0, 1] lie in [-1, 1]"));
        }
        let units = Units::new(&vec![1; differences.len()], clusters, weights)?;
        Ok(Self::gather(units, |i| differences[i].clamp(-1.0, 1.0)))
    }

    /// Pairs two arms' task scores, which list the same tasks in the same order.
    ///
    /// A task without valid trial in either arm is dropped. [`Weights::Trials`] counts the trials
    /// of both arms.
    ///
    /// # Errors
    ///
    /// If the arms differ in length, a sum is not between 0 and its number of trials, or as
    /// [`Units::new`].
    pub fn from_arms(
        a: &[TaskScore],
        b: &[TaskScore],
        clusters: Option<&[u32]>,
        weights: &Weights,
    ) -> Result<Self> {
        if a.len() != b.len() {
            return Err(
                Error::input(format!("{} tasks in A, {} in B", a.len(), b.len()))
                    .hint("both arms list the same tasks in the same order"),
            );
        }
        for (index, task) in a.iter().chain(b).enumerate() {
            task.check(index % a.len())?;
        }
        let both = |i: usize| (a[i].trials > 0 && b[i].trials > 0) as u32;
        let counts: Vec<u32> = (0..a.len())
            .map(|i| both(i) * a[i].trials.saturating_add(b[i].trials))
            .collect();
        let units = Units::new(&counts, clusters, weights)?;
        let mean = |t: TaskScore| t.mean().unwrap_or(0.0);
        Ok(Self::gather(units, |i| mean(b[i]) - mean(a[i])))
    }

    fn gather(units: Units, difference: impl Fn(usize) -> f64) -> Self {
        let differences: Vec<f64> = units.kept.iter().map(|&i| difference(i)).collect();
        let sums = units.sums(|i| units.weights[i] * differences[i]);
        let unit_means = sums.zip(&units.unit_weights).map(|(s, w)| s / w).collect();
        Self {
            units,
            differences,
            unit_means,
        }
    }

    /// The weighted mean difference Σ W_u D_u; `None` without units.
    pub fn estimate(&self) -> Option<f64> {
        let terms = self
            .units
            .unit_weights
            .iter()
            .zip(&self.unit_means)
            .map(|(w, d)| w * d);
        (!self.units.is_empty()).then(|| sum(terms).clamp(-1.0, 1.0))
    }

    /// The unbiased variance of one unit's difference, Σ W_u(D_u − d̄)²/(1 − ΣW_u²); `None` with
    /// fewer than two units. With equal weights this is the ordinary sample variance.
    pub fn unit_variance(&self) -> Option<f64> {
        let centre = self.estimate()?;
        let pairs = self.units.unit_weights.iter().zip(&self.unit_means);
        let spread = sum(pairs.map(|(w, d)| w * (d - centre) * (d - centre)));
        let rest = 1.0 - 1.0 / self.units.n_c;
        (self.units.len() > 1 && rest > 0.0).then(|| spread / rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_sums_are_refused() {
        for sum in [f64::NAN, -0.5, 3.5, f64::INFINITY] {
            let task = TaskScore { sum, trials: 3 };
            assert!(
                Clustered::new(&[task], None, &Weights::EqualTask).is_err(),
                "{sum}"
            );
        }
        let rounded = TaskScore {
            sum: 0.1 + 0.2 + 0.7 + 1e-16,
            trials: 1,
        };
        assert!(Clustered::new(&[rounded], None, &Weights::EqualTask).is_ok());
    }

    #[test]
    fn a_task_missing_in_one_arm_leaves_both() {
        let a = [
            TaskScore::binary(2, 4),
            TaskScore::binary(0, 0),
            TaskScore::binary(1, 1),
        ];
        let b = [
            TaskScore::binary(1, 1),
            TaskScore::binary(1, 1),
            TaskScore::binary(0, 2),
        ];
        let paired = Paired::from_arms(&a, &b, None, &Weights::EqualTask).unwrap();
        assert_eq!(paired.differences, [0.5, -1.0]);
        assert_eq!(paired.units.dropped, [1]);
        assert_eq!(paired.unit_variance(), Some(1.125));
    }

    #[test]
    fn nan_is_not_a_difference() {
        let bad = Paired::new(&[0.0, f64::NAN], None, &Weights::EqualTask);
        assert!(bad.unwrap_err().to_string().contains("task 1"));
    }
}
