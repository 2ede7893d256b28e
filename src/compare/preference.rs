//! Preferences of pairwise judges: what labels of the run's pairs make of them, words and rules
//! (METHODS 9.4, 6.4).
//!
//! A judge's own preference is shown and decides nothing. What decides are labels of pairs that were drawn
//! at random from this run, behind a judge whose certificate holds, as everywhere in quality. A certificate
//! alone corrects nothing: nobody knows how to carry error rates of preferences over to other pairs.

use super::decision::{DecideInput, Decision, JudgeState, MissingState, decide};
use super::gate::{FinishedWord, Rule, RuleKind as Kind, RuleResult, rule};
use super::quality::{JudgedComparison, QualityRule};
use super::table::Comparing;
use crate::base::Result;
use crate::estimate::{
    Context, PairCells, Segment, completed, corrected_preference, direction, moved, own_preference,
    pair_counts, position,
};
use crate::model::analysis::{DecisionSpec, RuleKind, RuleSpec};
use crate::model::estimate::{ComparisonRow, DecisionWord, EstimateStatus, RobustnessRow};
use crate::model::judged::StandingState;
use crate::model::measure::Dimension;
use crate::model::metric::{Contrast, Direction};
use crate::model::preference::{PREFERENCE, PreferenceColumn, PreferenceRow};
use crate::model::score::ScoreTable;
use crate::stats::correction::CorrectedDifference;
use crate::stats::paired::DifferenceEstimate;
use crate::stats::permutation::clustered_sign_flip;
use crate::stats::{Limits, Status};

/// Labelled pairs that a decision needs, as a difference of rates does: each stands for two trials.
const FEWEST_LABELLED: usize = 25;

/// What a preference lacks that a certificate alone cannot give.
const NOT_LABELLED: &str = "pairs_not_labelled";

/// Random sign patterns beyond those that are counted exactly.
const FLIPS: u64 = 9_999;

/// One judge's preference between two arms in one segment, before anything is decided.
pub(super) struct PreferenceContrast<'a> {
    table: &'a ScoreTable,
    column: &'a PreferenceColumn,
    direction: f64,
    segment: &'a Segment,
    cells: PairCells,
    found: CorrectedDifference,
    own: DifferenceEstimate,
    missing: MissingState,
}

impl PreferenceContrast<'_> {
    /// Whether this is the main comparison of quality.
    pub(super) fn is_main(&self, decision: &DecisionSpec) -> bool {
        self.segment.name.is_none() && self.stands_for_quality(decision)
    }

    fn stands_for_quality(&self, decision: &DecisionSpec) -> bool {
        main_column(self.table, decision).is_some_and(|m| m.judge == self.column.judge)
    }

    fn margin(&self, decision: &DecisionSpec) -> Option<f64> {
        let metric = self.column.metric();
        margin_of(decision, &metric, self.stands_for_quality(decision))
    }

    /// The p of no preference of people; `None` without labels.
    pub(super) fn p(&self) -> Option<f64> {
        self.found.p
    }

    fn is_labelled(&self) -> bool {
        self.found.labelled > 0
    }

    /// Whether there are labels, and fewer than a decision needs.
    fn has_few_labels(&self) -> bool {
        self.is_labelled() && self.found.labelled < FEWEST_LABELLED
    }
}

/// The pairwise judge that stands for quality: the first that a rule names, or the only judge of the run.
fn main_column<'a>(table: &'a ScoreTable, decision: &DecisionSpec) -> Option<&'a PreferenceColumn> {
    let mut rules = decision
        .rules
        .iter()
        .filter(|r| r.dimension == Dimension::Quality);
    match (
        rules.find_map(|r| r.metric.as_ref()),
        &table.preferences[..],
    ) {
        (Some(name), all) => all.iter().find(|p| p.metric() == *name),
        (None, [only]) if table.judges.is_empty() => Some(only),
        _ => None,
    }
}

/// The margin of a preference: its own, that of quality where it stands for it, or that of the first rule
/// on it.
fn margin_of(decision: &DecisionSpec, metric: &str, is_main: bool) -> Option<f64> {
    let by_name = |name: &str| decision.margins.get(name).copied();
    let on_it = |r: &&RuleSpec| match &r.metric {
        Some(name) => name == metric,
        None => is_main,
    };
    let of_rule = || {
        let rules = decision
            .rules
            .iter()
            .filter(|r| r.dimension == Dimension::Quality);
        rules.filter(on_it).find_map(|r| r.margin)
    };
    by_name(metric)
        .or_else(|| by_name(Dimension::Quality.name()).filter(|_| is_main))
        .or_else(of_rule)
}

/// Contrasts two arms by every pairwise judge that saw them, in every segment.
pub(super) fn contrasts<'a>(
    table: &'a ScoreTable,
    context: &Context,
    segments: &'a [Segment],
    comparing: &Comparing,
) -> Result<Vec<PreferenceContrast<'a>>> {
    let context = comparing.context(context, Dimension::Quality);
    let mut found = vec![];
    for column in &table.preferences {
        let Some(direction) = direction(column, comparing.a, comparing.b) else {
            continue;
        };
        let cells = PairCells::gather(table, column, direction);
        for segment in segments {
            let mut corrected = corrected_preference(&context, &cells, &segment.tasks)?;
            if corrected.labelled < FEWEST_LABELLED {
                corrected.status = corrected.status.min(Status::Exploratory);
            }
            found.push(PreferenceContrast {
                table,
                column,
                direction,
                segment,
                missing: missing(&context, &cells, segment, limits_of(&corrected)),
                own: own_preference(&context, &cells, &segment.tasks)?,
                cells: cells.clone(),
                found: corrected,
            });
        }
    }
    Ok(found)
}

fn limits_of(found: &CorrectedDifference) -> Option<Limits> {
    let (lower, upper) = found.lower.zip(found.upper)?;
    Some(Limits { lower, upper })
}

/// What is missing, the same for both arms: a pair is missing as a whole.
fn missing(
    context: &Context,
    cells: &PairCells,
    segment: &Segment,
    limits: Option<Limits>,
) -> MissingState {
    let weights = context.planned_weights(&segment.tasks);
    let of = |chosen: &dyn Fn(usize) -> f64| -> f64 {
        let tasks = segment.tasks.iter().zip(&weights);
        tasks.map(|(&t, w)| w * chosen(t)).sum()
    };
    let share = of(&|t| cells.lost(t));
    let filled = |fill| {
        limits
            .filter(|_| share > 0.0)
            .map(|l| moved(l, share, fill))
    };
    let rate = cells.missing_rate(&segment.tasks);
    MissingState {
        rate_a: rate,
        rate_b: rate,
        drop: of(&|t| f64::from(cells.judged[t].is_empty())),
        p_missing: None,
        worst: filled(-1.0),
        best: filled(1.0),
    }
}

/// Decides one contrast; `p_adjusted` is its p over the primary family, where it is in it.
pub(super) fn finish(
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
    let decision = decided(&input);
    let row = row(context, comparing, contrast, &input, &decision);
    let believed = contrast.segment.name.is_none() && contrast.is_labelled();
    let uncorrected = believed.then(|| uncorrected(contrast, &input, &row));
    JudgedComparison {
        row,
        input,
        decision,
        uncorrected,
    }
}

/// The decision; where there is nothing to decide by, that is for want of labels.
fn decided(input: &DecideInput) -> Decision {
    let mut decision = decide(input);
    if decision.reason.as_deref() == Some("not_identified") {
        decision.reason = Some(NOT_LABELLED.to_owned());
    }
    decision
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
    let decision = super::word_of(decide(&believed).word);
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
    let word = super::word_of(decision.word);
    let mut notices: Vec<String> = decision.notices.iter().map(|n| n.code.clone()).collect();
    if input.p_adjusted.is_none() && word == DecisionWord::Better {
        notices.push("unadjusted".to_owned());
    }
    if contrast.has_few_labels() {
        notices.push("few_labels".to_owned());
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

/// What the report says of a judge's preferences over all tasks.
pub(super) fn report_row(
    context: &Context,
    comparing: &Comparing,
    contrast: &PreferenceContrast,
    compared: &JudgedComparison,
) -> Result<PreferenceRow> {
    let context = comparing.context(context, Dimension::Quality);
    let PreferenceContrast { column, cells, .. } = contrast;
    let tasks = &contrast.segment.tasks;
    let paired = cells.paired(tasks);
    let means: Vec<f64> = paired.iter().filter_map(|&t| cells.mean(t)).collect();
    let seed = comparing
        .seed
        .child(&format!("compare/{}", column.metric()));
    let clusters = context.clusters(&paired);
    let flips = clustered_sign_flip(&means, clusters.as_deref(), seed, FLIPS)?;
    let any_missing = contrast.missing.rate_a > 0.0;
    let filled = |fill| -> Result<Option<[f64; 2]>> {
        let found = completed(&context, cells, tasks, fill)?;
        let limits = found.limits().filter(|_| any_missing);
        Ok(limits.map(|l| [l.lower, l.upper]))
    };
    let position = position(contrast.table, &context, column)?;
    let own = &contrast.own;
    Ok(PreferenceRow {
        judge: column.judge.to_string(),
        metric: column.metric(),
        baseline: compared.row.baseline.clone(),
        candidate: compared.row.candidate.clone(),
        counts: pair_counts(contrast.table, column, contrast.direction),
        value: own.estimate,
        low: own.lower,
        high: own.upper,
        level: own.level,
        method: own.method.to_owned(),
        p_sign_flip: (!means.is_empty()).then_some(flips.p_two_sided),
        worst: filled(-1.0)?,
        best: filled(1.0)?,
        tasks: paired.len() as u64,
        status: compared.row.status,
        reason: reason(contrast, compared),
        calibration: column.standing.certificate.clone(),
        labelled: cells.labelled(tasks),
        consistency: position.consistency,
        first_place: position.first_place,
        p_first_place: position.p,
    })
}

/// Why people's preference is not known, or may not be used.
fn reason(contrast: &PreferenceContrast, compared: &JudgedComparison) -> Option<String> {
    let objection = contrast.column.standing.state.objection();
    match compared.row.status {
        EstimateStatus::Ok => None,
        EstimateStatus::Uncalibrated => objection.map(str::to_owned),
        _ => compared.row.reason.clone(),
    }
}

/// The metric of a preference that a rule is about: the one that it names, or the one that stands for
/// quality.
pub(super) fn ruled(table: &ScoreTable, comparing: &Comparing, spec: &RuleSpec) -> Option<String> {
    match &spec.metric {
        Some(name) => name.ends_with(PREFERENCE).then(|| name.clone()),
        None => main_column(table, comparing.decision).map(PreferenceColumn::metric),
    }
}

/// Judges a rule on a preference; where no judge saw the pairs it is inconclusive.
pub(super) fn judge_rule(
    metric: String,
    judged: &[JudgedComparison],
    spec: &RuleSpec,
) -> QualityRule {
    let compared = judged
        .iter()
        .find(|j| j.row.metric == metric && j.row.segment.is_none());
    let on_words = matches!(
        spec.rule,
        RuleKind::NonInferior | RuleKind::Superior | RuleKind::Equivalent
    );
    let Some(compared) = compared.filter(|_| on_words) else {
        let why = if on_words { "no_judge" } else { "no_rate" };
        return QualityRule {
            result: RuleResult::Inconclusive,
            metric,
            margin: None,
            reason: format!("not_measured: {why}"),
        };
    };
    let margin = spec.margin.or(compared.input.margin);
    let decided = decided(&DecideInput {
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
    let (status, locked) = (compared.input.status, compared.row.locked);
    QualityRule {
        result: rule(&Rule {
            kind,
            status,
            locked,
        }),
        metric,
        margin: margin.filter(|_| spec.rule != RuleKind::Superior),
        reason: said(&decided, locked, status),
    }
}

/// The word, why it was given, and what keeps it from deciding.
fn said(decided: &Decision, locked: bool, status: Status) -> String {
    let word = super::word_of(decided.word).name().to_owned();
    let mut said = match &decided.reason {
        Some(why) => format!("{word}: {why}"),
        None => word,
    };
    if !locked {
        said.push_str("; not locked in the plan");
    }
    if status == Status::Exploratory {
        said.push_str("; exploratory");
    }
    said
}
