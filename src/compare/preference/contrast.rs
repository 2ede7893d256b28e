//! The preference of one judge between two arms, before anything is decided.

use crate::base::Result;
use crate::compare::decision::MissingState;
use crate::compare::quality::{main_metric, margin_of};
use crate::compare::table::Comparing;
use crate::estimate::{
    Context, PairCells, Segment, corrected_preference, direction, moved, own_preference,
};
use crate::model::analysis::DecisionSpec;
use crate::model::measure::Dimension;
use crate::model::preference::PreferenceColumn;
use crate::model::score::ScoreTable;
use crate::stats::correction::CorrectedDifference;
use crate::stats::paired::DifferenceEstimate;
use crate::stats::{Limits, Status};

/// Labelled pairs that a decision needs, as a difference of rates does: each stands for two trials.
const FEWEST_LABELLED: usize = 25;

/// One judge's preference between two arms in one segment, before anything is decided.
pub(in crate::compare) struct PreferenceContrast<'a> {
    pub(super) table: &'a ScoreTable,
    pub(super) column: &'a PreferenceColumn,
    pub(super) direction: f64,
    pub(super) segment: &'a Segment,
    pub(super) cells: PairCells,
    pub(super) found: CorrectedDifference,
    pub(super) own: DifferenceEstimate,
    pub(super) missing: MissingState,
}

impl PreferenceContrast<'_> {
    /// Whether this is the main comparison of quality.
    pub(in crate::compare) fn is_main(&self, decision: &DecisionSpec) -> bool {
        let main = || main_metric(self.table, decision);
        self.segment.name.is_none() && main() == Some(self.column.metric())
    }

    pub(super) fn margin(&self, decision: &DecisionSpec) -> Option<f64> {
        margin_of(self.table, decision, &self.column.metric())
    }

    /// The p of no preference of people; `None` without labels.
    pub(in crate::compare) fn p(&self) -> Option<f64> {
        self.found.p
    }

    pub(super) fn is_labelled(&self) -> bool {
        self.found.labelled > 0
    }

    /// Whether there are labels, and fewer than a decision needs.
    pub(super) fn has_few_labels(&self) -> bool {
        self.is_labelled() && self.found.labelled < FEWEST_LABELLED
    }
}

/// Contrasts two arms by every pairwise judge that saw them, in every segment.
pub(in crate::compare) fn contrasts<'a>(
    table: &'a ScoreTable,
    context: &Context,
    segments: &'a [Segment],
    comparing: &Comparing,
) -> Result<Vec<PreferenceContrast<'a>>> {
    let context = comparing.context(context, Dimension::Quality);
    let mut found = vec![];
    for column in &table.preferences {
        let Some(direction) = direction(column, comparing.a, comparing.b) else {
            continue;
        };
        let cells = PairCells::gather(table, column, direction);
        for segment in segments {
            let mut corrected = corrected_preference(&context, &cells, &segment.tasks)?;
            if corrected.labelled < FEWEST_LABELLED {
                corrected.status = corrected.status.min(Status::Exploratory);
            }
            found.push(PreferenceContrast {
                table,
                column,
                direction,
                segment,
                missing: missing(&context, &cells, segment, limits_of(&corrected)),
                own: own_preference(&context, &cells, &segment.tasks)?,
                cells: cells.clone(),
                found: corrected,
            });
        }
    }
    Ok(found)
}

pub(super) fn limits_of(found: &CorrectedDifference) -> Option<Limits> {
    let (lower, upper) = found.lower.zip(found.upper)?;
    Some(Limits { lower, upper })
}

/// What is missing, the same for both arms: a pair is missing as a whole.
fn missing(
    context: &Context,
    cells: &PairCells,
    segment: &Segment,
    limits: Option<Limits>,
) -> MissingState {
    let weights = context.planned_weights(&segment.tasks);
    let of = |chosen: &dyn Fn(usize) -> f64| -> f64 {
        let tasks = segment.tasks.iter().zip(&weights);
        tasks.map(|(&t, w)| w * chosen(t)).sum()
    };
    let share = of(&|t| cells.lost(t));
    let filled = |fill| {
        limits
            .filter(|_| share > 0.0)
            .map(|l| moved(l, share, fill))
    };
    let rate = cells.missing_rate(&segment.tasks);
    MissingState {
        rate_a: rate,
        rate_b: rate,
        drop: of(&|t| f64::from(cells.missing[t] > 0 && cells.judged[t].is_empty())),
        p_missing: None,
        worst: filled(-1.0),
        best: filled(1.0),
    }
}
