//! Estimates: one line per dimension and arm, then segments and further metrics.

use minijinja::Value;
use serde::Serialize;

use super::view::Lookup;
use super::{number, safe, words};
use crate::model::estimate::{AccountingRow, EstimateRow, EstimateStatus};
use crate::model::measure::{Dimension, Measure};
use crate::model::metric::Metric;

/// Most lines that the table of segments has; `estimates.csv` has them all.
const MOST_SEGMENTS: usize = 60;

/// One estimate of one arm.
#[derive(Serialize)]
pub(super) struct EstimateLine {
    dimension: Dimension,
    metric: String,
    segment: String,
    arm: String,
    tasks: u64,
    trials: u64,
    planned: u64,
    value: Value,
    limits: Value,
    method: String,
    missing: String,
    fixed: Value,
    spread: Value,
    has_spread: bool,
    remarks: String,
}

/// What was not measured, and why.
#[derive(Serialize)]
pub(super) struct Unmeasured {
    dimension: Dimension,
    metrics: Vec<String>,
    arms: Vec<String>,
    reason: String,
}

/// The headline metric of each dimension that was measured in any arm.
pub(super) fn dimensions(lookup: &Lookup<'_>) -> Vec<EstimateLine> {
    let measured = |dimension| {
        let mut rows = lookup.report.estimates.iter();
        rows.any(|row| {
            row.dimension == dimension
                && lookup.is_headline(row)
                && row.status != EstimateStatus::NotMeasured
        })
    };
    let shown = Dimension::ALL.into_iter().filter(|&d| measured(d));
    shown
        .flat_map(|dimension| {
            let rows = lookup.report.estimates.iter();
            rows.filter(move |row| row.dimension == dimension && lookup.is_headline(row))
        })
        .map(|row| line(lookup, row))
        .collect()
}

/// The headline metrics by segment, and how many lines were left out.
pub(super) fn segments(lookup: &Lookup<'_>) -> (Vec<EstimateLine>, usize) {
    let rows = lookup.report.estimates.iter();
    let rows: Vec<&EstimateRow> = rows
        .filter(|row| row.segment.is_some() && row.k.is_none())
        .filter(|row| lookup.headline(row.dimension) == Some(&row.metric))
        .collect();
    let shown = rows.iter().take(MOST_SEGMENTS);
    let lines = shown.map(|row| line(lookup, row)).collect();
    (lines, rows.len().saturating_sub(MOST_SEGMENTS))
}

/// Every other metric over all tasks.
pub(super) fn further(lookup: &Lookup<'_>) -> Vec<EstimateLine> {
    let rows = lookup.report.estimates.iter();
    rows.filter(|row| row.segment.is_none() && row.status != EstimateStatus::NotMeasured)
        .filter(|row| !lookup.is_headline(row))
        .map(|row| line(lookup, row))
        .collect()
}

/// What was not measured, together where dimension, reason and arms are the same.
pub(super) fn unmeasured(lookup: &Lookup<'_>) -> Vec<Unmeasured> {
    let mut lines: Vec<Unmeasured> = vec![];
    let rows = lookup.report.estimates.iter();
    for row in rows.filter(|row| row.status == EstimateStatus::NotMeasured && row.segment.is_none())
    {
        let reason = row.reason.as_deref().map(words::reason).unwrap_or_default();
        let known = lines
            .iter_mut()
            .find(|line| line.dimension == row.dimension && line.reason == reason);
        let line = match known {
            Some(line) => line,
            None => {
                lines.push(Unmeasured {
                    dimension: row.dimension,
                    metrics: vec![],
                    arms: vec![],
                    reason,
                });
                let last = lines.len() - 1;
                &mut lines[last]
            }
        };
        let quantity = words::quantity(&row.metric);
        if quantity != row.dimension.name() {
            push_new(&mut line.metrics, quantity);
        }
        push_new(&mut line.arms, row.arm.clone());
    }
    lines.sort_by_key(|line| line.dimension);
    lines
}

fn push_new(list: &mut Vec<String>, text: String) {
    if !list.contains(&text) {
        list.push(text);
    }
}

fn line(lookup: &Lookup<'_>, row: &EstimateRow) -> EstimateLine {
    let accounting = accounting(lookup, row);
    let arrow = lookup.arrow(row.dimension, &row.metric);
    let dash = || "–".to_owned();
    EstimateLine {
        dimension: row.dimension,
        metric: format!("{}{arrow}", words::metric(&row.metric, row.k)),
        segment: row.segment.clone().unwrap_or_default(),
        arm: row.arm.clone(),
        tasks: row.tasks,
        trials: row.trials,
        planned: accounting.map_or(row.trials, |a| a.planned),
        value: safe(row.value.map_or_else(dash, number::number)),
        limits: safe(lookup.interval(row.low, row.high, row.level, &row.notices)),
        method: row.method.clone().unwrap_or_default(),
        missing: accounting.map_or_else(dash, missing),
        fixed: safe(row.tasks_fixed.map_or_else(dash, |[low, high]| {
            number::interval(Some(low), Some(high), &[])
        })),
        spread: safe(spread(row)),
        has_spread: row.tasks_fixed.is_some() || row.sd_between_tasks.is_some(),
        remarks: remarks(row, accounting),
    }
}

fn accounting<'a>(lookup: &Lookup<'a>, row: &EstimateRow) -> Option<&'a AccountingRow> {
    let mut rows = lookup.report.accounting.iter();
    rows.find(|a| a.arm == row.arm && a.dimension == row.dimension && a.segment == row.segment)
}

/// Nothing is missing.
const NONE: &str = "none";

/// What is missing of a dimension and why: `30 provider, 2 ungradable`, or `none`.
fn missing(row: &AccountingRow) -> String {
    let excluded = row
        .excluded
        .iter()
        .map(|(boundary, &n)| (words::plain(boundary), n));
    let parts: Vec<String> = excluded
        .chain([("ungradable".to_owned(), row.ungradable)])
        .filter(|(_, n)| *n > 0)
        .map(|(why, n)| format!("{n} {why}"))
        .collect();
    match parts.is_empty() {
        true => NONE.to_owned(),
        false => parts.join(", "),
    }
}

/// Standard deviations between task means and within a task.
fn spread(row: &EstimateRow) -> String {
    match (row.sd_between_tasks, row.sd_within_task) {
        (None, None) => "–".to_owned(),
        (between, within) => [between, within]
            .map(|sd| sd.map_or_else(|| "–".to_owned(), number::number))
            .join(" / "),
    }
}

/// What the bounds of an estimate leave open: the missing trials, and of recovery those that never
/// reached the fault (METHODS 5).
fn open_trials(row: &EstimateRow, accounting: Option<&AccountingRow>) -> &'static str {
    let measure = Metric::from_name(&row.metric).map(|m| m.measure);
    let any_missing = accounting.is_none_or(|a| missing(a) != NONE);
    match (measure == Some(Measure::Recovered), any_missing) {
        (false, _) => "the missing trials held",
        (true, false) => "the trials that never reached the fault would have done",
        (true, true) => {
            "the missing trials, and those that never reached the fault, would have done"
        }
    }
}

/// Status, reason, bounds and warnings of an estimate, where there are any.
fn remarks(row: &EstimateRow, accounting: Option<&AccountingRow>) -> String {
    let status = Some(words::status(row.status).to_owned()).filter(|text| !text.is_empty());
    let reason = row.reason.as_deref().map(words::reason);
    let why: Vec<String> = status.into_iter().chain(reason).collect();
    let mut parts: Vec<String> = vec![why.join(": ")];
    parts.retain(|part| !part.is_empty());
    if let Some([worst, best]) = row.bounds.filter(|[worst, best]| worst != best) {
        let (worst, best) = (number::number(worst), number::number(best));
        parts.push(format!(
            "{worst} to {best} whatever {}",
            open_trials(row, accounting)
        ));
    }
    let unsaid =
        |code: &&String| !code.ends_with("_unbounded") && row.reason.as_ref() != Some(*code);
    let notices = row.notices.iter().filter(unsaid);
    parts.extend(notices.map(|code| words::notice(code).trim_end_matches('.').to_owned()));
    parts.join("; ")
}
