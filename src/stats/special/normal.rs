//! The normal distribution, by way of puruspe's complementary error function (statrs' has a
//! relative error of 1e-10).

use std::f64::consts::{PI, SQRT_2};

use puruspe::error::erfc;
use statrs::function::erf::erfc_inv;

use super::positive_p;

/// Φ(x), accurate in both tails.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * tail(-x / SQRT_2)
}

/// erfc for every x: puruspe's panics where x is not a number, and its polynomial is made for
/// numbers; beyond 30 it is below the smallest one.
fn tail(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    erfc(x.clamp(-30.0, 30.0))
}

/// 1 − Φ(x), accurate in both tails.
pub fn normal_sf(x: f64) -> f64 {
    normal_cdf(-x)
}

/// 2Φ(−|x|): the two-sided p-value of a normal score, at most 1 and never 0.
pub fn normal_two_sided(x: f64) -> f64 {
    let p = tail(x.abs() / SQRT_2);
    if p > 1.0 { 1.0 } else { positive_p(p) }
}

/// Φ⁻¹(p); −∞ at 0 and +∞ at 1.
///
/// # Examples
///
/// ```
/// let z = assize::stats::special::normal_quantile(0.975);
/// assert!((z - 1.959963984540054).abs() < 1e-14);
/// ```
pub fn normal_quantile(p: f64) -> f64 {
    // The smaller tail keeps the digits of p.
    if p > 0.5 {
        return -lower_quantile(1.0 - p);
    }
    lower_quantile(p)
}

/// A start from statrs and two Newton steps on ln Φ, which is concave.
fn lower_quantile(p: f64) -> f64 {
    let mut x = -SQRT_2 * erfc_inv(2.0 * p);
    if !x.is_finite() || p == 0.5 {
        return if p == 0.5 { 0.0 } else { f64::NEG_INFINITY };
    }
    for _ in 0..2 {
        let tail = normal_cdf(x);
        let density = (-0.5 * x * x).exp() / (2.0 * PI).sqrt();
        let step = (p / tail).ln() * tail / density;
        if step.is_finite() {
            x += step;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_argument_panics() {
        assert_eq!(
            (normal_cdf(f64::INFINITY), normal_sf(f64::INFINITY)),
            (1.0, 0.0)
        );
        assert_eq!((normal_cdf(-1e300), normal_cdf(1e300)), (0.0, 1.0));
        assert!(normal_cdf(f64::NAN).is_nan());
    }
}
