//! Graders on generated input of any oddity: they never panic, and their answers keep their promises.

use std::collections::{BTreeMap, BTreeSet};

use assize::grade::{Grader, golden};
use assize::model::expect::Expect;
use assize::model::grade::{Cell, Finding, TrialGrades};
use assize::model::measure::Measure;
use assize::model::suite::{Suite, SuiteSpec, Task};
use assize::model::trace::{Event, EventKind, ExternalResult, Trace, TraceSource, Usage};
use assize::model::trial::TrialStatus;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A word that stands in every private argument and must not come out anywhere.
const SECRET: &str = "hidden-thought";

const TOOLS: [&str; 6] = ["look", "pay", "tag", "think", "", "undeclared"];

const KINDS: [EventKind; 16] = [
    EventKind::TrialStart,
    EventKind::UserMessage,
    EventKind::ModelCall,
    EventKind::ModelResult,
    EventKind::Decision,
    EventKind::ToolCall,
    EventKind::ToolResult,
    EventKind::ToolError,
    EventKind::Question,
    EventKind::ApprovalRequest,
    EventKind::ApprovalResult,
    EventKind::Fault,
    EventKind::Effect,
    EventKind::Policy,
    EventKind::Final,
    EventKind::TrialEnd,
];

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!({"granted": true})),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c/~0-2é]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let key = "[ab/~é]{0,2}";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..3)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

fn odd_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(-1.0),
        any::<f64>()
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let usage = (prop::option::of(0u64..9), prop::option::of(odd_number())).prop_map(
        |(tokens, cost_usd)| Usage {
            input_tokens: tokens,
            cost_usd,
            ..Usage::default()
        },
    );
    let time = prop_oneof![Just("2026-01-01T00:00:00Z".to_owned()), "[0-9TZ:+.-]{0,24}"];
    let names = (
        0usize..16,
        prop::option::of(0usize..6),
        prop::option::of(0u8..3),
    );
    let links = (
        prop::option::of(0u64..20),
        prop::option::of(0u64..20),
        prop::option::of(0u8..3),
        prop::option::of(0u8..3),
    );
    let rest = (
        prop::option::of(any::<u64>()),
        prop::option::of(time),
        prop::option::of(json_value()),
        prop::option::of(usage),
        prop::option::of(0u8..2),
    );
    (names, links, rest).prop_map(|(names, links, rest)| {
        let tool = names.1.map(|t| TOOLS[t].to_owned());
        let private = tool.as_deref() == Some("think");
        Event {
            call_id: names.2.map(|i| i.to_string()),
            parent: links.0,
            repeats: links.1,
            effect_receipt: links.2.map(|r| format!("r{r}")),
            idempotency_key: links.3.map(|k| format!("k{k}")),
            elapsed_ms: rest.0,
            time: rest.1,
            payload: if private {
                Some(json!({"t": SECRET}))
            } else {
                rest.2
            },
            usage: rest.3,
            policy_version: rest.4.map(|v| format!("v{v}")),
            capability: tool,
            ..Event::new(0, KINDS[names.0])
        }
    })
}

fn trace() -> impl Strategy<Value = Trace> {
    let source = prop_oneof![
        Just(TraceSource::Native),
        Just(TraceSource::Small),
        Just(TraceSource::Chat)
    ];
    let events = prop::collection::vec((event(), 1u64..3), 0..20);
    let asked = (prop::option::of(any::<bool>()), prop::option::of(0u64..9));
    let states = (
        prop::option::of(json_value()),
        prop::option::of(json_value()),
    );
    let external = prop::option::of(prop_oneof![Just(1.0), Just(0.5), odd_number()]);
    (source, events, asked, states, external, any::<bool>()).prop_map(
        |(source, events, asked, states, external, order_known)| {
            let mut next = 0;
            let events = events
                .into_iter()
                .map(|(event, step)| {
                    let sequence = next;
                    next += step;
                    Event { sequence, ..event }
                })
                .collect();
            Trace {
                source,
                events,
                order_known,
                asked: asked.0,
                asked_before: asked.1,
                initial_state: states.0,
                final_state: states.1,
                external: external.map(|value| ExternalResult {
                    value,
                    provenance: "x".to_owned(),
                }),
                truncated: None,
                notices: vec![],
            }
        },
    )
}

/// Contracts, each key there or not.
fn expect() -> impl Strategy<Value = Expect> {
    let parts = json!({
        "tool_names": ["look", "pay"], "allowed_paths": [["pay"], []],
        "calls": [{"name": "think", "arguments": {"t": 1}}, {"name": "pay", "arguments": {"a": 1},
            "compare_args": ["a", "b"]}, {"name": "look"}],
        "required_arg_keys": {"pay": ["a"], "think": ["t"]},
        "args": {"pay": {"subset": {"a": {"b": 1}}, "exact": {"a": 1}, "ignore": ["/a/0", "b", "/~0"]},
            "think": {"schema": {"type": "string"}}, "look": {"hash": "0123456789ab"}},
        "max_calls": {"pay": 1, "think": 0}, "forbidden_tools": ["pay", ""],
        "must_ask_before_write": true, "approval_required": ["pay", "think"],
        "arg_scope": {"pay": {"type": "object"}, "think": {"type": "string"}}, "policy_version": "v1",
        "final_schema": {"type": "object", "properties": {"a": {"$ref": "#"}}},
        "final_state": [{"pointer": "/a", "equals": null}, {"pointer": "", "schema": {"type": "object"}},
            {"pointer": "/a/0/~1", "exists": false}],
        "state_changes": [{"op": "add", "path": "/a/-"}, {"op": "replace", "path": ""},
            {"op": "remove", "path": "/a/9"}],
        "external_result": true});
    let parts: Vec<(String, Value)> = parts.as_object().unwrap().clone().into_iter().collect();
    let modes = prop::sample::select(vec!["exact", "in_order", "any_order", "subset", "superset"]);
    (prop::collection::vec(any::<bool>(), parts.len()), modes).prop_map(move |(kept, mode)| {
        let mut map: serde_json::Map<String, Value> = parts
            .iter()
            .zip(kept)
            .filter(|(_, kept)| *kept)
            .map(|(part, _)| part.clone())
            .collect();
        map.insert("path_mode".to_owned(), json!(mode));
        serde_json::from_value(Value::Object(map)).unwrap()
    })
}

fn suite(expect: Expect) -> Suite {
    let spec: SuiteSpec = serde_json::from_value(json!({
        "id": "s", "version": "1", "private_tools": ["think"],
        "faults": [{"id": "f", "kind": "tool_error", "tool": "pay"}],
        "tools": {"look": {}, "think": {}, "pay": {"writes": true, "idempotency_key": "/a/0"},
            "tag": {"writes": true, "idempotent": true}}}))
    .unwrap();
    let mut task: Task = serde_json::from_value(json!({"id": "t"})).unwrap();
    task.expect = expect;
    Suite::new(spec, vec![task])
}

fn keeps_its_promises(grades: &TrialGrades, trace: &Trace) {
    let measures: BTreeSet<Measure> = grades.scores.iter().map(|s| s.measure).collect();
    assert_eq!(measures.len(), grades.scores.len(), "a measure came twice");
    assert_eq!(measures.len(), Measure::ALL.len(), "a measure is missing");
    for score in &grades.scores {
        if let Cell::Value(value) = score.cell {
            assert!(value.is_finite() && value >= 0.0, "{score:?}");
        }
    }
    let known: BTreeSet<u64> = trace.events.iter().map(|e| e.sequence).collect();
    for grade in &grades.grades {
        let real = |e: &u64| known.contains(e);
        assert!(grade.events.iter().all(real), "{grade:?}");
        assert!(
            grade.finding != Finding::Fail || !grade.detail.is_empty(),
            "{grade:?}"
        );
    }
    let text = serde_json::to_string(grades).unwrap();
    assert!(!text.contains(SECRET), "private text came out: {text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn graders_never_panic_and_keep_their_promises(
        trace in trace(), expect in expect(), ended in 0u8..3, cost in odd_number()
    ) {
        let status = match ended {
            0 => TrialStatus::Completed,
            1 => TrialStatus::AgentFailed { reason: "crash".to_owned() },
            _ => TrialStatus::LimitReached { which: "steps".to_owned() },
        };
        let suite = suite(expect);
        let grader = Grader::new(&suite).unwrap();
        let task = grader.task(&suite.tasks[0].id).unwrap();
        let recorded = BTreeMap::from([(Measure::CostUsd, cost)]);
        let grades = task.grade(&status, &recorded, Some(&trace));
        keeps_its_promises(&grades, &trace);
        prop_assert_eq!(&grades, &task.grade(&status, &recorded, Some(&trace)));
        let draft = golden::draft_contract(&suite, &trace);
        prop_assert!(!serde_json::to_string(&draft).unwrap().contains(SECRET));
    }
}
