//! Would each word change under other defensible rules on the same evidence?

use super::contrast::{Pair, contrast};
use super::decision::{DecideInput, decide};
use super::table::{Compared, Comparing};
use super::word_of;
use crate::base::Result;
use crate::estimate::{Context, Segment, TaskCells, unit_means};
use crate::model::estimate::RobustnessRow;
use crate::model::metric::{Contrast, Direction, Metric};
use crate::model::score::ScoreTable;
use crate::stats::Limits;
use crate::stats::mover::{Bounded, mover_difference};
use crate::stats::paired::paired_t;
use crate::stats::proportion::wilson;

/// Another rule under which the same evidence may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// What is missing counts as the worst outcome, in both arms.
    MissingAsFailure,
    /// Only the first trial of each task counts.
    FirstTrialOnly,
    /// Trials pooled as if all were independent, Wilson limits by square-and-add: what tools without
    /// tasks report. It ignores that trials of one task are alike.
    PooledTrials,
    /// The t interval on task differences in place of `bp_hall`.
    PairedT,
}

impl Reading {
    const ALL: [Reading; 4] = [
        Self::MissingAsFailure,
        Self::FirstTrialOnly,
        Self::PooledTrials,
        Self::PairedT,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::MissingAsFailure => "missing_as_failure",
            Self::FirstTrialOnly => "first_trial_only",
            Self::PooledTrials => "pooled_trials",
            Self::PairedT => "paired_t",
        }
    }

    /// Costs have no worst value, and their contrast is a ratio, for which there is no paired t.
    fn fits(self, metric: &Metric) -> bool {
        metric.contrast() == Contrast::Difference || self == Self::FirstTrialOnly
    }
}

/// One row per main comparison and reading; `changes` says whether the word would be another.
///
/// Readings say nothing about missing data, schedule or the family: those steps are left as they
/// were, so that only the reading differs.
///
/// # Errors
///
/// If scores are outside their range: the store is damaged.
pub fn robustness(
    table: &ScoreTable,
    context: &Context,
    comparing: &Comparing,
    compared: &[Compared],
) -> Result<Vec<RobustnessRow>> {
    let whole = Segment {
        name: None,
        tasks: (0..table.tasks.len()).collect(),
    };
    let mut rows = Vec::new();
    let is_main = |c: &&Compared| {
        c.row.segment.is_none() && Metric::main(c.metric.dimension()) == Some(c.metric)
    };
    for base in compared.iter().filter(is_main) {
        for reading in Reading::ALL.into_iter().filter(|r| r.fits(&base.metric)) {
            rows.push(read(table, context, comparing, base, reading, &whole)?);
        }
    }
    Ok(rows)
}

fn read(
    table: &ScoreTable,
    context: &Context,
    comparing: &Comparing,
    base: &Compared,
    reading: Reading,
    whole: &Segment,
) -> Result<RobustnessRow> {
    let metric = &base.metric;
    let context = &*comparing.context(context, metric.dimension());
    let cells = |arm: usize| match reading {
        Reading::FirstTrialOnly => {
            TaskCells::gather_where(table, arm as u16, metric, |row| table.index[row] == 0)
        }
        Reading::MissingAsFailure => {
            as_failures(TaskCells::gather(table, arm as u16, metric), metric)
        }
        _ => TaskCells::gather(table, arm as u16, metric),
    };
    let (a, b) = (cells(comparing.a), cells(comparing.b));
    let pair = Pair {
        metric,
        a: &a,
        b: &b,
    };
    let seed = comparing.seed.child("robustness");
    let found = contrast(context, &pair, whole, comparing.decision.strict, seed)?;
    let (value, interval) = match reading {
        Reading::PairedT => t_interval(context, &a, &b, whole)?,
        Reading::PooledTrials => pooled(context, &a, &b, whole),
        _ => (found.value, found.interval),
    };
    let missing = match reading {
        Reading::MissingAsFailure => None,
        _ => base.input.missing,
    };
    let input = DecideInput {
        interval,
        undefined_reason: found.reason.clone(),
        status: found.status,
        n_c: found.n_c,
        missing,
        ..base.input.clone()
    };
    let decision = word_of(decide(&input).word);
    Ok(RobustnessRow {
        dimension: metric.dimension(),
        metric: metric.name(),
        reading: reading.name().to_owned(),
        value,
        low: interval.map(|i| i.lower),
        high: interval.map(|i| i.upper),
        decision,
        changes: decision != base.row.decision,
    })
}

/// Every missing trial counts as a failure: no success, or an event.
fn as_failures(mut cells: TaskCells, metric: &Metric) -> TaskCells {
    let worst = match metric.direction() {
        Direction::Gain => 0.0,
        Direction::Loss => 1.0,
    };
    for task in 0..cells.missing.len() {
        let missing = std::mem::take(&mut cells.missing[task]);
        cells.sum[task] += worst * f64::from(missing);
        cells.squares[task] += worst * f64::from(missing);
        cells.scored[task] += missing;
    }
    cells
}

/// The t interval on the differences of the independent units: tasks, or clusters where they are declared.
fn t_interval(
    context: &Context,
    a: &TaskCells,
    b: &TaskCells,
    whole: &Segment,
) -> Result<(Option<f64>, Option<Limits>)> {
    let units = unit_means(
        context,
        &whole.tasks,
        |t| Some([b.mean(t)? - a.mean(t)?, 1.0]),
        |t| a.scored[t] + b.scored[t],
    )?;
    let differences: Vec<f64> = units.iter().map(|u| u[0]).collect();
    let found = paired_t(&differences, context.level);
    let limits = found
        .lower
        .zip(found.upper)
        .map(|(lower, upper)| Limits { lower, upper });
    Ok((found.estimate, limits.map(|l| l.clipped(-1.0, 1.0))))
}

fn pooled(
    context: &Context,
    a: &TaskCells,
    b: &TaskCells,
    whole: &Segment,
) -> (Option<f64>, Option<Limits>) {
    let arm = |cells: &TaskCells| {
        let trials = cells.scored_in(&whole.tasks) as f64;
        let sum: f64 = whole.tasks.iter().map(|&t| cells.sum[t]).sum();
        (trials > 0.0).then(|| Bounded {
            estimate: sum / trials,
            limits: wilson(sum, trials, context.level),
        })
    };
    match (arm(a), arm(b)) {
        (Some(a), Some(b)) => (Some(b.estimate - a.estimate), Some(mover_difference(a, b))),
        _ => (None, None),
    }
}
