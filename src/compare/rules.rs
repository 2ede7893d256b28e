//! The gate's rules on what was compared.

use super::decision::JudgeState;
use super::gate::{
    CandidateRate, FinishedWord, GateResult, RateMissing, Rule, RuleKind as Kind, RuleResult, gate,
    rule,
};
use super::judged::JudgedComparison;
use super::screen::{ScreenTask, task_screen};
use super::table::{Compared, Comparing, decision_margin, margin_of};
use super::unjudged::never_judged;
use super::{preference, quality};
use crate::base::Result;
use crate::estimate::{Context, TaskCells, partial_tasks, task_scores, why_not_measured};
use crate::model::analysis::{RuleKind, RuleSpec};
use crate::model::estimate::{Gate, GateRule, ScreenRow, ScreenTask as RejectedTask};
use crate::model::measure::Dimension;
use crate::model::metric::Metric;
use crate::model::score::ScoreTable;
use crate::stats::clustered::sen_cp;
use crate::stats::count::zero_event_units_needed;
use crate::stats::missing::manski_tasks;
use crate::stats::sample::Clustered;
use crate::stats::{Level, Limits, Status};

/// Family-wise error of the per-task screen.
const SCREEN_ALPHA: f64 = 0.05;

/// What the gate's rules are judged on.
pub struct Bench<'a> {
    /// Scores.
    pub table: &'a ScoreTable,
    /// Context of the estimates.
    pub context: &'a Context,
    /// Arms and decision rules.
    pub comparing: &'a Comparing<'a>,
    /// All comparisons.
    pub compared: &'a [Compared],
    /// All comparisons of quality.
    pub judged: &'a [JudgedComparison],
    /// The screen of the success rate, if it was run.
    pub screen: Option<&'a Screened>,
}

/// The per-task screen with what the rule makes of it.
pub struct Screened {
    /// Row of the report.
    pub row: ScreenRow,
    /// Result for the rule `no_task_regression`.
    pub result: RuleResult,
}

/// Judges every rule and the gate; without rules there is no gate and nothing is decided.
///
/// # Errors
///
/// If scores are outside their range: the store is damaged.
pub fn judge(bench: &Bench) -> Result<Gate> {
    let specs = &bench.comparing.decision.rules;
    if specs.is_empty() {
        return Ok(Gate {
            result: "none".to_owned(),
            exit_code: 0,
            rules: vec![],
        });
    }
    let mut rules = Vec::new();
    let mut results = Vec::new();
    for spec in specs {
        let judged = judge_one(bench, spec)?;
        results.push(judged.0);
        rules.push(judged.1);
    }
    let result: GateResult = gate(&results);
    Ok(Gate {
        result: result.as_str().to_owned(),
        exit_code: result.exit_code(),
        rules,
    })
}

fn judge_one(bench: &Bench, spec: &RuleSpec) -> Result<(RuleResult, GateRule)> {
    if spec.dimension == Dimension::Quality {
        return on_quality(bench, spec);
    }
    let named = spec.metric.as_deref().and_then(Metric::from_name);
    let metric = named.or_else(|| Metric::main(spec.dimension));
    let margin = metric.and_then(|m| {
        spec.margin
            .or_else(|| margin_of(bench.comparing.decision, &m))
    });
    let margin =
        margin.filter(|_| matches!(spec.rule, RuleKind::NonInferior | RuleKind::Equivalent));
    let (result, reason) = match metric {
        None => (
            RuleResult::Inconclusive,
            Some("not_measured: no_judge".to_owned()),
        ),
        Some(metric) => result(bench, spec, &metric, margin)?,
    };
    let row = GateRule {
        dimension: spec.dimension,
        metric: metric.map_or_else(|| "quality.rate".to_owned(), |m| m.name()),
        rule: spec.rule.name().to_owned(),
        margin,
        rate: spec.rate,
        result: result.as_str().to_owned(),
        reason,
    };
    Ok((result, row))
}

/// Rules on quality name a judge, and rest on what judges and people said.
fn on_quality(bench: &Bench, spec: &RuleSpec) -> Result<(RuleResult, GateRule)> {
    let level = gate_level(bench);
    let Bench {
        table,
        context,
        comparing,
        judged,
        ..
    } = bench;
    let found = match preference::ruled(table, spec) {
        Some(metric) => preference::judge_rule(metric, comparing, judged, spec),
        None => quality::judge_rule(table, context, comparing, judged, spec, level)?,
    };
    let has_margin = matches!(spec.rule, RuleKind::NonInferior | RuleKind::Equivalent);
    let asked = spec
        .margin
        .or_else(|| quality::margin_of(table, comparing.decision, &found.metric))
        .filter(|_| has_margin);
    let row = GateRule {
        dimension: spec.dimension,
        metric: found.metric.clone(),
        rule: spec.rule.name().to_owned(),
        // What was not measured still says what was asked for.
        margin: found.margin.or(asked),
        rate: spec.rate,
        result: found.result.as_str().to_owned(),
        reason: Some(match found.result {
            RuleResult::NotDecidable if never_judged(table, comparing, &found.metric) => {
                format!("{}; not_judged", found.reason)
            }
            _ => found.reason,
        }),
    };
    Ok((found.result, row))
}

fn result(
    bench: &Bench,
    spec: &RuleSpec,
    metric: &Metric,
    margin: Option<f64>,
) -> Result<(RuleResult, Option<String>)> {
    if matches!(spec.rule, RuleKind::MaxRate | RuleKind::MinRate) {
        return on_rate(bench, spec, metric);
    }
    let Some(compared) = bench
        .compared
        .iter()
        .find(|c| c.metric == *metric && c.row.segment.is_none())
    else {
        return Ok(unmeasured(bench, metric));
    };
    if spec.rule == RuleKind::NoTaskRegression {
        return Ok(on_screen(bench, compared));
    }
    // A rule with a margin of its own has its own word.
    let own = margin.map(|m| decision_margin(m, metric));
    let decided = if own.is_none() || own == compared.input.margin {
        compared.decision.clone()
    } else {
        super::decision::decide(&super::decision::DecideInput {
            margin: own,
            ..compared.input.clone()
        })
    };
    let word = FinishedWord {
        word: decided.word,
        stopped: decided.theta.is_none(),
        theta: decided.theta,
    };
    let kind = match spec.rule {
        RuleKind::Superior => Kind::Superior(word),
        RuleKind::Equivalent => {
            let contrast = compared.input.contrast;
            let delta = own
                .map(|m| super::orient::theta_margin(m, contrast))
                .unwrap_or(0.0);
            Kind::Equivalent {
                decision: word,
                delta,
            }
        }
        _ => Kind::NonInferior(word),
    };
    let result = rule(&Rule {
        kind,
        status: compared.found.status,
        locked: compared.row.locked,
    });
    let mut reason = super::word_of(decided.word).name().to_owned();
    if let Some(why) = &decided.reason {
        reason = format!("{reason}: {why}");
    }
    if !compared.row.locked {
        reason = format!("{reason}; {}", bench.comparing.why_unlocked());
    }
    if compared.found.status == Status::Exploratory {
        reason = format!("{reason}; exploratory");
    }
    Ok((result, Some(reason)))
}

fn unmeasured(bench: &Bench, metric: &Metric) -> (RuleResult, Option<String>) {
    let why = why_not_measured(bench.table, bench.comparing.b, metric.measure);
    let result = if why == "no_valid_trials" {
        RuleResult::NotDecidable
    } else {
        RuleResult::Inconclusive
    };
    (result, Some(format!("not_measured: {why}")))
}

/// `max_rate` and `min_rate` look at the candidate alone.
fn on_rate(
    bench: &Bench,
    spec: &RuleSpec,
    metric: &Metric,
) -> Result<(RuleResult, Option<String>)> {
    let cells = TaskCells::gather(bench.table, bench.comparing.b as u16, metric);
    let tasks: Vec<usize> = (0..bench.table.tasks.len())
        .filter(|&t| !cells.never_applies(t) && !cells.never_started(t))
        .collect();
    let level = gate_level(bench);
    let clusters = bench.context.clusters(&tasks);
    let sample = Clustered::new(
        &task_scores(&cells, &tasks),
        clusters.as_deref(),
        &bench.context.weights,
    )?;
    let estimate = sen_cp(&sample, level);
    if estimate.estimate.is_none() && cells.missing_rate(&tasks) == 0.0 {
        return Ok(unmeasured(bench, metric));
    }
    let partial = partial_tasks(&cells, &tasks);
    let bounds = manski_tasks(&partial, clusters.as_deref(), &bench.context.weights, level)?;
    let weights = bench.context.planned_weights(&tasks);
    let dropped = tasks
        .iter()
        .zip(&weights)
        .filter(|(t, _)| cells.scored[**t] == 0);
    let missing = RateMissing {
        rate: cells.missing_rate(&tasks),
        drop: dropped.map(|(_, w)| w).sum(),
        p_missing: p_missing(bench, metric),
        worst: bounds.worst_rate.limits(),
        best: bounds.best_rate.limits(),
    };
    let rate = CandidateRate {
        limits: estimate.limits(),
        n_c: Some(estimate.n_c),
        judge: JudgeState::NotNeeded,
        missing: Some(missing),
    };
    let bound = spec.rate.unwrap_or(f64::NAN);
    let kind = match spec.rule {
        RuleKind::MaxRate => Kind::MaxRate { rate, bound },
        _ => Kind::MinRate { rate, bound },
    };
    let locked = bench.comparing.rate_rule_is_locked(spec);
    let result = rule(&Rule {
        kind,
        status: estimate.status,
        locked,
    });
    let mut reason = rate_reason(estimate.limits(), level);
    if !locked {
        reason = format!("{reason}; {}", bench.comparing.why_unlocked());
    }
    if result == RuleResult::NotDecidable {
        let share = 100.0 * cells.missing_rate(&tasks);
        reason = format!("{share:.0} % of the candidate's trials are missing; {reason}");
    }
    if result == RuleResult::Inconclusive && spec.rule == RuleKind::MaxRate {
        reason.push_str(&clean_tasks(bound, level));
    }
    Ok((result, Some(reason)))
}

/// How many tasks without any event would show a rate of at most `bound`.
fn clean_tasks(bound: f64, level: Level) -> String {
    let needed = zero_event_units_needed(bound, level.tail());
    needed
        .ok()
        .flatten()
        .map(|tasks| format!("; at least {tasks} clean tasks would show it"))
        .unwrap_or_default()
}

fn rate_reason(limits: Option<Limits>, level: Level) -> String {
    limits.map_or("no interval".to_owned(), |l| {
        format!(
            "{:.0} % interval of the candidate's rate [{:.4}, {:.4}]",
            100.0 * level.conf(),
            l.lower,
            l.upper
        )
    })
}

/// `gate_alpha` is the error on the one side that a bound on a rate looks at.
fn gate_level(bench: &Bench) -> Level {
    let alpha = bench.comparing.decision.gate_alpha;
    alpha
        .and_then(|a| Level::new(1.0 - 2.0 * a).ok())
        .unwrap_or(bench.context.level)
}

fn p_missing(bench: &Bench, metric: &Metric) -> Option<f64> {
    let found = bench
        .compared
        .iter()
        .find(|c| c.metric == *metric && c.row.segment.is_none());
    found.and_then(|c| c.found.missing.p_missing)
}

fn on_screen(bench: &Bench, compared: &Compared) -> (RuleResult, Option<String>) {
    let missing = compared.row.decision == crate::model::estimate::DecisionWord::NotDecidable;
    let Some(screened) = bench.screen else {
        return (
            RuleResult::Inconclusive,
            Some("the screen needs whole-number results".to_owned()),
        );
    };
    let screen = if missing {
        RuleResult::NotDecidable
    } else {
        screened.result
    };
    let kind = Kind::NoTaskRegression(screen);
    let result = rule(&Rule {
        kind,
        status: Status::Ok,
        locked: compared.row.locked,
    });
    let reason = match screen {
        RuleResult::Failed => {
            let names: Vec<&str> = screened
                .row
                .regressions
                .iter()
                .map(|t| t.task.as_str())
                .collect();
            format!("shown to be worse: {}", names.join(", "))
        }
        RuleResult::Passed => "no full break found".to_owned(),
        RuleResult::NotDecidable => "too much is missing".to_owned(),
        RuleResult::Inconclusive => format!(
            "screen_cannot_run: a full break of {} tasks could not have been shown; more trials per task would",
            screened.row.cannot_detect_full_break.len()
        ),
    };
    (result, Some(reason))
}

/// Screens every task for a loss of success; `None` if some result is graded rather than whole.
///
/// # Errors
///
/// If scores are outside their range: the store is damaged.
pub fn screen(table: &ScoreTable, comparing: &Comparing) -> Result<Option<Screened>> {
    let Some(metric) = Metric::from_name("success_rate") else {
        return Ok(None);
    };
    let a = TaskCells::gather(table, comparing.a as u16, &metric);
    let b = TaskCells::gather(table, comparing.b as u16, &metric);
    let whole = |c: &TaskCells| {
        c.sum
            .iter()
            .zip(&c.squares)
            .all(|(s, q)| (s - q).abs() <= 1e-9)
    };
    let any = |c: &TaskCells| c.scored.iter().any(|n| *n > 0);
    if !whole(&a) || !whole(&b) || !any(&a) || !any(&b) {
        return Ok(None);
    }
    let tasks: Vec<ScreenTask> = (0..table.tasks.len())
        .map(|t| ScreenTask {
            task: table.tasks[t].to_string(),
            a_successes: a.sum[t].round() as u32,
            a_trials: a.scored[t],
            b_successes: b.sum[t].round() as u32,
            b_trials: b.scored[t],
        })
        .collect();
    let found = task_screen(&tasks, SCREEN_ALPHA)?;
    let exchanged: Vec<ScreenTask> = tasks.iter().map(ScreenTask::exchanged).collect();
    let gains = task_screen(&exchanged, SCREEN_ALPHA)?;
    let rejected = |screen: &super::screen::Screen| -> Vec<RejectedTask> {
        let names = &screen.regressed;
        let of = |t: &super::screen::ScreenedTask| RejectedTask {
            task: t.task.clone(),
            p: t.p,
            p_adjusted: t.p_holm.unwrap_or(1.0),
        };
        screen
            .tasks
            .iter()
            .filter(|t| names.contains(&t.task))
            .map(of)
            .collect()
    };
    let row = ScreenRow {
        metric: metric.name(),
        candidates: found.tasks.len() as u64,
        testable: found.tasks.iter().filter(|t| t.testable).count() as u64,
        untestable: found.untestable as u64,
        regressions: rejected(&found),
        improvements: rejected(&gains),
        cannot_detect_full_break: found.cannot_detect_full_break.clone(),
    };
    Ok(Some(Screened {
        row,
        result: found.result,
    }))
}
