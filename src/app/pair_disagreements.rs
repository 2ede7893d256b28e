//! Pairs on which a pairwise judge disagrees with people or with itself in the other order, blinded.
//!
//! Output A of a judge is the baseline's, which a reader must not know: in half of the pairs, drawn by the
//! seed, A and B change names, in answers, orders and evidence alike.

use std::collections::BTreeMap;

use super::evaluate::Evaluation;
use super::judge_disagreements::evidence;
use crate::base::{Digest, ItemId, Observation, Result, Seed, TaskId};
use crate::disagree::PER_STRATUM;
use crate::disagree::judges::{Judged, RaterAnswer, rows, sample};
use crate::judge::blind::{Blinded, Blinder};
use crate::judge::view::View;
use crate::model::label::{Scale, ScaleKind};
use crate::model::preference::{PairAnswer, PairKey, PairLabel, Preference};
use crate::model::report::JudgeDisagreementRow;
use crate::model::verdict::{Order, Verdict};
use crate::stats::panel::{Vote, majority_vote};
use crate::store::{RunStore, StoredJudge};

/// Draws the samples; all pairwise judges of a run are looked at together.
///
/// # Errors
///
/// If a store is damaged.
pub(super) fn samples(evaluation: &Evaluation) -> Result<Vec<JudgeDisagreementRow>> {
    let mut found = vec![];
    for store in &evaluation.stores {
        let mut judges = store.judged()?;
        judges.retain(|judge| judge.scale.kind == ScaleKind::Pairwise);
        if !judges.is_empty() {
            found.extend(of_judges(evaluation, store, &judges)?);
        }
    }
    Ok(found)
}

fn of_judges(
    evaluation: &Evaluation,
    store: &RunStore,
    judges: &[StoredJudge],
) -> Result<Vec<JudgeDisagreementRow>> {
    let seed = store.plan().body.seed;
    let turned = |pair: &PairKey| is_turned(seed, &pair.item());
    // A and B are names that do not depend on what a judge's file calls them.
    let scale = Scale {
        kind: ScaleKind::Pairwise,
        levels: ["A", "B", "tie"].map(str::to_owned).to_vec(),
        positive: None,
    };
    let (mut verdicts, mut pairs, mut people) = (vec![], BTreeMap::new(), vec![]);
    for judge in judges {
        people.extend(store.pair_labels(&judge.judge)?);
        for answer in store.pair_answers(&judge.judge)? {
            verdicts.extend(both_orders(judge, &answer, turned(&answer.pair), &scale));
            pairs.insert(answer.pair.item(), answer.pair);
        }
    }
    let labels = labels(&people, &turned);
    let segments = segments(evaluation, &pairs);
    let judged = Judged {
        scale: &scale,
        verdicts: &verdicts,
        labels: &labels,
        raters: &raters(&people, &turned),
        grades: &BTreeMap::new(),
        segments: &segments,
    };
    let picks = sample(&judged, seed, PER_STRATUM);
    let suite = store.suite()?;
    let blinder = Blinder::of_arms(&super::arms_of_run(store)?).ok();
    let shown = |item: &ItemId| -> Vec<Blinded<View>> {
        let (Some(pair), Some(blinder)) = (pairs.get(item), &blinder) else {
            return vec![];
        };
        let trials = pair.trials();
        let views = trials
            .iter()
            .filter_map(|trial| evidence(store, &suite, trial, blinder));
        let mut views: Vec<Blinded<View>> = views.collect();
        if turned(pair) {
            views.reverse();
        }
        views
    };
    Ok(rows(&picks, seed, &shown))
}

/// Whether A and B change names in a pair.
fn is_turned(seed: Seed, item: &ItemId) -> bool {
    let digest = Digest::of_parts(&["disagreement/turn", &seed.0.to_string(), item.as_str()]);
    digest
        .as_str()
        .as_bytes()
        .last()
        .is_some_and(|b| b % 2 == 1)
}

/// Both orders as verdicts on outputs A and B.
fn both_orders(
    judge: &StoredJudge,
    answer: &PairAnswer,
    turned: bool,
    scale: &Scale,
) -> [Verdict; 2] {
    let mut both = [Order::AFirst, Order::BFirst].map(|order| {
        let said = answer.in_order(order);
        let level = |p: Preference| {
            let p = if turned { p.mirrored() } else { p };
            scale.levels[p.code() as usize].clone()
        };
        Verdict {
            item: answer.pair.item(),
            judge: judge.judge.clone(),
            pin: None,
            repeat: answer.repeat,
            order: Some(match (order, turned) {
                (Order::AFirst, false) | (Order::BFirst, true) => Order::AFirst,
                (Order::BFirst, false) | (Order::AFirst, true) => Order::BFirst,
            }),
            answer: match said {
                Observation::Value(preference) => Observation::Value(level(*preference)),
                Observation::Missing(reason) => Observation::Missing(reason.clone()),
            },
            score: None,
            arm: None,
            task: Some(answer.pair.task.clone()),
            trial: None,
            group: None,
            identity: None,
            line: 0,
        }
    });
    // The order in which they stand must not say which output is the baseline's.
    both.sort_by_key(|verdict| verdict.order);
    both
}

/// What each of the people said.
fn raters(labels: &[PairLabel], turned: &dyn Fn(&PairKey) -> bool) -> Vec<RaterAnswer> {
    let answer = |label: &PairLabel| RaterAnswer {
        item: label.pair.item(),
        task: label.pair.task.clone(),
        rater: label.rater.clone(),
        code: seen(label, turned).code(),
    };
    labels.iter().map(answer).collect()
}

/// The preference as the reader's A and B say it.
fn seen(label: &PairLabel, turned: &dyn Fn(&PairKey) -> bool) -> Preference {
    match turned(&label.pair) {
        true => label.preference.mirrored(),
        false => label.preference,
    }
}

/// The majority of people, by item; where they are even, nobody is right.
fn labels(labels: &[PairLabel], turned: &dyn Fn(&PairKey) -> bool) -> BTreeMap<ItemId, u32> {
    let mut votes: BTreeMap<ItemId, Vec<Option<u32>>> = BTreeMap::new();
    for label in labels {
        let said = seen(label, turned);
        let item = votes.entry(label.pair.item()).or_default();
        item.push(Some(said.code()));
    }
    votes
        .into_iter()
        .filter_map(|(item, votes)| match majority_vote(&votes) {
            Vote::Majority(code) => Some((item, code)),
            Vote::Tie | Vote::NoVotes => None,
        })
        .collect()
}

/// The first segment of each pair's task.
fn segments(
    evaluation: &Evaluation,
    pairs: &BTreeMap<ItemId, PairKey>,
) -> BTreeMap<ItemId, String> {
    let table = &evaluation.table;
    let tasks: BTreeMap<&TaskId, usize> = table.tasks.iter().zip(0..).collect();
    let of = |task: usize| {
        table.segments.iter().find_map(|segment| {
            let value = segment.values[task].as_ref()?;
            Some(format!("{}={value}", segment.key))
        })
    };
    pairs
        .iter()
        .filter_map(|(item, pair)| Some((item.clone(), of(*tasks.get(&pair.task)?)?)))
        .collect()
}
