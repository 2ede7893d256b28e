//! Whether two arms lost trials alike.

use serde::Serialize;

use super::{PartialTask, manski_bounds};
use crate::base::{Error, Result, Seed};
use crate::stats::permutation::{SignFlip, sign_flip};
use crate::stats::special::{Draw, fisher_two_sided};
use crate::stats::units::{Units, Weights};

/// Trials of one arm, pooled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledArm {
    /// Sum of the valid trials' values.
    pub successes: f64,
    /// Valid trials.
    pub observed: u64,
    /// Missing trials.
    pub missing: u64,
}

/// A pooled comparison of two arms' missing trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MissingComparison {
    /// B − A of the valid trials.
    pub diff_complete_case: Option<f64>,
    /// B worst minus A best.
    pub diff_worst: Option<f64>,
    /// B best minus A worst.
    pub diff_best: Option<f64>,
    /// Fisher's exact two-sided p for equal missing rates: a hint at trial level; the rule uses
    /// the sign-flip of task-level missing rates.
    pub missing_fisher_p: f64,
    /// Whether the sign of the difference is the same in every completion.
    pub sign_decidable: bool,
}

/// Compares missing trials of two arms, pooled (method `missing_comparison`): display only.
///
/// Pooled trials are not independent, so its p is too small where tasks lose several trials each.
///
/// Source: Manski 1989; Fisher 1935.
pub fn missing_comparison(a: PooledArm, b: PooledArm) -> MissingComparison {
    let bounds = |arm: PooledArm| manski_bounds(arm.successes, arm.observed, arm.missing);
    let (x, y) = (bounds(a), bounds(b));
    let minus = |b: Option<f64>, a: Option<f64>| Some(b? - a?);
    let (worst, best) = (minus(y.worst, x.best), minus(y.best, x.worst));
    let planned = |arm: PooledArm| arm.observed + arm.missing;
    let draw = Draw {
        total: planned(a) + planned(b),
        marked: a.missing + b.missing,
        drawn: planned(a),
    };
    MissingComparison {
        diff_complete_case: minus(y.complete_case, x.complete_case),
        diff_worst: worst,
        diff_best: best,
        missing_fisher_p: fisher_two_sided(a.missing, draw),
        sign_decidable: worst.is_some_and(|d| d > 1e-12) || best.is_some_and(|d| d < -1e-12),
    }
}

/// p_missing, the screen of METHODS 10: the sign-flip test on task-level differences of missing
/// rates, one sign per cluster.
///
/// Both arms list all planned tasks in the same order; a task that was planned in one arm only
/// does not enter.
///
/// # Errors
///
/// If the arms or the labels differ in length.
pub fn missing_sign_flip(
    a: &[PartialTask],
    b: &[PartialTask],
    clusters: Option<&[u32]>,
    seed: Seed,
    draws: u64,
) -> Result<SignFlip> {
    if a.len() != b.len() {
        return Err(
            Error::input(format!("{} tasks in A, {} in B", a.len(), b.len()))
                .hint("both arms list the same tasks in the same order"),
        );
    }
    let planned = |t: &PartialTask| u64::from(t.observed) + u64::from(t.missing);
    let rate = |t: &PartialTask| f64::from(t.missing) / planned(t) as f64;
    let enters: Vec<u32> = a
        .iter()
        .zip(b)
        .map(|(x, y)| u32::from(planned(x) > 0 && planned(y) > 0))
        .collect();
    let units = Units::new(&enters, clusters, &Weights::EqualTask)?;
    let differences: Vec<f64> = units
        .sums(|position| {
            let i = units.kept[position];
            rate(&b[i]) - rate(&a[i])
        })
        .collect();
    Ok(sign_flip(&differences, seed, draws))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_in_one_arm_show() {
        let lost = |missing| PartialTask {
            sum: 0.0,
            observed: 4 - missing,
            missing,
        };
        let (a, b) = ([lost(0); 8], [lost(2); 8]);
        let run = |b: &[PartialTask], clusters: Option<&[u32]>| {
            missing_sign_flip(&a, b, clusters, Seed(1), 9999)
                .unwrap()
                .p_two_sided
        };
        assert_eq!(run(&b, None), 2.0 / 256.0);
        assert_eq!(run(&a, None), 1.0);
        // Two clusters cannot show more than two units can.
        assert_eq!(run(&b, Some(&[0, 0, 0, 0, 1, 1, 1, 1])), 0.5);
    }
}
