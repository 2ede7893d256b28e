//! Prediction-powered intervals: options for interior, continuous scores with many labels.

use super::CorrectedRate;
use crate::base::{Error, Result};
use crate::stats::sum::{mean, mean_of, sum, variance_of};
use crate::stats::{Level, Limits, Status};

/// A prediction-powered mean with the weight of the judge.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionPowered {
    /// The mean, clipped to \[0, 1\] with its limits.
    pub rate: CorrectedRate,
    /// The mean before clipping.
    pub raw: Option<f64>,
    /// λ, how much of the judge enters; 1 for [`ppi_mean`].
    pub lambda: Option<f64>,
}

/// Prediction-powered mean with λ = 1, method id `ppi_mean`.
///
/// `labels` and `judge_on_labelled` are scores in \[0, 1\] of the same items, `judge_elsewhere` the
/// judge's scores of the unlabelled items. The normal interval fails at rates ≥ .95, where the
/// rectifier shows no variance (coverage .46–.89): `exploratory` under 200 labels, and no interval at
/// all without observed variance. An estimate outside the scale says that labelled and unlabelled
/// items disagree. The default is [`super::post_stratified`].
///
/// # Errors
///
/// If the lengths differ or a score is outside \[0, 1\].
///
/// Source: Angelopoulos, Bates, Fannjiang, Jordan & Zrnic 2023.
pub fn ppi_mean(
    labels: &[f64],
    judge_on_labelled: &[f64],
    judge_elsewhere: &[f64],
    level: Level,
) -> Result<PredictionPowered> {
    let scores = Scores {
        labels,
        judge: judge_on_labelled,
        elsewhere: judge_elsewhere,
    };
    scores.check()?;
    Ok(scores.estimate("ppi_mean", |_| Some(1.0), level))
}

/// Power-tuned prediction-powered mean, method id `ppi_plus_plus_mean`.
///
/// As [`ppi_mean`] with λ = Cov(label, judge)/((1 + n/N) Var(judge)), clipped to \[0, 1\], and 0 for a
/// constant judge.
///
/// Unreliable at rates of .95 or more (labels then show no variance) and under 200 labels: least coverage
/// .46, .76, .63 and .89 at 20, 50, 100 and 200 labels (the table of METHODS 9.2). An option for continuous
/// scores inside the scale.
///
/// # Errors
///
/// As [`ppi_mean`].
///
/// Source: Angelopoulos, Duchi & Zrnic 2023.
pub fn ppi_plus_plus_mean(
    labels: &[f64],
    judge_on_labelled: &[f64],
    judge_elsewhere: &[f64],
    level: Level,
) -> Result<PredictionPowered> {
    let scores = Scores {
        labels,
        judge: judge_on_labelled,
        elsewhere: judge_elsewhere,
    };
    scores.check()?;
    Ok(scores.estimate("ppi_plus_plus_mean", Scores::tuned, level))
}

struct Scores<'a> {
    labels: &'a [f64],
    judge: &'a [f64],
    elsewhere: &'a [f64],
}

/// Fewer labels than this only explore.
const MANY_LABELS: usize = 200;

impl Scores<'_> {
    fn check(&self) -> Result<()> {
        let (n, m) = (self.labels.len(), self.judge.len());
        if n != m {
            return Err(Error::input(format!("{n} labels for {m} judged items")));
        }
        let all = [self.labels, self.judge, self.elsewhere]
            .into_iter()
            .flatten();
        match all.into_iter().find(|score| !(0.0..=1.0).contains(*score)) {
            Some(score) => Err(Error::input(format!("score {score} is outside 0 to 1"))
                .hint("rescale scores to [0, 1] first")),
            None => Ok(()),
        }
    }

    fn tuned(&self) -> Option<f64> {
        let (h, j) = (mean(self.labels)?, mean(self.judge)?);
        let (n, big) = (self.labels.len() as f64, self.elsewhere.len() as f64);
        let pairs = self.labels.iter().zip(self.judge);
        let covariance = sum(pairs.map(|(a, b)| (a - h) * (b - j))) / n;
        let variance = variance_of(self.judge.iter().chain(self.elsewhere).copied())?;
        let lambda = covariance / ((1.0 + n / big) * variance);
        Some(if variance > 0.0 {
            lambda.clamp(0.0, 1.0)
        } else {
            0.0
        })
    }

    fn estimate(
        &self,
        method: &'static str,
        lambda: impl Fn(&Self) -> Option<f64>,
        level: Level,
    ) -> PredictionPowered {
        let undefined = |reason| PredictionPowered {
            rate: CorrectedRate::not_identified(method, reason, level),
            raw: None,
            lambda: None,
        };
        let Some(elsewhere) = mean(self.elsewhere) else {
            return undefined("no_unlabelled_items");
        };
        if self.labels.len() < 2 {
            return undefined("too_few_labels");
        }
        let Some(lambda) = lambda(self) else {
            return undefined("too_few_labels");
        };
        let errors = self
            .labels
            .iter()
            .zip(self.judge)
            .map(|(h, j)| h - lambda * j);
        let raw = lambda * elsewhere + mean_of(errors.clone()).unwrap_or(0.0);
        let rest = error_of_mean(self.elsewhere.iter().copied());
        let variance = lambda * lambda * rest + error_of_mean(errors);
        let half = level.z() * variance.sqrt();
        let limits = Limits {
            lower: raw - half,
            upper: raw + half,
        };
        let mut rate = CorrectedRate::new(method, raw, limits, level);
        if self.labels.len() < MANY_LABELS {
            rate = rate.at_most(Status::Exploratory);
        }
        if variance <= 1e-24 {
            rate = rate.without_limits("zero_variance");
        }
        PredictionPowered {
            rate,
            raw: Some(raw),
            lambda: Some(lambda),
        }
    }
}

/// Squared standard error of a mean, divisor n as in the reference implementation.
fn error_of_mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count() as f64;
    let centre = mean_of(values.clone()).unwrap_or(0.0);
    sum(values.map(|v| (v - centre).powi(2))) / (n * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_observed_variance_is_no_interval() {
        let result = ppi_plus_plus_mean(&[1.0; 5], &[1.0; 5], &[1.0; 20], Level::p95()).unwrap();
        assert_eq!((result.rate.lower, result.rate.upper), (None, None));
        assert_eq!(result.rate.reason, Some("zero_variance"));
        let plain = ppi_mean(&[1.0; 5], &[1.0; 5], &[1.0; 20], Level::p95()).unwrap();
        assert_eq!(plain.rate.reason, Some("zero_variance"));
    }

    #[test]
    fn a_rate_stays_a_rate_and_says_so() {
        let mut elsewhere = vec![1.0; 18];
        elsewhere.extend([0.0; 2]);
        let judge = [1.0, 1.0, 1.0, 0.0];
        let result = ppi_mean(&[1.0; 4], &judge, &elsewhere, Level::p95()).unwrap();
        assert!((result.raw.unwrap() - 1.15).abs() < 1e-12);
        assert_eq!(
            (result.rate.estimate, result.rate.upper),
            (Some(1.0), Some(1.0))
        );
        assert_eq!(result.rate.notices[0].code, "estimate_outside_scale");
        assert_eq!(result.rate.status, Status::Exploratory);
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(ppi_mean(&[1.0], &[1.0, 0.0], &[1.0], Level::p95()).is_err());
        assert!(ppi_mean(&[5.0, 1.0], &[1.0, 0.0], &[1.0], Level::p95()).is_err());
        let none = ppi_mean(&[1.0, 0.0], &[1.0, 0.0], &[], Level::p95()).unwrap();
        assert_eq!(none.rate.reason, Some("no_unlabelled_items"));
    }
}
