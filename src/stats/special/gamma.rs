//! The chi-square distribution with real degrees of freedom.

use super::normal_quantile;
use super::root::{LogTail, solve};
use super::saddle::ln_poisson;

const BOUND: f64 = 700.0;

/// P(X ≤ x) for X chi-square with `df` > 0 degrees of freedom.
pub fn chi2_cdf(x: f64, df: f64) -> f64 {
    if x <= 0.0 {
        0.0
    } else {
        ln_tails(df / 2.0, x / 2.0).lower.exp()
    }
}

/// P(X > x) for X chi-square with `df` > 0 degrees of freedom.
pub fn chi2_sf(x: f64, df: f64) -> f64 {
    if x <= 0.0 {
        1.0
    } else {
        ln_tails(df / 2.0, x / 2.0).upper.exp()
    }
}

/// The x with P(X ≤ x) = p for X chi-square with real `df` > 0; 0 at p = 0, +∞ at p = 1.
pub fn chi2_quantile(p: f64, df: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 { 0.0 } else { f64::INFINITY };
    }
    let a = df / 2.0;
    let start = a.ln() + normal_quantile(p) / a.sqrt();
    let v = if p <= 0.5 {
        solve(start, BOUND, p.ln(), |v| {
            let tails = ln_tails(a, v.exp());
            LogTail {
                ln: tails.lower,
                slope: (tails.front - tails.lower).exp(),
            }
        })
    } else {
        solve(start, BOUND, (1.0 - p).ln(), |v| {
            let tails = ln_tails(a, v.exp());
            LogTail {
                ln: tails.upper,
                slope: -(tails.front - tails.upper).exp(),
            }
        })
    };
    2.0 * v.exp()
}

struct LnTails {
    lower: f64,
    upper: f64,
    /// ln of xᵃ e⁻ˣ/Γ(a), the density of ln X.
    front: f64,
}

/// Both tails of a gamma variable with shape a and scale 1.
fn ln_tails(a: f64, x: f64) -> LnTails {
    let poisson = ln_poisson(a, x);
    let front = poisson + a.ln();
    let rest = |tail: f64| (-tail.exp().min(1.0)).ln_1p();
    if x < a + 1.0 {
        let lower = (poisson + series(a, x).ln()).min(0.0);
        LnTails {
            lower,
            upper: rest(lower),
            front,
        }
    } else {
        let upper = (front + fraction(a, x).ln()).min(0.0);
        LnTails {
            lower: rest(upper),
            upper,
            front,
        }
    }
}

/// 1 + x/(a+1) + x²/((a+1)(a+2)) + … (DLMF 8.7.1).
fn series(a: f64, x: f64) -> f64 {
    let (mut term, mut total, mut k) = (1.0, 1.0, a);
    for _ in 0..1_000_000 {
        k += 1.0;
        term *= x / k;
        total += term;
        if term <= total * f64::EPSILON {
            break;
        }
    }
    total
}

/// The continued fraction of the upper tail (DLMF 8.9.2) by Lentz's method.
fn fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / guard(b);
    let mut h = d;
    for i in 1..1_000_000 {
        let i = f64::from(i);
        let an = -i * (i - a);
        b += 2.0;
        d = 1.0 / guard(an * d + b);
        c = guard(b + an / c);
        let change = d * c;
        h *= change;
        if (change - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    h
}
