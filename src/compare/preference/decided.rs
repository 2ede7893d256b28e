//! The word on one preference.

use super::contrast::PreferenceContrast;
use crate::compare::decision::JudgeState;
use crate::compare::judged::{self, Believed, FEW_LABELS, JudgedComparison, Said};
use crate::compare::table::Comparing;
use crate::estimate::Context;
use crate::model::analysis::DecisionSpec;
use crate::model::judged::StandingState;

/// What a preference lacks that a certificate alone cannot give.
const NOT_LABELLED: &str = "pairs_not_labelled";

/// Decides one contrast; `p_adjusted` is its p over the primary family, where it is in it.
pub(in crate::compare) fn finish(
    context: &Context,
    comparing: &Comparing,
    contrast: &PreferenceContrast,
    p_adjusted: Option<f64>,
) -> JudgedComparison {
    let judge = judge_state(contrast);
    let segment = contrast.segment;
    let tasks = contrast.cells.paired(&segment.tasks).len();
    let said = Said {
        metric: contrast.column.metric(),
        segment: segment.name.clone(),
        found: &contrast.found,
        missing: contrast.missing,
        tasks,
        unpaired: segment.tasks.len() - tasks,
        margin: contrast.margin(comparing.decision),
        locked: is_locked(comparing, contrast),
        judge,
        unknown: judge.blocks() && !contrast.is_labelled(),
        unlabelled: Some(NOT_LABELLED),
        notices: match contrast.has_few_labels() {
            true => vec![FEW_LABELS.to_owned()],
            false => vec![],
        },
        believed: (segment.name.is_none() && contrast.is_labelled()).then(|| Believed {
            value: contrast.own.estimate,
            limits: contrast.own.limits(),
            status: contrast.own.status,
        }),
    };
    judged::finish(context, comparing, said, p_adjusted)
}

fn judge_state(contrast: &PreferenceContrast) -> JudgeState {
    match contrast.column.standing.state {
        StandingState::Valid => JudgeState::Valid,
        StandingState::Missing => JudgeState::Missing,
        StandingState::Expired => JudgeState::Expired,
        StandingState::Refused => JudgeState::Failed,
    }
}

fn is_locked(comparing: &Comparing, contrast: &PreferenceContrast) -> bool {
    let margin = contrast.margin(comparing.decision);
    let same = |locked: &DecisionSpec| contrast.margin(locked) == margin;
    comparing.same_as_locked() && comparing.locked.is_some_and(same)
}
