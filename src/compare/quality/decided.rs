//! The word on one judged difference, and its row of the report.

use super::contrast::{JudgedContrast, Naive};
use super::{JudgedComparison, judge_state, margin_of};
use crate::compare::decision::{DecideInput, Decision, JudgeState, decide};
use crate::compare::table::Comparing;
use crate::compare::word_of;
use crate::estimate::Context;
use crate::model::estimate::{ComparisonRow, DecisionWord, EstimateStatus, RobustnessRow};
use crate::model::measure::Dimension;
use crate::model::metric::{Contrast, Direction};
use crate::stats::{Limits, Status};

/// The notice of labels that are fewer than a decision needs.
pub(in crate::compare) const FEW_LABELS: &str = "few_labels";

/// Decides one contrast; `p_adjusted` is its p over the primary family, where it is in it.
pub(in crate::compare) fn finish(
    context: &Context,
    comparing: &Comparing,
    contrast: &JudgedContrast,
    p_adjusted: Option<f64>,
) -> JudgedComparison {
    let JudgedContrast {
        column,
        found,
        missing,
        ..
    } = contrast;
    let metric = column.metric();
    let margin = margin_of(comparing.decision, &metric);
    let input = DecideInput {
        interval: found
            .lower
            .zip(found.upper)
            .map(|(lower, upper)| Limits { lower, upper }),
        undefined_reason: found.reason.map(str::to_owned),
        contrast: Contrast::Difference,
        direction: Direction::Gain,
        margin,
        alpha: context.level.alpha(),
        in_family: p_adjusted.is_some(),
        p_adjusted,
        status: found.status,
        n_c: None,
        judge: judge_state(column, &[comparing.a, comparing.b]),
        schedule: comparing.schedule_of(Dimension::Quality),
        missing: Some(*missing),
    };
    let decision = explained(decide(&input), contrast.unlabelled);
    let row = row(context, comparing, contrast, &input, &decision);
    let uncorrected = contrast
        .segment
        .is_none()
        .then(|| uncorrected(contrast, &input, &row));
    JudgedComparison {
        row,
        input,
        decision,
        uncorrected,
        unlabelled: contrast.unlabelled,
    }
}

/// Says what the difference lacks where it is not identified: the reason of a rate would be beside the
/// point, as rates may be identified where their difference is not.
pub(in crate::compare) fn explained(mut decision: Decision, unlabelled: Option<&str>) -> Decision {
    if let Some(why) = unlabelled.filter(|_| decision.reason.as_deref() == Some("not_identified")) {
        decision.reason = Some(why.to_owned());
    }
    decision
}

/// What the word would be if the judge were believed: its own difference, with no certificate asked for.
fn uncorrected(
    contrast: &JudgedContrast,
    input: &DecideInput,
    row: &ComparisonRow,
) -> RobustnessRow {
    let Naive { value, limits } = contrast.naive;
    let believed = DecideInput {
        interval: limits,
        status: if limits.is_some() {
            Status::Ok
        } else {
            Status::NotEstimable
        },
        judge: JudgeState::NotNeeded,
        ..input.clone()
    };
    let decision = word_of(decide(&believed).word);
    RobustnessRow {
        dimension: Dimension::Quality,
        metric: row.metric.clone(),
        reading: "uncorrected_judge".to_owned(),
        value,
        low: limits.map(|l| l.lower),
        high: limits.map(|l| l.upper),
        decision,
        changes: decision != row.decision,
    }
}

fn row(
    context: &Context,
    comparing: &Comparing,
    contrast: &JudgedContrast,
    input: &DecideInput,
    decision: &Decision,
) -> ComparisonRow {
    let JudgedContrast {
        column,
        segment,
        found,
        missing,
        unpaired,
        ..
    } = contrast;
    let word = word_of(decision.word);
    let mut notices: Vec<String> = decision.notices.iter().map(|n| n.code.clone()).collect();
    if input.p_adjusted.is_none() && word == DecisionWord::Better {
        notices.push("unadjusted".to_owned());
    }
    if !column.is_rate() {
        notices.push("rescaled_to_unit".to_owned());
    }
    if contrast.few_labels {
        notices.push(FEW_LABELS.to_owned());
    }
    let uncalibrated = input.judge.blocks() && found.status > Status::NotIdentified;
    let pair = |limits: Option<Limits>| limits.map(|l| [l.lower, l.upper]);
    ComparisonRow {
        dimension: Dimension::Quality,
        metric: column.metric(),
        baseline: context.arms[comparing.a].clone(),
        candidate: context.arms[comparing.b].clone(),
        segment: segment.clone(),
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
        tasks: found.tasks as u64,
        tasks_unpaired: *unpaired as u64,
        n_c: None,
        margin: input.margin,
        mde: None,
        worst: pair(missing.worst),
        best: pair(missing.best),
        status: match word {
            DecisionWord::NotDecidable => EstimateStatus::NotDecidable,
            _ if uncalibrated => EstimateStatus::Uncalibrated,
            _ => crate::estimate::status(found.status),
        },
        decision: word,
        reason: decision.reason.clone(),
        notices,
        locked: is_locked(comparing, &column.metric(), input.margin),
        primary: input.p_adjusted.is_some(),
        settle: None,
    }
}

fn is_locked(comparing: &Comparing, metric: &str, margin: Option<f64>) -> bool {
    comparing.same_as_locked()
        && comparing
            .locked
            .is_some_and(|l| margin_of(l, metric) == margin)
}
