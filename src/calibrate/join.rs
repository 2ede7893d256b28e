//! Labels and verdicts of one judge, item by item.

use std::collections::{BTreeMap, HashMap};

use crate::base::{Error, ItemId, Observation, Result};
use crate::model::label::{LabelSet, Scale, ScaleKind, Split};
use crate::model::verdict::{Identity, Order, Verdict, unusable};
use crate::stats::panel::{Vote, majority_vote};

/// Which labels are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SplitChoice {
    /// The test part; everything where the labels are not split.
    #[default]
    Test,
    /// The part that prompts are tuned on; it never certifies.
    Dev,
}

/// One labelled item with everything the judge said about it.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinedItem {
    /// Item.
    pub item: ItemId,
    /// The majority of the raters; `None` where they tie.
    pub truth: Option<u32>,
    /// Each rater's answer, in the order of [`Joined::raters`].
    pub humans: Vec<Option<u32>>,
    /// Reporting group.
    pub group: Option<String>,
    /// Arm that produced the item.
    pub arm: Option<String>,
    /// Task that the item belongs to.
    pub task: Option<String>,
    /// Length of what was judged; pairwise: first over second.
    pub length: Option<f64>,
    /// Every answer of the judge.
    pub answers: Vec<JudgeAnswer>,
    /// What the judge said all in all, or why that cannot be used.
    pub judge: std::result::Result<u32, String>,
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
    /// Raters by name.
    pub raters: Vec<String>,
    /// Labelled items that the judge was asked about.
    pub items: Vec<JoinedItem>,
    /// Labelled items in the part that was used.
    pub labelled: usize,
    /// Labels by rater in that part.
    pub labels: BTreeMap<String, u64>,
    /// Labelled items without a majority.
    pub without_truth: usize,
    /// The part that was used.
    pub split: &'static str,
    /// Verdicts on items without a label in that part.
    pub unlabelled: usize,
    /// Unusable verdicts on labelled items, by reason.
    pub unusable: BTreeMap<String, u64>,
}

/// Joins labels with one judge's verdicts by item.
///
/// Several repeats of an item count by their majority. A pairwise judge that was asked in both orders
/// must name the same output twice; what flips is a tie. What is off the scale or missing is never an
/// answer. Where the author was named on purpose the answer is a probe and does not count.
///
/// # Errors
///
/// If a verdict's key (item, repeat, order, identity) occurs twice: the join would not be one to one.
pub fn join(labels: &LabelSet, verdicts: &[Verdict], choice: SplitChoice) -> Result<Joined> {
    refuse_duplicates(verdicts)?;
    let is_split = labels.labels.iter().any(|l| l.split.is_some());
    let (wanted, split) = match (choice, is_split) {
        (SplitChoice::Dev, _) => (Some(Split::Dev), "dev"),
        (SplitChoice::Test, true) => (Some(Split::Test), "test"),
        (SplitChoice::Test, false) => (None, "all"),
    };
    let used = || {
        labels
            .labels
            .iter()
            .filter(|l| wanted.is_none() || l.split == wanted)
    };
    let mut per_rater: BTreeMap<String, u64> = BTreeMap::new();
    used().for_each(|l| *per_rater.entry(l.rater.clone()).or_default() += 1);
    let raters: Vec<String> = per_rater.keys().cloned().collect();
    let place: HashMap<&str, usize> = raters
        .iter()
        .enumerate()
        .map(|(at, r)| (r.as_str(), at))
        .collect();
    let mut items: Vec<JoinedItem> = vec![];
    let mut position: HashMap<&str, usize> = HashMap::new();
    for label in used() {
        let at = *position.entry(label.item.as_str()).or_insert_with(|| {
            items.push(JoinedItem {
                item: label.item.clone(),
                truth: None,
                humans: vec![None; raters.len()],
                group: label.group.clone(),
                arm: label.arm.as_ref().map(ToString::to_string),
                task: label.task.as_ref().map(ToString::to_string),
                length: label.length,
                answers: vec![],
                judge: Err(unusable::MISSING.to_owned()),
            });
            items.len() - 1
        });
        items[at].humans[place[label.rater.as_str()]] = Some(label.answer);
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
        item.truth = majority(&item.humans).ok();
        item.judge = all_in_all(&item.answers, &labels.scale);
    }
    let (labelled, without) = (
        items.len(),
        items.iter().filter(|i| i.truth.is_none()).count(),
    );
    // An order of their own, so that the order of the files changes no digit.
    items.sort_by(|a, b| a.item.cmp(&b.item));
    items.retain(|i| !i.answers.is_empty());
    Ok(Joined {
        scale: labels.scale.clone(),
        raters,
        items,
        labelled,
        labels: per_rater,
        without_truth: without,
        split,
        unlabelled,
        unusable: lost,
    })
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
