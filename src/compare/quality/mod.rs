//! Quality of two arms: the paired difference that judges see, corrected by labelled pairs (METHODS 9.4),
//! and its rules.

mod contrast;
mod decided;
mod labels;
mod rate;
mod rule;

pub(super) use contrast::{JudgedContrast, contrasts};
pub(super) use decided::finish;
pub(super) use rule::{QualityRule, judge_rule, on_word};

use super::decision::JudgeState;
use crate::model::analysis::{DecisionSpec, RuleSpec};
use crate::model::judged::{JudgeColumn, StandingState};
use crate::model::measure::Dimension;
use crate::model::score::ScoreTable;

/// The judge that a rule or margin on quality means where it names none: the only one, or the one that
/// the decision's rules name.
pub(super) fn main_judge<'a>(
    table: &'a ScoreTable,
    decision: &DecisionSpec,
) -> Option<&'a JudgeColumn> {
    let named = || {
        let rules = decision
            .rules
            .iter()
            .filter(|r| r.dimension == Dimension::Quality);
        let names: Vec<&String> = rules.filter_map(|r| r.metric.as_ref()).collect();
        table
            .judges
            .iter()
            .find(|j| names.iter().any(|n| **n == j.metric()))
    };
    match &table.judges[..] {
        [only] => Some(only),
        _ => named(),
    }
}

/// The margin of a judge's metric: its own, that of quality, or that of the first rule on it.
fn margin_of(decision: &DecisionSpec, metric: &str) -> Option<f64> {
    let of_rule = || {
        let rules = decision
            .rules
            .iter()
            .filter(|r| r.dimension == Dimension::Quality);
        let on_it = |r: &&RuleSpec| r.metric.as_deref().is_none_or(|m| m == metric);
        rules.filter(on_it).find_map(|r| r.margin)
    };
    let by_name = |name: &str| decision.margins.get(name).copied();
    by_name(metric)
        .or_else(|| by_name(Dimension::Quality.name()))
        .or_else(of_rule)
}

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
