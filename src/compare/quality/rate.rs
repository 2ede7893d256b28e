//! `max_rate` and `min_rate` on the candidate's corrected rate.

use super::judge_state;
use super::rule::{QualityRule, objections};
use crate::base::Result;
use crate::compare::decision::JudgeState;
use crate::compare::gate::{CandidateRate, RateMissing, Rule, RuleKind as Kind, RuleResult, rule};
use crate::compare::judged::FEW_LABELS;
use crate::compare::table::Comparing;
use crate::estimate::{BORDERLINE, Context, QualityCells, corrected};
use crate::model::analysis::{RuleKind, RuleSpec};
use crate::model::judged::JudgeColumn;
use crate::model::score::ScoreTable;
use crate::stats::{Level, Limits, Status};

/// `max_rate` and `min_rate` look at the candidate's corrected rate alone.
pub(super) fn on_rate(
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
        .filter(|(t, _)| cells.started[**t] > 0 && cells.judged[**t].is_empty());
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
    let noticed = |code: &str| found.notices.iter().any(|n| n.code == code);
    let borderline = noticed(BORDERLINE);
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
        (_, true, _) if borderline && !state.blocks() => format!("uncalibrated: {BORDERLINE}"),
        (_, true, _) => "uncalibrated".to_owned(),
        (_, _, Some(l)) => format!("interval [{:.4}, {:.4}]", l.lower, l.upper),
        _ => "no interval".to_owned(),
    };
    if result == RuleResult::NotDecidable {
        let why = match missing.is_high() {
            true => "missing_high",
            false => "bounds_disagree",
        };
        reason = format!("not_decidable: {why}");
    }
    reason = objections(comparing, reason, locked, found.status, noticed(FEW_LABELS));
    Ok(QualityRule {
        result,
        metric: column.metric(),
        margin: None,
        reason,
    })
}
