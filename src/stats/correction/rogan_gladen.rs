//! The Rogan–Gladen point with delta-method limits: an option, not the default.

use super::{CorrectedRate, Transported};
use crate::base::{Notice, Result};
use crate::stats::{Level, Limits, Status};

/// A Rogan–Gladen rate with what it was before clipping.
#[derive(Clone, Debug, PartialEq)]
pub struct RoganGladen {
    /// The clipped rate with clipped limits.
    pub rate: CorrectedRate,
    /// (a + Sp − 1)/(Se + Sp − 1), possibly outside \[0, 1\].
    pub raw: Option<f64>,
    /// Delta-method standard error.
    pub se: Option<f64>,
}

/// Rogan & Gladen's (1978) correction with delta-method limits, method id `rogan_gladen_delta`.
///
/// For comparison with other tools. A judge that is perfect on a few labels leaves no variance at all
/// here, and near chance the ratio is unstable: use [`super::lang_reiczigel_checked`]. A standard
/// error of 0 is `not_estimable`, and so are limits that both lie outside \[0, 1\]; an error that
/// ignores a perfect class is `exploratory`. A raw rate outside \[0, 1\] has the notice
/// `estimate_outside_scale`.
///
/// # Errors
///
/// If a count is larger than its whole. A judge no better than chance is `judge_near_chance`.
pub fn rogan_gladen_delta(counts: &Transported, level: Level) -> Result<RoganGladen> {
    const METHOD: &str = "rogan_gladen_delta";
    counts.check()?;
    let (Some(raw), Some(se)) = (counts.raw_rate(), counts.standard_error()) else {
        let rate = CorrectedRate::not_identified(METHOD, counts.undefined_reason(), level);
        return Ok(RoganGladen {
            rate,
            raw: None,
            se: None,
        });
    };
    let half = level.z() * se;
    let limits = Limits {
        lower: raw - half,
        upper: raw + half,
    };
    let mut rate = CorrectedRate::new(METHOD, raw, limits, level);
    let perfect = |part: f64, whole: f64| part <= 0.0 || part >= whole;
    if perfect(counts.true_positive, counts.positives)
        || perfect(counts.true_negative, counts.negatives)
    {
        let detail = "a class without a judge error adds no variance here";
        rate = rate
            .at_most(Status::Exploratory)
            .noticing(Notice::with("perfect_class", detail));
    }
    if se <= 0.0 {
        rate = rate.at_most(Status::NotEstimable);
    }
    Ok(RoganGladen {
        rate,
        raw: Some(raw),
        se: Some(se),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverted_judge_is_refused() {
        let inverted = Transported::of_counts(30.0, 100.0, 30.0, 100.0, 30.0, 100.0);
        let result = rogan_gladen_delta(&inverted, Level::p95()).unwrap();
        assert_eq!((result.raw, result.rate.estimate), (None, None));
        assert_eq!(result.rate.reason, Some("judge_near_chance"));
    }

    #[test]
    fn a_width_of_zero_is_never_ok() {
        let perfect = Transported::of_counts(200.0, 200.0, 20.0, 20.0, 20.0, 20.0);
        let result = rogan_gladen_delta(&perfect, Level::p95()).unwrap();
        assert_eq!(
            (result.se, result.rate.status),
            (Some(0.0), Status::NotEstimable)
        );
        let small = Transported::of_counts(37.0, 40.0, 3.0, 3.0, 3.0, 3.0);
        let result = rogan_gladen_delta(&small, Level::p95()).unwrap();
        assert_eq!(result.rate.status, Status::Exploratory);
    }

    #[test]
    fn limits_outside_the_scale_do_not_decide() {
        let below = Transported::of_counts(8.0, 1000.0, 8.0, 10.0, 41.0, 80.0);
        let result = rogan_gladen_delta(&below, Level::p95()).unwrap();
        assert!(result.raw.unwrap() < -1.5 && result.se.unwrap() > 0.0);
        assert_eq!(
            (result.rate.lower, result.rate.upper, result.rate.status),
            (Some(0.0), Some(0.0), Status::NotEstimable)
        );
        assert_eq!(result.rate.notices[0].code, "estimate_outside_scale");
        let raw_of_two = Transported::of_counts(70.0, 100.0, 30.0, 50.0, 25.0, 50.0);
        let result = rogan_gladen_delta(&raw_of_two, Level::p95()).unwrap();
        assert!((result.raw.unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(result.rate.notices[0].code, "estimate_outside_scale");
    }

    #[test]
    fn missing_parts_are_named() {
        let no_items = Transported::of_counts(0.0, 0.0, 9.0, 10.0, 9.0, 10.0);
        let reason = |c| rogan_gladen_delta(&c, Level::p95()).unwrap().rate.reason;
        assert_eq!(reason(no_items), Some("no_valid_trials"));
        assert_eq!(
            reason(Transported::of_counts(5.0, 9.0, 0.0, 0.0, 9.0, 10.0)),
            Some("too_few_labels")
        );
        assert!(
            rogan_gladen_delta(
                &Transported::of_counts(5.0, 4.0, 1.0, 2.0, 1.0, 2.0),
                Level::p95()
            )
            .is_err()
        );
    }
}
