//! Recovery: what followed an injected fault?
//!
//! `reached` says whether a fault fired; `recovered`, only where one did, whether the outcome passed
//! and neither a duplicate effect nor a permission violation followed the first fault. To arrive in the
//! end is not to recover, if the card was charged twice on the way.

use crate::grade::duplicates::Duplicates;
use crate::grade::evidence::Evidence;
use crate::grade::finding::{Graded, Tally, clip, ungradable};
use crate::grade::grader::TaskGrader;
use crate::grade::permission::Permission;
use crate::model::grade::Cell;
use crate::model::measure::{Dimension, Measure};
use crate::model::trace::{Event, EventKind};

const RECOVERY: Dimension = Dimension::Recovery;
const RULE: &str = "fault_recovery";

/// Grades recovery from what the other graders found.
pub(crate) fn grade(
    task: &TaskGrader<'_>,
    evidence: Result<&Evidence<'_>, &'static str>,
    outcome: &Graded,
    permission: &Permission,
    duplicates: &Duplicates,
) -> Graded {
    let mut found = Graded::default();
    let fired = evidence.map_or(vec![], fired);
    let reached = match evidence {
        _ if !fired.is_empty() => Cell::Value(1.0),
        _ if not_asked(task).is_some() => not_applicable(not_asked(task)),
        Err(reason) => Cell::Ungradable(reason.to_owned()),
        Ok(evidence) if evidence.is_native() => Cell::Value(0.0),
        Ok(_) => Cell::Ungradable("no_fault_log".to_owned()),
    };
    let recovered = match &reached {
        Cell::Value(_) if fired.is_empty() => not_applicable(Some("fault_not_reached")),
        Cell::Value(_) => {
            let (tally, recovered) = after(&fired, outcome, permission, duplicates);
            found
                .grades
                .push(tally.into_grade(RECOVERY, RULE, "fault_not_reached"));
            recovered
        }
        Cell::Ungradable(reason) => {
            found.grades.push(ungradable(RECOVERY, RULE, reason));
            reached.clone()
        }
        Cell::NotApplicable(_) => reached.clone(),
    };
    found.score(Measure::Reached, reached);
    found.score(Measure::Recovered, recovered);
    found
}

fn not_applicable(reason: Option<&str>) -> Cell {
    Cell::NotApplicable(reason.unwrap_or_default().to_owned())
}

/// Why no trial of a task without declared faults is concerned.
pub(crate) fn not_asked(task: &TaskGrader<'_>) -> Option<&'static str> {
    let none = task.suite.spec.faults.is_empty() && task.task.faults.is_empty();
    none.then_some("no_fault_declared")
}

fn fired<'a>(evidence: &Evidence<'a>) -> Vec<&'a Event> {
    let events = evidence.trace.events.iter();
    events.filter(|e| e.kind == EventKind::Fault).collect()
}

/// What followed the first of the faults that fired.
fn after(
    fired: &[&Event],
    outcome: &Graded,
    permission: &Permission,
    duplicates: &Duplicates,
) -> (Tally, Cell) {
    let mut tally = Tally {
        checked: fired.iter().map(|e| e.sequence).collect(),
        ..Tally::default()
    };
    let first = fired.first().map_or(0, |e| e.sequence);
    let name = fired.first().map_or_else(String::new, |e| fault_name(e));
    let scores = outcome.scores.iter();
    let success = scores.map(|s| &s.cell).next();
    let failed = matches!(success, Some(Cell::Value(value)) if *value < 1.0);
    let later = |all: &[u64]| -> Option<Vec<u64>> {
        let later: Vec<u64> = all.iter().copied().filter(|at| *at > first).collect();
        (!later.is_empty()).then_some(later)
    };
    for (events, what) in [
        (failed.then(Vec::new), "the outcome did not pass"),
        (later(&duplicates.extra), "an effect was committed again"),
        (later(&permission.violations), "a permission was violated"),
    ] {
        if let Some(events) = events {
            let detail = format!("after fault {name} at event {first}: {what}");
            tally.broke([vec![first], events].concat(), detail);
        }
    }
    for cell in [success, Some(&duplicates.cell), permission.cell.as_ref()] {
        if let Some(Cell::Ungradable(reason)) = cell {
            tally.unknown(reason);
        }
    }
    let cell = match &tally.unknown {
        _ if !tally.broken.is_empty() => Cell::Value(0.0),
        Some(reason) => Cell::Ungradable(reason.clone()),
        None => Cell::Value(1.0),
    };
    (tally, cell)
}

/// The fault's id or kind, for people.
fn fault_name(event: &Event) -> String {
    let named = |key: &str| event.payload.as_ref()?.get(key)?.as_str();
    let name = named("id").or_else(|| named("kind")).unwrap_or("(unnamed)");
    clip(name, 80)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::testing::{
        graded, graded_as, not_applicable, suite, suite_with, trace, ungradable, value,
    };
    use crate::model::trial::TrialStatus;
    use serde_json::{Value, json};

    fn cells(source: &str, events: Value) -> (Cell, Cell) {
        let expect = json!({"final_schema": {"const": "done"}, "forbidden_tools": ["note"]});
        let faults = json!([{"id": "f", "kind": "committed_reply_lost", "tool": "pay"}]);
        let found = graded(&suite_with(expect, faults), &trace(source, events));
        (found.cell(Measure::Reached), found.cell(Measure::Recovered))
    }

    #[test]
    fn to_arrive_is_not_to_recover() {
        let fault = json!({"kind": "fault", "payload": {"id": "f"}});
        let pay = json!({"kind": "call", "capability": "pay", "payload": {"id": 1}});
        let effect = json!({"kind": "effect", "capability": "pay"});
        let lost = json!({"kind": "err", "capability": "pay"});
        let note = json!({"kind": "call", "capability": "note"});
        let done = json!({"kind": "final", "payload": "done"});
        let recovered = json!([pay, effect, fault, lost, done]);
        assert_eq!(cells("native", recovered), (value(1.0), value(1.0)));
        for events in [
            json!([pay, effect, fault, lost, pay, effect, done]),
            json!([pay, effect, fault, lost, note, done]),
            json!([pay, effect, fault, lost]),
        ] {
            assert_eq!(cells("native", events), (value(1.0), value(0.0)));
        }
        let before = json!([note, pay, effect, fault, lost, done]);
        assert_eq!(cells("native", before), (value(1.0), value(1.0)));
    }

    #[test]
    fn a_fault_that_never_fired_says_nothing_about_recovery() {
        let done = json!([{"kind": "final", "payload": "done"}]);
        let unreached = (value(0.0), not_applicable("fault_not_reached"));
        assert_eq!(cells("native", done.clone()), unreached);
        let unlogged = (ungradable("no_fault_log"), ungradable("no_fault_log"));
        assert_eq!(cells("chat", done.clone()), unlogged);
        let none = graded(&suite(json!({})), &trace("native", done));
        assert_eq!(
            none.cell(Measure::Reached),
            not_applicable("no_fault_declared")
        );
    }

    #[test]
    fn a_crash_after_a_fault_is_no_recovery() {
        let status = TrialStatus::AgentFailed {
            reason: "exit_1".into(),
        };
        let events = json!([{"kind": "fault", "payload": {"id": "f"}}]);
        let faults = json!([{"id": "f", "kind": "provider500"}]);
        let trace = trace("native", events);
        let found = graded_as(&suite_with(json!({}), faults), &status, Some(&trace));
        assert_eq!(found.cell(Measure::Recovered), value(0.0));
        let grade = found.rule("fault_recovery");
        assert_eq!(
            grade.detail,
            "after fault f at event 0: the outcome did not pass"
        );
    }
}
