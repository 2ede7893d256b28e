//! Every judged pair, for `pairs.csv`.

use std::collections::BTreeMap;

use super::evaluate::Evaluation;
use super::preferences::all_raters;
use crate::base::{Observation, Result};
use crate::model::label::ScaleKind;
use crate::model::preference::{
    PairAnswer, PairKey, PairLabel, PairRow, PositionEffect, Preference,
};

/// The rows of all pairwise judges, arms under their names in the report.
///
/// # Errors
///
/// If a store is damaged.
pub(super) fn rows(evaluation: &Evaluation) -> Result<Vec<PairRow>> {
    let mut rows = vec![];
    for (at, store) in evaluation.stores.iter().enumerate() {
        let name = |arm: &str| evaluation.reported_name(at, arm).unwrap_or(arm).to_owned();
        for judge in store.judged()? {
            if judge.scale.kind != ScaleKind::Pairwise {
                continue;
            }
            let labels = store.pair_labels(&judge.judge)?;
            let mut people: BTreeMap<&PairKey, Vec<&PairLabel>> = BTreeMap::new();
            for label in &labels {
                people.entry(&label.pair).or_default().push(label);
            }
            for answer in store.pair_answers(&judge.judge)? {
                let labels = people.get(&answer.pair);
                rows.push(PairRow {
                    judge: judge.judge.to_string(),
                    baseline: name(answer.pair.baseline.as_str()),
                    candidate: name(answer.pair.candidate.as_str()),
                    people: labels.and_then(|labels| all_raters(labels)),
                    ..said(&answer)
                });
            }
        }
    }
    Ok(rows)
}

/// What a judge said, without whose pair it is.
fn said(answer: &PairAnswer) -> PairRow {
    let choice = |o: &Observation<Preference>| o.value().map(|p| p.name().to_owned());
    let reason = |o: &Observation<Preference>| o.reason().map(str::to_owned);
    PairRow {
        judge: String::new(),
        baseline: String::new(),
        candidate: String::new(),
        task: answer.pair.task.to_string(),
        trial: answer.pair.index,
        repeat: answer.repeat,
        baseline_first: choice(&answer.baseline_first),
        baseline_first_reason: reason(&answer.baseline_first),
        candidate_first: choice(&answer.candidate_first),
        candidate_first_reason: reason(&answer.candidate_first),
        preference: choice(&answer.preference),
        reason: reason(&answer.preference),
        effect: answer.effect.map(PositionEffect::name).map(str::to_owned),
        people: None,
    }
}
