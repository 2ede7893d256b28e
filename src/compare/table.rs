//! All comparisons of two arms: contrasts, the primary family, words.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rayon::prelude::*;

use super::contrast::{Contrasted, Pair, contrast};
use super::decision::{DecideInput, Decision, JudgeState, MissingState, ScheduleState, decide};
use super::drift::Drifted;
use super::judged::JudgedComparison;
use super::settle::{Question, settle};
use super::{preference, quality};
use crate::base::{Result, Seed};
use crate::estimate::{Context, Segment, TaskCells, has_valid_trials, is_measured};
use crate::model::analysis::{DecisionSpec, RuleSpec};
use crate::model::estimate::{ComparisonRow, DecisionWord, EstimateStatus};
use crate::model::measure::{Dimension, Measure};
use crate::model::metric::{Contrast, Metric};
use crate::model::preference::PreferenceRow;
use crate::model::score::ScoreTable;
use crate::stats::Limits;
use crate::stats::multiplicity::{Adjustment, adjust};
use crate::stats::recovery::reach_differs;

/// Which arms are compared, and how.
#[derive(Clone, Debug)]
pub struct Comparing<'a> {
    /// Position of the baseline among the arms.
    pub a: usize,
    /// Position of the candidate.
    pub b: usize,
    /// The decision rules in force.
    pub decision: &'a DecisionSpec,
    /// The decision rules that were locked before the first trial.
    pub locked: Option<&'a DecisionSpec>,
    /// Whether a live run ended before its schedule did. It may have been ended because of what it showed,
    /// so nothing of it decides until the rest has run.
    pub stopped_early: bool,
    /// The schedule.
    pub schedule: ScheduleState,
    /// Drift screens of the pair.
    pub drift: &'a [Drifted],
    /// Root of all randomness.
    pub seed: Seed,
}

impl Comparing<'_> {
    /// The drift screen that concerns a dimension: its own, or that of the outcome where it has none
    /// of its own.
    fn screen_of(&self, dimension: Dimension) -> Option<&Drifted> {
        let of = |wanted| self.drift.iter().find(|d| d.row.dimension == wanted);
        of(dimension).or_else(|| of(Dimension::Outcome))
    }

    /// The schedule as a dimension sees it.
    pub(super) fn schedule_of(&self, dimension: Dimension) -> ScheduleState {
        let moved = |d: &Drifted| d.row.positive && d.units.is_none();
        match self.schedule {
            ScheduleState::Ok if self.screen_of(dimension).is_some_and(moved) => {
                ScheduleState::Drift
            }
            schedule => schedule,
        }
    }

    /// The context of a dimension: with blocks as units where they absorb its drift.
    pub(super) fn context<'c>(
        &self,
        context: &'c Context,
        dimension: Dimension,
    ) -> Cow<'c, Context> {
        match self.screen_of(dimension).and_then(|d| d.units.as_ref()) {
            Some(units) => Cow::Owned(Context {
                cluster_of: Some(units.clone()),
                ..context.clone()
            }),
            None => Cow::Borrowed(context),
        }
    }
}

/// One comparison with what its gate rules need.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Metric.
    pub metric: Metric,
    /// The row of the report.
    pub row: ComparisonRow,
    /// The contrast behind it.
    pub found: Contrasted,
    /// What was decided by.
    pub input: DecideInput,
    /// The decision.
    pub decision: Decision,
}

/// All comparisons of two arms.
#[derive(Clone, Debug, Default)]
pub struct Comparisons {
    /// On what graders and accounting measured.
    pub compared: Vec<Compared>,
    /// On quality, by judge.
    pub judged: Vec<JudgedComparison>,
    /// What pairwise judges said, over all tasks.
    pub preferences: Vec<PreferenceRow>,
}

/// Compares two arms on every compared metric that was measured in one of them, in every segment.
///
/// # Errors
///
/// If scores are outside their range: the store is damaged.
pub fn compare(
    table: &ScoreTable,
    context: &Context,
    segments: &[Segment],
    comparing: &Comparing,
) -> Result<Comparisons> {
    let metrics = compared_metrics(table, comparing);
    let cost = cost_per_task(table, context, comparing);
    let contrasted: Vec<Vec<(Metric, &Segment, Contrasted)>> = metrics
        .par_iter()
        .map(|metric| {
            let a = TaskCells::gather(table, comparing.a as u16, metric);
            let b = TaskCells::gather(table, comparing.b as u16, metric);
            let pair = Pair {
                metric,
                a: &a,
                b: &b,
            };
            let context = comparing.context(context, metric.dimension());
            let mut found = Vec::new();
            for segment in segments {
                let label = format!(
                    "compare/{}/{}",
                    metric.name(),
                    segment.name.as_deref().unwrap_or("")
                );
                let strict = comparing.decision.strict;
                let mut one = contrast(
                    &context,
                    &pair,
                    segment,
                    strict,
                    comparing.seed.child(&label),
                )?;
                if matches!(context, Cow::Owned(_)) {
                    one.notices.push("blocks_as_units".to_owned());
                }
                found.push((*metric, segment, one));
            }
            Ok(found)
        })
        .collect::<Result<_>>()?;
    let mut contrasted: Vec<_> = contrasted.into_iter().flatten().collect();
    mark_selection(&mut contrasted);
    let by_judges = quality::contrasts(table, context, segments, comparing)?;
    let by_pairs = preference::contrasts(table, context, segments, comparing)?;
    let main_pairs = by_pairs.iter().find(|c| c.is_main(comparing.decision));
    // One comparison stands for quality in the family: that of its main metric.
    let is_main = |c: &&quality::JudgedContrast| c.is_main(comparing.decision);
    let main_p = match main_pairs {
        Some(pairs) => pairs.p(),
        None => by_judges
            .iter()
            .find(is_main)
            .and_then(quality::JudgedContrast::p),
    };
    let adjusted = family(&contrasted, main_p, comparing.decision);
    let mut judged: Vec<JudgedComparison> = by_judges
        .iter()
        .map(|c| {
            let own = adjusted.get(Dimension::Quality.name()).copied();
            let own = own.filter(|_| is_main(&c));
            quality::finish(context, comparing, c, own)
        })
        .collect();
    let mut preferences = vec![];
    for contrast in &by_pairs {
        let is_main = contrast.is_main(comparing.decision);
        let own = adjusted.get(Dimension::Quality.name()).copied();
        let own = own.filter(|_| is_main);
        let found = preference::finish(context, comparing, contrast, own);
        if found.row.segment.is_none() {
            let row = preference::report_row(context, comparing, contrast, &found)?;
            preferences.push(row);
        }
        judged.push(found);
    }
    let compared = contrasted
        .into_iter()
        .map(|(metric, segment, found)| {
            let p_adjusted = match segment.name {
                None => adjusted.get(&metric.name()).copied(),
                Some(_) => None,
            };
            finish(context, comparing, metric, segment, found, p_adjusted, cost)
        })
        .collect();
    Ok(Comparisons {
        compared,
        judged,
        preferences,
    })
}

/// The compared metrics that were measured in one of the arms; where no trial of either arm is valid,
/// the main metric of each dimension that lost trials, so that the report says that nothing can be
/// decided.
fn compared_metrics(table: &ScoreTable, comparing: &Comparing) -> Vec<Metric> {
    let arms = [comparing.a, comparing.b];
    let nothing_valid = !arms.iter().any(|&arm| has_valid_trials(table, arm));
    let lost = |m: &Metric| {
        let missing = |&arm: &usize| {
            TaskCells::gather(table, arm as u16, m)
                .missing
                .iter()
                .any(|k| *k > 0)
        };
        Metric::main(m.dimension()) == Some(*m) && arms.iter().any(missing)
    };
    let measured = |m: &Metric| arms.iter().any(|&arm| is_measured(table, arm, m.measure));
    let wanted = |m: &Metric| measured(m) || (nothing_valid && lost(m));
    Metric::all()
        .into_iter()
        .filter(|m| m.is_compared())
        .filter(wanted)
        .collect()
}

/// The margin of a metric: its own, or its dimension's where it is the main metric, or that of the
/// first rule on it.
pub fn margin_of(decision: &DecisionSpec, metric: &Metric) -> Option<f64> {
    let is_main = Metric::main(metric.dimension()) == Some(*metric);
    let of_dimension = || {
        decision
            .margins
            .get(metric.dimension().name())
            .copied()
            .filter(|_| is_main)
    };
    let of_rule = || {
        decision
            .rules
            .iter()
            .filter(|r| r.dimension == metric.dimension())
            .filter(|r| r.metric.as_ref().map_or(is_main, |m| *m == metric.name()))
            .find_map(|r| r.margin)
    };
    decision
        .margins
        .get(&metric.name())
        .copied()
        .or_else(of_dimension)
        .or_else(of_rule)
}

/// The dimensions over which `better` is adjusted.
pub fn primary(decision: &DecisionSpec) -> Vec<Dimension> {
    let named = if decision.primary.is_empty() {
        decision.rules.iter().map(|r| r.dimension).collect()
    } else {
        decision.primary.clone()
    };
    let unique: std::collections::BTreeSet<Dimension> = named.into_iter().collect();
    unique.into_iter().collect()
}

/// Holm over the primary dimensions, once. A dimension is there with the compared metrics that its rules
/// and margins name, or else with its main metric; one whose p is undefined stays with 1. A dimension that
/// nobody asked about and nobody measured has no place: it cannot be better, so nothing is to be protected.
fn family(
    contrasted: &[(Metric, &Segment, Contrasted)],
    quality: Option<f64>,
    decision: &DecisionSpec,
) -> BTreeMap<String, f64> {
    let members: Vec<(String, f64)> = primary(decision)
        .into_iter()
        .flat_map(|dimension| members_of(dimension, contrasted, quality, decision))
        .collect();
    let raw: Vec<f64> = members.iter().map(|(_, p)| *p).collect();
    // A p-value from `stats` lies in [0, 1], so adjusting cannot fail.
    let adjusted = adjust(Adjustment::Holm, &raw).unwrap_or(raw);
    members
        .into_iter()
        .map(|(name, _)| name)
        .zip(adjusted)
        .collect()
}

/// What stands for a dimension in the family, each with its p.
fn members_of(
    dimension: Dimension,
    contrasted: &[(Metric, &Segment, Contrasted)],
    quality: Option<f64>,
    decision: &DecisionSpec,
) -> Vec<(String, f64)> {
    let Some(main) = Metric::main(dimension) else {
        let asked = is_asked_about(dimension, decision);
        let p = quality.or(asked.then_some(1.0));
        return p
            .map(|p| (dimension.name().to_owned(), p))
            .into_iter()
            .collect();
    };
    let of = |metric: &Metric| {
        contrasted
            .iter()
            .find(|(m, s, _)| m == metric && s.name.is_none())
            .map(|(_, _, c)| c.p.unwrap_or(1.0))
    };
    let named = named_metrics(dimension, main, decision);
    if named.is_empty() {
        return of(&main).map(|p| (main.name(), p)).into_iter().collect();
    }
    let member = |metric: &Metric| (metric.name(), of(metric).unwrap_or(1.0));
    named.iter().map(member).collect()
}

fn is_asked_about(dimension: Dimension, decision: &DecisionSpec) -> bool {
    decision.rules.iter().any(|r| r.dimension == dimension)
        || decision.margins.contains_key(dimension.name())
}

/// The compared metrics that the rules and margins of a dimension name, each once; the main metric where
/// they name the dimension alone, or a metric on which arms are not compared.
fn named_metrics(dimension: Dimension, main: Metric, decision: &DecisionSpec) -> Vec<Metric> {
    let of_rule = |r: &RuleSpec| match r.metric.as_deref().and_then(Metric::from_name) {
        Some(metric) if metric.is_compared() => metric,
        _ => main,
    };
    let by_rules = decision
        .rules
        .iter()
        .filter(|r| r.dimension == dimension)
        .map(of_rule);
    let by_margins = decision
        .margins
        .keys()
        .filter_map(|name| Metric::of_margin(name))
        .filter(|m| m.dimension() == dimension && m.is_compared());
    let mut named: Vec<Metric> = Vec::new();
    for metric in by_rules.chain(by_margins) {
        if !named.contains(&metric) {
            named.push(metric);
        }
    }
    named
}

/// Where the arms reach a fault at different rates, recovery is conditioned on something that the
/// arms influence (METHODS 5).
fn mark_selection(contrasted: &mut [(Metric, &Segment, Contrasted)]) {
    let uneven: Vec<Option<String>> = contrasted
        .iter()
        .filter(|(m, _, _)| m.measure == Measure::Reached)
        .filter(|(_, _, c)| reach_differs(c.p_sign_flip, c.value))
        .map(|(_, s, _)| s.name.clone())
        .collect();
    for (metric, segment, found) in contrasted.iter_mut() {
        if metric.measure == Measure::Recovered && uneven.contains(&segment.name) {
            found.notices.push("selection".to_owned());
        }
    }
}

fn finish(
    context: &Context,
    comparing: &Comparing,
    metric: Metric,
    segment: &Segment,
    mut found: Contrasted,
    p_adjusted: Option<f64>,
    cost_per_task: Option<f64>,
) -> Compared {
    let margin = margin_of(comparing.decision, &metric);
    let input = DecideInput {
        interval: found.interval,
        undefined_reason: found.reason.clone(),
        contrast: metric.contrast(),
        direction: metric.direction(),
        margin: margin.map(|m| decision_margin(m, &metric)),
        alpha: context.level.alpha(),
        in_family: p_adjusted.is_some(),
        p_adjusted,
        status: found.status,
        n_c: found.n_c,
        judge: JudgeState::NotNeeded,
        schedule: comparing.schedule_of(metric.dimension()),
        missing: Some(found.missing),
        censored: found.censored_b > 0,
    };
    if input.schedule == ScheduleState::Drift {
        found.notices.push("drift".to_owned());
    }
    let decision = decide(&input);
    let question = Question {
        metric: &metric,
        margin,
        level: context.level,
        strict: comparing.decision.strict,
        cost_per_task,
    };
    let row = row(
        context, comparing, &metric, segment, &found, &decision, margin, p_adjusted,
    );
    // What an earlier step stopped, more tasks would not move, unless it stopped for want of tasks.
    let open = row.decision == DecisionWord::Inconclusive
        && decision.reason.as_deref().is_none_or(is_want_of_tasks);
    let settled = open.then(|| settle(&found, &question)).flatten();
    let row = ComparisonRow {
        settle: settled,
        ..row
    };
    Compared {
        metric,
        row,
        found,
        input,
        decision,
    }
}

/// Whether a decision stopped because there are too few tasks, which more tasks would mend.
fn is_want_of_tasks(reason: &str) -> bool {
    [
        "not_estimable",
        "no_interval",
        "too_few_units",
        "few_effective_units",
    ]
    .contains(&reason)
}

/// A margin as METHODS 6.4 takes it: δ of a difference; r of a ratio, whose factor is 1 + r.
pub fn decision_margin(margin: f64, metric: &Metric) -> f64 {
    match metric.contrast() {
        Contrast::Difference => margin,
        Contrast::Ratio => margin - 1.0,
    }
}

#[allow(clippy::too_many_arguments)] // One call; a struct would only rename the arguments.
fn row(
    context: &Context,
    comparing: &Comparing,
    metric: &Metric,
    segment: &Segment,
    found: &Contrasted,
    decision: &Decision,
    margin: Option<f64>,
    p_adjusted: Option<f64>,
) -> ComparisonRow {
    let mut notices = found.notices.clone();
    notices.extend(decision.notices.iter().map(|n| n.code.clone()));
    let MissingState { rate_a, rate_b, .. } = found.missing;
    if metric.contrast() == Contrast::Ratio && rate_a.max(rate_b) > 0.0 {
        notices.push("missing_not_bounded".to_owned());
    }
    let word = super::word_of(decision.word);
    if p_adjusted.is_none() && word == DecisionWord::Better {
        notices.push("unadjusted".to_owned());
    }
    let selected = notices.iter().any(|n| n == "selection");
    let pair = |limits: Option<Limits>| limits.map(|l| [l.lower, l.upper]);
    ComparisonRow {
        dimension: metric.dimension(),
        metric: metric.name(),
        baseline: context.arms[comparing.a].clone(),
        candidate: context.arms[comparing.b].clone(),
        segment: segment.name.clone(),
        contrast: metric.contrast().name().to_owned(),
        direction: metric.direction().name().to_owned(),
        value: found.value,
        low: found.interval.map(|i| i.lower),
        high: found.interval.map(|i| i.upper),
        level: context.level.conf(),
        method: Some(found.method.to_owned()),
        p: found.p,
        p_method: found.p.map(|_| p_method(metric).to_owned()),
        p_adjusted,
        p_sign_flip: found.p_sign_flip,
        tasks: found.tasks as u64,
        tasks_unpaired: found.unpaired as u64,
        n_c: found.n_c,
        margin,
        mde: found.mde,
        worst: pair(found.missing.worst),
        best: pair(found.missing.best),
        status: match (word, selected) {
            (DecisionWord::NotDecidable, _) => EstimateStatus::NotDecidable,
            (_, true) => EstimateStatus::Selection,
            _ => crate::estimate::status(found.status),
        },
        decision: word,
        reason: decision.reason.clone(),
        notices,
        locked: comparing.comparison_is_locked(metric, margin),
        primary: p_adjusted.is_some(),
        settle: None,
    }
}

fn p_method(metric: &Metric) -> &'static str {
    match metric.contrast() {
        Contrast::Difference => "bp_hall_p",
        Contrast::Ratio => "ratio_of_means_jackknife",
    }
}

/// Mean cost of one more task in both arms, where both record cost.
fn cost_per_task(table: &ScoreTable, context: &Context, comparing: &Comparing) -> Option<f64> {
    let metric = Metric::from_name("cost_usd.mean")?;
    let all: Vec<usize> = (0..table.tasks.len()).collect();
    let one = |arm: usize| {
        let cells = TaskCells::gather(table, arm as u16, &metric);
        let trials = cells.scored_in(&all);
        let total: f64 = all.iter().map(|&t| cells.sum[t]).sum();
        (trials > 0).then(|| total / trials as f64 * f64::from(context.trials[arm]))
    };
    Some(one(comparing.a)? + one(comparing.b)?)
}
