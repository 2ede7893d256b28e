//! Outcome: did the trial arrive where the contract says, as the evidence at its end shows?
//!
//! Rules: `status`, `final_schema`, `final_state`, `state_changes`, `checks`, `external_result`. The outcome
//! fails if any rule fails, else it is ungradable if any rule is, else it passes. A result between 0
//! and 1 that the source recorded is the outcome's value if every other rule passes. A contract
//! without a rule, for a trial without a recorded result, is ungradable: a case in which nothing was
//! checked never passes.

use std::collections::BTreeMap;

use crate::grade::evidence::Evidence;
use crate::grade::finding::{Graded, Tally, grade as bare, ungradable};
use crate::grade::grader::TaskGrader;
use crate::grade::recorded::{TABLE, checked, graded};
use crate::grade::state;
use crate::model::environment::CheckResult;
use crate::model::grade::{Cell, Finding, Grade};
use crate::model::measure::{Dimension, Measure};
use crate::model::trace::{EventKind, ExternalResult};
use crate::model::trial::TrialStatus;

const OUTCOME: Dimension = Dimension::Outcome;
/// Problems with one document that are looked for.
const PROBLEMS: usize = 20;

/// Grades the outcome of a valid trial.
pub(crate) fn grade(
    task: &TaskGrader<'_>,
    status: &TrialStatus,
    recorded: &BTreeMap<Measure, f64>,
    evidence: Result<&Evidence<'_>, &'static str>,
) -> Graded {
    let external = external(recorded, evidence);
    let mut grades = if status.is_agent_failure() {
        vec![by_status(status, external.as_ref())]
    } else {
        by_rules(task, external, evidence)
    };
    // How a trial ended and what its source recorded of it stand at the end of the trace.
    for grade in &mut grades {
        if grade.events.is_empty() && !matches!(grade.finding, Finding::Ungradable(_)) {
            grade.events = evidence.map_or(vec![], end_of);
        }
    }
    let mut found = Graded::default();
    found.score(Measure::Success, success(&grades));
    found.grades = grades;
    found
}

/// The success that the grades of the outcome amount to.
fn success(grades: &[Grade]) -> Cell {
    let mut value = 1.0;
    let mut reason = None;
    for grade in grades {
        match &grade.finding {
            Finding::Fail => return Cell::Value(0.0),
            Finding::Value(v) => value = *v,
            Finding::Ungradable(why) => reason = reason.or(Some(why.clone())),
            Finding::Pass | Finding::NotApplicable(_) => {}
        }
    }
    if grades.is_empty() {
        reason = Some("no_outcome_rule".to_owned());
    }
    reason.map_or(Cell::Value(value), Cell::Ungradable)
}

/// An agent that failed, or used up a limit, did not arrive; what a source recorded beside that is
/// not weighed against it, but a contradiction is said.
fn by_status(status: &TrialStatus, external: Option<&ExternalResult>) -> Grade {
    let mut found = Grade {
        detail: format!("the trial ended as {status}"),
        ..bare(OUTCOME, "status", Finding::Fail)
    };
    if external.is_some_and(|e| e.value > 0.0) {
        found.notices.push("external_result_disagrees".to_owned());
    }
    found
}

/// The result that the trace carries, or else the one of the results table.
fn external(
    recorded: &BTreeMap<Measure, f64>,
    evidence: Result<&Evidence<'_>, &'static str>,
) -> Option<ExternalResult> {
    let of_trace = evidence.ok().and_then(|e| e.trace.external.clone());
    let of_table = || {
        let value = *recorded.get(&Measure::Success)?;
        let provenance = TABLE.to_owned();
        Some(ExternalResult { value, provenance })
    };
    of_trace.or_else(of_table)
}

fn by_rules(
    task: &TaskGrader<'_>,
    external: Option<ExternalResult>,
    evidence: Result<&Evidence<'_>, &'static str>,
) -> Vec<Grade> {
    let expect = &task.task.expect;
    let wanted = expect.external_result == Some(true);
    let by_result = match external {
        Some(external) => Some(external_result(&external)),
        None if wanted => Some(ungradable(OUTCOME, "external_result", "no_external_result")),
        None => None,
    };
    // A table of results has no traces by nature; what it recorded then stands alone.
    if evidence.is_err()
        && let Some(Grade { finding, .. }) = &by_result
        && !matches!(finding, Finding::Ungradable(_))
    {
        return by_result.into_iter().collect();
    }
    let rules: [(&str, bool, Check); 4] = [
        ("final_schema", expect.final_schema.is_some(), final_schema),
        ("final_state", !expect.final_state.is_empty(), final_state),
        (
            "state_changes",
            expect.state_changes.is_some(),
            state_changes,
        ),
        ("checks", !expect.checks.is_empty(), checks),
    ];
    rules
        .into_iter()
        .filter(|(_, declared, _)| *declared)
        .map(|(rule, _, check)| match evidence {
            Ok(evidence) => check(task, evidence).into_grade(OUTCOME, rule, "nothing_to_check"),
            Err(reason) => ungradable(OUTCOME, rule, reason),
        })
        .chain(by_result)
        .collect()
}

type Check = fn(&TaskGrader<'_>, &Evidence<'_>) -> Tally;

fn external_result(external: &ExternalResult) -> Grade {
    let finding = match checked(Measure::Success, external.value) {
        Cell::Value(value) => graded(value),
        Cell::NotApplicable(reason) | Cell::Ungradable(reason) => Finding::Ungradable(reason),
    };
    Grade {
        detail: format!("{} by {}", external.value, external.provenance),
        ..bare(OUTCOME, "external_result", finding)
    }
}

/// Every kind of source records a final payload where there is one, so a trial that ended without one
/// broke the schema.
fn final_schema(task: &TaskGrader<'_>, evidence: &Evidence<'_>) -> Tally {
    let mut tally = Tally::default();
    let finals = &evidence.trace.events;
    let last = finals.iter().rev().find(|e| e.kind == EventKind::Final);
    let Some(event) = last else {
        let end = finals.last().map(|e| e.sequence).into_iter().collect();
        tally.broke(end, "the trial ended without a final payload");
        return tally;
    };
    let Some(payload) = &event.payload else {
        tally.unknown("payload_not_recorded");
        return tally;
    };
    let Some(schema) = &task.schemas.final_schema else {
        return tally;
    };
    tally.checked.push(event.sequence);
    for problem in schema.problems(payload, PROBLEMS) {
        tally.broke(vec![event.sequence], format!("final payload: {problem}"));
    }
    tally
}

fn final_state(task: &TaskGrader<'_>, evidence: &Evidence<'_>) -> Tally {
    let mut tally = Tally::default();
    let Some(document) = &evidence.trace.final_state else {
        tally.unknown("no_state");
        return tally;
    };
    tally.checked = end_of(evidence);
    let assertions = task.task.expect.final_state.iter();
    for (assertion, schema) in assertions.zip(&task.schemas.state) {
        if let Some(problem) = state::broken_assertion(assertion, schema.as_ref(), document) {
            tally.broke(tally.checked.clone(), problem);
        }
    }
    tally
}

fn state_changes(task: &TaskGrader<'_>, evidence: &Evidence<'_>) -> Tally {
    let mut tally = Tally::default();
    let trace = evidence.trace;
    let (Some(before), Some(after)) = (&trace.initial_state, &trace.final_state) else {
        tally.unknown("no_state");
        return tally;
    };
    tally.checked = end_of(evidence);
    let expected = task.task.expect.state_changes.iter().flatten();
    for problem in state::unexpected_changes(before, after, expected) {
        tally.broke(tally.checked.clone(), problem);
    }
    tally
}

/// The fixture's own tests, as the trial's last event records them. A check of which nobody knows what
/// it found leaves the outcome open: it never passes.
fn checks(task: &TaskGrader<'_>, evidence: &Evidence<'_>) -> Tally {
    let mut tally = Tally::default();
    let found = results_of_checks(evidence);
    for declared in &task.task.expect.checks {
        match found.iter().find(|f| f.id == declared.id) {
            None => tally.unknown("no_checks"),
            Some(CheckResult { pass: true, .. }) => tally.checked = end_of(evidence),
            Some(failed) => {
                let said = match failed.detail.as_str() {
                    "" => String::new(),
                    detail => format!(": {detail}"),
                };
                let detail = format!("check {} failed{said}", failed.id);
                tally.broke(end_of(evidence), detail);
            }
        }
    }
    tally
}

fn results_of_checks(evidence: &Evidence<'_>) -> Vec<CheckResult> {
    let last = evidence.trace.events.last();
    let end = last.filter(|e| e.kind == EventKind::TrialEnd);
    let found = || end?.payload.as_ref()?.get("checks")?.as_array().cloned();
    let found = found().unwrap_or_default().into_iter();
    found
        .filter_map(|result| serde_json::from_value(result).ok())
        .collect()
}

/// State documents stand at the end of a trace, so that is the event they rest on.
fn end_of(evidence: &Evidence<'_>) -> Vec<u64> {
    let last = evidence.trace.events.last();
    last.map(|e| e.sequence).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::Grader;
    use crate::grade::testing::{graded as grades, graded_as, suite, trace, ungradable, value};
    use crate::model::trace::Trace;
    use serde_json::{Value, json};

    fn schema() -> Value {
        json!({"final_schema": {"type": "object", "required": ["status"],
            "properties": {"status": {"enum": ["ok", "needs_human"]}}}})
    }

    fn ended(payload: Value) -> Trace {
        trace("native", json!([{"kind": "final", "payload": payload}]))
    }

    #[test]
    fn a_final_payload_is_validated_in_full() {
        let suite = suite(schema());
        let success = |trace: &Trace| grades(&suite, trace).cell(Measure::Success);
        assert_eq!(success(&ended(json!({"status": "ok"}))), value(1.0));
        assert_eq!(success(&ended(json!({"status": "done"}))), value(0.0));
        assert_eq!(success(&ended(json!(null))), value(0.0));
        let unrecorded = trace("native", json!([{"kind": "final"}]));
        assert_eq!(success(&unrecorded), ungradable("payload_not_recorded"));
        let none = trace("small", json!([{"kind": "call", "capability": "look"}]));
        let found = grades(&suite, &none);
        assert_eq!(found.found("final_schema"), "fail");
        assert_eq!(found.rule("final_schema").events, [0]);
    }

    #[test]
    fn checks_are_read_from_the_end_and_what_was_not_checked_never_passes() {
        let suite =
            suite(json!({"checks": [{"id": "a", "run": ["x"]}, {"id": "b", "run": ["y"]}]}));
        let success = |checks: Value| {
            let trace = trace(
                "native",
                json!([{"kind": "trial_end", "payload": {"checks": checks}}]),
            );
            grades(&suite, &trace)
        };
        let both = json!([{"id": "a", "pass": true}, {"id": "b", "pass": true}]);
        assert_eq!(success(both).cell(Measure::Success), value(1.0));
        let one = json!([{"id": "a", "pass": true}, {"id": "b", "pass": false, "detail": "why"}]);
        let one = success(one);
        assert_eq!(one.cell(Measure::Success), value(0.0));
        assert_eq!(one.rule("checks").detail, "check b failed: why");
        for absent in [
            json!([{"id": "a", "pass": true}]),
            json!([{"id": "a", "pass": true}, {"id": "b", "pass": "yes"}]),
            json!(null),
        ] {
            let found = success(absent);
            assert_eq!(found.cell(Measure::Success), ungradable("no_checks"));
        }
    }

    #[test]
    fn a_contract_without_a_rule_never_passes() {
        let found = grades(&suite(json!({})), &ended(json!({})));
        assert_eq!(found.cell(Measure::Success), ungradable("no_outcome_rule"));
    }

    #[test]
    fn an_external_result_is_kept_with_who_says_so() {
        let suite = suite(json!({}));
        let mut trace = ended(json!({}));
        for (result, finding, cell) in [
            (1.0, "pass", value(1.0)),
            (0.0, "fail", value(0.0)),
            (0.25, "value", value(0.25)),
            (f64::NAN, "not_a_number", ungradable("not_a_number")),
            (1.5, "out_of_range", ungradable("out_of_range")),
        ] {
            trace.external = Some(ExternalResult {
                value: result,
                provenance: "a benchmark".into(),
            });
            let found = grades(&suite, &trace);
            assert_eq!(found.found("external_result"), finding);
            assert_eq!(found.cell(Measure::Success), cell);
            assert!(found.rule("external_result").detail.contains("a benchmark"));
        }
    }

    #[test]
    fn all_rules_must_pass_and_a_failure_outranks_what_is_missing() {
        let mut expect = schema();
        expect["external_result"] = json!(true);
        expect["final_state"] = json!([{"pointer": "/a", "equals": 1}]);
        let suite = suite(expect);
        let mut trace = ended(json!({"status": "ok"}));
        let cell = |trace: &Trace| grades(&suite, trace).cell(Measure::Success);
        assert_eq!(cell(&trace), ungradable("no_state"));
        trace.final_state = Some(json!({"a": 1.0}));
        assert_eq!(cell(&trace), ungradable("no_external_result"));
        trace.external = Some(ExternalResult {
            value: 0.5,
            provenance: "x".into(),
        });
        assert_eq!(cell(&trace), value(0.5));
        trace.final_state = Some(json!({"a": 2}));
        assert_eq!(cell(&trace), value(0.0));
        trace.final_state = None;
        trace.external = Some(ExternalResult {
            value: 0.0,
            provenance: "x".into(),
        });
        assert_eq!(cell(&trace), value(0.0));
    }

    #[test]
    fn what_the_agent_failed_fails_whatever_the_trace_holds() {
        let suite = suite(schema());
        let mut trace = ended(json!({"status": "ok"}));
        trace.external = Some(ExternalResult {
            value: 1.0,
            provenance: "x".into(),
        });
        let status = TrialStatus::LimitReached {
            which: "steps".into(),
        };
        for trace in [Some(&trace), None] {
            let found = graded_as(&suite, &status, trace);
            assert_eq!(found.cell(Measure::Success), value(0.0));
            assert_eq!(found.found("status"), "fail");
        }
        let found = graded_as(&suite, &status, Some(&trace));
        assert_eq!(found.rule("status").notices, ["external_result_disagrees"]);
    }

    #[test]
    fn infrastructure_is_never_graded() {
        let status = TrialStatus::infra(crate::model::trial::Boundary::Provider, "http_500", "");
        let found = graded_as(&suite(schema()), &status, Some(&ended(json!({}))));
        assert!(found.grades.is_empty() && found.scores.is_empty());
    }

    #[test]
    fn a_table_of_results_stands_alone_where_there_is_no_trace() {
        let suite = suite(schema());
        let grader = Grader::new(&suite).unwrap();
        let task = grader.task(&suite.tasks[0].id).unwrap();
        let recorded = BTreeMap::from([
            (Measure::Success, 1.0),
            (Measure::CostUsd, 0.25),
            (Measure::Violations, 2.0),
        ]);
        let found = task.grade(&TrialStatus::Completed, &recorded, None);
        assert_eq!(found.cell(Measure::Success), value(1.0));
        assert_eq!(found.cell(Measure::CostUsd), value(0.25));
        assert_eq!(found.cell(Measure::Violations), value(2.0));
        assert_eq!(found.cell(Measure::Steps), ungradable("no_trace"));
        let none = task.grade(&TrialStatus::Completed, &BTreeMap::new(), None);
        assert_eq!(none.cell(Measure::Success), ungradable("no_trace"));
    }
}
