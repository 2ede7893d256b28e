//! Disagreement samples with their evidence.

use super::evaluate::Evaluation;
use crate::base::Result;
use crate::disagree::{Pick, sample};
use crate::model::report::DisagreementRow;

/// Draws the samples and fetches what they rest on.
///
/// # Errors
///
/// If a store is damaged.
pub(super) fn samples(evaluation: &Evaluation) -> Result<Vec<DisagreementRow>> {
    let seed = evaluation.stores[0].plan().body.seed.child("disagreements");
    let picks = sample(&evaluation.table, evaluation.roles(), seed);
    picks.iter().map(|pick| row(evaluation, pick)).collect()
}
