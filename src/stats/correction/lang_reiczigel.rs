//! Lang and Reiczigel's interval, bare and with the refusals of METHODS 9.3.

use super::{CorrectedRate, Transported, retention_probability};
use crate::base::{Notice, Result};
use crate::stats::proportion::clopper_pearson;
use crate::stats::tolerance::{above, at_most, below};
use crate::stats::{Level, Limits};

/// A rate from transported error rates, with what decided about it.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedRate {
    /// The rate, or the refusal.
    pub rate: CorrectedRate,
    /// Lower bound of Youden's J from Clopper–Pearson limits; `None` where a class has no label.
    pub youden_lower: Option<f64>,
    /// Probability that labels like these would be kept again; below .8 the certificate is
    /// `borderline`, and no gate may rest on it.
    pub retention: Option<f64>,
}

/// Fewest labels per class.
const FEWEST_LABELS: f64 = 50.0;

/// Youden's J must surely be above this.
pub(super) const LEAST_YOUDEN: f64 = 0.2;

/// A kept certificate under this probability of being kept again is borderline.
const SURE_RETENTION: f64 = 0.8;

/// The rate behind a judge's rate from sensitivity and specificity, method id `lang_reiczigel`.
///
/// The bare formula (identical to the interval of Lee et al. 2025), for judges known to be far from
/// chance: near chance it covers too little, which [`lang_reiczigel_checked`] refuses. It assumes
/// that error rates transport; coverage .885 where specificity falls from .8 to .6. A raw rate
/// outside \[0, 1\] has the notice `estimate_outside_scale`; limits that both lie outside are
/// `not_estimable`.
///
/// # Errors
///
/// If a count is larger than its whole. A judge no better than chance is `judge_near_chance`.
///
/// Source: Lang & Reiczigel 2014; Lee, Zeng, Jeong, Sohn & Lee 2025.
pub fn lang_reiczigel(counts: &Transported, level: Level) -> Result<CorrectedRate> {
    counts.check()?;
    Ok(bare("lang_reiczigel", counts, level))
}

/// [`lang_reiczigel`] with its refusals, method id `lang_reiczigel_checked`: the product form.
///
/// Refuses in this order: `too_few_labels` under 50 of either class; `judge_near_chance` unless J
/// minus its Clopper–Pearson distance is above .2; `calibration_does_not_transport` if the raw rate
/// lies more than one standard error outside \[0, 1\]. A refusal is no estimate, interval \[0, 1\],
/// status `not_identified`. The notice `borderline` says that labels like these would be kept with
/// probability under .8: kept samples of a weak judge cover too little, so no gate may use it.
///
/// # Errors
///
/// If a count is larger than its whole.
pub fn lang_reiczigel_checked(counts: &Transported, level: Level) -> Result<CheckedRate> {
    const METHOD: &str = "lang_reiczigel_checked";
    counts.check()?;
    let youden_lower = youden_lower(counts, level);
    let refuse = |reason| CheckedRate {
        rate: CorrectedRate::not_identified(METHOD, reason, level),
        youden_lower,
        retention: None,
    };
    if counts.items <= 0.0 {
        return Ok(refuse("no_valid_trials"));
    }
    if below(counts.positives, FEWEST_LABELS) || below(counts.negatives, FEWEST_LABELS) {
        return Ok(refuse("too_few_labels"));
    }
    if youden_lower.is_none_or(|j| at_most(j, LEAST_YOUDEN)) {
        return Ok(refuse("judge_near_chance"));
    }
    let (Some(raw), Some(se)) = (counts.raw_rate(), counts.standard_error()) else {
        return Ok(refuse("judge_near_chance"));
    };
    if below(raw, -se) || above(raw, 1.0 + se) {
        return Ok(refuse("calibration_does_not_transport"));
    }
    let mut rate = bare(METHOD, counts, level);
    let retention = retention_probability(counts, level);
    if retention.is_some_and(|p| below(p, SURE_RETENTION)) {
        let detail = "labels like these would often be refused; no gate may rest on them";
        rate = rate.noticing(Notice::with("borderline", detail));
    }
    Ok(CheckedRate {
        rate,
        youden_lower,
        retention,
    })
}

/// J minus the distance of both rates from their lower limits, in squares.
fn youden_lower(counts: &Transported, level: Level) -> Option<f64> {
    let (se, sp) = (counts.sensitivity()?, counts.specificity()?);
    let se_lower = clopper_pearson(counts.true_positive, counts.positives, level).lower;
    let sp_lower = clopper_pearson(counts.true_negative, counts.negatives, level).lower;
    Some(youden_bound(se, se - se_lower, sp, sp - sp_lower))
}

/// Se + Sp − 1 minus two distances added in squares.
pub(super) fn youden_bound(se: f64, se_down: f64, sp: f64, sp_down: f64) -> f64 {
    se + sp - 1.0 - se_down.hypot(sp_down)
}

fn bare(method: &'static str, counts: &Transported, level: Level) -> CorrectedRate {
    let Some(raw) = counts.raw_rate() else {
        return CorrectedRate::not_identified(method, counts.undefined_reason(), level);
    };
    let z2 = level.z() * level.z();
    let a = (counts.judge_positive + z2 / 2.0) / (counts.items + z2);
    let (positives, negatives) = (counts.positives + 2.0, counts.negatives + 2.0);
    let se = (counts.true_positive + 1.0) / positives;
    let sp = (counts.true_negative + 1.0) / negatives;
    let youden = se + sp - 1.0;
    if youden <= 1e-12 {
        return CorrectedRate::not_identified(method, "judge_near_chance", level);
    }
    let p = (a + sp - 1.0) / youden;
    let (of_se, of_sp) = (se * (1.0 - se) / positives, sp * (1.0 - sp) / negatives);
    let shift = 2.0 * z2 * (p * of_se - (1.0 - p) * of_sp);
    let variance = a * (1.0 - a) / (counts.items + z2) + (1.0 - p).powi(2) * of_sp + p * p * of_se;
    let half = level.z() * variance.sqrt() / youden;
    let limits = Limits {
        lower: p + shift - half,
        upper: p + shift + half,
    };
    CorrectedRate::new(method, raw, limits, level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Status;

    #[test]
    fn refusals_come_in_order() {
        let reason = |c| {
            let checked = lang_reiczigel_checked(&c, Level::p95()).unwrap();
            assert_eq!(
                (checked.rate.estimate, checked.rate.status),
                (None, Status::NotIdentified)
            );
            assert_eq!(
                (checked.rate.lower, checked.rate.upper),
                (Some(0.0), Some(1.0))
            );
            checked.rate.reason.unwrap()
        };
        // Few labels, near chance and outside the unit interval at once: the first reason wins.
        assert_eq!(
            reason(Transported::of_counts(90.0, 100.0, 25.0, 49.0, 25.0, 50.0)),
            "too_few_labels"
        );
        assert_eq!(
            reason(Transported::of_counts(90.0, 100.0, 25.0, 50.0, 25.0, 50.0)),
            "judge_near_chance"
        );
        assert_eq!(
            reason(Transported::of_counts(
                99.0, 100.0, 70.0, 100.0, 95.0, 100.0
            )),
            "calibration_does_not_transport"
        );
        assert_eq!(
            reason(Transported::of_counts(0.0, 0.0, 70.0, 100.0, 95.0, 100.0)),
            "no_valid_trials"
        );
        assert_eq!(
            reason(Transported::of_counts(
                30.0, 100.0, 30.0, 100.0, 30.0, 100.0
            )),
            "judge_near_chance"
        );
    }

    #[test]
    fn a_weak_kept_judge_is_borderline() {
        let weak = lang_reiczigel_checked(
            &Transported::of_counts(450.0, 1000.0, 71.0, 100.0, 65.0, 100.0),
            Level::p95(),
        )
        .unwrap();
        assert_eq!(weak.rate.status, Status::Ok);
        assert_eq!(weak.rate.notices[0].code, "borderline");
        let strong = lang_reiczigel_checked(
            &Transported::of_counts(450.0, 1000.0, 95.0, 100.0, 95.0, 100.0),
            Level::p95(),
        )
        .unwrap();
        assert!(strong.rate.notices.is_empty() && strong.retention.unwrap() > 0.999);
    }

    #[test]
    fn limits_outside_the_scale_do_not_decide() {
        for (c, end) in [
            (
                Transported::of_counts(14.0, 50.0, 50.0, 50.0, 15.0, 50.0),
                0.0,
            ),
            (
                Transported::of_counts(44.0, 50.0, 35.0, 60.0, 8.0, 10.0),
                1.0,
            ),
        ] {
            let rate = lang_reiczigel(&c, Level::p95()).unwrap();
            assert_eq!((rate.lower, rate.upper), (Some(end), Some(end)));
            assert_eq!(rate.status, Status::NotEstimable);
            assert_eq!(rate.notices[0].code, "estimate_outside_scale");
        }
        let inside = Transported::of_counts(450.0, 1000.0, 95.0, 100.0, 95.0, 100.0);
        let rate = lang_reiczigel(&inside, Level::p95()).unwrap();
        assert!(rate.notices.is_empty() && rate.status == Status::Ok);
    }

    #[test]
    fn perfect_small_calibration_is_not_certain() {
        let small = lang_reiczigel(
            &Transported::of_counts(37.0, 40.0, 3.0, 3.0, 3.0, 3.0),
            Level::p95(),
        )
        .unwrap();
        assert!((small.lower.unwrap() - 0.7711).abs() < 1e-4, "{small:?}");
    }
}
