//! Score tables → denominators and estimates per arm, dimension and segment; pure.

mod accounting;
mod cells;
mod costs;
mod position;
mod preference;
mod quality;
mod rates;
mod segments;
mod table;

pub use accounting::accounting;
pub(crate) use cells::transformed;
pub use cells::{TaskCells, TrialValues};
pub(crate) use costs::unit_means;
pub use position::{Position, counts as pair_counts, position};
pub use preference::{
    PairCells, PairScore, completed, corrected_preference, direction, moved, own_preference,
};
pub(crate) use quality::{BORDERLINE, FEWEST_LABELLED_TRIALS, corrected};
pub use quality::{JudgedTrial, QualityCells};
pub(crate) use rates::{partial_tasks, status, task_scores};
pub use segments::{Segment, segments};
pub use table::{Context, estimates};
pub(crate) use table::{has_valid_trials, is_measured, why_not_measured};
