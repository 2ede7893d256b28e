//! Labels and verdicts of one judge, item by item.

use std::collections::{BTreeMap, HashMap};

use super::raters::{Dominance, by_rater, dominance};
use super::truth::{Ballot, TruthRule};
use crate::base::{Error, ItemId, Observation, Result};
use crate::model::label::{Label, LabelSet, Scale, ScaleKind, Split};
use crate::model::verdict::{Identity, Order, Verdict, unusable};
use crate::stats::panel::{Vote, majority_vote};

/// Items without a truth that are named.
const NAMED: usize = 20;

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
    fn part(self, labels: &LabelSet) -> (Option<Split>, &'static str) {
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

/// Joins labels with one judge's verdicts by item.
///
/// Labels become truth by the declared rule. Several repeats of an item count by their majority. A pairwise judge that was asked in both orders
/// must name the same output twice; what flips is a tie. What is off the scale or missing is never an
/// answer. Where the author was named on purpose the answer is a probe and does not count.
///
/// # Errors
///
/// If a verdict's key (item, repeat, order, identity) occurs twice: the join would not be one to one.
/// If the rule does not fit the labels.
pub fn join(
    labels: &LabelSet,
    verdicts: &[Verdict],
    choice: SplitChoice,
    rule: &TruthRule,
) -> Result<Joined> {
    rule.check(labels)?;
    refuse_duplicates(verdicts)?;
    let (_, split) = choice.part(labels);
    let used = || choice.of(labels);
    let mut per_rater: BTreeMap<String, u64> = BTreeMap::new();
    used()
        .filter(|l| !l.adjudicated)
        .for_each(|l| *per_rater.entry(l.rater.clone()).or_default() += 1);
    let mut above: HashMap<&str, u32> = HashMap::new();
    let raters: Vec<String> = per_rater.keys().cloned().collect();
    let place: HashMap<&str, usize> = raters
        .iter()
        .enumerate()
        .map(|(at, r)| (r.as_str(), at))
        .collect();
    let expert = match rule {
        TruthRule::Expert(name) => place.get(name.as_str()).copied(),
        _ => None,
    };
    let positive = |code: &u32| labels.scale.is_positive(*code) == Some(true);
    let good = (0..labels.scale.levels.len() as u32).find(positive);
    let mut items: Vec<JoinedItem> = vec![];
    let mut position: HashMap<&str, usize> = HashMap::new();
    for label in used() {
        let at = *position.entry(label.item.as_str()).or_insert_with(|| {
            items.push(JoinedItem {
                item: label.item.clone(),
                truth: None,
                share: None,
                by: "",
                humans: vec![None; raters.len()],
                group: label.group.clone(),
                arm: label.arm.as_ref().map(ToString::to_string),
                task: label.task.as_ref().map(ToString::to_string),
                unit: None,
                length: label.length,
                answers: vec![],
                judge: Err(unusable::MISSING.to_owned()),
            });
            items.len() - 1
        });
        if label.adjudicated {
            above.insert(label.item.as_str(), label.answer);
        } else if let Some(&rater) = place.get(label.rater.as_str()) {
            items[at].humans[rater] = Some(label.answer);
        }
    }
    let mut unlabelled = 0;
    let mut lost: BTreeMap<String, u64> = BTreeMap::new();
    for verdict in verdicts {
        let Some(&at) = position.get(verdict.item.as_str()) else {
            unlabelled += 1;
            continue;
        };
        let answer = answer(verdict, &labels.scale);
        if let Err(reason) = &answer.code {
            *lost.entry(reason.clone()).or_default() += 1;
        }
        let item = &mut items[at];
        item.group = item.group.take().or_else(|| verdict.group.clone());
        item.arm = item
            .arm
            .take()
            .or_else(|| verdict.arm.as_ref().map(ToString::to_string));
        item.task = item
            .task
            .take()
            .or_else(|| verdict.task.as_ref().map(ToString::to_string));
        item.answers.push(answer);
    }
    for item in &mut items {
        item.answers
            .sort_by_key(|a| (a.identity, a.order, a.repeat));
        let settled = rule.settle(&Ballot {
            votes: &item.humans,
            adjudicated: above.get(item.item.as_str()).copied(),
            expert: expert.and_then(|at| item.humans[at]),
            good,
        });
        (item.truth, item.share, item.by) = (settled.truth, settled.share, settled.by);
        item.unit = item.task.clone();
        item.judge = all_in_all(&item.answers, &labels.scale);
    }
    let labelled = items.len();
    // An order of their own, so that the order of the files changes no digit.
    items.sort_by(|a, b| a.item.cmp(&b.item));
    let counted = |with: bool| {
        let mut by: BTreeMap<String, u64> = BTreeMap::new();
        for item in items.iter().filter(|i| i.has_truth() == with) {
            *by.entry(item.by.to_owned()).or_default() += 1;
        }
        by
    };
    let (truth_from, without_truth) = (counted(true), counted(false));
    let open = items.iter().filter(|i| !i.has_truth());
    let untrue = open.take(NAMED).map(|i| i.item.clone()).collect();
    items.retain(|i| !i.answers.is_empty());
    let mut joined = Joined {
        scale: labels.scale.clone(),
        raters,
        rule: rule.clone(),
        dominance: None,
        items,
        labelled,
        labels: per_rater,
        adjudicated: above.len() as u64,
        truth_from,
        without_truth,
        untrue,
        split,
        unlabelled,
        unusable: lost,
    };
    if let Some((rater, share)) = dominance(&joined, rule) {
        let units = by_rater(&mut joined, &rater);
        joined.dominance = Some(Dominance {
            rater,
            share,
            units,
        });
    }
    Ok(joined)
}

fn refuse_duplicates(verdicts: &[Verdict]) -> Result<()> {
    let mut seen = HashMap::new();
    for verdict in verdicts {
        let key = (
            &verdict.item,
            verdict.repeat,
            verdict.order,
            verdict.identity,
        );
        if let Some(first) = seen.insert(key, verdict.line) {
            let Verdict {
                judge, item, line, ..
            } = verdict;
            let message =
                format!("judge `{judge}` answers item `{item}` twice, in lines {first} and {line}");
            return Err(Error::input(message).hint("number repeats in a column `repeat`"));
        }
    }
    Ok(())
}

fn answer(verdict: &Verdict, scale: &Scale) -> JudgeAnswer {
    let code = match &verdict.answer {
        Observation::Missing(reason) => Err(reason.clone()),
        Observation::Value(text) => scale
            .code(text)
            .ok_or_else(|| unusable::OUT_OF_SCALE.to_owned()),
    };
    let Verdict {
        repeat,
        order,
        identity,
        score,
        ..
    } = *verdict;
    JudgeAnswer {
        repeat,
        order,
        identity,
        code,
        score,
    }
}

/// The majority of some answers, or why there is none.
///
/// # Errors
///
/// `no_majority` where answers tie, `missing` where there are none.
pub fn majority(votes: &[Option<u32>]) -> std::result::Result<u32, &'static str> {
    match majority_vote(votes) {
        Vote::Majority(code) => Ok(code),
        Vote::Tie => Err("no_majority"),
        Vote::NoVotes => Err(unusable::MISSING),
    }
}

/// What a judge said all in all; see [`join`].
pub fn all_in_all(answers: &[JudgeAnswer], scale: &Scale) -> std::result::Result<u32, String> {
    let counted = || {
        answers
            .iter()
            .filter(|a| a.identity != Some(Identity::Revealed))
    };
    let of = |order: Option<Order>| -> Option<std::result::Result<u32, String>> {
        let own: Vec<&JudgeAnswer> = counted().filter(|a| a.order == order).collect();
        let votes: Vec<Option<u32>> = own.iter().map(|a| a.code.clone().ok()).collect();
        let reason = own.iter().find_map(|a| a.code.clone().err());
        let all = majority(&votes);
        (!own.is_empty()).then(|| all.map_err(|why| reason.unwrap_or_else(|| why.to_owned())))
    };
    match (of(Some(Order::AFirst)), of(Some(Order::BFirst)), of(None)) {
        (Some(first), Some(second), _) => match (first?, second?) {
            (a, b) if a == b => Ok(a),
            _ if scale.kind == ScaleKind::Pairwise => Ok(2),
            _ => Err("flipped".to_owned()),
        },
        (one, other, plain) => one
            .or(other)
            .or(plain)
            .unwrap_or_else(|| Err(unusable::MISSING.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(order: Option<Order>, code: std::result::Result<u32, String>) -> JudgeAnswer {
        JudgeAnswer {
            repeat: 0,
            order,
            identity: None,
            code,
            score: None,
        }
    }

    fn pairwise() -> Scale {
        Scale {
            kind: ScaleKind::Pairwise,
            levels: ["1", "2", "tie"].map(str::to_owned).to_vec(),
            positive: None,
        }
    }

    #[test]
    fn an_answer_that_flips_is_a_tie() {
        let both = |a, b| {
            let answers = [
                answer(Some(Order::AFirst), a),
                answer(Some(Order::BFirst), b),
            ];
            all_in_all(&answers, &pairwise())
        };
        assert_eq!(both(Ok(0), Ok(0)), Ok(0));
        assert_eq!(both(Ok(0), Ok(1)), Ok(2));
        assert_eq!(
            both(Ok(0), Err("missing".to_owned())),
            Err("missing".to_owned())
        );
    }

    #[test]
    fn repeats_count_by_their_majority() {
        let repeats = |codes: &[u32]| {
            let answers: Vec<_> = codes.iter().map(|&c| answer(None, Ok(c))).collect();
            all_in_all(&answers, &Scale::binary())
        };
        assert_eq!(repeats(&[1, 1, 0]), Ok(1));
        assert_eq!(repeats(&[1, 0]), Err("no_majority".to_owned()));
        assert_eq!(repeats(&[]), Err(unusable::MISSING.to_owned()));
    }
}
