//! The beta distribution with real shapes, in log-odds.

use super::normal_quantile;
use super::root::{LogTail, solve};
use super::saddle::ln_binomial;

/// Beyond these log-odds a double is 0 or 1 in all that matters here.
const BOUND: f64 = 700.0;

/// A probability by its log-odds, so that it and its complement are both exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odds {
    /// ln(x/(1−x)).
    pub log_odds: f64,
}

impl Odds {
    /// x itself; 0 or 1 at the ends of the representable range.
    pub fn x(self) -> f64 {
        if self.log_odds <= -BOUND {
            0.0
        } else {
            1.0 / (1.0 + (-self.log_odds).exp())
        }
    }

    /// 1 − x.
    pub fn complement(self) -> f64 {
        Odds {
            log_odds: -self.log_odds,
        }
        .x()
    }
}

/// P(X ≤ x) for X ~ Beta(a, b); real a, b > 0. `x` outside \[0, 1\] counts as its nearest end.
pub fn beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    lower(a, b, x, 1.0 - x)
}

/// P(X > x) for X ~ Beta(a, b).
pub fn beta_sf(a: f64, b: f64, x: f64) -> f64 {
    lower(b, a, 1.0 - x, x)
}

/// The x with P(X ≤ x) = p for X ~ Beta(a, b); real a, b > 0 (a or b may be far below 1).
///
/// Relative error about 1e-13 for shapes up to 10⁷; 0 at p = 0 and 1 at p = 1.
pub fn beta_quantile(p: f64, a: f64, b: f64) -> Odds {
    if p <= 0.0 || p >= 1.0 {
        return Odds {
            log_odds: if p <= 0.0 { -BOUND } else { BOUND },
        };
    }
    if p <= 0.5 {
        return lower_quantile(p, a, b);
    }
    Odds {
        log_odds: -lower_quantile(1.0 - p, b, a).log_odds,
    }
}

/// The quantile at a lower tail of at most ½.
pub(super) fn lower_quantile(p: f64, a: f64, b: f64) -> Odds {
    let spread = (1.0 / a + 1.0 / b).sqrt();
    let start = (a / b).ln() + normal_quantile(p) * spread;
    let log_odds = solve(start, BOUND, p.ln(), |u| {
        let odds = Odds { log_odds: u };
        let front = ln_front(a, b, odds.x(), odds.complement());
        let ln = ln_lower(a, b, odds.x(), odds.complement(), front);
        LogTail {
            ln,
            slope: (front - ln).exp(),
        }
    });
    Odds { log_odds }
}

/// ln of xᵃ yᵇ/B(a,b), which is also the density of the log-odds.
fn ln_front(a: f64, b: f64, x: f64, y: f64) -> f64 {
    ln_binomial(a, b, x, y) + (a * (b / (a + b))).ln()
}

/// P(X ≤ x) with y = 1 − x given separately, so that an x near 1 keeps its digits.
pub(super) fn lower(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 || y <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    ln_lower(a, b, x, y, ln_front(a, b, x, y)).exp().min(1.0)
}

fn ln_lower(a: f64, b: f64, x: f64, y: f64, front: f64) -> f64 {
    if x < (a + 1.0) / (a + b + 2.0) {
        return front + fraction(a, b, x, y).ln();
    }
    let upper = (front + fraction(b, a, y, x).ln()).exp();
    // Rounding may carry the upper tail past 1 where the lower one vanishes.
    (-upper.min(1.0)).ln_1p()
}

/// The contracted continued fraction of the incomplete beta function (DiDonato & Morris 1992) by
/// Lentz's method; the result of the fraction times the front is the tail.
///
/// Its leading term a·y − b·x + 1 takes both x and y, so that nothing cancels at large shapes.
fn fraction(a: f64, b: f64, x: f64, y: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
    let lead = a * y - b * x + 1.0;
    let mut f = guard(a * lead / (a + 1.0));
    let (mut c, mut d) = (f, 0.0);
    for m in 1..1_000_000 {
        let m = f64::from(m);
        let edge = a + 2.0 * m - 1.0;
        let product = m * (b - m) * x / edge;
        let above = (a + m - 1.0) * (a + b + m - 1.0) * x / edge * product;
        let below = m + product + (a + m) * (lead + m * (1.0 + y)) / (edge + 2.0);
        d = 1.0 / guard(below + above * d);
        c = guard(below + above / c);
        let change = c * d;
        f *= change;
        if (change - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    1.0 / f
}
