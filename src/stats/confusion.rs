//! A judge against human labels: the confusion matrix and its rates.

use crate::base::{Error, Result};
use crate::stats::proportion::clopper_pearson;
use crate::stats::{Level, Limits};

/// Counts of a binary judge against human labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confusion {
    /// Human positive, judge positive.
    pub true_positive: u64,
    /// Human positive, judge negative.
    pub false_negative: u64,
    /// Human negative, judge positive.
    pub false_positive: u64,
    /// Human negative, judge negative.
    pub true_negative: u64,
}

/// A share of whole items with Clopper–Pearson limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Items that count.
    pub part: u64,
    /// Items in all, at least one.
    pub whole: u64,
    /// part/whole.
    pub value: f64,
    /// Clopper–Pearson limits.
    pub limits: Limits,
}

/// The rates of a confusion matrix; `None` where the class or answer did not occur.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfusionRates {
    /// Share of items on which judge and label agree.
    pub accuracy: Option<Share>,
    /// Judge positive among human positive.
    pub sensitivity: Option<Share>,
    /// Judge negative among human negative.
    pub specificity: Option<Share>,
    /// Human positive among judge positive.
    pub positive_predictive: Option<Share>,
    /// Human negative among judge negative.
    pub negative_predictive: Option<Share>,
}

/// Fewest labelled items before a judge may gate anything.
const FEWEST_ITEMS: u64 = 50;

/// Fewest labelled items at each of the judge's answers.
const FEWEST_PER_ANSWER: u64 = 10;

impl Confusion {
    /// Counts pairs of human label and judge verdict.
    ///
    /// # Errors
    ///
    /// If the slices differ in length.
    pub fn of(human: &[bool], judge: &[bool]) -> Result<Self> {
        if human.len() != judge.len() {
            let (labels, verdicts) = (human.len(), judge.len());
            return Err(Error::input(format!(
                "{labels} labels for {verdicts} verdicts"
            )));
        }
        let mut counts = Self::default();
        for pair in human.iter().zip(judge) {
            *match pair {
                (true, true) => &mut counts.true_positive,
                (true, false) => &mut counts.false_negative,
                (false, true) => &mut counts.false_positive,
                (false, false) => &mut counts.true_negative,
            } += 1;
        }
        Ok(counts)
    }

    /// All rates with Clopper–Pearson limits, for one item per task.
    ///
    /// An absent class is undefined, never 0 or 1: a judge that was shown no failure has no
    /// specificity. With several items per task use [`crate::stats::clustered::sen_cp`] per rate.
    pub fn rates(&self, level: Level) -> ConfusionRates {
        let Self {
            true_positive,
            false_negative,
            false_positive,
            true_negative,
        } = *self;
        let agreed = true_positive + true_negative;
        ConfusionRates {
            accuracy: share(agreed, agreed + false_negative + false_positive, level),
            sensitivity: share(true_positive, true_positive + false_negative, level),
            specificity: share(true_negative, true_negative + false_positive, level),
            positive_predictive: share(true_positive, true_positive + false_positive, level),
            negative_predictive: share(true_negative, true_negative + false_negative, level),
        }
    }

    /// Whether there are enough labels for a gate: 50 items, and 10 at each of the judge's answers.
    pub fn enough_labels(&self) -> bool {
        let positive = self.true_positive + self.false_positive;
        let negative = self.true_negative + self.false_negative;
        positive + negative >= FEWEST_ITEMS && positive.min(negative) >= FEWEST_PER_ANSWER
    }
}

fn share(part: u64, whole: u64, level: Level) -> Option<Share> {
    let limits = || clopper_pearson(part as f64, whole as f64, level);
    (whole > 0).then(|| Share {
        part,
        whole,
        value: part as f64 / whole as f64,
        limits: limits(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_class_has_no_rate() {
        let all_pass = Confusion::of(&[true; 10], &[true; 10]).unwrap();
        let rates = all_pass.rates(Level::p95());
        assert_eq!((rates.specificity, rates.negative_predictive), (None, None));
        let sensitivity = rates.sensitivity.unwrap();
        assert!(sensitivity.value == 1.0 && sensitivity.limits.lower < 0.7);
        assert!(!all_pass.enough_labels());
    }

    #[test]
    fn counts_go_where_they_belong() {
        let counts =
            Confusion::of(&[true, true, false, false], &[true, false, true, false]).unwrap();
        assert_eq!(
            counts,
            Confusion {
                true_positive: 1,
                false_negative: 1,
                false_positive: 1,
                true_negative: 1
            }
        );
        assert!(Confusion::of(&[true], &[]).is_err());
        assert_eq!(Confusion::default().rates(Level::p95()).accuracy, None);
    }

    #[test]
    fn labels_are_counted_by_the_judges_answer() {
        let lopsided = Confusion {
            true_positive: 60,
            false_positive: 40,
            true_negative: 9,
            ..Confusion::default()
        };
        assert!(!lopsided.enough_labels());
        assert!(
            Confusion {
                true_negative: 10,
                ..lopsided
            }
            .enough_labels()
        );
    }
}
