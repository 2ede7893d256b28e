//! Trajectory: did the agent get there on a way that the contract allows?
//!
//! Rules: `tool_names` (or `allowed_paths`, to whose sequences a declared `tool_names` is added),
//! `calls`, `required_arg_keys`, `args`, `max_calls`. Every call of a tool is checked, not the last
//! one. A rule about the arguments of a tool that was never called is `not_applicable`.

use crate::grade::evidence::Evidence;
use crate::grade::finding::{Graded, TOOL_NAME_NOT_RECORDED, Tally, clip, ungradable};
use crate::grade::grader::TaskGrader;
use crate::grade::paths::{holds, matches_or, relation};
use crate::grade::trajectory_arguments::{args, required_arg_keys};
use crate::model::expect::{Expect, ExpectedCall};
use crate::model::grade::{Cell, Finding, Grade};
use crate::model::measure::{Dimension, Measure};
use crate::trace::calls::Call;

const TRAJECTORY: Dimension = Dimension::Trajectory;
/// Reason where no call of a tool gave occasion to check its arguments.
const NOT_CALLED: &str = "tool_not_called";
/// Longest rendering of one path in a message, in bytes.
const LONGEST_PATH: usize = 240;

type Check = fn(&TaskGrader<'_>, &Evidence<'_>) -> Tally;

/// Grades the trajectory.
pub(crate) fn grade(
    task: &TaskGrader<'_>,
    evidence: Result<&Evidence<'_>, &'static str>,
) -> Graded {
    let grades: Vec<Grade> = declared(&task.task.expect)
        .into_iter()
        .map(|(rule, check)| match evidence {
            Ok(evidence) => check(task, evidence).into_grade(TRAJECTORY, rule, NOT_CALLED),
            Err(reason) => ungradable(TRAJECTORY, rule, reason),
        })
        .collect();
    let mut found = Graded::default();
    found.score(
        Measure::Conformance,
        conformance(&grades, not_asked(&task.task.expect)),
    );
    found.grades = grades;
    found
}

/// The rules that a contract declares.
fn declared(expect: &Expect) -> Vec<(&'static str, Check)> {
    let all: [(bool, &'static str, Check); 6] = [
        (expect.allowed_paths.is_some(), "allowed_paths", names),
        (
            expect.allowed_paths.is_none() && expect.tool_names.is_some(),
            "tool_names",
            names,
        ),
        (expect.calls.is_some(), "calls", expected_calls),
        (
            !expect.required_arg_keys.is_empty(),
            "required_arg_keys",
            required_arg_keys,
        ),
        (!expect.args.is_empty(), "args", args),
        (!expect.max_calls.is_empty(), "max_calls", max_calls),
    ];
    let declared = all.into_iter().filter(|(declared, _, _)| *declared);
    declared.map(|(_, rule, check)| (rule, check)).collect()
}

/// Why no trial of a task with this contract is concerned.
pub(crate) fn not_asked(expect: &Expect) -> Option<&'static str> {
    declared(expect)
        .is_empty()
        .then_some("no_trajectory_contract")
}

fn conformance(grades: &[Grade], not_asked: Option<&str>) -> Cell {
    if let Some(reason) = not_asked {
        return Cell::NotApplicable(reason.to_owned());
    }
    if grades.iter().any(|g| g.finding == Finding::Fail) {
        return Cell::Value(0.0);
    }
    let ungradable = grades.iter().find_map(|g| match &g.finding {
        Finding::Ungradable(reason) => Some(reason),
        _ => None,
    });
    if let Some(reason) = ungradable {
        return Cell::Ungradable(reason.clone());
    }
    if grades.iter().any(|g| g.finding == Finding::Pass) {
        return Cell::Value(1.0);
    }
    Cell::NotApplicable(NOT_CALLED.to_owned())
}

/// The names of all calls, private tools' included, against the legal sequences.
fn names(task: &TaskGrader<'_>, evidence: &Evidence<'_>) -> Tally {
    let expect = &task.task.expect;
    let mode = expect.path_mode.unwrap_or_default();
    let actual: Vec<&str> = evidence.calls.iter().map(|c| c.name).collect();
    let mut legal: Vec<&Vec<String>> = expect.tool_names.iter().collect();
    legal.extend(expect.allowed_paths.iter().flatten());
    // A call whose tool nobody knows may be any.
    let on = |unnamed: bool| {
        let equal = |e: &String, a: &str| e == a || (unnamed && a.is_empty());
        let holds = |path: &&Vec<String>| {
            holds(mode, path.len(), actual.len(), |e, a| {
                equal(&path[e], actual[a])
            })
        };
        legal.iter().any(holds)
    };
    let mut tally = path_tally(evidence);
    if on(false) {
        return tally;
    }
    if on(true) {
        tally.unknown(TOOL_NAME_NOT_RECORDED);
    } else {
        let expected: Vec<String> = legal
            .iter()
            .map(|path| shown(path.iter().map(String::as_str)))
            .collect();
        let detail = format!(
            "actual {} {} expected {}",
            shown(actual.iter().copied()),
            relation(mode),
            clip(&expected.join(" or "), 2 * LONGEST_PATH)
        );
        tally.broke(path_events(evidence), detail);
    }
    tally
}

/// The calls with their arguments against the expected ones. Where arguments are not in the evidence
/// the answer stands only if it is the same whatever they were.
fn expected_calls(task: &TaskGrader<'_>, evidence: &Evidence<'_>) -> Tally {
    let expect = &task.task.expect;
    let mode = expect.path_mode.unwrap_or_default();
    let expected = expect.calls.as_deref().unwrap_or_default();
    let calls = &evidence.calls;
    let on = |unseen: bool| {
        holds(mode, expected.len(), calls.len(), |e, a| {
            matches_or(&expected[e], &calls[a], unseen)
        })
    };
    let mut tally = path_tally(evidence);
    if on(false) {
        return tally;
    }
    if on(true) {
        let unseen = calls.iter().filter(|c| c.arguments.is_none());
        let named = |c: &&Call<'_>| expected.iter().any(|e| e.name == c.name);
        let reason = unseen.filter(named).map(|c| evidence.unseen(c)).next();
        tally.unknown(reason.unwrap_or(TOOL_NAME_NOT_RECORDED));
        return tally;
    }
    let detail = format!(
        "actual {} {} expected {}{}",
        shown(calls.iter().map(|c| c.name)),
        relation(mode),
        shown(expected.iter().map(|e| e.name.as_str())),
        unmatched(expected, calls)
    );
    tally.broke(path_events(evidence), detail);
    tally
}

/// The first expected call that no call matches, by its number and name.
fn unmatched(expected: &[ExpectedCall], calls: &[Call<'_>]) -> String {
    let nobody = |e: &ExpectedCall| !calls.iter().any(|call| matches_or(e, call, true));
    match expected.iter().position(nobody) {
        Some(i) => format!(
            "; no call matches expected call {} ({})",
            i + 1,
            clip(&expected[i].name, 80)
        ),
        None => String::new(),
    }
}

/// A path is checked even where it is empty: that no tool was called is what the trace shows.
fn path_tally(evidence: &Evidence<'_>) -> Tally {
    Tally {
        checked: path_events(evidence),
        executed: true,
        ..Tally::default()
    }
}

/// The calls, or where there are none the end of the trace, which shows that there are none.
fn path_events(evidence: &Evidence<'_>) -> Vec<u64> {
    let mut events = evidence.call_events();
    if events.is_empty() {
        events.extend(evidence.trace.events.last().map(|e| e.sequence));
    }
    events
}

fn shown<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    format!("[{}]", clip(&names.join(", "), LONGEST_PATH))
}

fn max_calls(task: &TaskGrader<'_>, evidence: &Evidence<'_>) -> Tally {
    let mut tally = path_tally(evidence);
    let unnamed = evidence.calls.iter().filter(|c| c.name.is_empty()).count();
    for (tool, &most) in &task.task.expect.max_calls {
        let of_tool = evidence.calls.iter().filter(|c| c.name == tool);
        let events: Vec<u64> = of_tool.map(|c| c.event.sequence).collect();
        if events.len() as u64 > u64::from(most) {
            let detail = format!("{tool}: {} calls, at most {most}", events.len());
            tally.broke(events, detail);
        } else if (events.len() + unnamed) as u64 > u64::from(most) {
            tally.unknown(TOOL_NAME_NOT_RECORDED);
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::testing::{graded, not_applicable, suite, trace, ungradable, value};
    use crate::model::trace::Trace;
    use serde_json::{Value, json};

    fn calls(list: &[(&str, Value)]) -> Trace {
        let events: Vec<Value> = list
            .iter()
            .map(|(name, args)| match args {
                Value::Null => json!({"kind": "call", "capability": name}),
                args => json!({"kind": "call", "capability": name, "payload": args}),
            })
            .collect();
        trace("small", Value::Array(events))
    }

    fn conformance(expect: Value, trace: &Trace) -> Cell {
        graded(&suite(expect), trace).cell(Measure::Conformance)
    }

    #[test]
    fn one_of_the_legal_paths_must_match() {
        let trace = calls(&[("look", json!({})), ("pay", json!({}))]);
        let expect =
            json!({"tool_names": ["pay"], "allowed_paths": [["pay", "look"], ["look", "pay"]]});
        assert_eq!(conformance(expect, &trace), value(1.0));
        let found = graded(&suite(json!({"tool_names": ["pay", "look"]})), &trace);
        let grade = found.rule("tool_names");
        assert_eq!(
            grade.detail,
            "actual [look, pay] must equal expected [pay, look]"
        );
        assert_eq!(grade.events, [0, 1]);
    }

    #[test]
    fn an_empty_path_is_checked_too() {
        let trace = trace("native", json!([{"kind": "trial_end"}]));
        assert_eq!(conformance(json!({"tool_names": []}), &trace), value(1.0));
        assert_eq!(
            conformance(json!({"tool_names": ["look"]}), &trace),
            value(0.0)
        );
        assert_eq!(
            conformance(json!({}), &trace),
            not_applicable("no_trajectory_contract")
        );
        let keys = json!({"required_arg_keys": {"look": ["id"]}});
        assert_eq!(conformance(keys, &trace), not_applicable("tool_not_called"));
    }

    #[test]
    fn every_call_is_checked_and_not_the_last() {
        let trace = calls(&[("look", json!({})), ("look", json!({"id": 1}))]);
        let found = graded(
            &suite(json!({"required_arg_keys": {"look": ["id"]}})),
            &trace,
        );
        assert_eq!(found.found("required_arg_keys"), "fail");
        assert_eq!(found.rule("required_arg_keys").events, [0]);
        let rule = json!({"args": {"look": {"schema": {"required": ["id"]}}}});
        assert_eq!(conformance(rule, &trace), value(0.0));
        assert_eq!(
            conformance(json!({"max_calls": {"look": 1}}), &trace),
            value(0.0)
        );
        assert_eq!(
            conformance(json!({"max_calls": {"look": 2}}), &trace),
            value(1.0)
        );
    }

    #[test]
    fn private_arguments_are_ungradable_only_where_they_decide() {
        let trace = calls(&[("think", Value::Null), ("look", json!({"id": 1}))]);
        let expect = |name: &str| {
            json!({"path_mode": "superset", "calls": [
                {"name": name, "arguments": {"t": 1}}, {"name": "look"}]})
        };
        assert_eq!(
            conformance(expect("think"), &trace),
            ungradable("private_arguments")
        );
        assert_eq!(conformance(expect("pay"), &trace), value(0.0));
        let any = json!({"calls": [{"name": "think"}, {"name": "look"}]});
        assert_eq!(conformance(any, &trace), value(1.0));
        // An importer that left the arguments in does not make them readable.
        let leaked = calls(&[("think", json!({"t": 1}))]);
        let keys = json!({"required_arg_keys": {"think": ["t"]}});
        assert_eq!(conformance(keys, &leaked), ungradable("private_arguments"));
    }

    #[test]
    fn a_call_without_a_name_may_be_any() {
        let trace = calls(&[("look", json!({"id": 1})), ("", json!({"id": 2}))]);
        for expect in [
            json!({"tool_names": ["look", "pay"]}),
            json!({"calls": [{"name": "look"}, {"name": "pay"}]}),
            json!({"max_calls": {"look": 1}}),
            json!({"required_arg_keys": {"look": ["id"]}}),
            json!({"args": {"look": {"schema": {}}}}),
        ] {
            let cell = conformance(expect.clone(), &trace);
            assert_eq!(cell, ungradable("tool_name_not_recorded"), "{expect}");
        }
        for (expect, conforms) in [
            (json!({"tool_names": ["pay", "look"]}), 0.0),
            (
                json!({"tool_names": ["look"], "path_mode": "superset"}),
                1.0,
            ),
            (json!({"calls": [{"name": "look"}]}), 0.0),
            (json!({"max_calls": {"look": 0}}), 0.0),
            (json!({"max_calls": {"look": 2}}), 1.0),
        ] {
            let cell = conformance(expect.clone(), &trace);
            assert_eq!(cell, value(conforms), "{expect}");
        }
    }

    #[test]
    fn compared_arguments_restrict_both_sides() {
        let trace = calls(&[("pay", json!({"id": 1.0, "memo": "x"}))]);
        let call = |extra: Value| {
            let mut call = json!({"name": "pay", "arguments": {"id": 1}});
            call.as_object_mut()
                .unwrap()
                .extend(extra.as_object().unwrap().clone());
            json!({"calls": [call]})
        };
        assert_eq!(conformance(call(json!({})), &trace), value(0.0));
        assert_eq!(
            conformance(call(json!({"compare_args": ["id", "none"]})), &trace),
            value(1.0)
        );
        assert_eq!(
            conformance(call(json!({"compare_args": ["memo"]})), &trace),
            value(0.0)
        );
    }
}
