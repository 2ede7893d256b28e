//! Post-stratification by judge label: the default correction.

use super::CorrectedRate;
use crate::base::{Error, Notice, Result};
use crate::stats::proportion::{clopper_pearson, jeffreys};
use crate::stats::sum::{Sum, sum};
use crate::stats::tolerance::above;
use crate::stats::{Level, Limits, Status};

/// What the judge and people said at one level of the judge's answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgeLevel {
    /// Items that the judge put at this level.
    pub judged: f64,
    /// How many of them carry a human label.
    pub labelled: f64,
    /// How many of those are positive.
    pub positive: f64,
}

/// Which interval the share of positives within a level gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inversion {
    /// Clopper–Pearson, method id `post_stratified_cp`: the default.
    ClopperPearson,
    /// Jeffreys, method id `post_stratified_jeffreys`: shorter, minimum coverage .934.
    Jeffreys,
}

/// A post-stratified rate and how much of it no label speaks for.
#[derive(Clone, Debug, PartialEq)]
pub struct StratifiedRate {
    /// The rate.
    pub rate: CorrectedRate,
    /// Share of items at levels without any label.
    pub unlabelled_weight: f64,
}

/// Post-stratification by judge label, method ids `post_stratified_cp` and
/// `post_stratified_jeffreys`.
///
/// p̂ = Σ w_k q_k over the judge's levels, where w_k is the share of items at a level and q_k the share
/// of positives among its labels. The limits add the levels' own distances from their limits and the
/// sampling of items in squares (Newcombe 1998; Zou & Donner 2008). A level without labels enters with
/// q = ½ and adds half its weight to both sides; above .02 of such weight the status is
/// `conservative`.
///
/// The labels must be a random sample of *this run's* items, of one arm, one label per independent
/// item; a prevalence shift between labels and items destroys coverage. For several trials per task
/// use [`super::post_stratified_tasks`].
///
/// # Errors
///
/// If a count is negative or not finite, or there are more labels than items or more positives than
/// labels.
///
/// # Examples
///
/// ```
/// use assize::stats::Level;
/// use assize::stats::correction::{Inversion, JudgeLevel, post_stratified};
/// let passed = JudgeLevel { judged: 700.0, labelled: 50.0, positive: 47.0 };
/// let failed = JudgeLevel { judged: 300.0, labelled: 50.0, positive: 6.0 };
/// let result = post_stratified(&[passed, failed], Inversion::ClopperPearson, Level::p95())?;
/// assert!((result.rate.estimate.unwrap() - 0.694).abs() < 1e-12);
/// # Ok::<(), assize::base::Error>(())
/// ```
pub fn post_stratified(
    levels: &[JudgeLevel],
    inversion: Inversion,
    level: Level,
) -> Result<StratifiedRate> {
    levels
        .iter()
        .enumerate()
        .try_for_each(|(index, l)| l.check(index))?;
    let items = sum(levels.iter().map(|l| l.judged));
    let strata = levels.iter().map(|l| l.stratum(items));
    let sampling = |estimate: f64| {
        let square = |s: Stratum| s.weight * s.in_use() * s.in_use();
        (sum(strata.clone().map(square)) - estimate * estimate).max(0.0) / items
    };
    let method = inversion.method();
    Ok(combine(method, strata.clone(), inversion, level, sampling))
}

impl Inversion {
    pub(super) fn method(self) -> &'static str {
        match self {
            Self::ClopperPearson => "post_stratified_cp",
            Self::Jeffreys => "post_stratified_jeffreys",
        }
    }

    fn limits(self, positive: f64, labelled: f64, level: Level) -> Limits {
        match self {
            Self::ClopperPearson => clopper_pearson(positive, labelled, level),
            Self::Jeffreys => jeffreys(positive, labelled, level),
        }
    }
}

impl JudgeLevel {
    pub(super) fn check(&self, index: usize) -> Result<()> {
        let ordered = self.positive >= 0.0
            && self.positive <= self.labelled
            && self.labelled <= self.judged
            && self.judged.is_finite();
        let Self {
            judged,
            labelled,
            positive,
        } = self;
        let message = format!(
            "level {index} (from 0): {positive} positive of {labelled} labelled of {judged} judged"
        );
        let hint = "each count is part of the next";
        if ordered {
            Ok(())
        } else {
            Err(Error::input(message).hint(hint))
        }
    }

    pub(super) fn stratum(&self, items: f64) -> Stratum {
        let share = (self.labelled > 0.0).then(|| self.positive / self.labelled);
        Stratum {
            weight: self.judged / items,
            labels: self.labelled,
            share,
        }
    }
}

/// A level as the formula sees it; labels may be an effective number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stratum {
    /// w_k.
    pub weight: f64,
    /// n_k.
    pub labels: f64,
    /// q_k, or `None` without labels.
    pub share: Option<f64>,
}

impl Stratum {
    /// q_k as the estimate uses it: ½ where there is no label.
    pub fn in_use(&self) -> f64 {
        self.share.unwrap_or(0.5)
    }
}

/// Square-and-add over strata; `sampling` gives V from the estimate.
pub(super) fn combine(
    method: &'static str,
    strata: impl Iterator<Item = Stratum> + Clone,
    inversion: Inversion,
    level: Level,
    sampling: impl Fn(f64) -> f64,
) -> StratifiedRate {
    let occupied = || strata.clone().filter(|s| s.weight > 0.0);
    let unlabelled = occupied().filter(|s| s.share.is_none());
    let unlabelled_weight = sum(unlabelled.map(|s| s.weight)).min(1.0);
    if occupied().all(|s| s.share.is_none()) {
        let reason = if occupied().next().is_none() {
            "no_valid_trials"
        } else {
            "too_few_labels"
        };
        let rate = CorrectedRate::not_identified(method, reason, level);
        return StratifiedRate {
            rate,
            unlabelled_weight,
        };
    }
    let estimate = sum(strata.clone().map(|s| s.weight * s.in_use()));
    let (mut down, mut up) = (Sum::default(), Sum::default());
    for stratum in occupied() {
        let Some(share) = stratum.share else { continue };
        let own = inversion.limits(share * stratum.labels, stratum.labels, level);
        down.add((stratum.weight * (share - own.lower)).powi(2));
        up.add((stratum.weight * (own.upper - share)).powi(2));
    }
    let spread = level.z() * level.z() * sampling(estimate).max(0.0);
    let slack = unlabelled_weight / 2.0;
    let lower = estimate - (down.value() + spread).sqrt() - slack;
    let upper = estimate + (up.value() + spread).sqrt() + slack;
    let mut rate = CorrectedRate::new(method, estimate, Limits { lower, upper }, level);
    if above(unlabelled_weight, 0.02) {
        let detail = format!(
            "{:.3} of the items are at levels without a label",
            unlabelled_weight
        );
        rate = rate
            .at_most(Status::Conservative)
            .noticing(Notice::with("unlabelled_levels", detail));
    }
    StratifiedRate {
        rate,
        unlabelled_weight,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cp(levels: &[[f64; 3]]) -> Result<StratifiedRate> {
        let levels: Vec<JudgeLevel> = levels
            .iter()
            .map(|&[judged, labelled, positive]| JudgeLevel {
                judged,
                labelled,
                positive,
            })
            .collect();
        post_stratified(&levels, Inversion::ClopperPearson, Level::p95())
    }

    #[test]
    fn impossible_counts_are_refused() {
        for bad in [
            [10.0, 5.0, 6.0],
            [4.0, 5.0, 5.0],
            [10.0, 5.0, -1.0],
            [f64::NAN, 0.0, 0.0],
        ] {
            assert!(cp(&[bad]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn no_label_identifies_nothing() {
        let none = cp(&[[70.0, 0.0, 0.0], [30.0, 0.0, 0.0]]).unwrap().rate;
        assert_eq!(
            (none.estimate, none.lower, none.upper),
            (None, Some(0.0), Some(1.0))
        );
        assert_eq!(
            (none.status, none.reason),
            (Status::NotIdentified, Some("too_few_labels"))
        );
        assert_eq!(cp(&[]).unwrap().rate.reason, Some("no_valid_trials"));
    }

    #[test]
    fn a_perfect_small_label_set_still_has_width() {
        let perfect = cp(&[[200.0, 20.0, 20.0], [0.0, 0.0, 0.0]]).unwrap().rate;
        assert_eq!(perfect.estimate, Some(1.0));
        assert!(perfect.lower.unwrap() < 0.84 && perfect.upper == Some(1.0));
    }

    #[test]
    fn an_unlabelled_level_is_conservative() {
        let some = cp(&[[90.0, 30.0, 25.0], [10.0, 0.0, 0.0]]).unwrap();
        assert_eq!(some.rate.status, Status::Conservative);
        assert!((some.unlabelled_weight - 0.1).abs() < 1e-12);
        assert_eq!(some.rate.notices[0].code, "unlabelled_levels");
    }
}
