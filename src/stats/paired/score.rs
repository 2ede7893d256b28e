//! Tango's score interval for a paired difference.

use super::{PairedTable, TableDifference};
use crate::stats::{Level, Limits};

/// Tango's (1998) score interval (method `tango_paired_diff`), A − B, by bisection of the score.
///
/// With no discordant task it is ±z²/(n+z²).
///
/// # Examples
///
/// ```
/// use assize::stats::{Level, paired::{PairedTable, tango}};
/// let table = PairedTable { both: 3, a_only: 0, b_only: 0, neither: 0 };
/// let upper = tango(table, Level::p95()).upper.unwrap();
/// assert!((upper - 0.561497).abs() < 1e-6);
/// ```
pub fn tango(table: PairedTable, level: Level) -> TableDifference {
    TableDifference::new(table, |estimate| {
        let score = Score::of(table);
        Limits {
            lower: root(-1.0, estimate, |d| score.at(d) <= level.z()),
            upper: root(estimate, 1.0, |d| score.at(d) < -level.z()),
        }
    })
}

struct Score {
    n: f64,
    a_only: f64,
    b_only: f64,
}

impl Score {
    fn of(table: PairedTable) -> Self {
        Self {
            n: table.total() as f64,
            a_only: table.a_only as f64,
            b_only: table.b_only as f64,
        }
    }

    /// (b − c − nΔ)/√(n(2q + Δ(1−Δ))), which falls in Δ; q is the constrained estimate of the
    /// probability that only B passes.
    fn at(&self, delta: f64) -> f64 {
        if delta < 0.0 {
            // With the arms exchanged no terms of opposite sign meet near the ends of the scale.
            let exchanged = Self {
                n: self.n,
                a_only: self.b_only,
                b_only: self.a_only,
            };
            return -exchanged.at(-delta);
        }
        let (n, b, c) = (self.n, self.a_only, self.b_only);
        let linear = -b - c + (2.0 * n - b + c) * delta;
        let constant = -c * delta * (1.0 - delta);
        let root = (linear * linear - 8.0 * n * constant).max(0.0).sqrt();
        // The stable form of the positive root of 2n q² + linear q + constant.
        let q = if linear > 0.0 {
            -2.0 * constant / (linear + root)
        } else {
            (root - linear) / (4.0 * n)
        };
        let q = if q.is_finite() { q } else { 0.0 };
        let variance = n * (2.0 * q + delta * (1.0 - delta));
        let gap = b - c - n * delta;
        if variance > 0.0 {
            gap / variance.sqrt()
        } else if gap.abs() <= 1e-12 * n {
            0.0
        } else {
            gap.signum() * f64::INFINITY
        }
    }
}

/// The point of \[low, high\] at which a monotone condition begins to hold.
fn root(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if holds(low) {
        return low;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    high
}
