//! What to show a person: pairs of trials that disagree, and why each was picked.
//!
//! Two kinds: a passing and a failing trial of one task within an arm, and a task that most trials
//! of one arm pass and most trials of another fail. Both are counted and drawn by stratum, so that
//! a rare kind of disagreement is seen beside a frequent one. [`judges`] does the same for model judges.

mod cells;
pub mod judges;
mod strata;

use crate::base::Seed;
use crate::model::measure::Measure;
use crate::model::score::ScoreTable;
use cells::Cells;

/// How many pairs are drawn from each stratum where nothing else is asked for.
pub const PER_STRATUM: usize = 3;

/// Measures that say good or bad of a trial.
const BINARY: [Measure; 5] = [
    Measure::Success,
    Measure::Conformance,
    Measure::Violations,
    Measure::DuplicateEffects,
    Measure::Recovered,
];

/// What disagrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A passing and a failing trial of one task in one arm.
    TrialVsTrial,
    /// A task that most trials of one arm pass and most trials of the other fail.
    ArmVsArm,
}

impl Kind {
    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::TrialVsTrial => "trial_vs_trial",
            Self::ArmVsArm => "arm_vs_arm",
        }
    }
}

/// Two trials that disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    /// What disagrees.
    pub kind: Kind,
    /// The measure on which they disagree; its dimension is that of the disagreement.
    pub measure: Measure,
    /// Row of the first trial: the passing one within an arm, that of the earlier arm between arms.
    pub row_a: usize,
    /// Row of the second trial.
    pub row_b: usize,
    /// What the stratum holds, for people: who passes, who fails, in which segment.
    pub stratum: String,
    /// Tasks in the stratum.
    pub held: usize,
    /// Tasks drawn from it.
    pub drawn: usize,
}

impl Pick {
    /// How many were drawn of how many, and from what: `3 of 21 tasks: gpt-4o passes and fails`.
    pub fn note(&self) -> String {
        format!("{} of {} tasks: {}", self.drawn, self.held, self.stratum)
    }
}

/// Draws up to `per_stratum` disagreements from every stratum.
///
/// A stratum is one measure, one kind, one direction (which arm passes and which fails, or the arm
/// in which trials differ) and one value of the first segment key. A task counts once in a stratum;
/// of its trials, one that passes and one that fails are drawn at random. Success counts as passed
/// from one half on, and so do graded results; violations and duplicate effects fail from one on.
///
/// Strata come in the order of measures, kinds, arms, then segment values, and within a stratum
/// picks come in task order. The same table and seed give the same picks. Time grows with rows and
/// with tasks × pairs of arms, not with pairs of trials.
///
/// # Examples
///
/// ```
/// use assize::base::Seed;
/// use assize::disagree::{Kind, PER_STRATUM, sample};
/// use assize::model::measure::Measure;
/// use assize::model::score::{CellState, MeasureColumn, RowState, ScoreTable};
///
/// let table = ScoreTable {
///     arms: vec!["incumbent".into()],
///     tasks: vec!["refund".into()],
///     arm: vec![0, 0],
///     task: vec![0, 0],
///     index: vec![0, 1],
///     state: vec![RowState::Valid; 2],
///     measures: vec![MeasureColumn {
///         measure: Measure::Success,
///         value: vec![0.0, 1.0],
///         cell: vec![CellState::Scored; 2],
///     }],
///     ..ScoreTable::default()
/// };
/// let picks = sample(&table, Seed(7), PER_STRATUM);
/// assert_eq!(picks.len(), 1);
/// assert_eq!((picks[0].kind, picks[0].row_a, picks[0].row_b), (Kind::TrialVsTrial, 1, 0));
/// ```
pub fn sample(table: &ScoreTable, seed: Seed, per_stratum: usize) -> Vec<Pick> {
    let seed = seed.child("disagreements");
    BINARY
        .into_iter()
        .filter_map(|measure| table.column(measure))
        .flat_map(|column| {
            let cells = Cells::new(table, column);
            strata::all(table, &cells)
                .iter()
                .flat_map(|stratum| stratum.draw(&cells, seed, per_stratum))
                .collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests;
