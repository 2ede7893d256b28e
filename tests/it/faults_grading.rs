//! Inputs on which other tools' graders went wrong, each with the sound answer.
//!
//! The inputs are those of the fault collection; the names are its names.

use std::collections::BTreeMap;
use std::fs;

use assize::grade::{Grader, golden, grade_trial};
use assize::load;
use assize::model::grade::{Cell, Finding, TrialGrades};
use assize::model::measure::Measure;
use assize::model::suite::{Suite, SuiteSpec, Task};
use assize::model::trace::{Event, EventKind, ExternalResult, Trace, TraceSource, Usage};
use assize::model::trial::{Boundary, RecordedTrial, TrialStatus};
use serde_json::{Value, json};

fn suite(expect: Value) -> Suite {
    let spec: SuiteSpec = serde_json::from_value(json!({
        "id": "s", "version": "1",
        "tools": {"lookup_order": {}, "issue_refund": {"writes": true}}}))
    .unwrap();
    let task: Task = serde_json::from_value(json!({"id": "t", "expect": expect})).unwrap();
    Suite::new(spec, vec![task])
}

fn trace(events: Vec<Event>) -> Trace {
    Trace {
        source: TraceSource::Native,
        events,
        order_known: true,
        asked: None,
        asked_before: None,
        initial_state: None,
        final_state: None,
        external: None,
        truncated: None,
        notices: vec![],
    }
}

fn refund() -> Trace {
    trace(vec![Event {
        capability: Some("issue_refund".to_owned()),
        payload: Some(json!({})),
        ..Event::new(0, EventKind::ToolCall)
    }])
}

fn grade(suite: &Suite, status: &TrialStatus, trace: Option<&Trace>) -> TrialGrades {
    grade_trial(suite, &suite.tasks[0], status, &BTreeMap::new(), trace).unwrap()
}

fn cell(grades: &TrialGrades, measure: Measure) -> &Cell {
    let found = grades.scores.iter().find(|s| s.measure == measure);
    &found.unwrap().cell
}

fn recorded(trace: Trace) -> RecordedTrial {
    RecordedTrial {
        arm: None,
        task: "t".into(),
        index: None,
        status: TrialStatus::Completed,
        trace: Some(trace),
        recorded: BTreeMap::new(),
        input_digest: None,
        task_metadata: BTreeMap::new(),
        notices: vec![],
        place: 1,
    }
}

/// 63: a rule with a misspelt key was skipped, which left no check, and the case passed. Here the
/// file is refused, naming the key ...
#[test]
fn malformed_rule_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("tasks")).unwrap();
    fs::write(
        dir.path().join("suite.yaml"),
        "id: s\nversion: \"1\"\ntools: {lookup_order: {}, issue_refund: {writes: true}}\n",
    )
    .unwrap();
    let expect = "expect:\n  ordering:\n    before: [{first: lookup_order, secnd: issue_refund}]\n";
    let task = |expect: &str| {
        fs::write(dir.path().join("tasks/t.yaml"), format!("id: t\n{expect}")).unwrap();
        load::suite(dir.path()).unwrap_err().to_string()
    };
    let unknown = task(expect);
    assert!(
        unknown.contains("t.yaml:3") && unknown.contains("ordering"),
        "{unknown}"
    );
    let misspelt = task("expect:\n  forbiden_tools: [issue_refund]\n");
    assert!(misspelt.contains("forbidden_tools"), "{misspelt}");
}

/// ... and a case in which nothing was checked does not pass, on any dimension.
#[test]
fn a_case_without_an_executed_check_does_not_pass() {
    let suite = suite(json!({}));
    let grades = grade(&suite, &TrialStatus::Completed, Some(&refund()));
    assert_eq!(
        cell(&grades, Measure::Success),
        &Cell::Ungradable("no_outcome_rule".into())
    );
    for measure in [Measure::Conformance, Measure::Violations] {
        assert!(matches!(cell(&grades, measure), Cell::NotApplicable(_)));
    }
    assert!(grades.grades.iter().all(|g| g.finding != Finding::Fail));
    let grader = Grader::new(&suite).unwrap();
    let results = golden::check(&grader, &[], &[recorded(refund())]);
    assert_eq!(results[0].failures[0].rule, "nothing_checked");
}

/// 63 again: rules that a deserialiser lets through, but that could never be applied.
#[test]
fn a_rule_that_cannot_be_applied_is_an_error_and_never_skipped() {
    for (expect, part) in [
        (json!({"final_schema": {"type": "strin"}}), "final_schema"),
        (
            json!({"final_schema": {"$ref": "https://example.com/s.json"}}),
            "example.com",
        ),
        (
            json!({"arg_scope": {"lookup_order": {"minimum": "x"}}}),
            "arg_scope.lookup_order",
        ),
        (
            json!({"final_state": [{"pointer": "/a"}]}),
            "exactly one test",
        ),
        (
            json!({"final_state": [{"pointer": "a", "exists": false}]}),
            "not a JSON Pointer",
        ),
        (
            json!({"args": {"lookup_order": {"ignore": ["x"]}}}),
            "checks nothing",
        ),
        (json!({"args": {"lookup_order": {"hash": "abc"}}}), "hash"),
    ] {
        let suite = suite(expect.clone());
        let error = Grader::new(&suite).err().unwrap().to_string();
        assert!(error.contains(part), "{expect}: {error}");
    }
    let mut readers = suite(json!({"must_ask_before_write": true}));
    readers.spec.tools.clear();
    let error = Grader::new(&readers).err().unwrap().to_string();
    assert!(error.contains("which tools write"), "{error}");
}

/// 73: a missing cost was read as 0 and scored best. Absent is absent, and half a sum is no sum.
#[test]
fn unknown_cost_is_not_the_best_cost() {
    let suite = suite(json!({}));
    let turn = |sequence, cost_usd| Event {
        usage: Some(Usage {
            cost_usd,
            ..Usage::default()
        }),
        ..Event::new(sequence, EventKind::ModelResult)
    };
    for (trace, expected) in [
        (
            trace(vec![turn(0, None)]),
            Cell::Ungradable("not_recorded".into()),
        ),
        (
            trace(vec![turn(0, Some(0.01)), turn(1, None)]),
            Cell::Ungradable("partly_recorded".into()),
        ),
        (
            trace(vec![turn(0, Some(0.25)), turn(1, Some(0.5))]),
            Cell::Value(0.75),
        ),
    ] {
        let grades = grade(&suite, &TrialStatus::Completed, Some(&trace));
        assert_eq!(cell(&grades, Measure::CostUsd), &expected);
    }
}

/// 35 and its kind: what is missing (an unreadable answer, a lost trace, a result that is no number)
/// became a failure, and what could not be read became a pass.
#[test]
fn missing_evidence_is_neither_failure_nor_success() {
    let with_state = suite(json!({"final_state": [{"pointer": "/a", "exists": true}]}));
    let grades = grade(&with_state, &TrialStatus::Completed, Some(&refund()));
    assert_eq!(
        cell(&grades, Measure::Success),
        &Cell::Ungradable("no_state".into())
    );
    let plain = suite(json!({"external_result": true}));
    for (result, reason) in [
        (None, "no_external_result"),
        (Some(f64::NAN), "not_a_number"),
        (Some(17.0), "out_of_range"),
    ] {
        let mut trace = refund();
        trace.external = result.map(|value| ExternalResult {
            value,
            provenance: "a table".to_owned(),
        });
        let grades = grade(&plain, &TrialStatus::Completed, Some(&trace));
        assert_eq!(
            cell(&grades, Measure::Success),
            &Cell::Ungradable(reason.into())
        );
    }
    let grades = grade(&plain, &TrialStatus::Completed, None);
    for score in &grades.scores {
        assert!(!matches!(score.cell, Cell::Value(_)), "{score:?}");
    }
    let mut cut = refund();
    cut.truncated = Some("no_trial_end".to_owned());
    let strict =
        suite(json!({"forbidden_tools": ["lookup_order"], "tool_names": ["lookup_order"]}));
    let grades = grade(&strict, &TrialStatus::Completed, Some(&cut));
    for measure in [Measure::Violations, Measure::Conformance] {
        assert_eq!(
            cell(&grades, measure),
            &Cell::Ungradable("truncated_trace".into())
        );
    }
}

/// 47: a provider's rate limit became the agent's failure. An infrastructure trial has no grades at
/// all, whatever its trace holds.
#[test]
fn a_rate_limit_is_nobodys_failure() {
    let suite = suite(json!({"forbidden_tools": ["issue_refund"], "final_schema": {}}));
    let status = TrialStatus::infra(Boundary::Provider, "rate_limit", "429");
    let grades = grade(&suite, &status, Some(&refund()));
    assert_eq!(grades, TrialGrades::default());
}

/// 41 and 53: cases that vanish must not pass by being absent.
#[test]
fn a_case_that_was_not_measured_fails_closed() {
    let suite = suite(json!({"tool_names": ["issue_refund"]}));
    let grader = Grader::new(&suite).unwrap();
    assert!(golden::check(&grader, &[], &[recorded(refund())])[0].passed());
    let results = golden::check(&grader, &[recorded(refund())], &[]);
    assert_eq!(results[0].failures[0].rule, "vanished_case");
}
