//! Golden traces: draft a contract from a good trace, and check traces against contracts.
//!
//! This is the pure part of `assize golden freeze|check`: no agent runs, nothing is read or written.
//! A check fails closed: a task without a trace, a trace without a task, a rule that the trace gives
//! no evidence for, and a trace on which nothing was checked at all are failures like a broken rule.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use crate::base::{Digest, TaskId};
use crate::grade::evidence::Evidence;
use crate::grade::grader::{Grader, TaskGrader};
use crate::grade::permission_asking::asked_before_write;
use crate::model::expect::Expect;
use crate::model::grade::{Finding, Grade};
use crate::model::measure::Dimension;
use crate::model::suite::Suite;
use crate::model::trace::{EventKind, Trace};
use crate::model::trial::RecordedTrial;
use crate::trace::calls::calls;

/// What a check found about one trace, or about a task that has none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GoldenResult {
    /// The task.
    pub task: TaskId,
    /// Fingerprint of the trace's tool names; `None` without a trace.
    pub path_hash: Option<String>,
    /// Fingerprint of the golden trace's tool names; `None` if there is no golden trace.
    pub golden_hash: Option<String>,
    /// Whether the path differs from the golden one. A failure only where the contract says nothing
    /// about the path, for then the golden trace is all there is to hold to.
    pub drifted: bool,
    /// Number of rules that the trace passed or broke.
    pub checks: usize,
    /// What failed; empty if the check passed.
    pub failures: Vec<GoldenFailure>,
    /// Codes of warnings.
    pub notices: Vec<String>,
}

impl GoldenResult {
    /// Whether nothing failed.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}

/// One reason why a check failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GoldenFailure {
    /// Dimension of the rule; `None` for a failure of the case itself.
    pub dimension: Option<Dimension>,
    /// The rule that was broken, or `vanished_case`, `unknown_task`, `nothing_checked`, `path_drift`,
    /// `infrastructure`.
    pub rule: String,
    /// What is wrong, in words.
    pub reason: String,
    /// Sequence numbers of the events that show it.
    pub events: Vec<u64>,
}

/// Checks candidate traces against the suite's contracts and the golden traces.
///
/// Every task of the suite is expected to have a candidate. `golden` and `candidates` may be the same.
/// Results come in the order of the suite's tasks, and of the candidates within a task; traces of
/// tasks that the suite does not have come last.
pub fn check(
    grader: &Grader<'_>,
    golden: &[RecordedTrial],
    candidates: &[RecordedTrial],
) -> Vec<GoldenResult> {
    let golden_paths: BTreeMap<&TaskId, String> = golden
        .iter()
        .filter_map(|trial| Some((&trial.task, path_hash(trial.trace.as_ref()?))))
        .collect();
    let mut results = vec![];
    for task in &grader.suite().tasks {
        let golden_hash = golden_paths.get(&task.id).cloned();
        let mut of_task = candidates.iter().filter(|c| c.task == task.id).peekable();
        if of_task.peek().is_none() {
            let reason = "the task has no trace; a vanished case is not a pass";
            results.push(without_trace(
                &task.id,
                golden_hash.clone(),
                "vanished_case",
                reason,
            ));
        }
        let rules = grader.task(&task.id);
        results.extend(
            of_task.filter_map(|trial| Some(check_one(rules?, trial, golden_hash.clone()))),
        );
    }
    let known = |id: &TaskId| grader.task(id).is_some();
    let orphans: BTreeSet<&TaskId> = golden.iter().chain(candidates).map(|t| &t.task).collect();
    for task in orphans.into_iter().filter(|id| !known(id)) {
        let reason = "there is a trace, but the suite has no such task any more";
        let golden_hash = golden_paths.get(task).cloned();
        results.push(without_trace(task, golden_hash, "unknown_task", reason));
    }
    results
}

fn without_trace(
    task: &TaskId,
    golden_hash: Option<String>,
    rule: &str,
    reason: &str,
) -> GoldenResult {
    GoldenResult {
        task: task.clone(),
        path_hash: None,
        golden_hash,
        drifted: false,
        checks: 0,
        failures: vec![of_case(rule, reason)],
        notices: vec![],
    }
}

fn of_case(rule: &str, reason: impl Into<String>) -> GoldenFailure {
    GoldenFailure {
        dimension: None,
        rule: rule.to_owned(),
        reason: reason.into(),
        events: vec![],
    }
}

fn check_one(
    rules: &TaskGrader<'_>,
    trial: &RecordedTrial,
    golden_hash: Option<String>,
) -> GoldenResult {
    let found = rules.grade(&trial.status, &trial.recorded, trial.trace.as_ref());
    let path_hash = trial.trace.as_ref().map(path_hash);
    let drifted = golden_hash.is_some() && path_hash.is_some() && golden_hash != path_hash;
    let checks = executed(&found.grades);
    let mut failures: Vec<GoldenFailure> = found.grades.iter().filter_map(failure).collect();
    if !trial.status.is_valid() {
        let reason = format!("the trial ended as {}", trial.status);
        failures.push(of_case("infrastructure", reason));
    } else if checks == 0 {
        let reason = "no rule of the contract could be checked";
        failures.push(of_case("nothing_checked", reason));
    }
    if drifted && !pins_path(&rules.task.expect) {
        let reason = "the tools called differ from the golden trace's";
        failures.push(of_case("path_drift", reason));
    }
    let notices = found.grades.iter().flat_map(|g| g.notices.clone());
    let notices: BTreeSet<String> = notices.collect();
    GoldenResult {
        task: trial.task.clone(),
        path_hash,
        golden_hash,
        drifted,
        checks,
        failures,
        notices: notices.into_iter().collect(),
    }
}

/// How many rules were checked. The effect ledger is kept for every trial; it alone is no contract.
fn executed(grades: &[Grade]) -> usize {
    let checked = |g: &&Grade| {
        let executed = matches!(g.finding, Finding::Pass | Finding::Fail | Finding::Value(_));
        executed && g.rule != "effect_ledger"
    };
    grades.iter().filter(checked).count()
}

fn pins_path(expect: &Expect) -> bool {
    expect.tool_names.is_some() || expect.allowed_paths.is_some() || expect.calls.is_some()
}

fn failure(grade: &Grade) -> Option<GoldenFailure> {
    let reason = match &grade.finding {
        Finding::Fail => grade.detail.clone(),
        Finding::Value(value) if *value < 1.0 => format!("graded {value}: {}", grade.detail),
        Finding::Ungradable(why) => format!("cannot be checked on this trace: {why}"),
        _ => return None,
    };
    Some(GoldenFailure {
        dimension: Some(grade.dimension),
        rule: grade.rule.clone(),
        reason,
        events: grade.events.clone(),
    })
}

/// Fingerprint of the names of the tools called, in order: the first 12 digits of the blake3 of their
/// canonical list.
pub fn path_hash(trace: &Trace) -> String {
    let names: Vec<&str> = calls(trace).iter().map(|c| c.name).collect();
    Digest::of_json(&json!(names)).short().to_owned()
}

/// Drafts a contract from a good trace, for a person to look at and tighten.
///
/// It holds the path, the argument keys that every call of a tool carried, whether the user was asked
/// before the first write, and the shape of the final payload. Private tools give their names only.
pub fn draft_contract(suite: &Suite, trace: &Trace) -> Expect {
    let Ok(evidence) = Evidence::read(suite, None, Some(trace)) else {
        return Expect::default();
    };
    let names = evidence.calls.iter().map(|c| c.name.to_owned()).collect();
    Expect {
        tool_names: Some(names),
        required_arg_keys: shared_keys(&evidence),
        must_ask_before_write: asked_before_write(&evidence).then_some(true),
        final_schema: final_payload(trace).map(shape),
        ..Expect::default()
    }
}

fn shared_keys(evidence: &Evidence<'_>) -> BTreeMap<String, Vec<String>> {
    let mut shared: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for call in &evidence.calls {
        let arguments = call.arguments.and_then(Value::as_object);
        let keys: BTreeSet<String> = arguments
            .into_iter()
            .flat_map(|a| a.keys().cloned())
            .collect();
        shared
            .entry(call.name.to_owned())
            .and_modify(|all| all.retain(|key| keys.contains(key)))
            .or_insert(keys);
    }
    shared.retain(|_, keys| !keys.is_empty());
    let listed = |(tool, keys): (String, BTreeSet<String>)| (tool, keys.into_iter().collect());
    shared.into_iter().map(listed).collect()
}

fn final_payload(trace: &Trace) -> Option<&Value> {
    let last = trace
        .events
        .iter()
        .rev()
        .find(|e| e.kind == EventKind::Final)?;
    last.payload.as_ref()
}

fn shape(payload: &Value) -> Value {
    match payload {
        Value::Object(map) => {
            let keys: BTreeSet<&String> = map.keys().collect();
            json!({"type": "object", "required": keys})
        }
        Value::Array(_) => json!({"type": "array"}),
        Value::String(_) => json!({"type": "string"}),
        Value::Number(_) => json!({"type": "number"}),
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Null => json!({"type": "null"}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::testing::{suite, trace};
    use crate::model::trial::{Boundary, TrialStatus};

    fn trial(task: &str, status: TrialStatus, trace: Option<Trace>) -> RecordedTrial {
        RecordedTrial {
            arm: None,
            task: task.into(),
            index: None,
            status,
            trace,
            recorded: BTreeMap::new(),
            input_digest: None,
            task_metadata: BTreeMap::new(),
            notices: vec![],
            place: 1,
        }
    }

    fn good() -> Trace {
        let mut good = trace(
            "small",
            json!([{"kind": "call", "capability": "look", "payload": {"id": 1, "x": 2}},
                {"kind": "call", "capability": "look", "payload": {"id": 2}},
                {"kind": "call", "capability": "pay", "payload": {"id": 1}},
                {"kind": "call", "capability": "think", "payload": {"t": "secret"}},
                {"kind": "final", "payload": {"status": "ok"}}]),
        );
        good.asked = Some(true);
        good
    }

    fn rules(results: &[GoldenResult]) -> Vec<&str> {
        let failures = results.iter().flat_map(|r| &r.failures);
        failures.map(|f| f.rule.as_str()).collect()
    }

    fn completed(trace: Trace) -> RecordedTrial {
        trial("t", TrialStatus::Completed, Some(trace))
    }

    #[test]
    fn a_draft_holds_on_the_trace_it_was_made_from() {
        let draft = draft_contract(&suite(json!({})), &good());
        let expected = json!({"tool_names": ["look", "look", "pay", "think"],
            "required_arg_keys": {"look": ["id"], "pay": ["id"]}, "must_ask_before_write": true,
            "final_schema": {"type": "object", "required": ["status"]}});
        assert_eq!(serde_json::to_value(&draft).unwrap(), expected);
        let suite = suite(expected);
        let grader = Grader::new(&suite).unwrap();
        let results = check(&grader, &[], &[completed(good())]);
        assert!(results[0].passed(), "{results:?}");
        assert_eq!(results[0].notices, ["order_unknown"]);
    }

    #[test]
    fn a_vanished_case_or_task_fails() {
        let suite = suite(json!({"tool_names": []}));
        let grader = Grader::new(&suite).unwrap();
        assert_eq!(rules(&check(&grader, &[], &[])), ["vanished_case"]);
        let golden = [trial("gone", TrialStatus::Completed, Some(good()))];
        assert_eq!(
            rules(&check(&grader, &golden, &[])),
            ["vanished_case", "unknown_task"]
        );
    }

    #[test]
    fn what_could_not_be_checked_does_not_pass() {
        let empty = suite(json!({}));
        let grader = Grader::new(&empty).unwrap();
        let results = check(&grader, &[], &[completed(good())]);
        assert_eq!(rules(&results), ["nothing_checked"]);
        let stateful = suite(json!({"tool_names": [], "path_mode": "superset",
            "final_state": [{"pointer": "/a", "exists": true}]}));
        let grader = Grader::new(&stateful).unwrap();
        assert_eq!(
            rules(&check(&grader, &[], &[completed(good())])),
            ["final_state"]
        );
        let broken = TrialStatus::infra(Boundary::Provider, "http_500", "");
        let results = check(&grader, &[], &[trial("t", broken, Some(good()))]);
        assert_eq!(rules(&results), ["infrastructure"]);
    }

    #[test]
    fn drift_fails_only_where_the_contract_is_silent_about_the_path() {
        let other = trace(
            "small",
            json!([{"kind": "final", "payload": {"status": "ok"}}]),
        );
        let golden = [completed(good())];
        let schema = json!({"type": "object"});
        let silent = suite(json!({"final_schema": schema}));
        let grader = Grader::new(&silent).unwrap();
        let candidates = [completed(other)];
        let results = check(&grader, &golden, &candidates);
        assert_eq!(rules(&results), ["path_drift"]);
        assert_ne!(results[0].path_hash, results[0].golden_hash);
        let pinned = suite(json!({"final_schema": schema, "tool_names": []}));
        let results = check(&Grader::new(&pinned).unwrap(), &golden, &candidates);
        assert!(results[0].passed() && results[0].drifted);
    }
}
