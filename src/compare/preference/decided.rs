//! The word on one preference, and its row of the report.

use super::contrast::{PreferenceContrast, limits_of};
use crate::compare::decision::{DecideInput, Decision, JudgeState, decide};
use crate::compare::quality::{FEW_LABELS, JudgedComparison, explained};
use crate::compare::table::Comparing;
use crate::estimate::Context;
use crate::model::analysis::DecisionSpec;
use crate::model::estimate::{ComparisonRow, DecisionWord, EstimateStatus, RobustnessRow};
use crate::model::judged::StandingState;
use crate::model::measure::Dimension;
use crate::model::metric::{Contrast, Direction};
use crate::stats::{Limits, Status};

/// What a preference lacks that a certificate alone cannot give.
const NOT_LABELLED: &str = "pairs_not_labelled";

/// Decides one contrast; `p_adjusted` is its p over the primary family, where it is in it.
pub(in crate::compare) fn finish(
    context: &Context,
    comparing: &Comparing,
    contrast: &PreferenceContrast,
    p_adjusted: Option<f64>,
) -> JudgedComparison {
    let margin = contrast.margin(comparing.decision);
    let judge = judge_state(contrast);
    let plain = DecideInput {
        interval: limits_of(&contrast.found),
        undefined_reason: contrast.found.reason.map(str::to_owned),
        contrast: Contrast::Difference,
        direction: Direction::Gain,
        margin,
        alpha: context.level.alpha(),
        in_family: p_adjusted.is_some(),
        p_adjusted,
        status: contrast.found.status,
        n_c: None,
        judge,
        schedule: comparing.schedule_of(Dimension::Quality),
        missing: Some(contrast.missing),
    };
    // Nothing is known of what people prefer, and what is to be said first is that the judge may not speak.
    let input = match judge.blocks() && !contrast.is_labelled() {
        true => DecideInput {
            interval: Some(Limits {
                lower: -1.0,
                upper: 1.0,
            }),
            status: Status::Ok,
            ..plain
        },
        false => plain,
    };
    let decision = explained(decide(&input), Some(NOT_LABELLED));
    let row = row(context, comparing, contrast, &input, &decision);
    let believed = contrast.segment.name.is_none() && contrast.is_labelled();
    let uncorrected = believed.then(|| uncorrected(contrast, &input, &row));
    JudgedComparison {
        row,
        input,
        decision,
        uncorrected,
        unlabelled: Some(NOT_LABELLED),
    }
}

fn judge_state(contrast: &PreferenceContrast) -> JudgeState {
    match contrast.column.standing.state {
        StandingState::Valid => JudgeState::Valid,
        StandingState::Missing => JudgeState::Missing,
        StandingState::Expired => JudgeState::Expired,
        StandingState::Refused => JudgeState::Failed,
    }
}

/// What the word would be if the judge were believed.
fn uncorrected(
    contrast: &PreferenceContrast,
    input: &DecideInput,
    row: &ComparisonRow,
) -> RobustnessRow {
    let limits = contrast.own.limits();
    let believed = DecideInput {
        interval: limits,
        status: contrast.own.status,
        judge: JudgeState::NotNeeded,
        ..input.clone()
    };
    let decision = crate::compare::word_of(decide(&believed).word);
    RobustnessRow {
        dimension: Dimension::Quality,
        metric: row.metric.clone(),
        reading: "uncorrected_judge".to_owned(),
        value: contrast.own.estimate,
        low: limits.map(|l| l.lower),
        high: limits.map(|l| l.upper),
        decision,
        changes: decision != row.decision,
    }
}

fn row(
    context: &Context,
    comparing: &Comparing,
    contrast: &PreferenceContrast,
    input: &DecideInput,
    decision: &Decision,
) -> ComparisonRow {
    let PreferenceContrast { found, missing, .. } = contrast;
    let word = crate::compare::word_of(decision.word);
    let mut notices: Vec<String> = decision.notices.iter().map(|n| n.code.clone()).collect();
    if input.p_adjusted.is_none() && word == DecisionWord::Better {
        notices.push("unadjusted".to_owned());
    }
    if contrast.has_few_labels() {
        notices.push(FEW_LABELS.to_owned());
    }
    let tasks = contrast.cells.paired(&contrast.segment.tasks).len();
    let pair = |limits: Option<Limits>| limits.map(|l| [l.lower, l.upper]);
    let metric = contrast.column.metric();
    ComparisonRow {
        dimension: Dimension::Quality,
        baseline: context.arms[comparing.a].clone(),
        candidate: context.arms[comparing.b].clone(),
        segment: contrast.segment.name.clone(),
        contrast: Contrast::Difference.name().to_owned(),
        direction: Direction::Gain.name().to_owned(),
        value: found.estimate,
        low: found.lower,
        high: found.upper,
        level: context.level.conf(),
        method: Some(found.method.to_owned()),
        p: found.p,
        p_method: found.p.map(|_| "ppi_paired_bp_hall_p".to_owned()),
        p_adjusted: input.p_adjusted,
        p_sign_flip: None,
        tasks: tasks as u64,
        tasks_unpaired: (contrast.segment.tasks.len() - tasks) as u64,
        n_c: None,
        margin: input.margin,
        mde: None,
        worst: pair(missing.worst),
        best: pair(missing.best),
        status: match word {
            DecisionWord::NotDecidable => EstimateStatus::NotDecidable,
            _ if input.judge.blocks() => EstimateStatus::Uncalibrated,
            _ => crate::estimate::status(found.status),
        },
        decision: word,
        reason: decision.reason.clone(),
        notices,
        locked: is_locked(comparing, contrast),
        primary: input.p_adjusted.is_some(),
        settle: None,
        metric,
    }
}

fn is_locked(comparing: &Comparing, contrast: &PreferenceContrast) -> bool {
    let margin = contrast.margin(comparing.decision);
    let same = |locked: &DecisionSpec| contrast.margin(locked) == margin;
    comparing.same_as_locked() && comparing.locked.is_some_and(same)
}
