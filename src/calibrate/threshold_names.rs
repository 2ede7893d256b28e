//! What a threshold may name, and which values make sense for it.

use std::fmt;

use crate::model::label::{Scale, ScaleKind};

/// Pairs of more raters than this are not listed one by one.
pub(super) const MOST_PAIRED: usize = 8;

/// Why a threshold cannot be held.
#[derive(Clone, Debug, PartialEq)]
pub enum ThresholdProblem {
    /// Nothing of this name is measured on the scale; with all names that are.
    Unknown(Vec<String>),
    /// It is a number without an interval, and a threshold is held against a bound.
    NoInterval,
    /// What is measured cannot reach the value.
    Value {
        /// Least sensible value.
        low: f64,
        /// Largest sensible value.
        high: f64,
    },
}

impl fmt::Display for ThresholdProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(_) => f.write_str("nothing of this name is measured on this scale"),
            Self::NoInterval => {
                f.write_str("it has no interval, and thresholds are held against bounds")
            }
            Self::Value { low, high } if high.is_finite() => {
                write!(f, "its values lie in [{low}, {high}]")
            }
            Self::Value { low, .. } => write!(f, "its values are numbers from {low} up"),
        }
    }
}

const SHARE: [f64; 2] = [0.0, 1.0];
const SIGNED: [f64; 2] = [-1.0, 1.0];
const SIZE: [f64; 2] = [0.0, f64::INFINITY];

/// Whether a threshold can be held on a scale, before anything is measured.
///
/// `raters` are the names of those who labelled, where they are known.
///
/// # Errors
///
/// If nothing of that name is measured on the scale, it has no interval, or it cannot have that value:
/// shares lie in [0, 1], kappa and its like in [−1, 1], sizes of effects are at least 0.
///
/// # Examples
///
/// ```
/// use assize::calibrate::threshold_problem;
/// use assize::model::label::Scale;
/// assert!(threshold_problem("accuracy", 0.8, &Scale::binary(), None).is_ok());
/// assert!(threshold_problem("accuracy", 80.0, &Scale::binary(), None).is_err());
/// assert!(threshold_problem("weighted_kappa", 0.5, &Scale::binary(), None).is_err());
/// ```
pub fn threshold_problem(
    name: &str,
    value: f64,
    scale: &Scale,
    raters: Option<&[String]>,
) -> Result<(), ThresholdProblem> {
    if POINTS.contains(&name) {
        return Err(ThresholdProblem::NoInterval);
    }
    let known = known(scale, raters);
    let unnamed_pair = raters.is_none() && is_pair(name);
    let Some([low, high]) = known
        .iter()
        .find_map(|(n, range)| (n == name).then_some(*range))
        .or(unnamed_pair.then_some(SIGNED))
    else {
        let names = known.into_iter().map(|(name, _)| name).collect();
        return Err(ThresholdProblem::Unknown(names));
    };
    // Nothing is outside what it cannot be compared with, so a NaN must fail the positive question.
    match value >= low && value <= high && value.is_finite() {
        true => Ok(()),
        false => Err(ThresholdProblem::Value { low, high }),
    }
}

/// Numbers that are shown without an interval.
const POINTS: [&str; 7] = [
    "alt_test:winning_rate",
    "alt_test:advantage",
    "alt_test:passes",
    "ceiling_agreement:human",
    "ceiling_agreement:judge",
    "ceiling_kappa:human",
    "ceiling_kappa:judge",
];

fn is_pair(name: &str) -> bool {
    let pair = name.strip_prefix("human_kappa:");
    pair.and_then(|p| p.split_once(','))
        .is_some_and(|(a, b)| !a.is_empty() && !b.is_empty())
}

/// Everything that a threshold may name on a scale, with the range of its values.
fn known(scale: &Scale, raters: Option<&[String]>) -> Vec<(String, [f64; 2])> {
    let mut names: Vec<(String, [f64; 2])> = vec![];
    let mut all = |range: [f64; 2], own: &[&str]| {
        names.extend(own.iter().map(|n| ((*n).to_owned(), range)));
    };
    all(SHARE, &["accuracy", "accuracy_worst_truth"]);
    if scale.is_positive(0).is_some() {
        all(SHARE, &["sensitivity", "specificity"]);
        all(SHARE, &["positive_predictive", "negative_predictive"]);
        all(SIGNED, &["youden"]);
    }
    all(SIGNED, &["kappa", "alpha"]);
    match scale.kind {
        ScaleKind::Ordinal => all(SIGNED, &["weighted_kappa", "ac2"]),
        _ => all(SIGNED, &["ac1"]),
    }
    all(SHARE, &["repeat_consistency"]);
    if scale.kind == ScaleKind::Pairwise {
        all(SHARE, &["position_consistency", "first_slot_share"]);
        all(SHARE, &["accuracy:a_first", "accuracy:b_first"]);
        all(SHARE, &["accuracy_of_orders"]);
        all(SIGNED, &["kappa_between_orders"]);
    }
    all(SIGNED, &["tau_b", "spearman"]);
    all(SIZE, &["mean_signed_error", "mean_absolute_error"]);
    all(SIZE, &["length_slope"]);
    all([0.0, 2.0], &["self_preference", "identity_effect"]);
    all(
        SIGNED,
        &["human_alpha", "ceiling_agreement:judge_minus_human"],
    );
    all([-2.0, 2.0], &["ceiling_kappa:judge_minus_human"]);
    if scale.kind != ScaleKind::Binary {
        for level in &scale.levels {
            names.push((format!("recall:{level}"), SHARE));
            names.push((format!("precision:{level}"), SHARE));
        }
    }
    let raters = raters.filter(|r| r.len() <= MOST_PAIRED).unwrap_or(&[]);
    for (at, a) in raters.iter().enumerate() {
        let pairs = raters[at + 1..].iter();
        names.extend(pairs.map(|b| (format!("human_kappa:{a},{b}"), SIGNED)));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(name: &str, value: f64) -> Option<ThresholdProblem> {
        threshold_problem(name, value, &Scale::binary(), None).err()
    }

    #[test]
    fn values_that_nothing_can_reach_are_refused() {
        for (name, value) in [
            ("kappa", f64::NAN),
            ("kappa", -5.0),
            ("accuracy", 80.0),
            ("accuracy", f64::INFINITY),
            ("length_slope", -0.1),
            ("length_slope", f64::INFINITY),
        ] {
            let found = problem(name, value);
            assert!(
                matches!(found, Some(ThresholdProblem::Value { .. })),
                "{name}={value}: {found:?}"
            );
        }
        for (name, value) in [("kappa", -0.2), ("accuracy", 1.0), ("length_slope", 0.0)] {
            assert_eq!(problem(name, value), None);
        }
    }

    #[test]
    fn names_depend_on_scale_and_raters() {
        let unknown = |name| matches!(problem(name, 0.5), Some(ThresholdProblem::Unknown(_)));
        assert!(unknown("sensitvity") && unknown("recall:pass") && unknown("ac2"));
        assert_eq!(
            problem("alt_test:passes", 1.0),
            Some(ThresholdProblem::NoInterval)
        );
        assert_eq!(problem("human_kappa:ann,bob", 0.5), None);
        let raters = ["ann", "eve"].map(str::to_owned);
        let of = |name| threshold_problem(name, 0.5, &Scale::binary(), Some(&raters));
        assert!(of("human_kappa:ann,eve").is_ok() && of("human_kappa:ann,bob").is_err());
    }
}
