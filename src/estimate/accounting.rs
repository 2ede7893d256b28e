//! The chain of denominators: planned → started → finished → valid → graded → judged → scored.

use std::collections::BTreeMap;

use super::segments::Segment;
use crate::model::estimate::AccountingRow;
use crate::model::judged::{JudgeCell, JudgeColumn};
use crate::model::measure::{Dimension, Measure};
use crate::model::preference::PreferenceColumn;
use crate::model::score::{CellState, RowState, ScoreTable};
use crate::model::trial::Boundary;

/// One row per arm, dimension and segment.
///
/// A trial is *graded* on a dimension if any measure of it has a value; ungradable and not
/// applicable are decided the same way, the first that applies in this order: graded, not
/// applicable, ungradable. Quality has no measure: its trials are judged, or excluded by the judge, or not
/// measured where there is no judge. Valid trials are thus graded, judged, not applicable, ungradable, not
/// measured or excluded by the judge, each exactly once.
pub fn accounting(table: &ScoreTable, segments: &[Segment]) -> Vec<AccountingRow> {
    let mut rows = Vec::new();
    for (arm, name) in table.arms.iter().enumerate() {
        for dimension in Dimension::ALL {
            let by_task = by_task(table, arm as u16, dimension);
            for segment in segments {
                let mut counts = Counts::default();
                segment
                    .tasks
                    .iter()
                    .for_each(|&task| counts.add(&by_task[task]));
                rows.push(counts.row(name.as_str(), dimension, segment.name.clone()));
            }
        }
    }
    rows
}

#[derive(Clone, Default)]
struct Counts {
    planned: u64,
    not_started: u64,
    valid: u64,
    graded: u64,
    judged: u64,
    not_applicable: u64,
    ungradable: u64,
    not_measured: u64,
    excluded: BTreeMap<Boundary, u64>,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.planned += other.planned;
        self.not_started += other.not_started;
        self.valid += other.valid;
        self.graded += other.graded;
        self.judged += other.judged;
        self.not_applicable += other.not_applicable;
        self.ungradable += other.ungradable;
        self.not_measured += other.not_measured;
        for (&boundary, trials) in &other.excluded {
            *self.excluded.entry(boundary).or_default() += trials;
        }
    }

    fn row(self, arm: &str, dimension: Dimension, segment: Option<String>) -> AccountingRow {
        let cut_short = |b: &Boundary| matches!(b, Boundary::Trace | Boundary::Cancelled);
        let unfinished: u64 = self
            .excluded
            .iter()
            .filter(|(b, _)| cut_short(b))
            .map(|(_, n)| n)
            .sum();
        AccountingRow {
            arm: arm.to_owned(),
            dimension,
            segment,
            planned: self.planned,
            started: self.planned - self.not_started,
            finished: self.planned - self.not_started - unfinished,
            valid: self.valid,
            graded: self.graded,
            judged: self.judged,
            scored: self.graded + self.judged,
            not_applicable: self.not_applicable,
            ungradable: self.ungradable,
            not_measured: self.not_measured,
            not_started: self.not_started,
            excluded: self
                .excluded
                .into_iter()
                .map(|(b, n)| (b.name().to_owned(), n))
                .collect(),
        }
    }
}

impl Counts {
    /// A valid trial is judged if any judge gave a usable verdict on it or on its pair; else the judge is
    /// what broke.
    fn add_verdict(&mut self, table: &ScoreTable, row: usize) {
        let usable = |c: &JudgeColumn| matches!(c.cell[row], JudgeCell::Level(_));
        let in_pair = |c: &PreferenceColumn| {
            c.concerns(table.arm[row]) && c.is_judged(table.task[row], table.index[row])
        };
        if table.judges.iter().any(usable) || table.preferences.iter().any(in_pair) {
            self.judged += 1;
        } else {
            *self.excluded.entry(Boundary::Judge).or_default() += 1;
        }
    }
}

/// Whether a judge was asked about an arm at all.
fn is_judged(table: &ScoreTable, arm: u16) -> bool {
    !table.judges.is_empty() || table.preferences.iter().any(|c| c.concerns(arm))
}

fn by_task(table: &ScoreTable, arm: u16, dimension: Dimension) -> Vec<Counts> {
    let of_dimension = |m: &Measure| m.dimension() == dimension;
    let columns: Vec<_> = table
        .measures
        .iter()
        .filter(|c| of_dimension(&c.measure))
        .collect();
    let mut by_task = vec![Counts::default(); table.tasks.len()];
    for row in (0..table.len()).filter(|&row| table.arm[row] == arm) {
        let counts = &mut by_task[table.task[row] as usize];
        counts.planned += 1;
        match table.state[row] {
            RowState::NotStarted => counts.not_started += 1,
            RowState::CutOff => *counts.excluded.entry(Boundary::Cancelled).or_default() += 1,
            RowState::Infra(boundary) => *counts.excluded.entry(boundary).or_default() += 1,
            RowState::Valid => {
                counts.valid += 1;
                if dimension == Dimension::Quality && is_judged(table, arm) {
                    counts.add_verdict(table, row);
                } else if columns.iter().any(|c| c.cell[row] == CellState::Scored) {
                    counts.graded += 1;
                } else if columns
                    .iter()
                    .any(|c| c.cell[row] == CellState::NotApplicable)
                {
                    counts.not_applicable += 1;
                } else if !columns.is_empty() {
                    counts.ungradable += 1;
                } else {
                    counts.not_measured += 1;
                }
            }
        }
    }
    by_task
}
