//! Where judges disagree with people, the grader, each other and themselves, with blinded evidence.

use std::collections::BTreeMap;

use super::evaluate::Evaluation;
use crate::base::{ArmId, ItemId, Result, TaskId};
use crate::disagree::PER_STRATUM;
use crate::disagree::judges::{Judged, RaterAnswer, rows, sample};
use crate::judge::blind::{Blinded, Blinder};
use crate::judge::view::{View, view};
use crate::model::judge::ViewPart;
use crate::model::label::{Scale, TrialKey};
use crate::model::measure::Measure;
use crate::model::report::JudgeDisagreementRow;
use crate::model::score::{CellState, ScoreTable};
use crate::model::suite::Suite;
use crate::model::verdict::Verdict;
use crate::store::{RunStore, StoredJudge};

/// What people see of a trial.
const SHOWN: [ViewPart; 5] = [
    ViewPart::Task,
    ViewPart::Messages,
    ViewPart::ToolCalls,
    ViewPart::ToolResults,
    ViewPart::Final,
];

/// Draws the samples: judges with one scale are looked at together.
///
/// # Errors
///
/// If a store is damaged.
pub(super) fn samples(evaluation: &Evaluation) -> Result<Vec<JudgeDisagreementRow>> {
    let mut found = Vec::new();
    for store in &evaluation.stores {
        let judges = store.judged()?;
        let mut scales: Vec<&Scale> = judges.iter().map(|j| &j.scale).collect();
        scales.dedup();
        for scale in scales {
            let own: Vec<&StoredJudge> = judges.iter().filter(|j| j.scale == *scale).collect();
            found.extend(of_scale(evaluation, store, scale, &own)?);
        }
    }
    Ok(found)
}

fn of_scale(
    evaluation: &Evaluation,
    store: &RunStore,
    scale: &Scale,
    judges: &[&StoredJudge],
) -> Result<Vec<JudgeDisagreementRow>> {
    let verdicts: Vec<Verdict> = judges
        .iter()
        .flat_map(|judge| judge.verdicts.iter().map(|(_, verdict)| verdict.clone()))
        .collect();
    let mut trials = BTreeMap::new();
    for (key, _) in judges.iter().flat_map(|judge| &judge.verdicts) {
        trials.entry(key.item()).or_insert_with(|| key.clone());
    }
    for label in judges.iter().flat_map(|judge| &judge.labels) {
        let item = label.trial.item();
        trials.entry(item).or_insert_with(|| label.trial.clone());
    }
    let (grades, segments) = graded(&evaluation.table, &trials);
    let judged = Judged {
        scale,
        verdicts: &verdicts,
        labels: &labels(judges),
        raters: &raters(judges),
        grades: &grades,
        segments: &segments,
    };
    let seed = store.plan().body.seed;
    let picks = sample(&judged, seed, PER_STRATUM);
    let suite = store.suite()?;
    // Names that are too short to be hidden are said where a judge is asked; here nothing is shown then.
    let blinder = Blinder::of_arms(&super::arms_of_run(store)?).ok();
    let shown: BTreeMap<ItemId, Vec<Blinded<View>>> = picks
        .iter()
        .filter_map(|pick| {
            let key = trials.get(&pick.item)?;
            let seen = evidence(store, &suite, key, blinder.as_ref()?)?;
            Some((pick.item.clone(), vec![seen]))
        })
        .collect();
    let evidence = |item: &ItemId| shown.get(item).cloned().unwrap_or_default();
    Ok(rows(&picks, seed, &evidence))
}

/// What each of the people said.
fn raters(judges: &[&StoredJudge]) -> Vec<RaterAnswer> {
    let labels = judges.iter().flat_map(|judge| &judge.labels);
    labels
        .map(|label| RaterAnswer {
            item: label.trial.item(),
            task: label.trial.task.clone(),
            rater: label.rater.clone(),
            code: label.answer,
        })
        .collect()
}

/// The majority of people, by item; where they are even, nobody is right.
fn labels(judges: &[&StoredJudge]) -> BTreeMap<ItemId, u32> {
    let mut votes: BTreeMap<ItemId, BTreeMap<u32, u32>> = BTreeMap::new();
    for label in judges.iter().flat_map(|judge| &judge.labels) {
        let item = votes.entry(label.trial.item()).or_default();
        *item.entry(label.answer).or_default() += 1;
    }
    votes
        .into_iter()
        .filter_map(|(item, votes)| {
            let most = votes.values().max().copied()?;
            let mut best = votes.iter().filter(|(_, n)| **n == most);
            let first = *best.next()?.0;
            best.next().is_none().then_some((item, first))
        })
        .collect()
}

/// Whether the deterministic outcome is good, and the first segment, by item.
fn graded(
    table: &ScoreTable,
    trials: &BTreeMap<ItemId, TrialKey>,
) -> (BTreeMap<ItemId, bool>, BTreeMap<ItemId, String>) {
    let mut rows: BTreeMap<(&ArmId, &TaskId, u32), usize> = BTreeMap::new();
    for row in 0..table.len() {
        let arm = &table.arms[usize::from(table.arm[row])];
        let task = &table.tasks[table.task[row] as usize];
        rows.insert((arm, task, table.index[row]), row);
    }
    let success = table.column(Measure::Success);
    let (mut grades, mut segments) = (BTreeMap::new(), BTreeMap::new());
    for (item, key) in trials {
        let Some(&row) = rows.get(&(&key.arm, &key.task, key.index)) else {
            continue;
        };
        if let Some(column) = success.filter(|c| c.cell[row] == CellState::Scored) {
            grades.insert(item.clone(), column.value[row] >= 0.5);
        }
        let task = table.task[row] as usize;
        let segment = table.segments.iter().find_map(|segment| {
            let value = segment.values[task].as_ref()?;
            Some(format!("{}={value}", segment.key))
        });
        segments.extend(segment.map(|segment| (item.clone(), segment)));
    }
    (grades, segments)
}

pub(super) fn evidence(
    store: &RunStore,
    suite: &Suite,
    key: &TrialKey,
    blinder: &Blinder,
) -> Option<Blinded<View>> {
    let stored = store.trial(&key.arm, &key.task, key.index).ok()??;
    let task = suite.task(&key.task)?;
    let seen = view(&SHOWN, stored.trace.as_ref()?, task);
    Some(blinder.blind(seen, &stored.trial.id).view)
}
