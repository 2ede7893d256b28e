//! Quality as judges see it, corrected for their errors (METHODS 9).

mod cells;
mod corrected;
mod few;

pub use cells::{JudgedTrial, QualityCells};
pub(crate) use corrected::{BORDERLINE, corrected};
pub(crate) use few::FEWEST_LABELLED_TRIALS;

use super::segments::Segment;
use super::table::{Context, quality_row};
use crate::base::Result;
use crate::model::estimate::{EstimateRow, EstimateStatus};
use crate::model::judged::JudgeColumn;
use crate::model::score::ScoreTable;
use crate::stats::Status;
use crate::stats::tolerance::above;

/// More missing verdicts than this leave nothing to decide (METHODS 6.4).
const MOST_MISSING: f64 = 0.10;

/// All rows of quality: one per judge, arm and segment; a row without a judge says so.
pub(super) fn quality(
    table: &ScoreTable,
    context: &Context,
    segments: &[Segment],
) -> Result<Vec<EstimateRow>> {
    let whole = Segment {
        name: None,
        tasks: vec![],
    };
    let mut rows = vec![];
    for arm in 0..table.arms.len() {
        if table.judges.is_empty() {
            let why = match table.preferences.is_empty() {
                true => "no_judge",
                false => "only_pairs_judged",
            };
            rows.push(not_measured(context, arm, "quality.rate", &whole, why));
        }
        for column in &table.judges {
            let cells = QualityCells::gather(table, arm, column);
            let metric = column.metric();
            if cells.all_lost() {
                rows.push(lost(context, arm, &metric, &whole));
                continue;
            }
            if cells.judged.iter().all(Vec::is_empty) {
                let why = if column.worth(0).is_none() {
                    "no_good_level"
                } else {
                    "no_usable_verdict"
                };
                rows.push(not_measured(context, arm, &metric, &whole, why));
                continue;
            }
            for segment in segments {
                rows.push(row(context, arm, column, &cells, segment)?);
            }
        }
    }
    Ok(rows)
}

/// The value if every trial without a verdict were the worst, or the best, that the scale knows: moved by
/// all of the weight that is missing. None where nothing is missing or there is no value.
fn bounds(
    context: &Context,
    cells: &QualityCells,
    segment: &Segment,
    value: Option<f64>,
) -> Option<[f64; 2]> {
    let lost = |t: usize| match cells.started[t] {
        0 => 0.0,
        started => f64::from(cells.missing[t]) / f64::from(started),
    };
    let weights = context.planned_weights(&segment.tasks);
    let missing: f64 = segment
        .tasks
        .iter()
        .zip(&weights)
        .map(|(&t, w)| w * lost(t))
        .sum();
    let value = value.filter(|_| missing > 0.0)?;
    Some([(value - missing).max(0.0), (value + missing).min(1.0)])
}

/// Every verdict was lost, which is as undecidable as the loss of some.
fn lost(context: &Context, arm: usize, metric: &str, segment: &Segment) -> EstimateRow {
    EstimateRow {
        status: EstimateStatus::NotDecidable,
        reason: Some("missing_high".to_owned()),
        ..quality_row(context, arm, metric, segment)
    }
}

fn not_measured(
    context: &Context,
    arm: usize,
    metric: &str,
    segment: &Segment,
    why: &str,
) -> EstimateRow {
    EstimateRow {
        status: EstimateStatus::NotMeasured,
        reason: Some(why.to_owned()),
        ..quality_row(context, arm, metric, segment)
    }
}

fn row(
    context: &Context,
    arm: usize,
    column: &JudgeColumn,
    cells: &QualityCells,
    segment: &Segment,
) -> Result<EstimateRow> {
    let found = corrected(context, arm, column, cells, &segment.tasks, context.level)?;
    let standing = &column.standing[arm];
    let mut row = quality_row(context, arm, &column.metric(), segment);
    (row.value, row.low, row.high) = (found.estimate, found.lower, found.upper);
    row.method = Some(found.method.to_owned());
    let judged = |t: &&usize| !cells.judged[**t].is_empty();
    row.tasks = segment.tasks.iter().filter(judged).count() as u64;
    row.trials = cells.trials(&segment.tasks);
    row.bounds = bounds(context, cells, segment, found.estimate);
    row.status = crate::estimate::status(found.status);
    row.reason = found.reason.map(str::to_owned);
    row.calibration = standing.certificate.clone();
    row.notices = found.notices.iter().map(|n| n.code.clone()).collect();
    if !column.is_rate() {
        row.notices.push("rescaled_to_unit".to_owned());
    }
    // Step order of METHODS 6.4: what is missing, what is not identified, then the certificate.
    let borderline = found.notices.iter().any(|n| n.code == BORDERLINE);
    let objection = standing.state.objection();
    let objection = objection.or(borderline.then_some(BORDERLINE));
    if let Some(why) = objection.filter(|_| found.status > Status::NotIdentified) {
        row.status = EstimateStatus::Uncalibrated;
        row.reason = Some(why.to_owned());
    }
    if above(cells.missing_rate(&segment.tasks), MOST_MISSING) {
        row.status = EstimateStatus::NotDecidable;
        row.reason = Some("missing_high".to_owned());
    }
    Ok(row)
}
