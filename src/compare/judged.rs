//! What is decided by judges, however they were asked: one word, one row of the report, one reading without
//! correction.

use super::decision::{DecideInput, Decision, JudgeState, MissingState, decide};
use super::table::Comparing;
use super::word_of;
use crate::estimate::Context;
use crate::model::estimate::{ComparisonRow, DecisionWord, EstimateStatus, RobustnessRow};
use crate::model::measure::Dimension;
use crate::model::metric::{Contrast, Direction};
use crate::stats::correction::CorrectedDifference;
use crate::stats::{Limits, Status};

/// The notice of labels that are fewer than a decision needs.
pub(super) const FEW_LABELS: &str = "few_labels";

/// One comparison of quality with what its gate rules need.
#[derive(Clone, Debug)]
pub struct JudgedComparison {
    /// The row of the report.
    pub row: ComparisonRow,
    /// What was decided by.
    pub input: DecideInput,
    /// The decision.
    pub decision: Decision,
    /// What the judge's own difference would say; over all tasks only.
    pub uncorrected: Option<RobustnessRow>,
    /// Why the difference is not identified, where labels are what it lacks.
    pub unlabelled: Option<&'static str>,
}

/// What judges and labels say of two arms in one segment.
pub(super) struct Said<'a> {
    pub metric: String,
    pub segment: Option<String>,
    pub found: &'a CorrectedDifference,
    pub missing: MissingState,
    pub tasks: usize,
    pub unpaired: usize,
    pub margin: Option<f64>,
    pub locked: bool,
    pub judge: JudgeState,
    /// Whether nothing is known for want of labels while the judge may not speak either, which is then said first.
    pub unknown: bool,
    pub unlabelled: Option<&'static str>,
    /// Notices of its own.
    pub notices: Vec<String>,
    /// The judge's own difference, where what it would say is shown.
    pub believed: Option<Believed>,
}

/// A judge's own difference, which nobody checked.
pub(super) struct Believed {
    pub value: Option<f64>,
    pub limits: Option<Limits>,
    pub status: Status,
}

/// Decides; `p_adjusted` is the p over the primary family, where the comparison is in it.
pub(super) fn finish(
    context: &Context,
    comparing: &Comparing,
    said: Said,
    p_adjusted: Option<f64>,
) -> JudgedComparison {
    let everything = Limits {
        lower: -1.0,
        upper: 1.0,
    };
    let limits = said.found.lower.zip(said.found.upper);
    let limits = limits.map(|(lower, upper)| Limits { lower, upper });
    let (interval, status) = match said.unknown {
        true => (Some(everything), Status::Ok),
        false => (limits, said.found.status),
    };
    let input = DecideInput {
        interval,
        undefined_reason: said.found.reason.map(str::to_owned),
        contrast: Contrast::Difference,
        direction: Direction::Gain,
        margin: said.margin,
        alpha: context.level.alpha(),
        in_family: p_adjusted.is_some(),
        p_adjusted,
        status,
        n_c: None,
        judge: said.judge,
        schedule: comparing.schedule_of(Dimension::Quality),
        missing: Some(said.missing),
        censored: false,
    };
    let decision = explained(decide(&input), said.unlabelled);
    let row = row(context, comparing, &said, &input, &decision);
    let uncorrected = said
        .believed
        .as_ref()
        .map(|believed| uncorrected(believed, &input, &row));
    JudgedComparison {
        row,
        input,
        decision,
        uncorrected,
        unlabelled: said.unlabelled,
    }
}

/// Says what the difference lacks where it is not identified: the reason of a rate would be beside the
/// point, as rates may be identified where their difference is not.
pub(super) fn explained(mut decision: Decision, unlabelled: Option<&str>) -> Decision {
    if let Some(why) = unlabelled.filter(|_| decision.reason.as_deref() == Some("not_identified")) {
        decision.reason = Some(why.to_owned());
    }
    decision
}

/// What the word would be if the judge were believed, with no certificate asked for.
fn uncorrected(believed: &Believed, input: &DecideInput, row: &ComparisonRow) -> RobustnessRow {
    let decision = decide(&DecideInput {
        interval: believed.limits,
        status: believed.status,
        judge: JudgeState::NotNeeded,
        ..input.clone()
    });
    let decision = word_of(decision.word);
    RobustnessRow {
        dimension: Dimension::Quality,
        metric: row.metric.clone(),
        reading: "uncorrected_judge".to_owned(),
        value: believed.value,
        low: believed.limits.map(|l| l.lower),
        high: believed.limits.map(|l| l.upper),
        decision,
        changes: decision != row.decision,
    }
}

fn row(
    context: &Context,
    comparing: &Comparing,
    said: &Said,
    input: &DecideInput,
    decision: &Decision,
) -> ComparisonRow {
    let Said { found, missing, .. } = said;
    let word = word_of(decision.word);
    let mut notices: Vec<String> = decision.notices.iter().map(|n| n.code.clone()).collect();
    if input.p_adjusted.is_none() && word == DecisionWord::Better {
        notices.push("unadjusted".to_owned());
    }
    notices.extend(said.notices.iter().cloned());
    let uncalibrated =
        input.judge.blocks() && (said.unknown || found.status > Status::NotIdentified);
    let pair = |limits: Option<Limits>| limits.map(|l| [l.lower, l.upper]);
    ComparisonRow {
        dimension: Dimension::Quality,
        metric: said.metric.clone(),
        baseline: context.arms[comparing.a].clone(),
        candidate: context.arms[comparing.b].clone(),
        segment: said.segment.clone(),
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
        tasks: said.tasks as u64,
        tasks_unpaired: said.unpaired as u64,
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
        locked: said.locked,
        primary: input.p_adjusted.is_some(),
        settle: None,
    }
}
