//! Counts for a judge whose error rates come from elsewhere.

use crate::base::{Error, Result};

/// A judge's rate on this run, and its sensitivity and specificity on labels from elsewhere.
///
/// Counts may be effective numbers where items are clustered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transported {
    /// Items of this run that the judge called positive.
    pub judge_positive: f64,
    /// Items of this run.
    pub items: f64,
    /// Human-positive labels that the judge called positive.
    pub true_positive: f64,
    /// Human-positive labels.
    pub positives: f64,
    /// Human-negative labels that the judge called negative.
    pub true_negative: f64,
    /// Human-negative labels.
    pub negatives: f64,
}

impl Transported {
    /// Counts in the order of the fields, for tests: x of N, tp of P, tn of Q.
    #[cfg(test)]
    pub(super) fn of_counts(x: f64, n: f64, tp: f64, p: f64, tn: f64, q: f64) -> Self {
        Self {
            judge_positive: x,
            items: n,
            true_positive: tp,
            positives: p,
            true_negative: tn,
            negatives: q,
        }
    }

    /// Checks that every count is part of its whole.
    ///
    /// # Errors
    ///
    /// If a count is negative, not finite, or larger than its whole.
    pub fn check(&self) -> Result<()> {
        let pairs = [
            ("judge positives of items", self.judge_positive, self.items),
            (
                "true positives of positive labels",
                self.true_positive,
                self.positives,
            ),
            (
                "true negatives of negative labels",
                self.true_negative,
                self.negatives,
            ),
        ];
        for (what, part, whole) in pairs {
            if !(part >= 0.0 && part <= whole && whole.is_finite()) {
                return Err(Error::input(format!("{what}: {part} of {whole}")));
            }
        }
        Ok(())
    }

    /// The judge's rate a, or `None` without items.
    pub fn judge_rate(&self) -> Option<f64> {
        (self.items > 0.0).then(|| self.judge_positive / self.items)
    }

    /// Sensitivity, or `None` without human-positive labels.
    pub fn sensitivity(&self) -> Option<f64> {
        (self.positives > 0.0).then(|| self.true_positive / self.positives)
    }

    /// Specificity, or `None` without human-negative labels.
    pub fn specificity(&self) -> Option<f64> {
        (self.negatives > 0.0).then(|| self.true_negative / self.negatives)
    }

    /// Youden's J = Se + Sp − 1, or `None` where a class has no label.
    pub fn youden(&self) -> Option<f64> {
        Some(self.sensitivity()? + self.specificity()? - 1.0)
    }

    /// The Rogan–Gladen point (a + Sp − 1)/J before clipping; `None` unless J > 0.
    pub(super) fn raw_rate(&self) -> Option<f64> {
        let youden = self.youden().filter(|j| *j > 1e-12)?;
        Some((self.judge_rate()? + self.specificity()? - 1.0) / youden)
    }

    /// Delta-method standard error of [`Transported::raw_rate`].
    pub(super) fn standard_error(&self) -> Option<f64> {
        let (a, p, youden) = (self.judge_rate()?, self.raw_rate()?, self.youden()?);
        let (se, sp) = (self.sensitivity()?, self.specificity()?);
        let variance = a * (1.0 - a) / self.items
            + (1.0 - p).powi(2) * sp * (1.0 - sp) / self.negatives
            + p * p * se * (1.0 - se) / self.positives;
        Some(variance.sqrt() / youden)
    }

    /// Why there is no [`Transported::raw_rate`].
    pub(super) fn undefined_reason(&self) -> &'static str {
        match (self.judge_rate(), self.youden()) {
            (None, _) => "no_valid_trials",
            (_, None) => "too_few_labels",
            _ => "judge_near_chance",
        }
    }
}
