//! How surely a judge's certificate would be issued again.

use super::Transported;
use super::lang_reiczigel::{LEAST_YOUDEN, youden_bound};
use crate::stats::Level;
use crate::stats::proportion::clopper_pearson;
use crate::stats::special::{binomial_pmf, binomial_sf};
use crate::stats::tolerance::at_most;

/// Probability that fresh labels of the same number pass the near-chance screen of METHODS 9.3, if
/// the true sensitivity and specificity are those observed.
///
/// Exact summation over both binomials. A screen and an interval from the same labels select lucky
/// samples; coverage holds where at least .8 of samples are kept. `None` where a class has no label.
pub fn retention_probability(counts: &Transported, level: Level) -> Option<f64> {
    let (se, sp) = (counts.sensitivity()?, counts.specificity()?);
    // Effective label numbers are rounded: a binomial has whole trials.
    let (positives, negatives) = (
        counts.positives.round() as u64,
        counts.negatives.round() as u64,
    );
    let (hits, correct) = (Outcomes::of(positives, se), Outcomes::of(negatives, sp));
    let kept = |hit: u64, right: u64| {
        let (of_hit, of_right) = (share(hit, positives, level), share(right, negatives, level));
        !at_most(
            youden_bound(of_hit.0, of_hit.1, of_right.0, of_right.1),
            LEAST_YOUDEN,
        )
    };
    // More hits never need more correct rejections, so one walk along the frontier suffices.
    let (mut total, mut least) = (0.0, correct.last + 1);
    for hit in hits.first..=hits.last {
        while least > correct.first && kept(hit, least - 1) {
            least -= 1;
        }
        let enough = if least > correct.last {
            0.0
        } else {
            binomial_sf(least, negatives, sp)
        };
        total += binomial_pmf(hit, positives, se) * enough;
    }
    Some(total.clamp(0.0, 1.0))
}

/// A share and its distance from its lower limit.
fn share(x: u64, n: u64, level: Level) -> (f64, f64) {
    let (x, n) = (x as f64, n as f64);
    (x / n, x / n - clopper_pearson(x, n, level).lower)
}

/// The outcomes of a binomial that are worth visiting: nine standard deviations around the mean.
struct Outcomes {
    first: u64,
    last: u64,
}

impl Outcomes {
    fn of(n: u64, p: f64) -> Self {
        let (mean, reach) = (n as f64 * p, 9.0 * (n as f64 * p * (1.0 - p)).sqrt() + 9.0);
        Self {
            first: (mean - reach).max(0.0) as u64,
            last: ((mean + reach) as u64).min(n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retention(tp: f64, p: f64, tn: f64, q: f64) -> f64 {
        let counts = Transported {
            judge_positive: 5.0,
            items: 10.0,
            true_positive: tp,
            positives: p,
            true_negative: tn,
            negatives: q,
        };
        retention_probability(&counts, Level::p95()).unwrap()
    }

    #[test]
    fn the_walk_agrees_with_full_enumeration() {
        let (p, q, se, sp) = (50u64, 60u64, 0.76, 0.7);
        let mut expected = 0.0;
        for hit in 0..=p {
            for right in 0..=q {
                let (a, b) = (share(hit, p, Level::p95()), share(right, q, Level::p95()));
                if youden_bound(a.0, a.1, b.0, b.1) > 0.2 + 1e-9 {
                    expected += binomial_pmf(hit, p, se) * binomial_pmf(right, q, sp);
                }
            }
        }
        assert!((retention(38.0, 50.0, 42.0, 60.0) - expected).abs() < 1e-9);
        assert!(expected > 0.2 && expected < 0.95, "{expected}");
    }

    #[test]
    fn strength_and_labels_help() {
        assert!(retention(35.0, 50.0, 30.0, 50.0) < 0.2);
        assert!(retention(47.0, 50.0, 47.0, 50.0) > 0.99);
        assert!(retention(7000.0, 10_000.0, 6500.0, 10_000.0) > 0.99);
    }
}
