//! Preferences of pairwise judges: what labels of the run's pairs make of them, words and rules
//! (METHODS 9.4, 6.4).
//!
//! A judge's own preference is shown and decides nothing. What decides are labels of pairs that were drawn
//! at random from this run, behind a judge whose certificate holds, as everywhere in quality. A certificate
//! alone corrects nothing: nobody knows how to carry error rates of preferences over to other pairs.

mod contrast;
mod decided;
mod report;
mod rule;

pub(super) use contrast::contrasts;
pub(super) use decided::finish;
pub(super) use report::report_row;
pub(super) use rule::{judge_rule, ruled};

use crate::model::analysis::{DecisionSpec, RuleSpec};
use crate::model::measure::Dimension;
use crate::model::preference::PreferenceColumn;
use crate::model::score::ScoreTable;

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
