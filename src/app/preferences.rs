//! Stored answers of pairwise judges as columns of the score table.

use std::collections::BTreeMap;

use super::judged::standing;
use crate::base::{ArmId, Result, TaskId};
use crate::judge::pairwise::all_repeats;
use crate::model::judged::{Drawn, Standing, StandingState};
use crate::model::label::ScaleKind;
use crate::model::preference::{
    JudgedPair, PairAnswer, PairKey, PairLabel, Preference, PreferenceColumn,
};
use crate::model::score::ScoreTable;
use crate::stats::panel::{Vote, majority_vote};
use crate::stats::sum::mean;
use crate::store::{RunStore, StoredJudge};

/// Adds what is stored of pairwise judges to the scores of a run.
///
/// # Errors
///
/// If the store is damaged.
pub(super) fn attach(store: &RunStore, table: &mut ScoreTable) -> Result<()> {
    for judge in store.judged()? {
        if judge.scale.kind == ScaleKind::Pairwise {
            let answers = store.pair_answers(&judge.judge)?;
            let labels = store.pair_labels(&judge.judge)?;
            let columns = columns(&judge, table, &answers, &labels);
            table.preferences.extend(columns);
        }
    }
    Ok(())
}

/// One column for each two arms that were compared.
fn columns(
    judge: &StoredJudge,
    table: &ScoreTable,
    answers: &[PairAnswer],
    labels: &[PairLabel],
) -> Vec<PreferenceColumn> {
    let arms: BTreeMap<&ArmId, u16> = table.arms.iter().zip(0..).collect();
    let tasks: BTreeMap<&TaskId, u32> = table.tasks.iter().zip(0..).collect();
    let place = |pair: &PairKey| {
        let arms = (*arms.get(&pair.baseline)?, *arms.get(&pair.candidate)?);
        Some((arms, (*tasks.get(&pair.task)?, pair.index)))
    };
    let mut said: BTreeMap<_, BTreeMap<_, Said>> = BTreeMap::new();
    for answer in answers {
        if let Some((arms, at)) = place(&answer.pair) {
            let pair = said.entry(arms).or_default().entry(at).or_default();
            pair.answers.push(answer);
        }
    }
    for label in labels {
        if let Some((arms, at)) = place(&label.pair) {
            let pair = said.entry(arms).or_default().entry(at).or_default();
            pair.labels.push(label);
        }
    }
    said.into_iter()
        .map(|((baseline, candidate), pairs)| PreferenceColumn {
            judge: judge.judge.clone(),
            baseline,
            candidate,
            pairs: pairs.into_iter().map(|(at, p)| (at, p.pair())).collect(),
            standing: of_both(judge, table, [baseline, candidate]),
        })
        .collect()
}

/// What judge and people said of one pair.
#[derive(Default)]
struct Said<'a> {
    answers: Vec<&'a PairAnswer>,
    labels: Vec<&'a PairLabel>,
}

impl Said<'_> {
    fn pair(&self) -> JudgedPair {
        let joined = (!self.answers.is_empty()).then(|| all_repeats(&self.answers));
        let first = self.labels.first();
        let drawn = first.and_then(|l| Drawn::of(l.stratum.as_deref(), l.probability));
        JudgedPair {
            effect: joined.as_ref().and_then(|(_, effect)| *effect),
            preference: joined.map(|(preference, _)| preference),
            label: all_raters(&self.labels),
            drawn: drawn == Some(Drawn::TaskThenTrial),
        }
    }
}

/// What the raters of one pair said all in all, candidate minus baseline: their majority; where they tie,
/// the mean of what they said.
pub(super) fn all_raters(labels: &[&PairLabel]) -> Option<f64> {
    let votes: Vec<Option<u32>> = labels.iter().map(|l| Some(l.preference.code())).collect();
    match majority_vote(&votes) {
        Vote::Majority(code) => Some(Preference::of_code(code).value()),
        Vote::Tie | Vote::NoVotes => {
            let values: Vec<f64> = labels.iter().map(|l| l.preference.value()).collect();
            mean(&values)
        }
    }
}

/// A certificate holds for a preference if it holds for both arms.
fn of_both(judge: &StoredJudge, table: &ScoreTable, arms: [u16; 2]) -> Standing {
    let [a, b] = arms.map(|arm| standing(judge, table.arms[usize::from(arm)].as_str()));
    match (a.state, b.state) {
        (StandingState::Valid, _) => b,
        _ => a,
    }
}
