//! Labels and verdicts of one judge, item by item.

use std::collections::{BTreeMap, HashMap};

use super::joined::{Joined, JoinedItem, JudgeAnswer, SplitChoice};
use super::raters::{Dominance, by_rater, dominance};
use super::truth::{Ballot, TruthRule};
use crate::base::{Error, ItemId, Observation, Result};
use crate::model::label::{Label, LabelSet, Scale, ScaleKind};
use crate::model::verdict::{Identity, Order, Verdict, unusable};
use crate::stats::panel::{Vote, majority_vote};

/// Items without a truth that are named.
const NAMED: usize = 20;

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
    let mut gathered = Gathered::labelled(labels, choice);
    let (unlabelled, unusable) = gathered.answered(verdicts, &labels.scale);
    gathered.settled(rule, &labels.scale);
    let Gathered {
        mut items,
        above,
        raters,
        labels: per_rater,
    } = gathered;
    let labelled = items.len();
    // An order of their own, so that the order of the files changes no digit.
    items.sort_by(|a, b| a.item.cmp(&b.item));
    let open = items.iter().filter(|i| !i.has_truth());
    let untrue = open.take(NAMED).map(|i| i.item.clone()).collect();
    let (truth_from, without_truth) = (by(&items, true), by(&items, false));
    items.retain(|i| !i.answers.is_empty());
    let mut joined = Joined {
        scale: labels.scale.clone(),
        raters,
        rule: rule.clone(),
        dominance: None,
        items,
        labelled,
        labels: per_rater,
        adjudicated: above.iter().flatten().count() as u64,
        truth_from,
        without_truth,
        untrue,
        split: choice.part(labels).1,
        unlabelled,
        unusable,
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

/// Items by what settled their truth, or by why nothing did.
fn by(items: &[JoinedItem], settled: bool) -> BTreeMap<String, u64> {
    let mut by: BTreeMap<String, u64> = BTreeMap::new();
    for item in items.iter().filter(|i| i.has_truth() == settled) {
        *by.entry(item.by.to_owned()).or_default() += 1;
    }
    by
}

/// Labelled items while they are put together.
struct Gathered {
    items: Vec<JoinedItem>,
    /// The adjudicated label of each item.
    above: Vec<Option<u32>>,
    raters: Vec<String>,
    labels: BTreeMap<String, u64>,
}

impl Gathered {
    /// The items of a part with everybody's labels.
    fn labelled(labels: &LabelSet, choice: SplitChoice) -> Self {
        let mut per_rater: BTreeMap<String, u64> = BTreeMap::new();
        for label in choice.of(labels).filter(|l| !l.adjudicated) {
            *per_rater.entry(label.rater.clone()).or_default() += 1;
        }
        let raters: Vec<String> = per_rater.keys().cloned().collect();
        let place: HashMap<&str, usize> = raters
            .iter()
            .enumerate()
            .map(|(at, r)| (r.as_str(), at))
            .collect();
        let mut position: HashMap<&str, usize> = HashMap::new();
        let (mut items, mut above) = (vec![], vec![]);
        for label in choice.of(labels) {
            let at = *position.entry(label.item.as_str()).or_insert_with(|| {
                items.push(blank(label, raters.len()));
                above.push(None);
                items.len() - 1
            });
            if label.adjudicated {
                above[at] = Some(label.answer);
            } else if let Some(&rater) = place.get(label.rater.as_str()) {
                items[at].humans[rater] = Some(label.answer);
            }
        }
        Self {
            items,
            above,
            raters,
            labels: per_rater,
        }
    }

    /// Adds the verdicts; how many are on no item of these, and how many cannot be used by reason.
    fn answered(&mut self, verdicts: &[Verdict], scale: &Scale) -> (usize, BTreeMap<String, u64>) {
        let names: Vec<ItemId> = self.items.iter().map(|i| i.item.clone()).collect();
        let position: HashMap<&str, usize> = names
            .iter()
            .enumerate()
            .map(|(at, name)| (name.as_str(), at))
            .collect();
        let mut unlabelled = 0;
        let mut lost: BTreeMap<String, u64> = BTreeMap::new();
        for verdict in verdicts {
            let Some(&at) = position.get(verdict.item.as_str()) else {
                unlabelled += 1;
                continue;
            };
            let answer = answer(verdict, scale);
            if let Err(reason) = &answer.code {
                *lost.entry(reason.clone()).or_default() += 1;
            }
            let item = &mut self.items[at];
            let text = |id: Option<String>, own: &mut Option<String>| *own = own.take().or(id);
            text(verdict.group.clone(), &mut item.group);
            text(verdict.arm.as_ref().map(ToString::to_string), &mut item.arm);
            text(
                verdict.task.as_ref().map(ToString::to_string),
                &mut item.task,
            );
            item.answers.push(answer);
        }
        (unlabelled, lost)
    }

    /// What people's labels make true, and what the judge said all in all.
    fn settled(&mut self, rule: &TruthRule, scale: &Scale) {
        let expert = match rule {
            TruthRule::Expert(name) => self.raters.iter().position(|r| r == name),
            _ => None,
        };
        let positive = |code: &u32| scale.is_positive(*code) == Some(true);
        let good = (0..scale.levels.len() as u32).find(positive);
        for (item, above) in self.items.iter_mut().zip(&self.above) {
            item.answers
                .sort_by_key(|a| (a.identity, a.order, a.repeat));
            let settled = rule.settle(&Ballot {
                votes: &item.humans,
                adjudicated: *above,
                expert: expert.and_then(|at| item.humans[at]),
                good,
            });
            (item.truth, item.share, item.by) = (settled.truth, settled.share, settled.by);
            item.unit = item.task.clone();
            item.judge = all_in_all(&item.answers, scale);
        }
    }
}

/// An item that nobody has said anything about yet.
fn blank(label: &Label, raters: usize) -> JoinedItem {
    JoinedItem {
        item: label.item.clone(),
        truth: None,
        share: None,
        by: "",
        humans: vec![None; raters],
        group: label.group.clone(),
        arm: label.arm.as_ref().map(ToString::to_string),
        task: label.task.as_ref().map(ToString::to_string),
        unit: None,
        length: label.length,
        answers: vec![],
        judge: Err(unusable::MISSING.to_owned()),
    }
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
