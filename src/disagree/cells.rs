//! The scored trials of one measure, grouped by arm and task.

use crate::model::measure::Measure;
use crate::model::score::{CellState, MeasureColumn, ScoreTable};

/// Scored rows by cell; a cell is one arm and one task.
pub(super) struct Cells<'a> {
    pub(super) column: &'a MeasureColumn,
    tasks: usize,
    /// Scored rows in order of cell, then row.
    rows: Vec<u32>,
    /// Where the rows of each cell start in `rows`, and one end more.
    starts: Vec<u32>,
    /// How many of them pass.
    passed: Vec<u32>,
}

impl<'a> Cells<'a> {
    /// Groups the rows by counting, so that nothing depends on the order of the table.
    pub(super) fn new(table: &ScoreTable, column: &'a MeasureColumn) -> Self {
        let tasks = table.tasks.len();
        let cell = |row: usize| usize::from(table.arm[row]) * tasks + table.task[row] as usize;
        let scored = || (0..table.len()).filter(|&row| column.cell[row] == CellState::Scored);
        let cells = table.arms.len() * tasks;
        let mut starts = vec![0u32; cells + 1];
        let mut passed = vec![0u32; cells];
        for row in scored() {
            starts[cell(row) + 1] += 1;
            passed[cell(row)] += u32::from(passes(column, row));
        }
        for i in 0..cells {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut rows = vec![0u32; starts[cells] as usize];
        for row in scored() {
            let place = &mut next[cell(row)];
            rows[*place as usize] = row as u32;
            *place += 1;
        }
        Self {
            column,
            tasks,
            rows,
            starts,
            passed,
        }
    }

    /// How many trials of this arm and task pass, and how many fail.
    pub(super) fn counts(&self, arm: usize, task: usize) -> Counts {
        let cell = arm * self.tasks + task;
        let scored = self.starts[cell + 1] - self.starts[cell];
        Counts {
            passed: self.passed[cell],
            failed: scored - self.passed[cell],
        }
    }

    /// The rows of this arm and task that pass, or those that fail.
    pub(super) fn rows(&self, arm: usize, task: usize, passing: bool) -> Vec<usize> {
        let cell = arm * self.tasks + task;
        let range = self.starts[cell] as usize..self.starts[cell + 1] as usize;
        let rows = self.rows[range].iter().map(|&row| row as usize);
        rows.filter(|&row| passes(self.column, row) == passing)
            .collect()
    }
}

/// Trials of one arm and task.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    pub(super) passed: u32,
    pub(super) failed: u32,
}

/// Whether a scored row is good.
fn passes(column: &MeasureColumn, row: usize) -> bool {
    let value = column.value[row];
    match column.measure {
        Measure::Violations | Measure::DuplicateEffects => value <= 0.0,
        _ => value >= 0.5,
    }
}
