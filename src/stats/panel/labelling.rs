//! What a set of human labels allows: overlap, soft labels, adjudication, and its unit.

use std::collections::{BTreeMap, BTreeSet};

use super::{Given, Vote, majority_vote};
use crate::stats::tolerance::{above, at_least};

/// Share of the items that two people should have labelled.
const ENOUGH_OVERLAP: f64 = 0.30;

/// One rater who gave more than this share of the labels makes the rater the unit.
const DOMINANT: f64 = 0.50;

/// How much of a label set rests on two people or more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// Items with at least one label.
    pub items: usize,
    /// Items with labels of at least two raters.
    pub shared: usize,
    /// `shared / items`; `None` without items.
    pub share: Option<f64>,
    /// Whether at least 30 % of the items are shared, so that human agreement can be estimated.
    pub enough: bool,
}

/// Counts the items that two or more raters labelled.
///
/// A rater who labelled an item twice counts once. The bar of 30 % is a rule of thumb: what the overlap
/// is worth shows in the width of the agreement's interval.
///
/// # Examples
///
/// ```
/// use assize::stats::panel::{Given, rater_overlap};
/// let label = |item, rater| Given { item, rater, class: 1 };
/// let overlap = rater_overlap(&[label(0, 0), label(0, 1), label(1, 0), label(2, 1)]);
/// assert_eq!((overlap.items, overlap.shared, overlap.enough), (3, 1, true));
/// ```
///
/// Source: METHODS 11.
pub fn rater_overlap(labels: &[Given]) -> Overlap {
    let mut raters: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for given in labels {
        raters.entry(given.item).or_default().insert(given.rater);
    }
    let items = raters.len();
    let shared = raters.values().filter(|who| who.len() >= 2).count();
    let share = (items > 0).then(|| shared as f64 / items as f64);
    let enough = share.is_some_and(|share| at_least(share, ENOUGH_OVERLAP));
    Overlap {
        items,
        shared,
        share,
        enough,
    }
}

/// The soft label of one item: the share of its labels that name `class`; `None` without labels.
///
/// `votes` has one entry per rater; `None` is no label. Unreliable as a probability from two or three
/// raters: it then has three or four values.
///
/// # Examples
///
/// ```
/// use assize::stats::panel::soft_label;
/// assert_eq!(soft_label(&[Some(1), Some(0), None, Some(1), Some(1)], 1), Some(0.75));
/// assert_eq!(soft_label(&[None], 1), None);
/// ```
///
/// Source: METHODS 11.
pub fn soft_label(votes: &[Option<u32>], class: u32) -> Option<f64> {
    let given = votes.iter().flatten().count();
    let named = votes.iter().flatten().filter(|&&vote| vote == class);
    (given > 0).then(|| named.count() as f64 / given as f64)
}

/// How raters' labels of one item become its truth; declared before labels are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruthRule {
    /// The label that most raters gave.
    Majority,
    /// The label of the rater with this index, the expert. Where the expert gave none, a label on
    /// which all others agree stands.
    Expert(usize),
    /// The label on which all raters agree; every disagreement goes to a person.
    Unanimous,
}

/// The truth of one item, as far as its labels decide it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// The adjudicated label.
    Label(u32),
    /// Raters disagree in a way that the rule does not settle: a person must.
    Disputed,
    /// Nobody labelled it.
    Unlabelled,
}

/// Applies the declared rule to one item's labels; nothing is settled at random.
///
/// `votes` has one entry per rater; `None` is no label.
///
/// # Examples
///
/// ```
/// use assize::stats::panel::{Truth, TruthRule, adjudicate};
/// let votes = [Some(1), Some(0), None];
/// assert_eq!(adjudicate(&votes, TruthRule::Majority), Truth::Disputed);
/// assert_eq!(adjudicate(&votes, TruthRule::Expert(1)), Truth::Label(0));
/// ```
///
/// Source: METHODS 8 and 11.
pub fn adjudicate(votes: &[Option<u32>], rule: TruthRule) -> Truth {
    match rule {
        TruthRule::Majority => match majority_vote(votes) {
            Vote::Majority(label) => Truth::Label(label),
            Vote::Tie => Truth::Disputed,
            Vote::NoVotes => Truth::Unlabelled,
        },
        TruthRule::Expert(rater) => match votes.get(rater).copied().flatten() {
            Some(label) => Truth::Label(label),
            None => adjudicate(votes, TruthRule::Unanimous),
        },
        TruthRule::Unanimous => {
            let mut given = votes.iter().flatten();
            match given.next() {
                None => Truth::Unlabelled,
                Some(first) if given.all(|label| label == first) => Truth::Label(*first),
                Some(_) => Truth::Disputed,
            }
        }
    }
}

/// A rater who gave more than half of the labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DominantRater {
    /// The rater.
    pub rater: usize,
    /// Share of all labels.
    pub share: f64,
}

/// The rater who gave more than 50 % of the labels, if there is one.
///
/// # Examples
///
/// ```
/// use assize::stats::panel::{Given, dominant_rater};
/// let label = |item, rater| Given { item, rater, class: 1 };
/// let labels = [label(0, 7), label(1, 7), label(2, 3)];
/// assert_eq!(dominant_rater(&labels).unwrap().rater, 7);
/// assert_eq!(dominant_rater(&labels[1..]), None);
/// ```
///
/// Source: METHODS 11.
pub fn dominant_rater(labels: &[Given]) -> Option<DominantRater> {
    let mut given: BTreeMap<usize, usize> = BTreeMap::new();
    for label in labels {
        *given.entry(label.rater).or_default() += 1;
    }
    let (rater, count) = given.into_iter().max_by_key(|(_, count)| *count)?;
    let share = count as f64 / labels.len() as f64;
    above(share, DOMINANT).then_some(DominantRater { rater, share })
}

/// The cluster of each label: its item, or its rater where one rater gave more than half of the labels.
///
/// One person's habits are then in most labels, and items that this person labelled do not err
/// independently. With few raters the clusters are few: an interval over them is wide or
/// `not_estimable`, which is what such a label set can support.
///
/// # Examples
///
/// ```
/// use assize::stats::panel::{Given, label_clusters};
/// let label = |item, rater| Given { item, rater, class: 1 };
/// assert_eq!(label_clusters(&[label(4, 0), label(4, 1)]), [4, 4]);
/// assert_eq!(label_clusters(&[label(4, 0), label(5, 0), label(5, 1)]), [0, 0, 1]);
/// ```
///
/// Source: METHODS 11.
pub fn label_clusters(labels: &[Given]) -> Vec<usize> {
    let by_rater = dominant_rater(labels).is_some();
    let of = |given: &Given| if by_rater { given.rater } else { given.item };
    labels.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(item: usize, rater: usize) -> Given {
        Given {
            item,
            rater,
            class: 0,
        }
    }

    #[test]
    fn overlap_counts_people_and_not_labels() {
        let twice = [label(0, 0), label(0, 0), label(1, 0)];
        let overlap = rater_overlap(&twice);
        assert_eq!((overlap.shared, overlap.enough), (0, false));
        assert_eq!(overlap.share, Some(0.0));
        let none = rater_overlap(&[]);
        assert_eq!((none.items, none.share, none.enough), (0, None, false));
    }

    #[test]
    fn exactly_thirty_percent_is_enough() {
        let set = |shared: usize| -> Vec<Given> {
            let first = (0..10).map(|item| label(item, 0));
            first
                .chain((0..shared).map(|item| label(item, 1)))
                .collect()
        };
        assert!(rater_overlap(&set(3)).enough && !rater_overlap(&set(2)).enough);
    }

    #[test]
    fn soft_labels_of_all_classes_sum_to_one() {
        let votes = [Some(0), Some(2), Some(2), None, Some(1), Some(2)];
        let shares: Vec<f64> = (0..3).map(|c| soft_label(&votes, c).unwrap()).collect();
        assert_eq!(shares, [0.2, 0.2, 0.6]);
        assert_eq!(soft_label(&votes, 3), Some(0.0));
    }

    #[test]
    fn an_absent_expert_leaves_only_agreement() {
        let rule = TruthRule::Expert(0);
        assert_eq!(adjudicate(&[None, Some(1), Some(1)], rule), Truth::Label(1));
        assert_eq!(adjudicate(&[None, Some(1), Some(0)], rule), Truth::Disputed);
        assert_eq!(adjudicate(&[None, None], rule), Truth::Unlabelled);
        assert_eq!(
            adjudicate(&[Some(1)], TruthRule::Expert(5)),
            Truth::Label(1)
        );
    }

    #[test]
    fn unanimity_asks_a_person_where_a_majority_does_not() {
        let votes = [Some(1), Some(1), Some(0)];
        assert_eq!(adjudicate(&votes, TruthRule::Majority), Truth::Label(1));
        assert_eq!(adjudicate(&votes, TruthRule::Unanimous), Truth::Disputed);
    }

    #[test]
    fn exactly_half_does_not_dominate() {
        let half = [label(0, 0), label(1, 0), label(2, 1), label(3, 2)];
        assert_eq!(dominant_rater(&half), None);
        assert_eq!(label_clusters(&half), [0, 1, 2, 3]);
        let most = [label(0, 4), label(1, 4), label(2, 1)];
        let found = dominant_rater(&most).unwrap();
        assert_eq!((found.rater, found.share), (4, 2.0 / 3.0));
        assert_eq!(label_clusters(&most), [4, 4, 1]);
        assert_eq!(dominant_rater(&[]), None);
    }
}
