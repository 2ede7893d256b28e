//! Bootstrap over units: percentile and BCa intervals, and p-values that are never 0.
//!
//! For statistics without a formula only (kappa, alpha, correlations, medians of censored times). A
//! rate or a difference of rates has better intervals: a bootstrap of ten passes has width zero.
//!
//! A unit is what is independent: an item, a task, a cluster. Resamples are drawn as counts of
//! distinct values on all threads, each replicate from its own child seed: the same seed gives the
//! same bytes at any thread count.

mod bca;
mod binomial;
mod distinct;
mod mean;
mod pool;
mod replicates;

pub use bca::bca;
pub use binomial::binomial;
pub use distinct::Distinct;
pub use mean::{bca_mean, weighted_mean};
pub use pool::Pool;
pub use replicates::Replicates;

use crate::base::{Interval, Seed};
use crate::stats::level::Level;
use crate::stats::undefined::{Defined, Undefined};

/// How to resample: replicates, two-sided level, seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resampling {
    /// Number of replicates B; at least 2,000 for BCa limits that are shown.
    pub replicates: u32,
    /// Two-sided level of the intervals.
    pub level: Level,
    /// The seed; replicate `i` uses its `i`th child.
    pub seed: Seed,
}

/// The values that a statistic can take; a replicate that is undefined counts as either end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lowest possible value.
    pub low: f64,
    /// Highest possible value.
    pub high: f64,
}

impl Range {
    /// Everything.
    pub const REAL: Self = Self {
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
    };
    /// −1 to 1: kappa, AC1, correlations, differences of rates.
    pub const SIGNED_UNIT: Self = Self {
        low: -1.0,
        high: 1.0,
    };
    /// 0 to infinity: times.
    pub const POSITIVE: Self = Self {
        low: 0.0,
        high: f64::INFINITY,
    };
}

/// An interval by resampling, with what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapInterval {
    /// The statistic on the units themselves.
    pub estimate: f64,
    /// The interval.
    pub interval: Interval,
    /// How many replicates left the statistic undefined (they count as both ends of its range).
    pub undefined: usize,
    /// Two-sided p for a null value, where one was asked for.
    pub p: Option<f64>,
}

/// Fewest tasks for a bootstrap over tasks (METHODS 6.3).
const FEWEST_TASKS: usize = 30;

/// The paired cluster bootstrap of a statistic without formula: whole units, both arms together.
///
/// `statistic` gets how often each of the `units` was drawn and computes the contrast (difference of
/// quantiles, of kappas) from both arms of the drawn units. Percentile limits and a p against
/// `null`, method id `bootstrap_percentile`.
///
/// Unreliable where few units carry the difference: what was not sampled is not resampled.
///
/// # Errors
///
/// `too_few_tasks` under 30 units; else as [`Replicates::draw`] and [`Replicates::percentile`].
///
/// Source: Efron & Tibshirani 1993; Davison & Hinkley 1997.
pub fn paired_cluster_bootstrap<F>(
    units: usize,
    plan: &Resampling,
    range: Range,
    null: f64,
    statistic: F,
) -> Defined<BootstrapInterval>
where
    F: Fn(&[u32]) -> Option<f64> + Sync,
{
    if units < FEWEST_TASKS {
        return Err(Undefined("too_few_tasks"));
    }
    let replicates = Replicates::draw(&Pool::of_units(units), plan, statistic)?;
    Ok(BootstrapInterval {
        estimate: replicates.estimate,
        interval: replicates.percentile(plan.level, range)?,
        undefined: replicates.undefined,
        p: Some(replicates.p_value(null)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Resampling {
        Resampling {
            replicates: 999,
            level: Level::p95(),
            seed: Seed(5),
        }
    }

    #[test]
    fn one_cluster_has_no_interval() {
        let one = Replicates::draw(&Pool::of_units(1), &plan(), |_| Some(0.75));
        assert_eq!(one.unwrap_err().code(), "too_few_units");
        let few = paired_cluster_bootstrap(29, &plan(), Range::REAL, 0.0, |_| Some(0.0));
        assert_eq!(few.unwrap_err().code(), "too_few_tasks");
    }

    #[test]
    fn p_is_never_zero_and_never_above_one() {
        let values = [0.5; 40];
        let drawn = Replicates::draw(&Pool::of_units(40), &plan(), |c| weighted_mean(c, &values));
        let drawn = drawn.unwrap();
        assert_eq!(drawn.p_value(0.0), 2.0 / 1000.0);
        assert_eq!(drawn.p_value(0.5), 1.0);
        assert_eq!(
            drawn
                .percentile(Level::p95(), Range::REAL)
                .unwrap_err()
                .code(),
            "no_variation"
        );
    }

    #[test]
    fn few_units_claim_no_more_than_their_signs() {
        let values = [0.1, 0.2, 0.3, 0.4, 0.5];
        let draw = |n: usize| {
            let pool = Pool::of_units(n);
            Replicates::draw(&pool, &plan(), |c| weighted_mean(c, &values[..n])).unwrap()
        };
        assert_eq!(draw(2).p_value(0.0), 0.5);
        assert_eq!(draw(5).p_value(0.0), 0.0625);
        let interval = draw(5).percentile(Level::p95(), Range::REAL);
        assert_eq!(interval.unwrap_err().code(), "too_few_units");
        assert!(
            draw(5)
                .percentile(Level::new(0.9).unwrap(), Range::REAL)
                .is_ok()
        );
    }

    #[test]
    fn undefined_replicates_widen_to_the_range() {
        let pool = Pool::of_units(30);
        let drawn = Replicates::draw(&pool, &plan(), |c| {
            (c[0] > 0).then(|| f64::from(c[1] + c[2]) / 30.0)
        });
        let drawn = drawn.unwrap();
        assert!(drawn.undefined > 300, "{}", drawn.undefined);
        let interval = drawn
            .percentile(
                Level::p95(),
                Range {
                    low: 0.0,
                    high: 1.0,
                },
            )
            .unwrap();
        assert_eq!((interval.low, interval.high), (0.0, 1.0));
        assert_eq!(
            drawn.p_value(-1.0),
            2.0 * (1.0 + drawn.undefined as f64) / 1000.0
        );
    }

    #[test]
    fn infinite_replicates_reach_the_upper_limit() {
        let pool = Pool::of_units(40);
        let drawn = Replicates::draw(&pool, &plan(), |c| {
            Some(if c[0] == 0 {
                f64::INFINITY
            } else {
                f64::from(c[0])
            })
        });
        let interval = drawn
            .unwrap()
            .percentile(Level::p95(), Range::POSITIVE)
            .unwrap();
        assert_eq!(interval.high, f64::INFINITY);
        assert!(interval.low.is_finite());
    }
}
