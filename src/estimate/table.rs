//! All estimates of a run: arm × metric × segment.

use std::collections::HashMap;

use rayon::prelude::*;

use super::cells::TaskCells;
use super::segments::Segment;
use super::{costs, rates};
use crate::base::Result;
use crate::model::analysis::WeightsSpec;
use crate::model::estimate::{EstimateRow, EstimateStatus};
use crate::model::measure::{Dimension, Measure};
use crate::model::metric::{Metric, MetricKind};
use crate::model::score::{RowState, ScoreTable};
use crate::stats::Level;
use crate::stats::units::Weights;

/// What every estimate of a run shares.
#[derive(Clone, Debug)]
pub struct Context {
    /// Arm names.
    pub arms: Vec<String>,
    /// Planned trials per task of each arm.
    pub trials: Vec<u32>,
    /// Cluster label of each task.
    pub cluster_of: Option<Vec<u32>>,
    /// Weights of the tasks.
    pub weights: Weights,
    /// Level of all intervals.
    pub level: Level,
}

impl Context {
    /// The context of a score table.
    pub fn new(table: &ScoreTable, trials: Vec<u32>, weights: WeightsSpec, level: Level) -> Self {
        Self {
            arms: table.arms.iter().map(|a| a.as_str().to_owned()).collect(),
            trials,
            cluster_of: table.clusters.clone(),
            weights: match weights {
                WeightsSpec::EqualTask => Weights::EqualTask,
                WeightsSpec::Trials => Weights::Trials,
                WeightsSpec::EqualCluster => Weights::EqualCluster,
            },
            level,
        }
    }

    /// The weight that the plan gives each of some tasks, whatever became of their trials; sums to 1
    /// over them.
    pub fn planned_weights(&self, tasks: &[usize]) -> Vec<f64> {
        let raw: Vec<f64> = match &self.weights {
            Weights::EqualTask | Weights::Trials => vec![1.0; tasks.len()],
            Weights::Explicit(weights) => tasks.iter().map(|&t| weights[t]).collect(),
            Weights::EqualCluster => {
                let labels = self
                    .clusters(tasks)
                    .unwrap_or_else(|| (0..tasks.len() as u32).collect());
                let mut sizes: HashMap<u32, f64> = HashMap::new();
                labels
                    .iter()
                    .for_each(|l| *sizes.entry(*l).or_default() += 1.0);
                labels.iter().map(|l| 1.0 / sizes[l]).collect()
            }
        };
        let total: f64 = raw.iter().sum();
        raw.into_iter().map(|w| w / total).collect()
    }

    /// The cluster labels of some tasks.
    pub fn clusters(&self, tasks: &[usize]) -> Option<Vec<u32>> {
        self.cluster_of
            .as_ref()
            .map(|labels| tasks.iter().map(|&t| labels[t]).collect())
    }
}

/// All estimates, ordered by arm, metric, k and segment.
///
/// A measure without a single value in an arm has one row with the status `not_measured` and the
/// reason; so has quality, which needs judges.
///
/// # Errors
///
/// If scores are outside their range: the store is damaged.
pub fn estimates(
    table: &ScoreTable,
    context: &Context,
    segments: &[Segment],
) -> Result<Vec<EstimateRow>> {
    let mut jobs = Vec::new();
    for arm in 0..table.arms.len() {
        for metric in Metric::all() {
            jobs.push((arm, metric));
        }
    }
    let rows: Vec<Vec<EstimateRow>> = jobs
        .par_iter()
        .map(|(arm, metric)| of_metric(table, context, segments, *arm, metric))
        .collect::<Result<_>>()?;
    let mut all: Vec<EstimateRow> = rows.into_iter().flatten().map(finite).collect();
    all.extend(super::quality::quality(table, context, segments)?);
    Ok(all)
}

/// Amounts near the largest number there is overflow in sums; such a row is undefined, never NaN.
fn finite(row: EstimateRow) -> EstimateRow {
    let numbers = [
        row.value,
        row.low,
        row.high,
        row.sd_between_tasks,
        row.sd_within_task,
    ];
    if numbers.iter().flatten().all(|n| n.is_finite()) {
        return row;
    }
    EstimateRow {
        value: None,
        low: None,
        high: None,
        sd_between_tasks: None,
        sd_within_task: None,
        status: EstimateStatus::NotEstimable,
        reason: Some("out_of_range".to_owned()),
        ..row
    }
}

fn of_metric(
    table: &ScoreTable,
    context: &Context,
    segments: &[Segment],
    arm: usize,
    metric: &Metric,
) -> Result<Vec<EstimateRow>> {
    if !is_measured(table, arm, metric.measure) {
        let mut rows = Vec::new();
        if stands_for_its_measure(metric) {
            let mut row = not_measured(
                context,
                arm,
                metric.dimension(),
                &metric.name(),
                &segments[0],
            );
            row.reason = Some(why_not_measured(table, arm, metric.measure));
            rows.push(row);
        }
        return Ok(rows);
    }
    let cells = TaskCells::gather(table, arm as u16, metric);
    let bounded = with_unreached(table, arm, metric, &cells);
    let mut rows = Vec::new();
    for segment in segments {
        match metric.kind {
            MetricKind::Rate | MetricKind::RateAll => {
                rows.push(rates::rate(
                    context, arm, metric, &cells, &bounded, segment,
                )?);
            }
            MetricKind::PassAtK | MetricKind::PassHatK => {
                for k in ks(context.trials.iter().copied().max().unwrap_or(0)) {
                    rows.push(rates::pass(context, arm, metric, k, &cells, segment)?);
                }
            }
            MetricKind::PerTrial => {
                rows.push(rates::per_trial(context, arm, metric, &cells, segment)?)
            }
            MetricKind::Quantile(tau) => {
                rows.push(costs::quantile(
                    context, table, arm, metric, tau, &cells, segment,
                )?);
            }
            MetricKind::Mean => rows.push(costs::mean(context, arm, metric, &cells, segment)?),
            MetricKind::Total => rows.push(costs::total(context, arm, metric, &cells, segment)),
        }
        if is_unconcerned(&cells, segment) {
            let new = rows.iter_mut().rev();
            for row in new.take_while(|row| row.segment == segment.name) {
                row.reason = row.reason.take().map(unconcerned);
            }
        }
    }
    Ok(rows)
}

/// Whether trials of a segment ran and are valid, and the measure concerns none of them.
fn is_unconcerned(cells: &TaskCells, segment: &Segment) -> bool {
    let outside = |&t: &usize| cells.not_applicable[t] > 0;
    let silent = |&t: &usize| cells.scored[t] == 0 && cells.missing[t] == 0;
    segment.tasks.iter().any(outside) && segment.tasks.iter().all(silent)
}

/// Valid trials that a measure does not concern are not invalid.
fn unconcerned(reason: String) -> String {
    match reason.as_str() {
        "no_valid_trials" => "no_trial_concerned".to_owned(),
        _ => reason,
    }
}

/// Recovery is bounded by what the trials that never reached the fault would have done (METHODS 5):
/// for the bounds they count as missing. Every other metric is bounded by what is missing alone.
fn with_unreached(table: &ScoreTable, arm: usize, metric: &Metric, cells: &TaskCells) -> TaskCells {
    let mut bounded = cells.clone();
    let reach = Metric {
        measure: Measure::Reached,
        kind: MetricKind::Rate,
    };
    if metric.measure == Measure::Recovered {
        let reached = TaskCells::gather(table, arm as u16, &reach);
        for task in 0..bounded.missing.len() {
            bounded.missing[task] += reached.scored[task] - reached.sum[task].round() as u32;
        }
    }
    bounded
}

/// Every k up to 8; beyond, powers of two and the greatest.
fn ks(most: u32) -> Vec<u32> {
    (1..=most)
        .filter(|k| *k <= 8 || k.is_power_of_two() || *k == most)
        .collect()
}

/// The metric whose row says that a measure was not measured.
fn stands_for_its_measure(metric: &Metric) -> bool {
    matches!(metric.kind, MetricKind::Rate | MetricKind::Mean)
}

/// Whether any valid trial of an arm has a value of a measure.
pub(crate) fn is_measured(table: &ScoreTable, arm: usize, measure: Measure) -> bool {
    use crate::model::score::CellState;
    table.column(measure).is_some_and(|column| {
        (0..table.len()).any(|row| {
            usize::from(table.arm[row]) == arm
                && table.state[row] == RowState::Valid
                && column.cell[row] == CellState::Scored
        })
    })
}

/// Whether any trial of an arm says something about the agent.
pub(crate) fn has_valid_trials(table: &ScoreTable, arm: usize) -> bool {
    (0..table.len())
        .any(|row| usize::from(table.arm[row]) == arm && table.state[row] == RowState::Valid)
}

/// Why an arm has no value of a measure.
pub(crate) fn why_not_measured(table: &ScoreTable, arm: usize, measure: Measure) -> String {
    let mut rows = (0..table.len()).filter(|&row| usize::from(table.arm[row]) == arm);
    if rows.all(|row| table.state[row].is_to_run()) {
        return "not_started".to_owned();
    }
    if !has_valid_trials(table, arm) {
        return "no_valid_trials".to_owned();
    }
    table
        .main_reason(arm as u16, measure)
        .unwrap_or("not_graded")
        .to_owned()
}

fn not_measured(
    context: &Context,
    arm: usize,
    dimension: Dimension,
    metric: &str,
    segment: &Segment,
) -> EstimateRow {
    EstimateRow {
        status: EstimateStatus::NotMeasured,
        ..row(context, arm, dimension, metric, segment)
    }
}

/// A row with its place filled in and nothing else.
pub(super) fn blank_row(
    context: &Context,
    arm: usize,
    metric: &Metric,
    segment: &Segment,
) -> EstimateRow {
    row(context, arm, metric.dimension(), &metric.name(), segment)
}

/// A row of quality with its place filled in and nothing else.
pub(super) fn quality_row(
    context: &Context,
    arm: usize,
    metric: &str,
    segment: &Segment,
) -> EstimateRow {
    row(context, arm, Dimension::Quality, metric, segment)
}

fn row(
    context: &Context,
    arm: usize,
    dimension: Dimension,
    metric: &str,
    segment: &Segment,
) -> EstimateRow {
    EstimateRow {
        arm: context.arms[arm].clone(),
        dimension,
        metric: metric.to_owned(),
        k: None,
        segment: segment.name.clone(),
        value: None,
        low: None,
        high: None,
        level: context.level.conf(),
        method: None,
        tasks: 0,
        trials: 0,
        n_c: None,
        status: EstimateStatus::Ok,
        reason: None,
        bounds: None,
        tasks_fixed: None,
        sd_between_tasks: None,
        sd_within_task: None,
        calibration: None,
        notices: vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_that_a_measure_does_not_concern_is_not_invalid() {
        let segment = Segment {
            name: Some("kind=address".to_owned()),
            tasks: vec![0],
        };
        let metric = Metric::main(Dimension::Duplicates).unwrap();
        let table = ScoreTable {
            tasks: vec!["t".into()],
            ..ScoreTable::default()
        };
        let mut cells = TaskCells::gather(&table, 0, &metric);
        assert!(!is_unconcerned(&cells, &segment));
        cells.not_applicable[0] = 4;
        assert!(is_unconcerned(&cells, &segment));
        cells.missing[0] = 1;
        assert!(!is_unconcerned(&cells, &segment));
        assert_eq!(unconcerned("no_valid_trials".into()), "no_trial_concerned");
        assert_eq!(unconcerned("too_few_units".into()), "too_few_units");
    }
}
