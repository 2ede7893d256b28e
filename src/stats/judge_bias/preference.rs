//! Self-preference, identity effects, and errors of scores against people.

use crate::stats::Level;
use crate::stats::mean::{MeanEstimate, t_mean_of};
use crate::stats::sum::mean_of;
use crate::stats::undefined::{Defined, Undefined};

/// Self-preference as a difference in differences, method id `self_preference_did`.
///
/// Per item: (judge − human) on the answer of the judge's own family minus (judge − human) on the
/// other's; Student's t over items. The same statistic measures an identity effect, with revealed in
/// place of own and blinded in place of other. It needs human scores: the judge's gap alone may be
/// true quality. Unreliable where nearly all differences are 0.
///
/// # Errors
///
/// `unequal_lengths`, `not_finite`; too few or equal differences are a reason of the estimate.
///
/// Source: Panickssery et al. 2024.
pub fn self_preference_did(own: &[f64], other: &[f64], level: Level) -> Defined<MeanEstimate> {
    Ok(t_mean_of(differences(own, other)?, level))
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
/// Both say nothing about other items without an interval, and a few large errors carry the means; the
/// signed one is 0 where errors cancel. The scale of the judge must be that of the people.
///
/// # Errors
///
/// `unequal_lengths`, `not_finite`, `no_items`.
///
/// Source: Willmott & Matsuura 2005.
pub fn score_errors(judge: &[f64], human: &[f64]) -> Defined<ScoreErrors> {
    let errors = differences(judge, human)?;
    let absolute = errors.clone().map(f64::abs);
    let mean_signed = mean_of(errors).ok_or(Undefined("no_items"))?;
    let mean_absolute = mean_of(absolute).ok_or(Undefined("no_items"))?;
    Ok(ScoreErrors {
        mean_signed,
        mean_absolute,
    })
}

fn differences<'a>(
    first: &'a [f64],
    second: &'a [f64],
) -> Defined<impl Iterator<Item = f64> + Clone + 'a> {
    if first.len() != second.len() {
        return Err(Undefined("unequal_lengths"));
    }
    let differences = first.iter().zip(second).map(|(a, b)| a - b);
    if differences.clone().any(|d| !d.is_finite()) {
        return Err(Undefined("not_finite"));
    }
    Ok(differences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_differences_claim_nothing() {
        let same = self_preference_did(&[0.9, 0.9], &[0.8, 0.8], Level::p95()).unwrap();
        assert_eq!(
            (same.lower, same.p, same.reason),
            (None, None, Some("zero_variance"))
        );
        let nan = self_preference_did(&[f64::NAN, 1.0], &[0.8, 1.0], Level::p95());
        assert_eq!(nan.unwrap_err().code(), "not_finite");
    }

    #[test]
    fn exchanging_the_sides_mirrors_the_effect() {
        let (a, b) = ([0.1, 0.4, 0.2, 0.0], [0.0, 0.1, 0.3, 0.1]);
        let forth = self_preference_did(&a, &b, Level::p95()).unwrap();
        let back = self_preference_did(&b, &a, Level::p95()).unwrap();
        assert!((forth.lower.unwrap() + back.upper.unwrap()).abs() < 1e-12);
        assert!((forth.p.unwrap() - back.p.unwrap()).abs() < 1e-12);
    }

    #[test]
    fn errors_see_a_shift() {
        let errors = score_errors(&[2.0, 3.0, 3.0], &[1.0, 2.0, 4.0]).unwrap();
        assert!((errors.mean_signed - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(errors.mean_absolute, 1.0);
    }
}
