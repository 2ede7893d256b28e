//! Quality of two arms: the paired difference that judges see, corrected by labelled pairs (METHODS 9.4),
//! and its rules.

mod contrast;
mod decided;
mod labels;
mod meant;
mod rate;
mod rule;

pub(super) use contrast::{JudgedContrast, contrasts};
pub(super) use decided::finish;
pub(super) use meant::{Meant, main_metric, margin_of, unnamed};
pub(super) use rule::{QualityRule, judge_rule, on_word};

use super::decision::JudgeState;
use crate::model::judged::{JudgeColumn, StandingState};

/// A judge decides about two arms only if it may about both.
fn judge_state(column: &JudgeColumn, arms: &[usize]) -> JudgeState {
    let states: Vec<StandingState> = arms.iter().map(|&a| column.standing[a].state).collect();
    let any = |state| states.contains(&state);
    if any(StandingState::Missing) {
        JudgeState::Missing
    } else if any(StandingState::Expired) {
        JudgeState::Expired
    } else if any(StandingState::Refused) {
        JudgeState::Failed
    } else {
        JudgeState::Valid
    }
}
