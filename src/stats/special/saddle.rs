//! Loader's (2000) saddle-point pieces, which keep binomial and Poisson densities accurate at any
//! size because no two large logarithms are subtracted.

use std::f64::consts::PI;

use statrs::function::gamma::ln_gamma;

const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;

/// The error of Stirling's formula: ln Γ(n+1) − (n+½)ln n + n − ½ ln 2π, for real n > 0.
pub(super) fn stirling_error(n: f64) -> f64 {
    if n <= 15.0 {
        return ln_gamma(n + 1.0) - (n + 0.5) * n.ln() + n - HALF_LN_TAU;
    }
    let s = 1.0 / (n * n);
    (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))) / n
}

/// The deviance x ln(x/m) + m − x, without cancellation where x is near m.
pub(super) fn deviance(x: f64, m: f64) -> f64 {
    let gap = x - m;
    if gap.abs() >= 0.1 * (x + m) {
        return if x == 0.0 { m } else { x * (x / m).ln() - gap };
    }
    let v = gap / (x + m);
    let mut total = gap * v;
    let mut term = 2.0 * x * v;
    for j in 1..1000 {
        term *= v * v;
        let next = total + term / f64::from(2 * j + 1);
        if next == total {
            break;
        }
        total = next;
    }
    total
}

/// ln of Γ(n+1)/(Γ(a+1)Γ(b+1)) xᵃ yᵇ with n = a+b and y = 1−x, for real a, b > 0.
pub(super) fn ln_binomial(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    stirling_error(n)
        - stirling_error(a)
        - stirling_error(b)
        - deviance(a, n * x)
        - deviance(b, n * y)
        + 0.5 * (n / (2.0 * PI * a * b)).ln()
}

/// ln of xᵃ e⁻ˣ/Γ(a+1), for real a > 0.
pub(super) fn ln_poisson(a: f64, x: f64) -> f64 {
    -stirling_error(a) - deviance(a, x) - 0.5 * (2.0 * PI * a).ln()
}
