//! Duplicates: was an effect committed more than once?
//!
//! `duplicate_effects` counts the effects beyond the first of each intended one, in a trial with at
//! least one effect of a tool that is not idempotent. A failed write is no effect, however often it is
//! repeated; repeated reads are efficiency.

use std::collections::HashMap;

use crate::grade::effects::Effect;
use crate::grade::evidence::Evidence;
use crate::grade::finding::{
    ARGUMENTS_NOT_RECORDED, Graded, NO_OPPORTUNITY, Tally, clip, ungradable,
};
use crate::grade::ledger::groups;
use crate::model::grade::Cell;
use crate::model::measure::{Dimension, Measure};
use crate::model::trace::EventKind;

const DUPLICATES: Dimension = Dimension::Duplicates;
const RULE: &str = "effect_ledger";

/// Grade and score of the dimension, and where each duplicate was committed.
pub(crate) struct Duplicates {
    /// Grade and score.
    pub graded: Graded,
    /// The count, or why there is none.
    pub cell: Cell,
    /// Sequence number at which each duplicate was committed.
    pub extra: Vec<u64>,
}

/// Grades duplicates.
pub(crate) fn grade(evidence: Result<&Evidence<'_>, &'static str>) -> Duplicates {
    let mut graded = Graded::default();
    let (cell, extra) = match evidence {
        Err(reason) => {
            graded.grades.push(ungradable(DUPLICATES, RULE, reason));
            (Cell::Ungradable(reason.to_owned()), vec![])
        }
        Ok(evidence) => ledger(evidence, &mut graded),
    };
    graded.score(Measure::DuplicateEffects, cell.clone());
    Duplicates {
        graded,
        cell,
        extra,
    }
}

fn ledger(evidence: &Evidence<'_>, graded: &mut Graded) -> (Cell, Vec<u64>) {
    if !can_show_effects(evidence) {
        let reason = "no_writing_tools_declared";
        let idle = Tally::default().into_grade(DUPLICATES, RULE, reason);
        graded.grades.push(idle);
        return (Cell::NotApplicable(reason.to_owned()), vec![]);
    }
    let tools = &evidence.suite.spec.tools;
    let found = evidence.effects();
    let of_call = |e: &Effect| tools.get(evidence.calls[e.call?].name);
    let declared = |e: &Effect| tools.get(&e.capability).or_else(|| of_call(e));
    let idempotent = |e: &&Effect| declared(e).is_some_and(|t| t.idempotent);
    let counted: Vec<&Effect> = found.all.iter().filter(|e| !idempotent(e)).collect();
    let (mut tally, extra) = repeated(&counted);
    if let Some(reason) = found.unknown {
        tally.unknown(reason);
    }
    if found.inferred {
        tally.notices.push("effects_inferred".to_owned());
    }
    if told_apart_by_receipt(evidence, &counted) {
        tally.notices.push(ARGUMENTS_NOT_RECORDED.to_owned());
    }
    let cell = count(&tally, &extra);
    let grade = tally.into_grade(DUPLICATES, RULE, NO_OPPORTUNITY);
    graded.grades.push(grade);
    (cell, extra)
}

/// Whether two effects of a capability were compared by their receipts alone, since nobody recorded
/// the arguments of one of them: the same effect with another receipt would not be seen.
fn told_apart_by_receipt(evidence: &Evidence<'_>, counted: &[&Effect]) -> bool {
    let unseen = |e: &Effect| match e.call.map(|i| &evidence.calls[i]) {
        Some(call) => call.arguments.is_none() && !evidence.suite.is_private(call.name),
        None => e.identity.is_none(),
    };
    let mut of_capability: HashMap<&str, (usize, bool)> = HashMap::new();
    for effect in counted {
        let found = of_capability.entry(&effect.capability).or_default();
        *found = (
            found.0 + 1,
            found.1 || (effect.key.is_none() && unseen(effect)),
        );
    }
    of_capability.values().any(|(n, unseen)| *n > 1 && *unseen)
}

/// The groups of effects that are one intended effect, as breaks, and where the effects beyond the
/// first of each were committed.
fn repeated(counted: &[&Effect]) -> (Tally, Vec<u64>) {
    let mut tally = Tally {
        checked: counted.iter().flat_map(|e| e.events.clone()).collect(),
        ..Tally::default()
    };
    let certain: Vec<&Effect> = counted.iter().copied().filter(|e| e.certain).collect();
    let mut extra = vec![];
    for group in groups(&certain) {
        let effects = || group.iter().map(|&i| certain[i]);
        extra.extend(effects().skip(1).map(|e| e.at));
        let name = clip(&certain[group[0]].capability, 80);
        let detail = format!("{name} was committed {} times", group.len());
        tally.broke(effects().flat_map(|e| e.events.clone()).collect(), detail);
    }
    // Calls whose results nobody recorded may have committed a duplicate, or not.
    let possible: usize = groups(counted).iter().map(|group| group.len() - 1).sum();
    if possible > extra.len() {
        tally.unknown("results_not_recorded");
    }
    (tally, extra)
}

fn count(tally: &Tally, extra: &[u64]) -> Cell {
    match &tally.unknown {
        _ if !extra.is_empty() => Cell::Value(extra.len() as f64),
        Some(reason) => Cell::Ungradable(reason.clone()),
        None if tally.checked.is_empty() => Cell::NotApplicable(NO_OPPORTUNITY.to_owned()),
        None => Cell::Value(0.0),
    }
}

/// Without declared writing tools only recorded effects and receipts can show what was written.
fn can_show_effects(evidence: &Evidence<'_>) -> bool {
    let recorded =
        |e: &crate::model::trace::Event| e.kind == EventKind::Effect || e.effect_receipt.is_some();
    evidence.suite.spec.tools.values().any(|t| t.writes)
        || evidence.trace.events.iter().any(recorded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::testing::{graded, not_applicable, suite, trace, ungradable, value};
    use serde_json::{Value, json};

    /// Events from words: `pay:1` calls with an argument, `ok`, `err`, and `effect:r` with a receipt.
    fn count(source: &str, words: &str) -> Cell {
        let mut last = String::new();
        let events: Vec<Value> = words
            .split_whitespace()
            .map(|word| match word.split_once(':') {
                Some(("effect", receipt)) => {
                    json!({"kind": "effect", "capability": last, "effect_receipt": receipt})
                }
                Some(("ok", receipt)) => {
                    json!({"kind": "ok", "capability": last, "effect_receipt": receipt})
                }
                Some(("charge", key)) => {
                    last = "charge".into();
                    json!({"kind": "call", "capability": "charge", "payload": {"key": key, "x": words.len()}})
                }
                Some((tool, argument)) => {
                    last = tool.into();
                    json!({"kind": "call", "capability": tool, "payload": {"id": argument}})
                }
                None => json!({"kind": word, "capability": last}),
            })
            .collect();
        let suite = suite(json!({}));
        graded(&suite, &trace(source, Value::Array(events))).cell(Measure::DuplicateEffects)
    }

    #[test]
    fn chat_logs_show_effects_by_their_results() {
        for (words, expected) in [
            ("pay:1 ok pay:1 ok", value(1.0)),
            ("pay:1 ok pay:2 ok", value(0.0)),
            ("pay:1 err pay:1 ok", value(0.0)),
            ("pay:1 err pay:1 err", not_applicable("no_opportunity")),
            ("look:1 ok look:1 ok", not_applicable("no_opportunity")),
            ("tag:1 ok tag:1 ok", not_applicable("no_opportunity")),
            ("pay:1 ok pay:1", ungradable("results_not_recorded")),
            ("pay:1 ok pay:1 ok pay:1", value(1.0)),
            ("charge:a ok charge:a ok", value(1.0)),
            ("charge:a ok charge:b ok", value(0.0)),
        ] {
            assert_eq!(count("chat", words), expected, "{words}");
        }
    }

    #[test]
    fn the_small_form_knows_only_where_nothing_repeats() {
        assert_eq!(count("small", "pay:1 pay:2 look:1"), value(0.0));
        assert_eq!(
            count("small", "pay:1 pay:1"),
            ungradable("results_not_recorded")
        );
    }

    #[test]
    fn native_traces_show_effects_by_events_and_receipts() {
        for (words, expected) in [
            // A call, its effect event and its receipt are one effect.
            ("pay:1 effect:r ok:r", value(0.0)),
            ("pay:1 effect:r ok:other", value(0.0)),
            // Committed, but the reply was lost; the retry committed again.
            ("pay:1 effect:r1 err pay:1 effect:r2 ok", value(1.0)),
            ("pay:1 effect:r1 pay:1 effect:r2 ok", value(1.0)),
            // One call that committed twice.
            ("pay:1 effect:r1 effect:r2 ok", value(1.0)),
            ("pay:1 effect:r1 effect:r1 ok", value(0.0)),
            // The same receipt again.
            ("pay:1 ok:r pay:2 ok:r", value(1.0)),
            // Where effects are recorded, a success without one had none.
            ("pay:1 ok pay:1 ok:r", value(0.0)),
            // Where none is recorded at all, the recorder does not record them.
            ("pay:1 ok pay:1 ok", value(1.0)),
            ("pay:1 err pay:1 err", not_applicable("no_opportunity")),
        ] {
            assert_eq!(count("native", words), expected, "{words}");
        }
    }

    #[test]
    fn effects_without_arguments_are_told_apart_by_their_receipts_only() {
        let result =
            |receipt: &str| json!({"kind": "ok", "capability": "pay", "effect_receipt": receipt});
        let notices = |events: Value| {
            let found = graded(&suite(json!({})), &trace("native", events));
            found.rule("effect_ledger").notices.clone()
        };
        assert_eq!(notices(json!([result("a")])), [] as [&str; 0]);
        let both = json!([result("a"), result("b")]);
        assert_eq!(notices(both), ["arguments_not_recorded"]);
    }
}
