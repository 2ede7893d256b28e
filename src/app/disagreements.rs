//! Disagreement samples with their evidence.

use super::evaluate::Evaluation;
use crate::base::Result;
use crate::disagree::{PER_STRATUM, Pick, sample};
use crate::model::report::DisagreementRow;
use crate::model::score::ScoreTable;

/// Draws the samples and fetches what they rest on.
///
/// # Errors
///
/// If a store is damaged.
pub(super) fn samples(evaluation: &Evaluation) -> Result<Vec<DisagreementRow>> {
    let seed = evaluation.stores[0].plan().body.seed;
    let picks = sample(&evaluation.table, seed, PER_STRATUM);
    picks.iter().map(|pick| row(evaluation, pick)).collect()
}

fn row(evaluation: &Evaluation, pick: &Pick) -> Result<DisagreementRow> {
    let table = &evaluation.table;
    let task = table.task[pick.row_a] as usize;
    let value = |row: usize| {
        table
            .column(pick.measure)
            .map_or(0.0, |column| column.value[row])
    };
    let name = |row: usize| {
        evaluation.arms[usize::from(table.arm[row])]
            .info
            .name
            .clone()
    };
    Ok(DisagreementRow {
        kind: pick.kind.name().to_owned(),
        dimension: pick.measure.dimension(),
        task: table.tasks[task].to_string(),
        segment: segment(table, task),
        arm_a: name(pick.row_a),
        trial_a: table.index[pick.row_a],
        score_a: value(pick.row_a),
        evidence_a: evidence(evaluation, pick, pick.row_a)?,
        arm_b: name(pick.row_b),
        trial_b: table.index[pick.row_b],
        score_b: value(pick.row_b),
        evidence_b: evidence(evaluation, pick, pick.row_b)?,
        stratum: pick.note(),
    })
}

fn evidence(evaluation: &Evaluation, pick: &Pick, row: usize) -> Result<String> {
    let table = &evaluation.table;
    let arm = &evaluation.arms[usize::from(table.arm[row])];
    let task = table.tasks[table.task[row] as usize].as_str();
    let dimension = pick.measure.dimension().name();
    evaluation.stores[arm.store].evidence(arm.stored.as_str(), task, table.index[row], dimension)
}

fn segment(table: &ScoreTable, task: usize) -> Option<String> {
    let values: Vec<String> = table
        .segments
        .iter()
        .filter_map(|s| s.values[task].as_ref().map(|v| format!("{}={v}", s.key)))
        .collect();
    (!values.is_empty()).then(|| values.join(";"))
}
