//! Self-preference, identity effects, and errors of scores against people.

use crate::stats::level::{Level, Limits};
use crate::stats::special::{t_quantile, t_two_sided};
use crate::stats::sum::{mean, variance};
use crate::stats::undefined::{Defined, Undefined};

/// A mean difference over items with its t interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedEffect {
    /// Mean over items of the difference.
    pub estimate: f64,
    /// Limits from t with items − 1 degrees of freedom.
    pub limits: Limits,
    /// Two-sided p of no effect.
    pub p: f64,
    /// Number of items.
    pub items: usize,
}

/// Self-preference as a difference in differences, method id `self_preference_did`.
///
/// Per item: (judge − human) on the answer of the judge's own family minus (judge − human) on the
/// other's. The same statistic measures an identity effect, with revealed in place of own and blinded
/// in place of other. It needs human scores: the judge's gap alone may be true quality. For graded
/// scores of at least ten items; a t interval is unreliable where nearly all differences are 0.
///
/// # Errors
///
/// `unequal_lengths`, `not_finite`, `too_few_units` under two items, `no_variation` if all
/// differences agree.
///
/// Source: Panickssery et al. 2024.
pub fn self_preference_did(own: &[f64], other: &[f64], level: Level) -> Defined<PairedEffect> {
    let differences = differences(own, other)?;
    let spread = variance(&differences).ok_or(Undefined("too_few_units"))?;
    let estimate = mean(&differences).ok_or(Undefined("too_few_units"))?;
    let n = differences.len() as f64;
    let se = (spread / n).sqrt();
    if se <= 1e-12 * estimate.abs().max(1e-300) {
        return Err(Undefined("no_variation"));
    }
    let half = t_quantile(1.0 - level.tail(), n - 1.0) * se;
    Ok(PairedEffect {
        estimate,
        limits: Limits {
            lower: estimate - half,
            upper: estimate + half,
        },
        p: t_two_sided(estimate / se, n - 1.0),
        items: differences.len(),
    })
}

/// What a correlation cannot see: shift and size of a judge's errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreErrors {
    /// Mean of judge − human.
    pub mean_signed: f64,
    /// Mean of |judge − human|.
    pub mean_absolute: f64,
}

/// Mean signed and mean absolute error of scores against people's.
///
/// # Errors
///
/// `unequal_lengths`, `not_finite`, `no_items`.
pub fn score_errors(judge: &[f64], human: &[f64]) -> Defined<ScoreErrors> {
    let errors = differences(judge, human)?;
    let absolute: Vec<f64> = errors.iter().map(|e| e.abs()).collect();
    let mean_signed = mean(&errors).ok_or(Undefined("no_items"))?;
    let mean_absolute = mean(&absolute).ok_or(Undefined("no_items"))?;
    Ok(ScoreErrors {
        mean_signed,
        mean_absolute,
    })
}

fn differences(first: &[f64], second: &[f64]) -> Defined<Vec<f64>> {
    if first.len() != second.len() {
        return Err(Undefined("unequal_lengths"));
    }
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    if differences.iter().any(|d| !d.is_finite()) {
        return Err(Undefined("not_finite"));
    }
    Ok(differences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_differences_claim_nothing() {
        let code = |own: &[f64], other: &[f64]| {
            self_preference_did(own, other, Level::p95())
                .unwrap_err()
                .code()
        };
        assert_eq!(code(&[0.9, 0.9], &[0.8, 0.8]), "no_variation");
        assert_eq!(code(&[0.9], &[0.8]), "too_few_units");
        assert_eq!(code(&[f64::NAN, 1.0], &[0.8, 1.0]), "not_finite");
    }

    #[test]
    fn exchanging_the_sides_mirrors_the_effect() {
        let (a, b) = ([0.1, 0.4, 0.2, 0.0], [0.0, 0.1, 0.3, 0.1]);
        let forth = self_preference_did(&a, &b, Level::p95()).unwrap();
        let back = self_preference_did(&b, &a, Level::p95()).unwrap();
        assert!((forth.limits.lower + back.limits.upper).abs() < 1e-12);
        assert!((forth.p - back.p).abs() < 1e-12);
    }

    #[test]
    fn errors_see_a_shift() {
        let errors = score_errors(&[2.0, 3.0, 3.0], &[1.0, 2.0, 4.0]).unwrap();
        assert!((errors.mean_signed - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(errors.mean_absolute, 1.0);
    }
}
