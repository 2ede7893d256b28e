//! Rules of the gate on quality.

use super::meant::{Meant, unnamed};
use super::rate::on_rate;
use crate::base::Result;
use crate::compare::decision::{DecideInput, decide};
use crate::compare::gate::{FinishedWord, Rule, RuleKind as Kind, RuleResult, rule};
use crate::compare::judged::{FEW_LABELS, JudgedComparison, explained};
use crate::compare::table::Comparing;
use crate::compare::word_of;
use crate::estimate::Context;
use crate::model::analysis::{RuleKind, RuleSpec};
use crate::model::score::ScoreTable;
use crate::stats::{Level, Status};

/// The result of a rule on quality, with the name of its metric, margin and reason.
pub(in crate::compare) struct QualityRule {
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
pub(in crate::compare) fn judge_rule(
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
    let column = match (&spec.metric, unnamed(table)) {
        (Some(name), _) => {
            let mut judges = table.judges.iter();
            let found = judges.find(|j| j.metric() == *name);
            found.ok_or(match table.judges.is_empty() {
                true => "no_judge",
                false => "which_judge",
            })
        }
        (None, Meant::Rate(only)) => Ok(only),
        (None, meant) => Err(meant.objection()),
    };
    let column = match column {
        Ok(column) => column,
        Err(reason) => {
            let metric = spec.metric.as_deref().unwrap_or("quality.rate");
            return Ok(open(metric, reason));
        }
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
    Ok(on_word(comparing, compared, spec))
}

/// Judges a rule that goes by the word of a comparison.
pub(in crate::compare) fn on_word(
    comparing: &Comparing,
    compared: &JudgedComparison,
    spec: &RuleSpec,
) -> QualityRule {
    let margin = spec.margin.or(compared.input.margin);
    let decided = decide(&DecideInput {
        margin,
        ..compared.input.clone()
    });
    let decided = explained(decided, compared.unlabelled);
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
    let mut reason = word_of(decided.word).name().to_owned();
    if let Some(why) = &decided.reason {
        reason = format!("{reason}: {why}");
    }
    let margin =
        margin.filter(|_| matches!(spec.rule, RuleKind::NonInferior | RuleKind::Equivalent));
    let few_labels = compared.row.notices.iter().any(|code| code == FEW_LABELS);
    let reason = objections(comparing, reason, locked, compared.input.status, few_labels);
    QualityRule {
        result,
        metric: compared.row.metric.clone(),
        margin,
        reason,
    }
}

/// A reason with what keeps its rule open: a plan that was not locked, or too little evidence.
pub(super) fn objections(
    comparing: &Comparing,
    mut reason: String,
    locked: bool,
    status: Status,
    few_labels: bool,
) -> String {
    if !locked {
        reason = format!("{reason}; {}", comparing.why_unlocked());
    }
    if status == Status::Exploratory {
        reason.push_str(match few_labels {
            true => "; few_labels",
            false => "; exploratory",
        });
    }
    reason
}
