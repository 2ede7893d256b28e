//! Whether a judge may be used: screens first, then declared thresholds on the bounds of intervals.

use std::collections::BTreeMap;

use super::joined::Joined;
use super::measure::undefined;
use super::slice::Pairs;
use crate::model::calibration::{
    CalibrationNotice, CalibrationSlice, CertificateResult, Measured, ThresholdRow,
};
use crate::model::label::{Scale, ScaleKind};
use crate::stats::tolerance::{above, at_least, at_most, below};

/// Fewest labelled items before a judge may gate anything (METHODS 8).
const FEWEST_ITEMS: usize = 50;
/// Fewest labelled items at each of the judge's answers.
const FEWEST_PER_ANSWER: u64 = 10;
/// Youden's J must surely be above this (METHODS 9.3).
const LEAST_YOUDEN: f64 = 0.2;
/// More labelled items than this without a usable verdict, or without a truth, leave nothing to certify
/// (METHODS 6.4).
const MOST_MISSING: f64 = 0.10;

/// Rows whose size must not exceed a threshold; all others must reach it.
const EFFECTS: [&str; 5] = [
    "length_slope",
    "self_preference",
    "identity_effect",
    "mean_signed_error",
    "mean_absolute_error",
];

/// A refusal with its code.
fn refusal(code: &str, detail: impl Into<String>) -> CalibrationNotice {
    CalibrationNotice {
        code: code.to_owned(),
        detail: detail.into(),
    }
}

/// What the screens look at.
pub(super) struct Examined<'a> {
    /// Labels and verdicts.
    pub joined: &'a Joined,
    /// Everything measured on all items.
    pub all: &'a CalibrationSlice,
    /// Items with a truth and a usable verdict.
    pub pairs: &'a Pairs,
    /// Labelled items whose verdict is not usable.
    pub unusable: usize,
}

impl Examined<'_> {
    /// Labelled items without any verdict.
    fn unanswered(&self) -> usize {
        self.joined.labelled - self.joined.items.len()
    }
}

/// The first screen that refuses, in this order: nothing to look at, no verdict that could be used, too
/// many items without a truth, too few labels, one class of labels, a judge with one answer, too few
/// labels at one of its answers, one rater behind most labels, an inverted judge, one near chance, too
/// many unusable verdicts, the tuning part.
pub(super) fn screen(seen: &Examined) -> Option<CalibrationNotice> {
    let (joined, pairs) = (seen.joined, seen.pairs);
    if joined.labelled == 0 {
        return Some(refusal(
            "no_labels",
            format!("the {} part holds no label", joined.split),
        ));
    }
    if joined.items.is_empty() {
        let detail = "no labelled item has a verdict of this judge: are they the same items?";
        return Some(refusal("no_overlap", detail));
    }
    // Labels enough, and verdicts that cannot be used: then it is these that are missing.
    let labels = joined.items.iter().filter(|i| i.has_truth()).count() + seen.unanswered();
    if seen.unusable == joined.items.len() || pairs.len() < FEWEST_ITEMS && labels >= FEWEST_ITEMS {
        return too_many_unusable(seen).or_else(|| too_few(pairs.len()));
    }
    unsettled(joined)
        .or_else(|| too_few(pairs.len()))
        .or_else(|| one_sided(pairs, &joined.scale))
        .or_else(|| {
            let found = joined.dominance.as_ref()?;
            Some(refusal("one_rater_dominates", found.to_string()))
        })
        .or_else(|| near_chance(seen))
        .or_else(|| too_many_unusable(seen))
        .or_else(|| {
            (joined.split == "dev").then(|| {
                refusal(
                    "not_test_split",
                    "prompts are tuned on this part; certify on `test`",
                )
            })
        })
}

fn too_few(items: usize) -> Option<CalibrationNotice> {
    (items < FEWEST_ITEMS).then(|| {
        let detail = format!("{items} labelled items with a verdict; at least {FEWEST_ITEMS}");
        refusal("too_few_labels", detail)
    })
}

/// Items that people dispute are the hard ones: leaving many of them out flatters the judge.
fn unsettled(joined: &Joined) -> Option<CalibrationNotice> {
    let open: u64 = joined.without_truth.values().sum();
    let share = open as f64 / joined.labelled as f64;
    above(share, MOST_MISSING).then(|| {
        let detail = format!(
            "{open} of {} labelled items have no truth by the rule `{}`, and those that people dispute are the hard ones: adjudicate them, or declare another rule with `--truth`",
            joined.labelled,
            joined.rule.name()
        );
        refusal("truth_unsettled", detail)
    })
}

fn one_sided(pairs: &Pairs, scale: &Scale) -> Option<CalibrationNotice> {
    let word = |code: u32| scale.levels.get(code as usize).map_or("", String::as_str);
    let same = |codes: &[u32]| codes.iter().all(|c| *c == codes[0]).then(|| word(codes[0]));
    if let Some(shares) = &pairs.shares {
        if shares.iter().all(|s| *s <= 0.0) || shares.iter().all(|s| *s >= 1.0) {
            let detail = "every label says the same: the judge was never shown anything else";
            return Some(refusal("single_class", detail));
        }
    } else if let Some(class) = same(&pairs.truth) {
        let detail = format!("every label is `{class}`: the judge was never shown anything else");
        return Some(refusal("single_class", detail));
    }
    if let Some(answer) = same(&pairs.judge) {
        return Some(refusal(
            "constant_judge",
            format!("every verdict is `{answer}`"),
        ));
    }
    let mut answers: BTreeMap<u32, u64> = BTreeMap::new();
    pairs
        .judge
        .iter()
        .for_each(|j| *answers.entry(*j).or_default() += 1);
    // A pairwise answer that flips is a tie, which is no answer where people never see one: it is wrong.
    if scale.kind == ScaleKind::Pairwise && !pairs.truth.contains(&2) {
        answers.remove(&2);
    }
    let (rarest, n) = answers.into_iter().min_by_key(|(_, n)| *n)?;
    (n < FEWEST_PER_ANSWER).then(|| {
        let detail = format!(
            "{n} labelled items with the verdict `{}`; at least {FEWEST_PER_ANSWER}",
            word(rarest)
        );
        refusal("too_few_labels", detail)
    })
}

/// Youden's J where something is good or bad, else kappa.
fn near_chance(seen: &Examined) -> Option<CalibrationNotice> {
    let (name, least) = match seen.all.row("youden") {
        Some(_) => ("youden", LEAST_YOUDEN),
        None => ("kappa", 0.0),
    };
    let row = seen.all.row(name)?;
    let bounds = || match (row.low, row.high) {
        (Some(low), Some(high)) => format!("{name} lies in [{low:.3}, {high:.3}]"),
        _ => format!("{name} has no interval"),
    };
    if row.high.is_some_and(|high| below(high, 0.0)) {
        let detail = format!(
            "{}: it says the opposite of people; never invert it",
            bounds()
        );
        return Some(refusal("judge_inverted", detail));
    }
    // A value without limits is a small perfect set or two constants: neither shows a margin. Many
    // items without one disagreement are not near chance.
    let surely_above = match row.low {
        Some(low) => !at_most(low, least),
        None => row.value.is_some_and(|v| at_least(v, 1.0)),
    };
    (!surely_above).then(|| {
        refusal(
            "judge_near_chance",
            format!("{}; its lower bound must be above {least}", bounds()),
        )
    })
}

fn too_many_unusable(seen: &Examined) -> Option<CalibrationNotice> {
    let (labelled, unanswered) = (seen.joined.labelled, seen.unanswered());
    let lost = seen.unusable + unanswered;
    above(lost as f64 / labelled as f64, MOST_MISSING).then(|| {
        let detail = format!(
            "{lost} of {labelled} labelled items have no usable verdict ({unanswered} have none at all): what they would have said is unknown"
        );
        refusal("missing_high", detail)
    })
}

/// Holds each threshold against the bound of its row; what was not measured holds nothing.
pub(super) fn hold(thresholds: &BTreeMap<String, f64>, rows: &[&Measured]) -> Vec<ThresholdRow> {
    let held = |(name, &required): (&String, &f64)| {
        let blank = undefined(name, 0, "not_measured");
        let row = rows.iter().find(|r| r.name == *name);
        one(row.unwrap_or(&&blank), required)
    };
    thresholds.iter().map(held).collect()
}

fn one(row: &Measured, required: f64) -> ThresholdRow {
    let effect = EFFECTS.contains(&row.name.as_str());
    let largest = || Some(row.low?.abs().max(row.high?.abs()));
    let reached = if effect { largest() } else { row.low };
    let passed = reached.is_some_and(|r| {
        if effect {
            at_most(r, required)
        } else {
            at_least(r, required)
        }
    });
    let undefined = || {
        row.reason
            .clone()
            .unwrap_or_else(|| "no_interval".to_owned())
    };
    ThresholdRow {
        name: row.name.clone(),
        required,
        bound: if effect { "high" } else { "low" }.to_owned(),
        reached,
        items: row.items,
        passed,
        reason: match (passed, reached) {
            (true, _) => None,
            (false, None) => Some(undefined()),
            (false, Some(_)) => Some("bound_missed".to_owned()),
        },
    }
}

/// Passed only if no screen refuses, thresholds were declared, and every one of them holds.
pub(super) fn result(
    screened: Option<CalibrationNotice>,
    thresholds: &[ThresholdRow],
) -> CertificateResult {
    let mut reasons: Vec<CalibrationNotice> = screened.into_iter().collect();
    if thresholds.is_empty() {
        let detail = "no threshold was declared, so there is nothing that the judge could pass";
        reasons.push(refusal("no_thresholds", detail));
    }
    for row in thresholds.iter().filter(|t| !t.passed) {
        let found = row
            .reached
            .map_or("is undefined".to_owned(), |r| format!("is {r:.4}"));
        let detail = format!(
            "the {} bound of {} {found}; required {}",
            row.bound, row.name, row.required
        );
        reasons.push(refusal("threshold_missed", detail));
    }
    CertificateResult {
        result: if reasons.is_empty() {
            "passed"
        } else {
            "refused"
        }
        .to_owned(),
        reason: reasons.first().map(|r| r.code.clone()),
        reasons,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, limits: Option<(f64, f64)>) -> Measured {
        Measured {
            name: name.to_owned(),
            value: Some(0.9),
            low: limits.map(|l| l.0),
            high: limits.map(|l| l.1),
            ..Measured::default()
        }
    }

    #[test]
    fn what_was_not_measured_holds_nothing() {
        let declared = BTreeMap::from([("tau_b".to_owned(), 0.1)]);
        let held = hold(&declared, &[&row("accuracy", Some((0.8, 0.9)))]);
        assert_eq!(
            (held[0].passed, held[0].reason.as_deref()),
            (false, Some("not_measured"))
        );
        // A threshold was declared, so this is no lack of thresholds.
        assert_eq!(
            result(None, &held).reason.as_deref(),
            Some("threshold_missed")
        );
    }

    #[test]
    fn thresholds_act_on_bounds() {
        assert!(!one(&row("accuracy", Some((0.79, 0.95))), 0.8).passed);
        assert!(one(&row("accuracy", Some((0.8, 0.95))), 0.8).passed);
        assert!(!one(&row("accuracy", None), 0.8).passed);
        assert!(!one(&row("length_slope", Some((-0.2, 0.05))), 0.1).passed);
        assert!(one(&row("length_slope", Some((-0.1, 0.05))), 0.1).passed);
    }

    #[test]
    fn nothing_declared_is_nothing_passed() {
        let none = result(None, &[]);
        assert_eq!(
            (none.passed(), none.reason.as_deref()),
            (false, Some("no_thresholds"))
        );
        let held = [one(&row("accuracy", Some((0.8, 0.95))), 0.8)];
        assert!(result(None, &held).passed());
        let screened = result(Some(refusal("no_overlap", "")), &held);
        assert_eq!(screened.reason.as_deref(), Some("no_overlap"));
    }
}
