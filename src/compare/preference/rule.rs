//! Rules on preferences.

use crate::compare::gate::RuleResult;
use crate::compare::judged::JudgedComparison;
use crate::compare::quality::{Meant, QualityRule, on_word, unnamed};
use crate::compare::table::Comparing;
use crate::model::analysis::{RuleKind, RuleSpec};
use crate::model::preference::PREFERENCE;
use crate::model::score::ScoreTable;

/// The metric of a preference that a rule is about: the one that it names, or the only one where nobody
/// judged single outputs.
pub(in crate::compare) fn ruled(table: &ScoreTable, spec: &RuleSpec) -> Option<String> {
    match (&spec.metric, unnamed(table)) {
        (Some(name), _) => name.ends_with(PREFERENCE).then(|| name.clone()),
        (None, Meant::Preference(only)) => Some(only.metric()),
        (None, _) => None,
    }
}

/// Judges a rule on a preference; where no judge saw the pairs it is inconclusive.
pub(in crate::compare) fn judge_rule(
    metric: String,
    comparing: &Comparing,
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
    on_word(comparing, compared, spec)
}
