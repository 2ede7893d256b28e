//! The columns of each CSV file, in the order of the JSON keys.

use std::collections::BTreeMap;

use super::cell::Cell;
use crate::model::estimate::{AccountingRow, ComparisonRow, EstimateRow, EstimateStatus};
use crate::model::judging::{AskedJudge, JudgeRow};
use crate::model::preference::PairRow;
use crate::model::report::{DisagreementRow, FailureRow, JudgeDisagreementRow};

/// A column of a table whose rows are `T`.
pub(super) struct Field<T> {
    pub(super) name: &'static str,
    pub(super) cell: for<'a> fn(&'a T) -> Cell<'a>,
}

/// Lists columns as `name: row => value`.
macro_rules! fields {
    ($($name:ident: $row:ident => $value:expr,)*) => {
        &[$(Field { name: stringify!($name), cell: |$row| Cell::from($value) }),*]
    };
}

/// Columns of `calibration.csv`.
pub(super) const CALIBRATION: [&str; 12] = [
    "judge", "slice", "name", "value", "low", "high", "method", "items", "part", "units", "p",
    "reason",
];

pub(super) const ACCOUNTING: &[Field<AccountingRow>] = fields! {
    arm: row => &row.arm,
    dimension: row => row.dimension,
    segment: row => row.segment.as_deref(),
    planned: row => row.planned,
    started: row => row.started,
    finished: row => row.finished,
    valid: row => row.valid,
    graded: row => row.graded,
    judged: row => row.judged,
    scored: row => row.scored,
    not_applicable: row => row.not_applicable,
    ungradable: row => row.ungradable,
    not_measured: row => row.not_measured,
    not_started: row => row.not_started,
};

/// Counts are `name=count`, joined by `;`.
pub(super) const JUDGES: &[Field<JudgeRow>] = fields! {
    run: row => &row.run,
    judge: row => &row.judge,
    pin: row => row.pin.as_deref(),
    models: row => asked(row, |a| Some(a.models.join(";"))),
    certificate: row => row.certificate.standing.as_str(),
    certificate_reasons: row => row.certificate.reasons.join(";"),
    certificate_digest: row => row.certificate.digest.as_deref(),
    certificate_labels: row => row.certificate.labels.as_deref(),
    certificate_split: row => row.certificate.split.as_deref(),
    certificate_items: row => row.certificate.items,
    pairs: row => row.pairs,
    verdicts: row => row.verdicts,
    unusable: row => counts(&row.unusable),
    labels: row => counts(&row.labels),
    drift: row => asked(row, |a| Some(a.drift)),
    own_model: row => asked(row, |a| Some(a.own_model.join(";"))),
    canary_items: row => asked(row, |a| Some(a.canary.as_ref()?.items)),
    canary_unusable: row => asked(row, |a| Some(a.canary.as_ref()?.unusable)),
    canary_changed: row => asked(row, |a| Some(a.canary.as_ref()?.changed)),
    guesses: row => asked(row, |a| Some(a.audit.as_ref()?.guesses)),
    guesses_right: row => asked(row, |a| Some(a.audit.as_ref()?.right)),
    guesses_low: row => asked(row, |a| a.audit.as_ref()?.low),
    guesses_high: row => asked(row, |a| a.audit.as_ref()?.high),
    guesses_chance: row => asked(row, |a| a.audit.as_ref()?.chance),
    hidden: row => asked(row, |a| Some(counts(&a.hidden))),
    injections: row => asked(row, |a| Some(a.injections)),
    questions: row => asked(row, |a| Some(a.questions)),
    calls: row => asked(row, |a| Some(a.calls)),
};

/// What only a judge has that was asked here.
fn asked<T>(row: &JudgeRow, of: impl Fn(&AskedJudge) -> Option<T>) -> Option<T> {
    row.asked.as_ref().and_then(of)
}

fn counts(of: &BTreeMap<String, u64>) -> String {
    let parts: Vec<String> = of.iter().map(|(name, n)| format!("{name}={n}")).collect();
    parts.join(";")
}

pub(super) const ESTIMATES: &[Field<EstimateRow>] = fields! {
    arm: row => &row.arm,
    dimension: row => row.dimension,
    metric: row => &row.metric,
    k: row => row.k,
    segment: row => row.segment.as_deref(),
    value: row => row.value,
    low: row => row.low,
    high: row => row.high,
    level: row => row.level,
    method: row => row.method.as_deref(),
    tasks: row => row.tasks,
    trials: row => row.trials,
    n_c: row => row.n_c,
    status: row => status(row.status),
    reason: row => row.reason.as_deref(),
    bounds_low: row => row.bounds.map(|pair| pair[0]),
    bounds_high: row => row.bounds.map(|pair| pair[1]),
    tasks_fixed_low: row => row.tasks_fixed.map(|pair| pair[0]),
    tasks_fixed_high: row => row.tasks_fixed.map(|pair| pair[1]),
    sd_between_tasks: row => row.sd_between_tasks,
    sd_within_task: row => row.sd_within_task,
    calibration: row => row.calibration.as_deref(),
    notices: row => row.notices.join(";"),
};

pub(super) const COMPARISONS: &[Field<ComparisonRow>] = fields! {
    dimension: row => row.dimension,
    metric: row => &row.metric,
    baseline: row => &row.baseline,
    candidate: row => &row.candidate,
    segment: row => row.segment.as_deref(),
    contrast: row => &row.contrast,
    direction: row => &row.direction,
    value: row => row.value,
    low: row => row.low,
    high: row => row.high,
    level: row => row.level,
    method: row => row.method.as_deref(),
    p: row => row.p,
    p_method: row => row.p_method.as_deref(),
    p_adjusted: row => row.p_adjusted,
    p_sign_flip: row => row.p_sign_flip,
    tasks: row => row.tasks,
    tasks_unpaired: row => row.tasks_unpaired,
    n_c: row => row.n_c,
    margin: row => row.margin,
    mde: row => row.mde,
    worst_low: row => row.worst.map(|pair| pair[0]),
    worst_high: row => row.worst.map(|pair| pair[1]),
    best_low: row => row.best.map(|pair| pair[0]),
    best_high: row => row.best.map(|pair| pair[1]),
    status: row => status(row.status),
    decision: row => row.decision.name(),
    reason: row => row.reason.as_deref(),
    notices: row => row.notices.join(";"),
    locked: row => row.locked,
    primary: row => row.primary,
    settle_tasks: row => row.settle.as_ref().map(|settle| settle.tasks),
    settle_text: row => row.settle.as_ref().map(|settle| settle.text.as_str()),
    settle_cost_usd: row => row.settle.as_ref().and_then(|settle| settle.cost_usd),
};

pub(super) const FAILURES: &[Field<FailureRow>] = fields! {
    arm: row => &row.arm,
    task: row => &row.task,
    trial: row => row.trial,
    dimension: row => row.dimension,
    rule: row => &row.rule,
    events: row => &row.events,
    detail: row => &row.detail,
};

pub(super) const DISAGREEMENTS: &[Field<DisagreementRow>] = fields! {
    kind: row => &row.kind,
    dimension: row => row.dimension,
    task: row => &row.task,
    segment: row => row.segment.as_deref(),
    arm_a: row => &row.arm_a,
    trial_a: row => row.trial_a,
    score_a: row => row.score_a,
    evidence_a: row => &row.evidence_a,
    arm_b: row => &row.arm_b,
    trial_b: row => row.trial_b,
    score_b: row => row.score_b,
    evidence_b: row => &row.evidence_b,
    stratum: row => &row.stratum,
};

pub(super) const JUDGE_DISAGREEMENTS: &[Field<JudgeDisagreementRow>] = fields! {
    kind: row => &row.kind,
    item: row => &row.item,
    task: row => row.task.as_deref(),
    who_a: row => &row.who_a,
    answer_a: row => &row.answer_a,
    who_b: row => &row.who_b,
    answer_b: row => &row.answer_b,
    evidence: row => &row.evidence,
    stratum: row => &row.stratum,
};

pub(super) const PAIRS: &[Field<PairRow>] = fields! {
    judge: row => &row.judge,
    baseline: row => &row.baseline,
    candidate: row => &row.candidate,
    task: row => &row.task,
    trial: row => row.trial,
    repeat: row => row.repeat,
    baseline_first: row => row.baseline_first.as_deref(),
    baseline_first_reason: row => row.baseline_first_reason.as_deref(),
    candidate_first: row => row.candidate_first.as_deref(),
    candidate_first_reason: row => row.candidate_first_reason.as_deref(),
    preference: row => row.preference.as_deref(),
    reason: row => row.reason.as_deref(),
    effect: row => row.effect.as_deref(),
    people: row => row.people,
};

/// The snake_case name of a status, as serde writes it.
fn status(status: EstimateStatus) -> &'static str {
    match status {
        EstimateStatus::Ok => "ok",
        EstimateStatus::Conservative => "conservative",
        EstimateStatus::Exploratory => "exploratory",
        EstimateStatus::NotEstimable => "not_estimable",
        EstimateStatus::NotDecidable => "not_decidable",
        EstimateStatus::NotMeasured => "not_measured",
        EstimateStatus::Uncalibrated => "uncalibrated",
        EstimateStatus::NotIdentified => "not_identified",
        EstimateStatus::Selection => "selection",
    }
}
