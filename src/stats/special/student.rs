//! Student's t with real degrees of freedom.

use super::beta::{lower, lower_quantile};
use super::{normal_quantile, normal_sf, positive_p};

/// Above this the t distribution is the normal one to full precision.
const NORMAL_DF: f64 = 1e15;

/// P(T > t) for T with real `df` > 0 degrees of freedom.
pub fn t_sf(t: f64, df: f64) -> f64 {
    let half = 0.5 * t_two_sided(t, df);
    if t >= 0.0 { half } else { 1.0 - half }
}

/// P(|T| ≥ |t|): the two-sided p-value, never 0.
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    if df >= NORMAL_DF {
        return positive_p(2.0 * normal_sf(t.abs()));
    }
    let square = t * t;
    if square.is_infinite() {
        return f64::MIN_POSITIVE;
    }
    let total = df + square;
    positive_p(lower(df / 2.0, 0.5, df / total, square / total))
}

/// The quantile of T with real `df` > 0 degrees of freedom.
///
/// # Examples
///
/// ```
/// let t = assize::stats::special::t_quantile(0.975, 1.0);
/// assert!((t - 12.706204736174707).abs() < 1e-11);
/// ```
pub fn t_quantile(p: f64, df: f64) -> f64 {
    if df >= NORMAL_DF {
        return normal_quantile(p);
    }
    let tail = if p < 0.5 { p } else { 1.0 - p };
    if tail >= 0.5 {
        return 0.0;
    }
    if tail <= 0.0 {
        return if p < 0.5 {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
    }
    // Near the centre df/(df+t²) is close to 1: solve for the complement, t²/(df+t²).
    let central = 1.0 - 2.0 * tail;
    let log_odds = if tail < 0.25 {
        -lower_quantile(2.0 * tail, df / 2.0, 0.5).log_odds
    } else {
        lower_quantile(central, 0.5, df / 2.0).log_odds
    };
    let size = df.sqrt() * (log_odds / 2.0).exp();
    if p < 0.5 { -size } else { size }
}
