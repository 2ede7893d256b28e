//! A mean with its standard error and a t interval: the frame of the textbook options.

use serde::Serialize;

use crate::stats::special::{t_quantile, t_two_sided};
use crate::stats::sum::{deviation_of, mean_of};
use crate::stats::{Level, Limits};

/// A mean with a t interval; everything undefined is `None` with a reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MeanEstimate {
    /// The mean.
    pub estimate: Option<f64>,
    /// Its standard error.
    pub se: Option<f64>,
    /// Degrees of freedom of the t quantile.
    pub df: Option<f64>,
    /// Lower limit, not clipped to any range.
    pub lower: Option<f64>,
    /// Upper limit, not clipped to any range.
    pub upper: Option<f64>,
    /// Two-sided p-value for a mean of 0.
    pub p: Option<f64>,
    /// Why something is missing, as a snake_case code.
    pub reason: Option<&'static str>,
}

impl MeanEstimate {
    /// Nothing but a reason.
    pub(crate) fn undefined(reason: &'static str) -> Self {
        Self {
            reason: Some(reason),
            ..Self::default()
        }
    }

    /// Both limits, if there are any.
    pub fn limits(&self) -> Option<Limits> {
        Some(Limits {
            lower: self.lower?,
            upper: self.upper?,
        })
    }

    /// From an estimate, its standard error and degrees of freedom. A standard error of 0 gives no
    /// interval: identical values do not show how much others would differ.
    pub(crate) fn from_se(estimate: f64, se: f64, df: f64, level: Level) -> Self {
        let base = Self {
            estimate: Some(estimate),
            se: Some(se),
            df: Some(df),
            ..Self::default()
        };
        let sound = se > 0.0 && df > 0.0;
        if !sound {
            return Self {
                reason: Some("zero_variance"),
                ..base
            };
        }
        let half = t_quantile(1.0 - level.tail(), df) * se;
        Self {
            lower: Some(estimate - half),
            upper: Some(estimate + half),
            p: Some(t_two_sided(estimate / se, df)),
            ..base
        }
    }
}

/// Student's t interval for a mean of independent values.
///
/// `too_few_units` with fewer than two values, `zero_variance` where all are equal, `out_of_range`
/// where the mean or the deviation is beyond floating point. Near the ends
/// of a bounded scale its coverage is far below nominal.
///
/// Source: Student 1908.
pub fn t_mean(values: &[f64], level: Level) -> MeanEstimate {
    t_mean_of(values.iter().copied(), level)
}

/// [`t_mean`] of values that are made on the way, so that nothing is collected.
pub(crate) fn t_mean_of(values: impl Iterator<Item = f64> + Clone, level: Level) -> MeanEstimate {
    let Some(centre) = mean_of(values.clone()) else {
        return MeanEstimate::undefined("no_values");
    };
    let Some(spread) = deviation_of(values.clone()) else {
        let reason = Some("too_few_units");
        return MeanEstimate {
            estimate: Some(centre),
            reason,
            ..MeanEstimate::default()
        };
    };
    if !(centre.is_finite() && spread.is_finite()) {
        return MeanEstimate {
            estimate: Some(centre).filter(|c| c.is_finite()),
            ..MeanEstimate::undefined("out_of_range")
        };
    }
    let n = values.count() as f64;
    // Equal values may differ in the last digit after a division.
    let equal = spread <= 1e-14 * centre.abs();
    let se = if equal { 0.0 } else { spread / n.sqrt() };
    if se == 0.0 && !equal {
        // The values differ by less than the smallest number that could be their error.
        return MeanEstimate {
            estimate: Some(centre),
            ..MeanEstimate::undefined("out_of_range")
        };
    }
    MeanEstimate::from_se(centre, se, n - 1.0, level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_whose_squares_are_beyond_floating_point_have_their_interval() {
        let plain = t_mean(&[1.0, -1.0, 3.0], Level::p95());
        for size in [1e-300, 1e-200, 1e200] {
            let got = t_mean(&[size, -size, 3.0 * size], Level::p95());
            let ratio = got.upper.unwrap() / size / plain.upper.unwrap();
            assert!((ratio - 1.0).abs() < 1e-13, "{size}: {got:?}");
            assert!((got.p.unwrap() - plain.p.unwrap()).abs() < 1e-13);
        }
        let least = f64::from_bits(1);
        let got = t_mean(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, least], Level::p95());
        assert_eq!((got.lower, got.reason), (None, Some("out_of_range")));
        let none = t_mean(&[1.7e308; 3], Level::p95());
        assert_eq!((none.estimate, none.reason), (None, Some("out_of_range")));
    }

    #[test]
    fn equal_values_do_not_make_an_interval_of_width_zero() {
        let same = t_mean(&[0.9 - 0.8; 2], Level::p95());
        assert_eq!(
            (same.lower, same.p, same.reason),
            (None, None, Some("zero_variance"))
        );
        assert_eq!(t_mean(&[0.3], Level::p95()).reason, Some("too_few_units"));
        assert_eq!(t_mean(&[], Level::p95()).estimate, None);
    }
}
