//! What labels and verdicts are once they are joined.

use std::collections::BTreeMap;

use super::raters::Dominance;
use super::truth::TruthRule;
use crate::base::ItemId;
use crate::model::label::{Label, LabelSet, Scale, Split};
use crate::model::verdict::{Identity, Order};

/// Which labels are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SplitChoice {
    /// The test part; everything where the labels are not split.
    #[default]
    Test,
    /// The part that prompts are tuned on; it never certifies.
    Dev,
}

impl SplitChoice {
    /// The part that is meant, and its name: `test`, `dev`, or `all` where labels are not split.
    pub(super) fn part(self, labels: &LabelSet) -> (Option<Split>, &'static str) {
        let is_split = labels.labels.iter().any(|l| l.split.is_some());
        match (self, is_split) {
            (Self::Dev, _) => (Some(Split::Dev), "dev"),
            (Self::Test, true) => (Some(Split::Test), "test"),
            (Self::Test, false) => (None, "all"),
        }
    }

    /// The labels of that part.
    pub fn of(self, labels: &LabelSet) -> impl Iterator<Item = &Label> {
        let (wanted, _) = self.part(labels);
        let inside = move |l: &&Label| wanted.is_none() || l.split == wanted;
        labels.labels.iter().filter(inside)
    }
}

/// One labelled item with everything the judge said about it.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinedItem {
    /// Item.
    pub item: ItemId,
    /// People's answer by the declared rule; `None` where their labels settle none. Where shares of
    /// labels are the truth: the answer of most.
    pub truth: Option<u32>,
    /// Where shares of labels are the truth: the share that says good.
    pub share: Option<f64>,
    /// What settled the truth, or why nothing did.
    pub by: &'static str,
    /// Each rater's answer, in the order of [`Joined::raters`].
    pub humans: Vec<Option<u32>>,
    /// Reporting group.
    pub group: Option<String>,
    /// Arm that produced the item.
    pub arm: Option<String>,
    /// Task that the item belongs to.
    pub task: Option<String>,
    /// What is independent where the judge is held against people: the task, or the rater where one
    /// rater gave most labels; `None` is the item itself.
    pub unit: Option<String>,
    /// Length of what was judged; pairwise: first over second.
    pub length: Option<f64>,
    /// Every answer of the judge.
    pub answers: Vec<JudgeAnswer>,
    /// What the judge said all in all, or why that cannot be used.
    pub judge: std::result::Result<u32, String>,
}

impl JoinedItem {
    /// Whether people's labels settled anything.
    pub fn has_truth(&self) -> bool {
        self.truth.is_some() || self.share.is_some()
    }

    /// How good people find the item, from 0 to 1: their share, else the worth of their answer.
    pub fn worth(&self, scale: &Scale) -> Option<f64> {
        self.share.or_else(|| scale.worth(self.truth?))
    }

    /// People's answer as a number in the unit of the scale; a share lies between the two answers.
    pub fn number(&self, scale: &Scale) -> Option<f64> {
        self.share.or_else(|| Some(scale.number(self.truth?)))
    }
}

/// One answer of the judge.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeAnswer {
    /// Repeat.
    pub repeat: u32,
    /// Order of a pairwise question.
    pub order: Option<Order>,
    /// What the judge knew of the author, where that was varied.
    pub identity: Option<Identity>,
    /// The answer, or why it cannot be used.
    pub code: std::result::Result<u32, String>,
    /// Score beside the answer.
    pub score: Option<f64>,
}

/// Labels and verdicts of one judge.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// The scale.
    pub scale: Scale,
    /// Raters by name; who only adjudicated is none of them.
    pub raters: Vec<String>,
    /// The declared rule by which labels became truth.
    pub rule: TruthRule,
    /// The rater who gave most labels, where that makes raters the units.
    pub dominance: Option<Dominance>,
    /// Labelled items that the judge was asked about.
    pub items: Vec<JoinedItem>,
    /// Labelled items in the part that was used.
    pub labelled: usize,
    /// Labels by rater in that part, those that adjudicate aside.
    pub labels: BTreeMap<String, u64>,
    /// Labels that adjudicate.
    pub adjudicated: u64,
    /// Labelled items by what settled their truth.
    pub truth_from: BTreeMap<String, u64>,
    /// Labelled items without a truth, by reason.
    pub without_truth: BTreeMap<String, u64>,
    /// The first few of them.
    pub untrue: Vec<ItemId>,
    /// The part that was used.
    pub split: &'static str,
    /// Verdicts on items without a label in that part.
    pub unlabelled: usize,
    /// Unusable verdicts on labelled items, by reason.
    pub unusable: BTreeMap<String, u64>,
}
