//! The drift screen of a compared pair, and blocks as units where it is positive (METHODS 6.6).

use std::collections::BTreeMap;

use super::table::primary;
use crate::base::Seed;
use crate::estimate::{Context, transformed};
use crate::model::analysis::{DecisionSpec, Schedule};
use crate::model::estimate::DriftRow;
use crate::model::measure::Dimension;
use crate::model::metric::Metric;
use crate::model::score::{CellState, RowState, ScoreTable};
use crate::stats::drift::{TimedTrial, drift_p_value, drift_statistic};
use crate::stats::tolerance::below;
use crate::stats::units::Weights;

/// Permutations of a screen.
pub const DRAWS: u32 = 999;

/// A screen is positive below this p.
const ALPHA: f64 = 0.05;

/// Fewest blocks that may stand as units.
const LEAST_BLOCKS: usize = 10;

/// The drift screen of one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Drifted {
    /// The row of the report.
    pub row: DriftRow,
    /// Block of each task, if blocks are to be the units and can be: every task, and every cluster of
    /// tasks, lies in one block, and there are at least ten.
    pub units: Option<Vec<u32>>,
}

/// Why a run with whole tasks per block has no p.
const WHOLE_TASKS: &str = "whole_tasks";

/// Screens the main metrics of the outcome and of the primary dimensions, as far as they were
/// measured in both arms; nothing where the schedule knows no blocks.
///
/// Blocks become the units where the screen is positive. Under `schedule: whole_tasks` they are the
/// units in any case: labels exchanged within a task never change there, so that nothing can be seen.
pub fn screens(
    table: &ScoreTable,
    context: &Context,
    decision: &DecisionSpec,
    (a, b): (usize, usize),
    seed: Seed,
) -> Vec<Drifted> {
    if table.block.is_empty() {
        return vec![];
    }
    let units = block_units(table, context, (a, b));
    let mut dimensions = primary(decision);
    dimensions.push(Dimension::Outcome);
    dimensions.sort_unstable();
    dimensions.dedup();
    dimensions
        .into_iter()
        .filter_map(Metric::main)
        .filter_map(|metric| {
            let trials = timed(table, &metric, (a, b));
            let both = [false, true].map(|in_b| trials.iter().any(|t| t.in_b == in_b));
            if both != [true, true] {
                return None;
            }
            let mut row = row(context, &metric, (a, b), &trials, seed);
            if decision.schedule == Schedule::WholeTasks {
                (row.p, row.positive) = (None, false);
                row.reason = Some(WHOLE_TASKS.to_owned());
            }
            let wanted = row.positive || decision.schedule == Schedule::WholeTasks;
            let units = units.clone().filter(|_| wanted);
            row.absorbed = units.is_some();
            Some(Drifted { row, units })
        })
        .collect()
}

fn row(
    context: &Context,
    metric: &Metric,
    (a, b): (usize, usize),
    trials: &[TimedTrial],
    seed: Seed,
) -> DriftRow {
    let found = drift_statistic(trials);
    let seed = seed.child(&format!("drift/{}", metric.name()));
    let p = drift_p_value(trials, DRAWS, seed);
    DriftRow {
        dimension: metric.dimension(),
        metric: metric.name(),
        baseline: context.arms[a].clone(),
        candidate: context.arms[b].clone(),
        statistic: found.as_ref().ok().map(|d| d.statistic),
        p: p.as_ref().ok().copied(),
        blocks: found.as_ref().map_or(0, |d| d.blocks as u64),
        tasks: found.as_ref().map_or(0, |d| d.tasks as u64),
        draws: DRAWS,
        positive: p.as_ref().is_ok_and(|p| below(*p, ALPHA)),
        absorbed: false,
        reason: p.err().map(|undefined| undefined.code().to_owned()),
    }
}

/// The scored trials of both arms whose block is known.
fn timed(table: &ScoreTable, metric: &Metric, (a, b): (usize, usize)) -> Vec<TimedTrial> {
    let Some(column) = table.column(metric.measure) else {
        return vec![];
    };
    (0..table.len())
        .filter(|&row| {
            let arm = usize::from(table.arm[row]);
            (arm == a || arm == b)
                && table.state[row] == RowState::Valid
                && column.cell[row] == CellState::Scored
        })
        .filter_map(|row| {
            Some(TimedTrial {
                task: table.task[row],
                in_b: usize::from(table.arm[row]) == b,
                block: table.block[row]?,
                y: transformed(metric, column.value[row]),
            })
        })
        .collect()
}

/// The block of each task, if blocks can be units. A task that never ran gets a label of its own.
fn block_units(table: &ScoreTable, context: &Context, (a, b): (usize, usize)) -> Option<Vec<u32>> {
    // With weights by cluster, other clusters would also be other weights.
    if context.weights == Weights::EqualCluster {
        return None;
    }
    let mut of_task: Vec<Option<u32>> = vec![None; table.tasks.len()];
    for row in 0..table.len() {
        let arm = usize::from(table.arm[row]);
        let Some(block) = table.block[row].filter(|_| arm == a || arm == b) else {
            continue;
        };
        let known = &mut of_task[table.task[row] as usize];
        if *known.get_or_insert(block) != block {
            return None;
        }
    }
    let mut of_cluster: BTreeMap<u32, u32> = BTreeMap::new();
    let clusters = context.cluster_of.iter().flatten();
    for (&cluster, block) in clusters.zip(&of_task) {
        let Some(block) = *block else { continue };
        if *of_cluster.entry(cluster).or_insert(block) != block {
            return None;
        }
    }
    let mut blocks: Vec<u32> = of_task.iter().flatten().copied().collect();
    blocks.sort_unstable();
    blocks.dedup();
    let beyond = blocks.last().map_or(0, |last| last + 1);
    let label = |(task, block): (u32, Option<u32>)| block.unwrap_or(beyond + task);
    (blocks.len() >= LEAST_BLOCKS).then(|| (0..).zip(of_task).map(label).collect())
}
