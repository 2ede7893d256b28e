//! Strata of disagreements, and the draw from each.

use std::collections::BTreeMap;

use super::cells::Cells;
use super::{Kind, Pick};
use crate::base::Seed;
use crate::model::score::ScoreTable;

/// Tasks that disagree in one way.
pub(super) struct Stratum {
    kind: Kind,
    /// The arm of the first row, and whether that row passes; the second row does the opposite.
    arm_a: usize,
    a_passes: bool,
    arm_b: usize,
    label: String,
    tasks: Vec<u32>,
}

/// Every stratum of one measure that holds a task.
pub(super) fn all(table: &ScoreTable, cells: &Cells<'_>) -> Vec<Stratum> {
    let arms = table.arms.len();
    let mut strata = vec![];
    for arm in 0..arms {
        let label = format!("{} passes and fails", table.arms[arm]);
        let disagrees = |task| {
            let counts = cells.counts(arm, task);
            counts.passed > 0 && counts.failed > 0
        };
        strata.extend(split(
            table,
            Kind::TrialVsTrial,
            (arm, arm),
            true,
            &label,
            disagrees,
        ));
    }
    for a in 0..arms {
        for b in a + 1..arms {
            for a_passes in [true, false] {
                let (good, bad) = if a_passes { (a, b) } else { (b, a) };
                let label = format!("{} passes, {} fails", table.arms[good], table.arms[bad]);
                let disagrees = |task| {
                    let (good, bad) = (cells.counts(good, task), cells.counts(bad, task));
                    good.passed > good.failed && bad.failed > bad.passed
                };
                strata.extend(split(
                    table,
                    Kind::ArmVsArm,
                    (a, b),
                    a_passes,
                    &label,
                    disagrees,
                ));
            }
        }
    }
    strata
}

/// The tasks that disagree, split by the value of the first segment key; tasks without one first.
fn split(
    table: &ScoreTable,
    kind: Kind,
    (arm_a, arm_b): (usize, usize),
    a_passes: bool,
    label: &str,
    disagrees: impl Fn(usize) -> bool,
) -> Vec<Stratum> {
    let column = table.segments.first();
    let mut by_value: BTreeMap<Option<&str>, Vec<u32>> = BTreeMap::new();
    for task in (0..table.tasks.len()).filter(|&task| disagrees(task)) {
        let value = column.and_then(|column| column.values[task].as_deref());
        by_value.entry(value).or_default().push(task as u32);
    }
    let strata = by_value.into_iter().map(|(value, tasks)| Stratum {
        kind,
        arm_a,
        a_passes,
        arm_b,
        label: match (column, value) {
            (Some(column), Some(value)) => format!("{label}, {}={value}", column.key),
            _ => label.to_owned(),
        },
        tasks,
    });
    strata.collect()
}

impl Stratum {
    /// Draws up to `most` tasks without replacement, and of each a passing and a failing row.
    ///
    /// The stream belongs to the stratum, so that another stratum, or a new measure, moves nothing.
    pub(super) fn draw(&self, cells: &Cells<'_>, seed: Seed, most: usize) -> Vec<Pick> {
        let measure = cells.column.measure;
        let name = format!("{measure}/{}/{}", self.kind.name(), self.label);
        let mut stream = seed.child(&name).stream();
        let mut tasks = self.tasks.clone();
        let drawn = most.min(tasks.len());
        for i in 0..drawn {
            let other = i + stream.below(tasks.len() - i);
            tasks.swap(i, other);
        }
        tasks.truncate(drawn);
        tasks.sort_unstable();
        let mut row = |arm, task: u32, passing| {
            // Neither list is empty: a stratum holds only tasks with both kinds of trial.
            let rows = cells.rows(arm, task as usize, passing);
            rows[stream.below(rows.len())]
        };
        tasks
            .into_iter()
            .map(|task| Pick {
                kind: self.kind,
                measure,
                row_a: row(self.arm_a, task, self.a_passes),
                row_b: row(self.arm_b, task, !self.a_passes),
                stratum: self.label.clone(),
                held: self.tasks.len(),
                drawn,
            })
            .collect()
    }
}
