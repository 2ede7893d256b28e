//! Adjusting p-values for many tests (METHODS 6.4, 6.4b).

use crate::base::{Error, Result};
use crate::stats::tolerance::at_most;

/// How p-values are adjusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjustment {
    /// Holm (1979): family-wise, always valid.
    Holm,
    /// Hochberg (1988): family-wise, needs non-negative dependence.
    Hochberg,
    /// Bonferroni: family-wise, never better than Holm.
    Bonferroni,
    /// Benjamini & Hochberg (1995): false discovery rate, for exploratory screens only.
    BenjaminiHochberg,
    /// Benjamini & Yekutieli (2001): false discovery rate under any dependence.
    BenjaminiYekutieli,
}

/// Adjusted p-values, in the order of `p` (method `p_adjust`).
///
/// # Errors
///
/// If a p-value is not between 0 and 1.
///
/// # Examples
///
/// ```
/// use assize::stats::multiplicity::{Adjustment, adjust};
/// assert_eq!(adjust(Adjustment::Holm, &[0.04, 0.01]).unwrap(), [0.04, 0.02]);
/// ```
pub fn adjust(kind: Adjustment, p: &[f64]) -> Result<Vec<f64>> {
    if let Some(i) = p.iter().position(|p| !(*p >= 0.0 && *p <= 1.0 + 1e-9)) {
        return Err(Error::input(format!(
            "p-value {} at position {i} (from 0)",
            p[i]
        )));
    }
    let n = p.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let harmonic: f64 = (1..=n).map(|i| 1.0 / i as f64).sum();
    let factor = |rank: usize| match kind {
        Adjustment::Holm | Adjustment::Hochberg => (n - rank) as f64,
        Adjustment::Bonferroni => n as f64,
        Adjustment::BenjaminiHochberg => n as f64 / (rank + 1) as f64,
        Adjustment::BenjaminiYekutieli => harmonic * n as f64 / (rank + 1) as f64,
    };
    let mut adjusted = vec![0.0; n];
    let mut step = |rank: usize, running: f64, larger: bool| {
        let scaled = (factor(rank) * p[order[rank]]).min(1.0);
        let value = if larger {
            scaled.max(running)
        } else {
            scaled.min(running)
        };
        adjusted[order[rank]] = value;
        value
    };
    match kind {
        // Step down: no p may fall below that of a smaller one.
        Adjustment::Holm | Adjustment::Bonferroni => {
            (0..n).fold(0.0, |running, rank| step(rank, running, true));
        }
        // Step up: no p may exceed that of a larger one.
        _ => {
            (0..n)
                .rev()
                .fold(1.0, |running, rank| step(rank, running, false));
        }
    }
    Ok(adjusted)
}

/// Which of several discrete tests can reject at all (Tarone 1990).
#[derive(Clone, Debug, PartialEq)]
pub struct Testable {
    /// K, the smallest integer ≥ 1 with #{p*_i ≤ α/K} ≤ K.
    pub k: u64,
    /// The bar α/K.
    pub bar: f64,
    /// Whether each test's smallest attainable p-value reaches the bar.
    pub set: Vec<bool>,
}

/// Tarone's screen on the smallest attainable p-values.
pub fn tarone(smallest: &[f64], alpha: f64) -> Testable {
    let count = |k: u64| {
        smallest
            .iter()
            .filter(|&&p| at_most(p, alpha / k as f64))
            .count() as u64
    };
    // The count does not rise with K, so K ≤ number of tests.
    let k = (1..=smallest.len() as u64)
        .find(|&k| count(k) <= k)
        .unwrap_or(1);
    let bar = alpha / k as f64;
    Testable {
        k,
        bar,
        set: smallest.iter().map(|&p| at_most(p, bar)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusting_nothing_gives_nothing() {
        assert_eq!(adjust(Adjustment::Holm, &[]).unwrap(), Vec::<f64>::new());
        assert!(adjust(Adjustment::Holm, &[f64::NAN]).is_err());
    }

    #[test]
    fn full_breaks_of_three_trials_are_testable_once_and_of_four_thrice() {
        // 1/C(6,3) = 1/20 and 1/C(8,4) = 1/70.
        assert_eq!(tarone(&[0.05], 0.05).set, [true]);
        assert_eq!(tarone(&[0.05; 2], 0.05).set, [false; 2]);
        let three = tarone(&[1.0 / 70.0; 3], 0.05);
        assert_eq!((three.k, three.set), (3, vec![true; 3]));
        assert_eq!(tarone(&[1.0 / 70.0; 4], 0.05).set, [false; 4]);
    }
}
