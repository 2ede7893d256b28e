//! What the report says of a judge's preferences.

use super::contrast::PreferenceContrast;
use crate::base::Result;
use crate::compare::judged::JudgedComparison;
use crate::compare::table::Comparing;
use crate::estimate::{Context, completed, pair_counts, position};
use crate::model::estimate::EstimateStatus;
use crate::model::measure::Dimension;
use crate::model::preference::PreferenceRow;
use crate::stats::permutation::clustered_sign_flip;

/// Random sign patterns beyond those that are counted exactly.
const FLIPS: u64 = 9_999;

/// What the report says of a judge's preferences over all tasks.
pub(in crate::compare) fn report_row(
    context: &Context,
    comparing: &Comparing,
    contrast: &PreferenceContrast,
    compared: &JudgedComparison,
) -> Result<PreferenceRow> {
    let context = comparing.context(context, Dimension::Quality);
    let PreferenceContrast { column, cells, .. } = contrast;
    let tasks = &contrast.segment.tasks;
    let paired = cells.paired(tasks);
    let means: Vec<f64> = paired.iter().filter_map(|&t| cells.mean(t)).collect();
    let seed = comparing
        .seed
        .child(&format!("compare/{}", column.metric()));
    let clusters = context.clusters(&paired);
    let flips = clustered_sign_flip(&means, clusters.as_deref(), seed, FLIPS)?;
    let any_missing = contrast.missing.rate_a > 0.0;
    let filled = |fill| -> Result<Option<[f64; 2]>> {
        let found = completed(&context, cells, tasks, fill)?;
        let limits = found.limits().filter(|_| any_missing);
        Ok(limits.map(|l| [l.lower, l.upper]))
    };
    let position = position(contrast.table, &context, column)?;
    let own = &contrast.own;
    Ok(PreferenceRow {
        judge: column.judge.to_string(),
        metric: column.metric(),
        baseline: compared.row.baseline.clone(),
        candidate: compared.row.candidate.clone(),
        counts: pair_counts(contrast.table, column, contrast.direction),
        value: own.estimate,
        low: own.lower,
        high: own.upper,
        level: own.level,
        method: own.method.to_owned(),
        p_sign_flip: (!means.is_empty()).then_some(flips.p_two_sided),
        worst: filled(-1.0)?,
        best: filled(1.0)?,
        tasks: paired.len() as u64,
        status: compared.row.status,
        reason: reason(contrast, compared),
        calibration: column.standing.certificate.clone(),
        labelled: cells.labelled(tasks),
        consistency: position.consistency,
        first_place: position.first_place,
        p_first_place: position.p,
    })
}

/// Why people's preference is not known, or may not be used.
fn reason(contrast: &PreferenceContrast, compared: &JudgedComparison) -> Option<String> {
    let objection = contrast.column.standing.state.objection();
    match compared.row.status {
        EstimateStatus::Ok => None,
        EstimateStatus::Uncalibrated => objection.map(str::to_owned),
        _ => compared.row.reason.clone(),
    }
}
