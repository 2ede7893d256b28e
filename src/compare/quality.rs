//! Quality of two arms: the paired difference that judges see, corrected by labelled pairs (METHODS 9.4),
//! and its rules.

use super::decision::{DecideInput, Decision, JudgeState, MissingState, decide};
use super::gate::{
    CandidateRate, FinishedWord, RateMissing, Rule, RuleKind as Kind, RuleResult, rule,
};
use super::table::Comparing;
use crate::base::Result;
use crate::estimate::{Context, JudgedTrial, QualityCells, Segment, corrected};
use crate::model::analysis::{DecisionSpec, RuleKind, RuleSpec};
use crate::model::estimate::{ComparisonRow, DecisionWord, EstimateStatus, RobustnessRow};
use crate::model::judged::{Drawn, JudgeColumn, StandingState};
use crate::model::measure::Dimension;
use crate::model::metric::{Contrast, Direction};
use crate::model::score::ScoreTable;
use crate::stats::correction::{
    CorrectedDifference, LabelledPair, PairedTask, TaskFrame, ppi_paired_bp_hall,
};
use crate::stats::paired::bp_hall;
use crate::stats::sample::Paired;
use crate::stats::units::Weights;
use crate::stats::{Level, Limits, Status};

/// A certificate that is kept with a probability under .8 decides nothing.
const BORDERLINE: &str = "borderline";

/// The paired difference of one judge in one segment, before anything is decided.
pub(super) struct JudgedContrast<'a> {
    column: &'a JudgeColumn,
    segment: Option<String>,
    found: CorrectedDifference,
    /// What the judge alone says, which nobody checked.
    naive: Naive,
    missing: MissingState,
    unpaired: usize,
}

/// The uncorrected difference of two arms.
#[derive(Clone, Copy)]
struct Naive {
    value: Option<f64>,
    limits: Option<Limits>,
}

impl JudgedContrast<'_> {
    /// Whether this is the main comparison of quality.
    pub(super) fn is_main(&self, table: &ScoreTable, decision: &DecisionSpec) -> bool {
        let main = main_judge(table, decision);
        self.segment.is_none() && main.is_some_and(|m| m.judge == self.column.judge)
    }

    /// The p of no difference.
    pub(super) fn p(&self) -> Option<f64> {
        self.found.p
    }
}

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
}

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

/// Contrasts two arms by every judge in every segment.
pub(super) fn contrasts<'a>(
    table: &'a ScoreTable,
    context: &Context,
    segments: &[Segment],
    comparing: &Comparing,
) -> Result<Vec<JudgedContrast<'a>>> {
    let mut found = vec![];
    for column in &table.judges {
        let a = QualityCells::gather(table, comparing.a, column);
        let b = QualityCells::gather(table, comparing.b, column);
        let nothing = |c: &QualityCells| c.judged.iter().all(Vec::is_empty);
        if nothing(&a) && nothing(&b) {
            continue;
        }
        for segment in segments {
            found.push(contrast(context, column, &a, &b, segment)?);
        }
    }
    Ok(found)
}

fn contrast<'a>(
    context: &Context,
    column: &'a JudgeColumn,
    a: &QualityCells,
    b: &QualityCells,
    segment: &Segment,
) -> Result<JudgedContrast<'a>> {
    let is_paired = |t: &usize| !a.judged[*t].is_empty() && !b.judged[*t].is_empty();
    let paired: Vec<usize> = segment.tasks.iter().copied().filter(is_paired).collect();
    let tasks: Vec<PairedTask> = paired
        .iter()
        .map(|&t| PairedTask {
            judge: b.mean(t).unwrap_or(0.0) - a.mean(t).unwrap_or(0.0),
            labelled: labelled_pair(&a.judged[t], &b.judged[t]),
        })
        .collect();
    let clusters = context.clusters(&paired);
    // Values are means of tasks; weights by trials are their numbers of judged trials in both arms.
    let weights = match &context.weights {
        Weights::Trials => {
            let trials = |t: &usize| (a.judged[*t].len() + b.judged[*t].len()) as f64;
            Weights::Explicit(paired.iter().map(trials).collect())
        }
        other => other.clone(),
    };
    let frame = TaskFrame {
        clusters: clusters.as_deref(),
        weights: &weights,
    };
    let found = ppi_paired_bp_hall(&tasks, &frame, context.level)?;
    let limits = found
        .lower
        .zip(found.upper)
        .map(|(lower, upper)| Limits { lower, upper });
    let differences: Vec<f64> = tasks.iter().map(|t| t.judge).collect();
    let paired_alone = Paired::new(&differences, clusters.as_deref(), &weights)?;
    let alone = bp_hall(&paired_alone, context.level, false);
    Ok(JudgedContrast {
        column,
        naive: Naive {
            value: alone.estimate,
            limits: alone.limits(),
        },
        segment: segment.name.clone(),
        missing: missing(context, a, b, segment, limits),
        unpaired: segment.tasks.len() - paired.len(),
        found,
    })
}

/// The first labelled trial of each arm, if both were drawn whatever the judge said: one pair per task.
fn labelled_pair(a: &[JudgedTrial], b: &[JudgedTrial]) -> Option<LabelledPair> {
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

/// What is missing, and the limits moved by the most that it could have moved them.
fn missing(
    context: &Context,
    a: &QualityCells,
    b: &QualityCells,
    segment: &Segment,
    limits: Option<Limits>,
) -> MissingState {
    let weights = context.planned_weights(&segment.tasks);
    let of = |chosen: &dyn Fn(usize) -> f64| -> f64 {
        segment
            .tasks
            .iter()
            .zip(&weights)
            .map(|(&t, w)| w * chosen(t))
            .sum()
    };
    let lost = |c: &QualityCells, t: usize| match c.started[t] {
        0 => 0.0,
        started => f64::from(c.missing[t]) / f64::from(started),
    };
    let shift = of(&|t| lost(a, t)) + of(&|t| lost(b, t));
    let moved = |by: f64| {
        limits.map(|l| {
            Limits {
                lower: l.lower + by,
                upper: l.upper + by,
            }
            .clipped(-1.0, 1.0)
        })
    };
    let unpaired = |t: usize| f64::from(a.judged[t].is_empty() || b.judged[t].is_empty());
    MissingState {
        rate_a: a.missing_rate(&segment.tasks),
        rate_b: b.missing_rate(&segment.tasks),
        drop: of(&unpaired),
        p_missing: None,
        worst: (shift > 0.0).then(|| moved(-shift)).flatten(),
        best: (shift > 0.0).then(|| moved(shift)).flatten(),
    }
}

/// Decides one contrast; `p_adjusted` is its p over the primary family, where it is in it.
pub(super) fn finish(
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
    let decision = decide(&input);
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
    }
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
    let decision = super::word_of(decide(&believed).word);
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
    let word = super::word_of(decision.word);
    let mut notices: Vec<String> = decision.notices.iter().map(|n| n.code.clone()).collect();
    if input.p_adjusted.is_none() && word == DecisionWord::Better {
        notices.push("unadjusted".to_owned());
    }
    if !column.is_rate() {
        notices.push("rescaled_to_unit".to_owned());
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

/// The result of a rule on quality, with the name of its metric, margin and reason.
pub(super) struct QualityRule {
    /// Result.
    pub result: RuleResult,
    /// Metric.
    pub metric: String,
    /// Margin, where the rule has one.
    pub margin: Option<f64>,
    /// Why.
    pub reason: String,
}

/// Judges a rule on quality; without a judge, or with several and none named, it is inconclusive.
pub(super) fn judge_rule(
    table: &ScoreTable,
    context: &Context,
    comparing: &Comparing,
    judged: &[JudgedComparison],
    spec: &RuleSpec,
    level: Level,
) -> Result<QualityRule> {
    let open = |metric: &str, reason: &str| QualityRule {
        result: RuleResult::Inconclusive,
        metric: metric.to_owned(),
        margin: None,
        reason: format!("not_measured: {reason}"),
    };
    let column = match &spec.metric {
        Some(name) => table.judges.iter().find(|j| j.metric() == *name),
        None => main_judge(table, comparing.decision),
    };
    let Some(column) = column else {
        let reason = if table.judges.is_empty() {
            "no_judge"
        } else {
            "which_judge"
        };
        return Ok(open(
            spec.metric.as_deref().unwrap_or("quality.rate"),
            reason,
        ));
    };
    let metric = column.metric();
    if matches!(spec.rule, RuleKind::MaxRate | RuleKind::MinRate) {
        return on_rate(table, context, comparing, column, spec, level);
    }
    let compared = judged
        .iter()
        .find(|j| j.row.metric == metric && j.row.segment.is_none());
    let Some(compared) = compared.filter(|_| spec.rule != RuleKind::NoTaskRegression) else {
        return Ok(open(&metric, "no_usable_verdict"));
    };
    let margin = spec.margin.or(compared.input.margin);
    let decided = decide(&DecideInput {
        margin,
        ..compared.input.clone()
    });
    let word = FinishedWord {
        word: decided.word,
        stopped: decided.theta.is_none(),
        theta: decided.theta,
    };
    let kind = match spec.rule {
        RuleKind::Superior => Kind::Superior(word),
        RuleKind::Equivalent => Kind::Equivalent {
            decision: word,
            delta: margin.unwrap_or(0.0),
        },
        _ => Kind::NonInferior(word),
    };
    let locked = compared.row.locked;
    let result = rule(&Rule {
        kind,
        status: compared.input.status,
        locked,
    });
    let mut reason = super::word_of(decided.word).name().to_owned();
    if let Some(why) = &decided.reason {
        reason = format!("{reason}: {why}");
    }
    let margin =
        margin.filter(|_| matches!(spec.rule, RuleKind::NonInferior | RuleKind::Equivalent));
    let reason = objections(reason, locked, compared.input.status);
    Ok(QualityRule {
        result,
        metric,
        margin,
        reason,
    })
}

fn objections(mut reason: String, locked: bool, status: Status) -> String {
    if !locked {
        reason.push_str("; not locked in the plan");
    }
    if status == Status::Exploratory {
        reason.push_str("; exploratory");
    }
    reason
}

/// `max_rate` and `min_rate` look at the candidate's corrected rate alone.
fn on_rate(
    table: &ScoreTable,
    context: &Context,
    comparing: &Comparing,
    column: &JudgeColumn,
    spec: &RuleSpec,
    level: Level,
) -> Result<QualityRule> {
    let cells = QualityCells::gather(table, comparing.b, column);
    let tasks: Vec<usize> = (0..table.tasks.len()).collect();
    let found = corrected(context, comparing.b, column, &cells, &tasks, level)?;
    let limits = found
        .lower
        .zip(found.upper)
        .map(|(lower, upper)| Limits { lower, upper });
    let weights = context.planned_weights(&tasks);
    let drop = tasks
        .iter()
        .zip(&weights)
        .filter(|(t, _)| cells.judged[**t].is_empty());
    let rate = cells.missing_rate(&tasks);
    let moved = |low: f64, high: f64| {
        limits.map(|l| {
            Limits {
                lower: l.lower - low,
                upper: l.upper + high,
            }
            .clipped(0.0, 1.0)
        })
    };
    // The worst completion lowers both limits by all that is missing, the best one raises them.
    let missing = RateMissing {
        rate,
        drop: drop.map(|(_, w)| w).sum(),
        p_missing: None,
        worst: (rate > 0.0).then(|| moved(rate, -rate)).flatten(),
        best: (rate > 0.0).then(|| moved(-rate, rate)).flatten(),
    };
    let state = judge_state(column, &[comparing.b]);
    let borderline = found.notices.iter().any(|n| n.code == BORDERLINE);
    let judge = if borderline && !state.blocks() {
        JudgeState::Failed
    } else {
        state
    };
    let identified = found.status != Status::NotIdentified;
    let candidate = CandidateRate {
        limits: limits.filter(|_| identified),
        n_c: None,
        judge,
        missing: Some(missing),
    };
    let bound = spec.rate.unwrap_or(f64::NAN);
    let kind = match spec.rule {
        RuleKind::MaxRate => Kind::MaxRate {
            rate: candidate,
            bound,
        },
        _ => Kind::MinRate {
            rate: candidate,
            bound,
        },
    };
    let locked =
        comparing.same_as_locked() && comparing.locked.is_some_and(|l| l.rules.contains(spec));
    let result = rule(&Rule {
        kind,
        status: found.status,
        locked,
    });
    let mut reason = match (identified, judge.blocks(), limits) {
        (false, _, _) => format!("not_identified: {}", found.reason.unwrap_or("unknown")),
        (_, true, _) => "uncalibrated".to_owned(),
        (_, _, Some(l)) => format!("interval [{:.4}, {:.4}]", l.lower, l.upper),
        _ => "no interval".to_owned(),
    };
    reason = objections(reason, locked, found.status);
    Ok(QualityRule {
        result,
        metric: column.metric(),
        margin: None,
        reason,
    })
}
