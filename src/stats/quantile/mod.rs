//! Quantiles of tokens, cost, latency (METHODS 4.1).

mod inversion;

use serde::Serialize;

pub use inversion::quantile_clustered;

use crate::base::{Error, Result};
use crate::stats::special::{binomial_cdf, binomial_sf};
use crate::stats::tolerance::at_least;
use crate::stats::{Level, Status};

/// A quantile with its interval; a limit is infinite where the sample cannot bound the quantile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuantileEstimate {
    /// inf{q: F̂(q) ≥ τ}; `None` with a `reason`.
    pub estimate: Option<f64>,
    /// Lower limit, an observed value or −∞.
    pub lower: Option<f64>,
    /// Upper limit, an observed value or +∞.
    pub upper: Option<f64>,
    /// How far the interval may be used.
    pub status: Status,
    /// Why there is no value.
    pub reason: Option<&'static str>,
    /// n_c of the units.
    pub n_c: f64,
    /// Number of units.
    pub units: usize,
}

impl QuantileEstimate {
    fn missing() -> Self {
        let reason = Some("no_valid_trials");
        let status = Status::NotEstimable;
        Self {
            estimate: None,
            lower: None,
            upper: None,
            status,
            reason,
            n_c: 0.0,
            units: 0,
        }
    }
}

fn check(tau: f64, values: impl IntoIterator<Item = f64>) -> Result<()> {
    if !(tau > 0.0 && tau < 1.0) {
        return Err(Error::input(format!(
            "quantile {tau} is not between 0 and 1"
        )));
    }
    match values.into_iter().find(|v| !v.is_finite()) {
        Some(bad) => Err(Error::input(format!("value {bad} is not a finite number"))
            .hint("a timeout is a censored value: use kaplan_meier_median")),
        None => Ok(()),
    }
}

/// Order-statistic interval for a quantile of independent values (method
/// `quantile_order_statistic`), from binomial tails of at most α/2 each.
///
/// Exact for independent values; with several trials per task it covered as little as .03.
///
/// # Errors
///
/// If τ is not between 0 and 1 or a value is not finite.
pub fn quantile_order_statistic(
    values: &[f64],
    tau: f64,
    level: Level,
) -> Result<QuantileEstimate> {
    check(tau, values.iter().copied())?;
    if values.is_empty() {
        return Ok(QuantileEstimate::missing());
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as u64;
    let point = first(n, |i| at_least((i + 1) as f64 / n as f64, tau)).unwrap_or(n - 1);
    // The lower limit is the last value that at most a tail's share of samples has above τ.
    let lower = first(n, |i| binomial_cdf(i, n, tau) > level.tail()).unwrap_or(n);
    let upper = first(n, |i| binomial_sf(i + 1, n, tau) <= level.tail());
    Ok(QuantileEstimate {
        estimate: Some(sorted[point as usize]),
        lower: Some(
            lower
                .checked_sub(1)
                .map_or(f64::NEG_INFINITY, |i| sorted[i as usize]),
        ),
        upper: Some(upper.map_or(f64::INFINITY, |i| sorted[i as usize])),
        status: if n < 2 {
            Status::NotEstimable
        } else {
            Status::Ok
        },
        reason: None,
        n_c: n as f64,
        units: n as usize,
    })
}

/// The first index in 0..n for which a monotone condition holds.
fn first(n: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle
        } else {
            low = middle + 1
        }
    }
    (low < n).then_some(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::units::Weights;

    fn one_each(values: &[f64]) -> Vec<Vec<f64>> {
        values.iter().map(|&v| vec![v]).collect()
    }

    #[test]
    fn one_trial_per_task_is_the_order_statistic_interval() {
        let values: Vec<f64> = (0..41).map(|i| f64::from((i * 17) % 41)).collect();
        for tau in [0.1, 0.5, 0.75, 0.9] {
            let level = Level::p95();
            let exact = quantile_order_statistic(&values, tau, level).unwrap();
            let tasks = one_each(&values);
            let got = quantile_clustered(&tasks, None, &Weights::EqualTask, tau, level).unwrap();
            assert_eq!(exact, got, "{tau}");
        }
    }

    #[test]
    fn limits_are_infinite_until_there_are_enough_tasks() {
        for (n, tau, finite) in [
            (5, 0.5, false),
            (6, 0.5, true),
            (35, 0.9, false),
            (36, 0.9, true),
        ] {
            let tasks = one_each(&(0..n).map(f64::from).collect::<Vec<_>>());
            let got =
                quantile_clustered(&tasks, None, &Weights::EqualTask, tau, Level::p95()).unwrap();
            assert_eq!(got.upper.unwrap().is_finite(), finite, "{n} {tau}");
        }
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        let bad = quantile_order_statistic(&[1.0, f64::NAN], 0.5, Level::p95());
        assert!(bad.is_err());
        assert!(quantile_order_statistic(&[1.0], 50.0, Level::p95()).is_err());
        let none = quantile_clustered(&[], None, &Weights::EqualTask, 0.5, Level::p95()).unwrap();
        assert_eq!(none.reason, Some("no_valid_trials"));
    }
}
