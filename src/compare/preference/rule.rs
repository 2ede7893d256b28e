//! Rules on preferences.

use super::decided::decided;
use super::main_column;
use crate::compare::decision::{DecideInput, Decision};
use crate::compare::gate::{FinishedWord, Rule, RuleKind as Kind, RuleResult, rule};
use crate::compare::quality::{JudgedComparison, QualityRule};
use crate::compare::table::Comparing;
use crate::model::analysis::{RuleKind, RuleSpec};
use crate::model::preference::{PREFERENCE, PreferenceColumn};
use crate::model::score::ScoreTable;
use crate::stats::Status;

/// The metric of a preference that a rule is about: the one that it names, or the one that stands for
/// quality.
pub(in crate::compare) fn ruled(
    table: &ScoreTable,
    comparing: &Comparing,
    spec: &RuleSpec,
) -> Option<String> {
    match &spec.metric {
        Some(name) => name.ends_with(PREFERENCE).then(|| name.clone()),
        None => main_column(table, comparing.decision).map(PreferenceColumn::metric),
    }
}

/// Judges a rule on a preference; where no judge saw the pairs it is inconclusive.
pub(in crate::compare) fn judge_rule(
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
    let word = crate::compare::word_of(decided.word).name().to_owned();
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
