//! Costs: quantiles, means and totals of steps, calls, tokens, money and time.

use super::cells::{TaskCells, TrialValues};
use super::rates::{object_to_missing, status};
use super::segments::Segment;
use super::table::{Context, blank_row};
use crate::base::Result;
use crate::model::estimate::{EstimateRow, EstimateStatus};
use crate::model::metric::Metric;
use crate::model::score::ScoreTable;
use crate::stats::quantile::quantile_clustered;
use crate::stats::ratio::{LogEstimate, mean_amount, ratio_of_means};
use crate::stats::units::{Units, Weights};
use crate::stats::{Level, Status};

/// Stands for a value of which a limit showed only the least it could be: above all others.
const CUT_SHORT: f64 = f64::MAX;

/// A quantile over trials, tasks weighted as the plan says.
///
/// Values that a limit cut short lie above all others; what falls beyond the least of them is not known
/// (METHODS 4.4).
pub(super) fn quantile(
    context: &Context,
    table: &ScoreTable,
    arm: usize,
    metric: &Metric,
    tau: f64,
    cells: &TaskCells,
    segment: &Segment,
) -> Result<EstimateRow> {
    let mut row = blank_row(context, arm, metric, segment);
    let values = TrialValues::gather(table, arm as u16, metric, &segment.tasks);
    let known_up_to = known_up_to(&values);
    let trials = by_task(&values, &segment.tasks);
    let clusters = context.clusters(&segment.tasks);
    let found = quantile_clustered(
        &trials,
        clusters.as_deref(),
        &context.weights,
        tau,
        context.level,
    )?;
    row.value = found.estimate;
    row.method = Some("quantile_clustered_inversion".to_owned());
    row.low = bounded(found.lower, "low_unbounded", &mut row.notices);
    row.high = bounded(found.upper, "high_unbounded", &mut row.notices);
    row.status = status(found.status);
    row.reason = found.reason.map(str::to_owned);
    row.n_c = (found.n_c > 0.0).then_some(found.n_c);
    if let Some(known) = known_up_to {
        leave_open(&mut row, known);
    }
    count(&mut row, cells, segment);
    Ok(row)
}

/// The least value that a limit cut short; `None` where none was.
fn known_up_to(values: &TrialValues) -> Option<f64> {
    let cut = values.value.iter().zip(&values.censored);
    cut.filter(|(_, censored)| **censored)
        .map(|(value, _)| *value)
        .min_by(f64::total_cmp)
}

/// Takes back what falls beyond the known part of the distribution.
fn leave_open(row: &mut EstimateRow, known: f64) {
    if row.value.take_if(|x| *x > known).is_some() {
        row.status = EstimateStatus::NotEstimable;
        row.reason = Some("beyond_limit".to_owned());
    }
    if row.low.take_if(|x| *x > known).is_some() {
        row.notices.push("low_beyond_limit".to_owned());
    }
    if row.high.take_if(|x| *x > known).is_some() {
        row.notices.push("high_unbounded".to_owned());
    }
}

/// The mean over tasks of each task's mean, with the jackknife interval on the log scale.
pub(super) fn mean(
    context: &Context,
    arm: usize,
    metric: &Metric,
    cells: &TaskCells,
    segment: &Segment,
) -> Result<EstimateRow> {
    let mut row = blank_row(context, arm, metric, segment);
    // The second amount of a task is 1, so that a unit's second mean is its relative weight.
    let units = unit_means(
        context,
        &segment.tasks,
        |t| Some([cells.mean(t)?, 1.0]),
        |t| cells.scored[t],
    )?;
    let side = |side: usize| units.iter().map(|u| u[side]).collect::<Vec<f64>>();
    let (amounts, weights) = (side(0), side(1));
    let found = mean_of(&amounts, &weights, context.level)?;
    // The mean itself is defined wherever there is a task; only its interval needs positive amounts.
    let plain =
        (!amounts.is_empty()).then(|| amounts.iter().sum::<f64>() / weights.iter().sum::<f64>());
    row.value = found.estimate.or(plain);
    (row.low, row.high) = (found.lower, found.upper);
    row.method = Some("mean_log_jackknife".to_owned());
    row.status = status(found.status);
    row.reason = found.reason.map(str::to_owned);
    row.n_c = found.n_eff;
    if cells.censored_in(&segment.tasks) > 0 {
        row.notices.push("restricted_mean".to_owned());
    }
    count(&mut row, cells, segment);
    Ok(row)
}

/// The mean amount with its jackknife. Units of unequal weight are left out together with their
/// weight, so that the mean is a ratio of totals; with few effective units there is no interval.
fn mean_of(amounts: &[f64], weights: &[f64], level: Level) -> Result<LogEstimate> {
    let equal = weights.iter().all(|w| (w - 1.0).abs() <= 1e-9);
    let plain = mean_amount(amounts, level)?;
    if equal || plain.status == Status::NotEstimable {
        return Ok(plain);
    }
    let total: f64 = weights.iter().sum();
    let scaled: Vec<f64> = weights
        .iter()
        .map(|w| w / total * weights.len() as f64)
        .collect();
    ratio_of_means(&scaled, amounts, level)
}

/// The sum over all valid trials: a fact of this run, so without interval.
pub(super) fn total(
    context: &Context,
    arm: usize,
    metric: &Metric,
    cells: &TaskCells,
    segment: &Segment,
) -> EstimateRow {
    let mut row = blank_row(context, arm, metric, segment);
    row.value = Some(segment.tasks.iter().map(|&t| cells.sum[t]).sum());
    row.method = Some("sum".to_owned());
    count(&mut row, cells, segment);
    row.notices
        .push("a_sum_of_this_run_has_no_interval".to_owned());
    row
}

fn count(row: &mut EstimateRow, cells: &TaskCells, segment: &Segment) {
    row.tasks = segment
        .tasks
        .iter()
        .filter(|&&t| cells.scored[t] > 0)
        .count() as u64;
    row.trials = cells.scored_in(&segment.tasks);
    let spread = cells.spread(&segment.tasks);
    (row.sd_between_tasks, row.sd_within_task) = (spread.between, spread.within);
    if row.value.is_none() && row.status == EstimateStatus::Ok {
        row.status = EstimateStatus::NotEstimable;
    }
    match cells.censored_in(&segment.tasks) {
        0 => {}
        cut => row.notices.push(format!("censored:{cut}")),
    }
    object_to_missing(row, cells, segment);
}

fn bounded(limit: Option<f64>, notice: &str, notices: &mut Vec<String>) -> Option<f64> {
    let finite = limit.filter(|l| l.is_finite());
    if limit.is_some() && finite.is_none() {
        notices.push(notice.to_owned());
    }
    finite
}

fn by_task(values: &TrialValues, tasks: &[usize]) -> Vec<Vec<f64>> {
    let most = tasks.iter().max().map_or(0, |t| t + 1);
    let mut position = vec![usize::MAX; most];
    tasks
        .iter()
        .enumerate()
        .for_each(|(at, &t)| position[t] = at);
    let mut grouped = vec![Vec::new(); tasks.len()];
    for (at, &task) in values.task.iter().enumerate() {
        let value = match values.censored[at] {
            true => CUT_SHORT,
            false => values.value[at],
        };
        grouped[position[task as usize]].push(value);
    }
    grouped
}

/// Amounts per independent unit, scaled so that their plain mean is the weighted mean over tasks:
/// with equal weights and no clusters, the task means themselves.
///
/// `amounts` gives one task's two amounts (one per arm of a ratio; twice the same for a mean), or
/// `None` to leave it out.
pub(crate) fn unit_means(
    context: &Context,
    tasks: &[usize],
    amounts: impl Fn(usize) -> Option<[f64; 2]>,
    trials: impl Fn(usize) -> u32,
) -> Result<Vec<[f64; 2]>> {
    let found: Vec<Option<[f64; 2]>> = tasks.iter().map(|&t| amounts(t)).collect();
    let counts: Vec<u32> = tasks
        .iter()
        .zip(&found)
        .map(|(&t, a)| if a.is_some() { trials(t).max(1) } else { 0 })
        .collect();
    let clusters = context.clusters(tasks);
    if clusters.is_none() && context.weights == Weights::EqualTask {
        return Ok(found.into_iter().flatten().collect());
    }
    let units = Units::new(&counts, clusters.as_deref(), &context.weights)?;
    let scale = units.len() as f64;
    let kept: Vec<[f64; 2]> = units.kept.iter().filter_map(|&i| found[i]).collect();
    let side = |side: usize| -> Vec<f64> {
        units
            .sums(|i| scale * units.weights[i] * kept[i][side])
            .collect()
    };
    Ok(side(0)
        .into_iter()
        .zip(side(1))
        .map(|(a, b)| [a, b])
        .collect())
}
