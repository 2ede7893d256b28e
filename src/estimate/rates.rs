//! Rates: success, conformance, violations, duplicates, recovery; pass@k and pass^k.

use std::collections::BTreeMap;

use super::cells::TaskCells;
use super::segments::Segment;
use super::table::{Context, blank_row};
use crate::base::Result;
use crate::model::estimate::{EstimateRow, EstimateStatus};
use crate::model::metric::{Metric, MetricKind};
use crate::stats::clustered::{RateEstimate, sen_cp, tasks_fixed_cp};
use crate::stats::count::{UnitCount, poisson_clustered};
use crate::stats::missing::{PartialTask, manski_tasks};
use crate::stats::pass_k::{PassKind, Successes, pass_k};
use crate::stats::sample::{Clustered, TaskScore};
use crate::stats::tolerance::above;

/// The rate of one arm in one segment; `bounded` holds the cells by which it is bounded.
pub(super) fn rate(
    context: &Context,
    arm: usize,
    metric: &Metric,
    cells: &TaskCells,
    bounded: &TaskCells,
    segment: &Segment,
) -> Result<EstimateRow> {
    let scores = task_scores(cells, &segment.tasks);
    let clusters = context.clusters(&segment.tasks);
    let sample = Clustered::new(&scores, clusters.as_deref(), &context.weights)?;
    let estimate = sen_cp(&sample, context.level);
    let fixed = tasks_fixed_cp(&sample, context.level);
    let mut row = blank_row(context, arm, metric, segment);
    fill(&mut row, &estimate);
    row.tasks_fixed = fixed
        .limits()
        .map(|l| [l.lower, l.upper])
        .filter(|_| row.value.is_some());
    row.bounds = bounds(context, bounded, segment)?;
    let spread = cells.spread(&segment.tasks);
    (row.sd_between_tasks, row.sd_within_task) = (spread.between, spread.within);
    object_to_missing(&mut row, cells, segment);
    Ok(row)
}

/// pass@k or pass^k of one arm in one segment.
pub(super) fn pass(
    context: &Context,
    arm: usize,
    metric: &Metric,
    k: u32,
    cells: &TaskCells,
    segment: &Segment,
) -> Result<EstimateRow> {
    let mut row = blank_row(context, arm, metric, segment);
    row.k = Some(k);
    let Some(tasks) = successes(cells, &segment.tasks) else {
        row.status = EstimateStatus::NotEstimable;
        row.reason = Some("graded_values".to_owned());
        return Ok(row);
    };
    let kind = if metric.kind == MetricKind::PassAtK {
        PassKind::At
    } else {
        PassKind::Hat
    };
    let clusters = context.clusters(&segment.tasks);
    let pass = pass_k(
        kind,
        &tasks,
        k,
        clusters.as_deref(),
        &context.weights,
        context.level,
    )?;
    fill(&mut row, &pass.rate);
    let short = tasks
        .iter()
        .filter(|t| t.trials > 0 && t.trials < k)
        .count();
    if short > 0 && row.value.is_some() {
        row.notices
            .push("tasks_with_fewer_than_k_trials".to_owned());
    }
    object_to_missing(&mut row, cells, segment);
    Ok(row)
}

/// Copies an estimate of `stats` into a row.
pub(super) fn fill(row: &mut EstimateRow, estimate: &RateEstimate) {
    (row.value, row.low, row.high) = (estimate.estimate, estimate.lower, estimate.upper);
    row.method = Some(estimate.method.to_owned());
    (row.tasks, row.trials) = (estimate.tasks as u64, estimate.trials);
    row.n_c = (estimate.n_c > 0.0).then_some(estimate.n_c);
    row.status = status(estimate.status);
    row.reason = estimate.reason.map(str::to_owned);
    if row.reason.is_none() && estimate.status == crate::stats::Status::NotEstimable {
        row.reason = Some("fewer_than_two_units".to_owned());
    }
    row.notices
        .extend(estimate.notices.iter().map(|n| n.code.clone()));
}

pub(crate) fn status(status: crate::stats::Status) -> EstimateStatus {
    use crate::stats::Status;
    match status {
        Status::NotDecidable => EstimateStatus::NotDecidable,
        Status::NotIdentified => EstimateStatus::NotIdentified,
        Status::NotEstimable => EstimateStatus::NotEstimable,
        Status::Exploratory => EstimateStatus::Exploratory,
        Status::Conservative => EstimateStatus::Conservative,
        Status::Ok => EstimateStatus::Ok,
    }
}

/// More than 10 % missing outranks every other status (METHODS, Record and 6.4 step 1).
pub(super) fn object_to_missing(row: &mut EstimateRow, cells: &TaskCells, segment: &Segment) {
    if above(cells.missing_rate(&segment.tasks), 0.10) {
        row.status = EstimateStatus::NotDecidable;
        row.reason = Some("missing_high".to_owned());
    }
}

/// Task scores of a rate, in the order of `tasks`.
pub(crate) fn task_scores(cells: &TaskCells, tasks: &[usize]) -> Vec<TaskScore> {
    tasks
        .iter()
        .map(|&t| TaskScore {
            sum: cells.sum[t],
            trials: cells.scored[t],
        })
        .collect()
}

/// Whole-number results of each task; `None` if some value is neither 0 nor 1.
fn successes(cells: &TaskCells, tasks: &[usize]) -> Option<Vec<Successes>> {
    let whole = |&t: &usize| {
        let binary = (cells.sum[t] - cells.squares[t]).abs() <= 1e-9;
        binary.then(|| Successes {
            trials: cells.scored[t],
            successes: cells.sum[t].round() as u32,
        })
    };
    tasks.iter().map(whole).collect()
}

/// Worst and best value over all started tasks that the measure concerns, if every missing trial had
/// the value 0 or 1 (Manski 1989).
fn bounds(context: &Context, cells: &TaskCells, segment: &Segment) -> Result<Option<[f64; 2]>> {
    let tasks: Vec<usize> = segment
        .tasks
        .iter()
        .copied()
        .filter(|&t| !cells.never_applies(t) && !cells.never_started(t))
        .collect();
    let clusters = context.clusters(&tasks);
    let partial = partial_tasks(cells, &tasks);
    let bounds = manski_tasks(
        &partial,
        clusters.as_deref(),
        &context.weights,
        context.level,
    )?;
    Ok(bounds
        .worst
        .zip(bounds.best)
        .map(|(worst, best)| [worst, best]))
}

/// What each task yielded and what is missing, in the order of `tasks`.
pub(crate) fn partial_tasks(cells: &TaskCells, tasks: &[usize]) -> Vec<PartialTask> {
    let partial = |&t: &usize| PartialTask {
        sum: cells.sum[t],
        observed: cells.scored[t],
        missing: cells.missing[t],
    };
    tasks.iter().map(partial).collect()
}

/// Events per trial of one arm in one segment, with the limits of clustered counts.
pub(super) fn per_trial(
    context: &Context,
    arm: usize,
    metric: &Metric,
    cells: &TaskCells,
    segment: &Segment,
) -> Result<EstimateRow> {
    let mut row = blank_row(context, arm, metric, segment);
    let found = poisson_clustered(&unit_counts(context, cells, &segment.tasks), context.level)?;
    (row.value, row.low, row.high) = (found.rate, found.lower, found.upper);
    row.method = Some("poisson_clustered".to_owned());
    row.status = status(found.status);
    row.reason = found.reason.map(str::to_owned);
    row.tasks = segment
        .tasks
        .iter()
        .filter(|&&t| cells.scored[t] > 0)
        .count() as u64;
    row.trials = cells.scored_in(&segment.tasks);
    row.n_c = (found.units > 0).then_some(found.units as f64);
    let spread = cells.spread(&segment.tasks);
    (row.sd_between_tasks, row.sd_within_task) = (spread.between, spread.within);
    object_to_missing(&mut row, cells, segment);
    Ok(row)
}

/// Events and trials of each independent unit.
fn unit_counts(context: &Context, cells: &TaskCells, tasks: &[usize]) -> Vec<UnitCount> {
    let mut units: BTreeMap<usize, UnitCount> = BTreeMap::new();
    for &task in tasks.iter().filter(|&&t| cells.scored[t] > 0) {
        let unit = context
            .cluster_of
            .as_ref()
            .map_or(task, |c| c[task] as usize);
        let count = units.entry(unit).or_insert(UnitCount {
            events: 0.0,
            exposure: 0.0,
        });
        count.events += cells.sum[task];
        count.exposure += f64::from(cells.scored[task]);
    }
    units.into_values().collect()
}
