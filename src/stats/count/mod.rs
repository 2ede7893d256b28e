//! Rare events and counts (METHODS 3).
//!
//! The primary figure is the share of trials with at least one event, by SEN-CP; counts are
//! secondary.

mod ratio;

use serde::Serialize;

pub use ratio::{RateRatio, TwoCounts, rate_ratio_exact};

use crate::base::{Error, Result};
use crate::stats::power::MOST_UNITS;
use crate::stats::special::{chi2_quantile, t_quantile};
use crate::stats::sum::sum;
use crate::stats::{Level, Limits, Status};

/// Garwood's (1936) exact limits for a Poisson rate (method `poisson_garwood`): `events` per
/// `exposure`, both real, exposure > 0.
///
/// Assumes independent events; with repeats on few tasks it covered as little as .23.
///
/// # Examples
///
/// ```
/// use assize::stats::{Level, count::garwood};
/// let limits = garwood(0.0, 120.0, Level::p95());
/// assert_eq!(limits.lower, 0.0);
/// assert!((limits.upper - 0.0307406621176161).abs() < 1e-12);
/// ```
pub fn garwood(events: f64, exposure: f64, level: Level) -> Limits {
    let limit = |p: f64, df: f64| chi2_quantile(p, df) / (2.0 * exposure);
    Limits {
        lower: if events <= 0.0 {
            0.0
        } else {
            limit(level.tail(), 2.0 * events)
        },
        upper: limit(1.0 - level.tail(), 2.0 * events + 2.0),
    }
}

fn one_sided(alpha: f64) -> Result<()> {
    if alpha > 0.0 && alpha < 1.0 {
        return Ok(());
    }
    Err(Error::input(format!(
        "one-sided error {alpha} is not between 0 and 1"
    )))
}

/// The one-sided upper bound 1 − α₁^{1/n} on a rate after n clean units (method
/// `zero_event_upper`; Hanley & Lippman-Hand 1983).
///
/// Units are tasks; with trials it is only a second line, "if trials were independent". `None`
/// for n = 0.
///
/// # Errors
///
/// If α₁ is not between 0 and 1.
pub fn zero_event_upper(n: u64, alpha: f64) -> Result<Option<f64>> {
    one_sided(alpha)?;
    Ok((n > 0).then(|| -(alpha.ln() / n as f64).exp_m1()))
}

/// The clean units that show a rate of at most `max_rate`: ⌈ln α₁/ln(1−π₀)⌉ (method
/// `zero_event_tasks_needed`); `None` beyond 10¹². A gate at 95 % needs 368 for 1 %, since its α₁ is α/2.
///
/// # Errors
///
/// If α₁ or the rate is not between 0 and 1.
pub fn zero_event_units_needed(max_rate: f64, alpha: f64) -> Result<Option<u64>> {
    one_sided(alpha)?;
    if !(max_rate > 0.0 && max_rate < 1.0) {
        return Err(Error::input(format!(
            "rate {max_rate} is not between 0 and 1"
        )));
    }
    let exact = alpha.ln() / (-max_rate).ln_1p();
    // A whole number must not be lifted by rounding.
    let units = (exact - 1e-9 * exact).ceil();
    Ok((units <= MOST_UNITS).then_some(units as u64))
}

/// Events and exposure of one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitCount {
    /// Number of events.
    pub events: f64,
    /// Opportunities or trials; units with 0 do not enter.
    pub exposure: f64,
}

/// A rate of events per exposure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CountRate {
    /// r = Σx/Σe; `None` with a `reason`.
    pub rate: Option<f64>,
    /// φ', the dispersion with which the limits were formed.
    pub phi: Option<f64>,
    /// Lower limit.
    pub lower: Option<f64>,
    /// Upper limit.
    pub upper: Option<f64>,
    /// How far the interval may be used.
    pub status: Status,
    /// Number of units that entered.
    pub units: usize,
    /// Why something is missing.
    pub reason: Option<&'static str>,
}

/// A rate of counts that cluster in units (method `poisson_clustered`): Garwood's limits at the
/// shrunk dispersion φ', which takes all events of a unit as one where few units have any.
///
/// `out_of_range` where totals or the dispersion are beyond floating point.
/// `exploratory` under 30 units: with 10 units and frailty variance 4 it covered .86.
///
/// # Errors
///
/// If a count or an exposure is negative or not finite.
pub fn poisson_clustered(units: &[UnitCount], level: Level) -> Result<CountRate> {
    let bad = |u: &UnitCount| {
        [u.events, u.exposure]
            .iter()
            .any(|v| !v.is_finite() || *v < 0.0)
    };
    if let Some(i) = units
        .iter()
        .position(|u| bad(u) || (u.exposure == 0.0 && u.events > 0.0))
    {
        return Err(Error::input(format!("unit {i} (from 0): {:?}", units[i]))
            .hint("counts are not negative, and events need exposure"));
    }
    let used = units.iter().filter(|u| u.exposure > 0.0);
    let count = used.clone().count();
    let (g, e) = (count as f64, sum(used.clone().map(|u| u.exposure)));
    let x = sum(used.clone().map(|u| u.events));
    let rate = (e > 0.0).then(|| x / e).filter(|r| r.is_finite());
    let mut result = CountRate {
        rate,
        phi: None,
        lower: None,
        upper: None,
        status: Status::NotEstimable,
        units: count,
        reason: None,
    };
    if count < 2 {
        result.reason = Some(if count == 0 {
            "no_valid_trials"
        } else {
            "too_few_units"
        });
        return Ok(result);
    }
    if rate.is_none() {
        result.reason = Some("out_of_range");
        return Ok(result);
    }
    let widening = t_quantile(1.0 - level.tail(), g - 1.0) / level.z();
    let phi = dispersion(used, x, e) * widening * widening;
    if !(phi.is_finite() && phi > 0.0) {
        result.reason = Some("out_of_range");
        return Ok(result);
    }
    let limits = garwood(x / phi, e / phi, level);
    if !(limits.lower.is_finite() && limits.upper.is_finite()) {
        result.reason = Some("out_of_range");
        return Ok(result);
    }
    (result.phi, result.lower, result.upper) = (Some(phi), Some(limits.lower), Some(limits.upper));
    result.status = if count < 30 {
        Status::Exploratory
    } else {
        Status::Ok
    };
    Ok(result)
}

/// φ_s = (Kφ + max(φ, m̄))/(K+1).
fn dispersion<'a>(used: impl Iterator<Item = &'a UnitCount> + Clone, x: f64, e: f64) -> f64 {
    let g = used.clone().count() as f64;
    let m = e / g;
    if x == 0.0 {
        return m.max(1.0);
    }
    let rate = x / e;
    let spread = sum(used.clone().map(|u| (u.events / u.exposure - rate).powi(2)));
    let phi = (spread / (g * (g - 1.0)) / (rate / e)).max(1.0);
    let k = used.filter(|u| u.events > 0.0).count() as f64;
    (k * phi + phi.max(m)) / (k + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exposures_that_overflow_are_out_of_range() {
        let unit = |events| UnitCount {
            events,
            exposure: 1e308,
        };
        let got = poisson_clustered(&[unit(3.0), unit(4.0)], Level::p95()).unwrap();
        assert_eq!(
            (got.rate, got.upper, got.reason),
            (None, None, Some("out_of_range"))
        );
        let tiny = UnitCount {
            events: 1.0,
            exposure: 1e-308,
        };
        let got = poisson_clustered(&[tiny, tiny], Level::p95()).unwrap();
        assert_eq!((got.upper, got.reason), (None, Some("out_of_range")));
    }

    #[test]
    fn a_gate_of_one_percent_needs_368_clean_tasks() {
        assert_eq!(zero_event_units_needed(0.01, 0.025).unwrap(), Some(368));
        assert_eq!(zero_event_units_needed(1e-300, 0.025).unwrap(), None);
        assert!(zero_event_upper(368, 0.025).unwrap().unwrap() <= 0.01);
        assert!(zero_event_upper(367, 0.025).unwrap().unwrap() > 0.01);
        assert_eq!(zero_event_upper(0, 0.025).unwrap(), None);
        assert!(zero_event_upper(5, 5.0).is_err());
    }

    #[test]
    fn one_unit_has_no_dispersion() {
        let one = [UnitCount {
            events: 3.0,
            exposure: 5.0,
        }];
        let got = poisson_clustered(&one, Level::p95()).unwrap();
        assert_eq!((got.lower, got.reason), (None, Some("too_few_units")));
    }
}
