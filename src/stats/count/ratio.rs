//! The ratio of two Poisson rates.

use serde::Serialize;

use crate::base::{Error, Result};
use crate::stats::Level;
use crate::stats::proportion::clopper_pearson;
use crate::stats::special::binomial_two_sided;

/// Two Poisson counts with their exposures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoCounts {
    /// Events of A.
    pub events_a: u64,
    /// Exposure of A, positive.
    pub exposure_a: f64,
    /// Events of B.
    pub events_b: u64,
    /// Exposure of B, positive.
    pub exposure_b: f64,
}

/// A ratio of two rates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateRatio {
    /// Rate of B over rate of A; +∞ where A has no event; `None` without any event.
    pub ratio: Option<f64>,
    /// Lower limit.
    pub lower: Option<f64>,
    /// Upper limit; +∞ where A has no event.
    pub upper: Option<f64>,
    /// Two-sided p-value for equal rates.
    pub p: Option<f64>,
    /// Why there is no value: `no_events`, or `out_of_range` where the exposures' sum or ratio is
    /// beyond floating point.
    pub reason: Option<&'static str>,
}

/// The exact conditional rate ratio B/A (method `poisson_rate_ratio_exact`; Przyborowski &
/// Wilenski 1940): given the total, B's events are binomial. Ignores clustering: secondary only.
///
/// # Errors
///
/// If an exposure is not positive and finite.
pub fn rate_ratio_exact(counts: TwoCounts, level: Level) -> Result<RateRatio> {
    let TwoCounts {
        events_a,
        exposure_a,
        events_b,
        exposure_b,
    } = counts;
    if [exposure_a, exposure_b]
        .iter()
        .any(|e| !e.is_finite() || *e <= 0.0)
    {
        return Err(
            Error::input(format!("exposures {exposure_a} and {exposure_b}"))
                .hint("both are positive"),
        );
    }
    let total = events_a + events_b;
    let scale = exposure_a / exposure_b;
    let fits = scale.is_normal() && (exposure_a + exposure_b).is_normal();
    if total == 0 || !fits {
        let reason = if total == 0 {
            "no_events"
        } else {
            "out_of_range"
        };
        return Ok(RateRatio {
            ratio: None,
            lower: None,
            upper: None,
            p: None,
            reason: Some(reason),
        });
    }
    let limits = clopper_pearson(events_b as f64, total as f64, level);
    let odds = |share: f64| {
        if share >= 1.0 {
            f64::INFINITY
        } else {
            share / (1.0 - share)
        }
    };
    let under_equality = exposure_b / (exposure_a + exposure_b);
    Ok(RateRatio {
        ratio: Some(events_b as f64 / events_a as f64 * scale),
        lower: Some(odds(limits.lower) * scale),
        upper: Some(odds(limits.upper) * scale),
        p: Some(binomial_two_sided(events_b, total, under_equality)),
        reason: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exposures_that_overflow_are_out_of_range() {
        for (exposure_a, exposure_b) in [(1e308, 1e308), (1e308, 1e-300), (1e-300, 1e308)] {
            let counts = TwoCounts {
                events_a: 3,
                exposure_a,
                events_b: 2,
                exposure_b,
            };
            let got = rate_ratio_exact(counts, Level::p95()).unwrap();
            assert_eq!((got.ratio, got.p), (None, None));
            assert_eq!(got.reason, Some("out_of_range"));
        }
    }

    #[test]
    fn an_arm_without_events_has_no_upper_bound() {
        let counts = TwoCounts {
            events_a: 0,
            exposure_a: 10.0,
            events_b: 3,
            exposure_b: 10.0,
        };
        let got = rate_ratio_exact(counts, Level::p95()).unwrap();
        assert_eq!(
            (got.ratio, got.upper),
            (Some(f64::INFINITY), Some(f64::INFINITY))
        );
        let none = TwoCounts {
            events_b: 0,
            ..counts
        };
        assert_eq!(
            rate_ratio_exact(none, Level::p95()).unwrap().reason,
            Some("no_events")
        );
    }
}
