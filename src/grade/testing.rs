//! Suites and traces for the graders' own tests.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::grade::Grader;
use crate::model::grade::{Cell, Finding, Grade, TrialGrades};
use crate::model::measure::Measure;
use crate::model::suite::{Suite, SuiteSpec, Task};
use crate::model::trace::Trace;
use crate::model::trial::TrialStatus;

/// A suite with one task `t`: `look` reads, `pay` and `note` write, `tag` writes idempotently, `charge`
/// writes under the idempotency key `key`, `think` is private.
pub(crate) fn suite(expect: Value) -> Suite {
    suite_with(expect, json!([]))
}

/// As [`suite`], with faults.
pub(crate) fn suite_with(expect: Value, faults: Value) -> Suite {
    let spec: SuiteSpec = serde_json::from_value(json!({
        "id": "s", "version": "1", "private_tools": ["think"],
        "tools": {"look": {}, "pay": {"writes": true}, "note": {"writes": true}, "think": {},
            "tag": {"writes": true, "idempotent": true},
            "charge": {"writes": true, "idempotency_key": "key"}}}))
    .unwrap();
    let task: Task =
        serde_json::from_value(json!({"id": "t", "expect": expect, "faults": faults})).unwrap();
    Suite::new(spec, vec![task])
}

/// A trace of a source from its events; sequence numbers are added, `call`, `ok`, `err` and the like
/// are short for kinds.
pub(crate) fn trace(source: &str, events: Value) -> Trace {
    let mut events = events;
    for (sequence, event) in events.as_array_mut().unwrap().iter_mut().enumerate() {
        let kind = match event["kind"].as_str().unwrap() {
            "call" => "tool_call",
            "ok" => "tool_result",
            "err" => "tool_error",
            other => other,
        };
        event["kind"] = json!(kind);
        event["sequence"] = json!(sequence);
    }
    let order_known = source != "small";
    serde_json::from_value(json!({"source": source, "events": events, "order_known": order_known}))
        .unwrap()
}

/// Grades of a completed trial.
pub(crate) fn graded(suite: &Suite, trace: &Trace) -> TrialGrades {
    graded_as(suite, &TrialStatus::Completed, Some(trace))
}

/// Grades of a trial.
pub(crate) fn graded_as(suite: &Suite, status: &TrialStatus, trace: Option<&Trace>) -> TrialGrades {
    let grader = Grader::new(suite).unwrap();
    let task = grader.task(&suite.tasks[0].id).unwrap();
    task.grade(status, &BTreeMap::new(), trace)
}

impl TrialGrades {
    /// The grade of a rule.
    pub(crate) fn rule(&self, rule: &str) -> &Grade {
        self.grades.iter().find(|g| g.rule == rule).unwrap()
    }

    /// What a rule found: `pass`, `fail`, or the reason of anything else.
    pub(crate) fn found(&self, rule: &str) -> String {
        match &self.rule(rule).finding {
            Finding::NotApplicable(reason) | Finding::Ungradable(reason) => reason.clone(),
            other => other.name().to_owned(),
        }
    }

    /// The cell of a measure.
    pub(crate) fn cell(&self, measure: Measure) -> Cell {
        let scores: Vec<_> = self
            .scores
            .iter()
            .filter(|s| s.measure == measure)
            .collect();
        assert_eq!(scores.len(), 1, "{measure}");
        scores[0].cell.clone()
    }
}

/// A value.
pub(crate) fn value(value: f64) -> Cell {
    Cell::Value(value)
}

/// An ungradable cell.
pub(crate) fn ungradable(reason: &str) -> Cell {
    Cell::Ungradable(reason.to_owned())
}

/// A cell that does not concern the trial.
pub(crate) fn not_applicable(reason: &str) -> Cell {
    Cell::NotApplicable(reason.to_owned())
}
