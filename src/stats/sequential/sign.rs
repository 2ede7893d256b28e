//! The sign e-value for single binary trials.

use std::f64::consts::{LN_2, PI};

use statrs::function::gamma::ln_gamma;

use crate::stats::special::binomial_pmf;

/// Evidence against equal chances of winning a discordant task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignEValue {
    /// Natural logarithm of the e-value, finite at any count.
    pub ln_e_value: f64,
    /// The e-value; infinite where it exceeds the largest double.
    pub e_value: f64,
    /// Anytime-valid p, min(1, 1/E); never 0.
    pub p_anytime: f64,
}

/// Beta-mixture e-value on discordant tasks, method id `beta_mixture_sign_e_value`.
///
/// E = B(w + ½, l + ½)/B(½, ½)·2^{w+l} for `wins` and `losses` of B; stop at E ≥ 1/α. For binary tasks
/// with one trial each, in pre-randomised order; concordant tasks do not enter. Simulated false stops
/// .000–.029 at α = .05.
///
/// # Examples
///
/// ```
/// use assize::stats::sequential::sign_e_value;
/// assert!((sign_e_value(7, 1).e_value - 3.3515625).abs() < 1e-9);
/// assert_eq!(sign_e_value(0, 0).p_anytime, 1.0);
/// ```
///
/// Source: Robbins 1970; Ramdas et al. 2023.
pub fn sign_e_value(wins: u64, losses: u64) -> SignEValue {
    let n = wins + losses;
    let probability = binomial_pmf(wins, n, 0.5);
    let ln_e_value = if probability > 0.0 {
        // Γ(k + ½)/k! of both counts over π times the binomial probability: nothing large cancels.
        (half_ratio(wins) * half_ratio(losses) / PI).ln() - probability.ln()
    } else {
        // Far beyond any double: here the logarithm is so large that its last digits do not matter.
        let half = |k: u64| ln_gamma(k as f64 + 0.5);
        half(wins) + half(losses) - ln_gamma(n as f64 + 1.0) - PI.ln() + n as f64 * LN_2
    };
    SignEValue {
        ln_e_value,
        e_value: ln_e_value.exp(),
        p_anytime: (-ln_e_value).exp().clamp(f64::MIN_POSITIVE, 1.0),
    }
}

/// Γ(k + ½)/Γ(k + 1), by recurrence or by its asymptotic series.
fn half_ratio(k: u64) -> f64 {
    if k < 60 {
        return (1..=k).fold(PI.sqrt(), |ratio, i| ratio * (i as f64 - 0.5) / i as f64);
    }
    let (k, x) = (k as f64, 1.0 / k as f64);
    let series = 1.0 / 128.0 + x * (5.0 / 1024.0 + x * (-21.0 / 32768.0 - x * 399.0 / 262_144.0));
    (1.0 + x * (-1.0 / 8.0 + x * series)) / k.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_meets_the_recurrence() {
        let direct = (1..=60).fold(PI.sqrt(), |ratio, i| {
            ratio * (f64::from(i) - 0.5) / f64::from(i)
        });
        assert!((half_ratio(60) / direct - 1.0).abs() < 1e-13);
    }

    #[test]
    fn ten_million_tasks_do_not_overflow() {
        let even = sign_e_value(5_000_000, 5_000_000);
        // Stirling: E is about sqrt(2/(π n)) at an even split.
        assert!((even.e_value / (2.0 / (PI * 1e7)).sqrt() - 1.0).abs() < 1e-6);
        assert_eq!(even.p_anytime, 1.0);
        let all = sign_e_value(10_000_000, 0);
        assert!((all.ln_e_value / (1e7 * LN_2) - 1.0).abs() < 1e-5);
        assert!(all.e_value == f64::INFINITY && all.p_anytime > 0.0);
    }

    #[test]
    fn both_branches_agree() {
        let near = sign_e_value(1070, 0);
        let half = ln_gamma(1070.5) + ln_gamma(0.5) - ln_gamma(1071.0) - PI.ln() + 1070.0 * LN_2;
        assert!((near.ln_e_value - half).abs() < 1e-9);
        assert_eq!(sign_e_value(3, 9), sign_e_value(9, 3));
    }
}
