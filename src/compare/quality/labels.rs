//! People's labels behind a judged difference: which pairs there are, and what is missing.

use crate::estimate::{FEWEST_LABELLED_TRIALS, JudgedTrial, QualityCells};
use crate::model::judged::Drawn;
use crate::stats::Status;
use crate::stats::correction::{CorrectedDifference, LabelledPair};

/// The first labelled trial of each arm, if both were drawn whatever the judge said: one pair per task.
pub(super) fn labelled_pair(a: &[JudgedTrial], b: &[JudgedTrial]) -> Option<LabelledPair> {
    let labelled = |trials: &[JudgedTrial]| {
        let drawn = |t: &&JudgedTrial| {
            t.label
                .is_some_and(|(_, drawn)| drawn == Some(Drawn::TaskThenTrial))
        };
        trials.iter().filter(drawn).min_by_key(|t| t.index).copied()
    };
    let (a, b) = (labelled(a)?, labelled(b)?);
    Some(LabelledPair {
        human: b.label?.0 - a.label?.0,
        judge: b.worth - a.worth,
    })
}

/// Why a difference has no value though its tasks were judged: it needs labels of both arms' outputs on
/// the same tasks, whatever a certificate says of either arm's rate.
///
/// `pairs_labelled_by_quota` where trials were drawn by the judge's answer, which pairs nothing;
/// `pairs_not_labelled` otherwise; `None` where the difference has a value or no task was judged in both.
pub(super) fn unlabelled(
    found: &CorrectedDifference,
    (a, b): (&QualityCells, &QualityCells),
    paired: &[usize],
) -> Option<&'static str> {
    if found.status != Status::NotIdentified || paired.is_empty() {
        return None;
    }
    let by_quota = |cells: &QualityCells| {
        let labels = paired.iter().flat_map(|&t| &cells.judged[t]);
        labels
            .filter_map(|trial| trial.label?.1)
            .any(|drawn| drawn == Drawn::LevelPool)
    };
    Some(match by_quota(a) && by_quota(b) {
        true => "pairs_labelled_by_quota",
        false => "pairs_not_labelled",
    })
}

/// Whether there are labelled pairs, and fewer than a decision needs (METHODS 8): both trials of a pair
/// are labelled trials of the arms concerned.
pub(super) fn too_few(found: &CorrectedDifference) -> bool {
    found.labelled > 0 && 2 * found.labelled < FEWEST_LABELLED_TRIALS
}
