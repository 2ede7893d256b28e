//! Broken suites and the problems that must be found in them, each with file and line.

use std::fs;
use std::path::Path;

use assize::base::Error;
use assize::load;

const SUITE: &str = "id: s\nversion: \"1\"\n";
const TASK: &str = "{\"id\": \"t\"}\n";

/// Writes files into a fresh suite folder (a sound suite file and task where none are given),
/// validates it, and compares the problems: `file:line: message | hint`.
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let given = |start: &str| files.iter().any(|(name, _)| name.starts_with(start));
    if !given("suite.") {
        fs::write(root.join("suite.yaml"), SUITE).unwrap();
    }
    if !given("tasks") {
        fs::write(root.join("tasks.jsonl"), TASK).unwrap();
    }
    for (name, text) in files {
        let file = root.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let found = load::validate(&[root.to_path_buf()], &|_| vec![]);
    let found: Vec<String> = found.problems.iter().map(|e| shown(e, root)).collect();
    assert_eq!(found, expected, "{files:#?}\n{}", found.join("\n"));
}

fn shown(error: &Error, root: &Path) -> String {
    let file = error.file().map(|f| f.strip_prefix(root).unwrap_or(f));
    let mut text = file.map(|f| f.display().to_string()).unwrap_or_default();
    if let Some(line) = error.line() {
        text.push_str(&format!(":{line}"));
    }
    text.push_str(&format!(": {}", error.message()));
    for hint in error.hints() {
        text.push_str(&format!(" | {hint}"));
    }
    text.replace(&format!("{}/", root.display()), "")
}

/// A suite file with more keys, from line 3 on.
fn suite(more: &str) -> String {
    format!("{SUITE}{more}")
}

#[test]
fn dump() {
    let cases: Vec<(&str, String, &str)> = vec![
        ("keys", "id: s\nversion: \"1\"\ntrails: 3\nlimits:\n  step: 4\nexpect:\n  calls:\n    - name: x\n      argumens: {}\n  checks: []\ntools:\n  a:\n    write: true\ndialogue: {}\ndecision:\n  rules:\n    - dimension: outcome\n      rule: non_inferior\n      margn: 0.1\n".into(), TASK),
        ("types", "id: 7\nversion: 1.0\ntrials: three\nsegments: kind\nlimits:\nweights: by_task\ndata: 4\nexpect:\n  path_mode: inorder\n  tool_names: [a, 3]\n  must_ask_before_write: \"yes\"\n  max_calls: {x: -1}\n  calls: {a: b}\ndecision:\n  alpha: .nan\n  primary: [outcom]\n  margins: [0.5]\n".into(), TASK),
        ("missing", "trials: 99999999999\ndecision:\n  rules:\n    - rule: superior\n    - dimension: outcome\nfaults:\n  - id: f\n".into(), TASK),
        ("overflow", "id: s\nversion: \"1\"\ntrials: 3.0\nlimits: {steps: 1.0e30}\n".into(), TASK),
        ("dup", "id: s\nversion: \"1\"\nid: t\ntools:\n  a: {}\n  a: {writes: true}\n".into(), "{\"id\": \"t\", \"id\": \"u\",\n \"input\": {}}\n"),
        ("dupids", SUITE.into(), "{\"id\": \"t\"}\n\n{\"id\": \"u\"}\n{\"id\": \"t\"}\n{}\n{}\n"),
        ("tools", suite("tools:\n  get_order: {}\n  refund_payment: {writes: true}\nprivate_tools: [thnk]\nexpect:\n  forbidden_tools: [get_oder]\n"), "{\"id\": \"t\", \"expect\": {\"tool_names\": [\"get_order\", \"refund_paymnt\"], \"allowed_paths\": [[\"a\"]], \"calls\": [{\"name\": \"GetOrder\"}], \"required_arg_keys\": {\"b\": []}, \"args\": {\"c\": {\"exact\": {}}}, \"max_calls\": {\"d\": 1}, \"forbidden_tools\": [\"e\"], \"approval_required\": [\"f\"], \"arg_scope\": {\"g\": true}}, \"faults\": [{\"id\": \"x\", \"kind\": \"tool_error\", \"tool\": \"h\"}]}\n"),
        ("writes", suite("expect: {must_ask_before_write: true}\n"), TASK),
        ("limits", suite("trials: 0\nlimits: {wall_time_s: -1, steps: 0, tool_calls: 0, tokens: 0, cost_usd: .inf}\nweights: equal_cluster\ntool_errors: {prefixes: [\"\"]}\nfaults:\n  - {id: a, kind: tool_error}\n  - {id: a, kind: provider429, tool: x, call: 0}\n"), TASK),
        ("schemas", suite("expect:\n  final_schema:\n    type: objekt\n    properties: 3\n  arg_scope: {a: {$ref: \"https://example.com/x.json\"}, b: [1]}\n  args:\n    a:\n      schema: {pattern: \"(\"}\n      hash: XYZ\n      exact: 3\n      ignore: [/a~]\n    b: {}\n  final_state:\n    - pointer: a.b\n      equals: null\n    - pointer: /a\n    - pointer: /a\n      exists: true\n      equals: 1\n    - pointer: /a\n      schema: {$ref: \"#/nowhere\"}\n  state_changes:\n    - {op: remove, path: x, value: 1}\n  allowed_paths: []\n"), TASK),
        ("decision", suite("decision:\n  baseline: a\n  candidate: a\n  alpha: 0.5\n  gate_alpha: 0\n  primary: [outcome, outcome]\n  margins:\n    outcome: 0\n    trajectory: 1.2\n    tool_calls.mean: 0.2\n    cost_usd.p90: -1\n    violationrate: 0.1\n    quality: 0.1\n  rules:\n    - {dimension: outcome, rule: non_inferior}\n    - {dimension: permission, rule: non_inferior}\n    - {dimension: permission, rule: max_rate}\n    - {dimension: permission, rule: max_rate, rate: 1.5, margin: 0.1}\n    - {dimension: efficiency, rule: max_rate, rate: 0.5}\n    - {dimension: efficiency, metric: tool_calls, rule: non_inferior, margin: 1.2}\n    - {dimension: outcome, metric: violation_rate, rule: superior}\n    - {dimension: quality, rule: superior}\n    - {dimension: outcome, rule: no_task_regression, margin: 0.1}\n"), TASK),
        ("metadata", suite("segments: [kid, expects, expects]\ncluster: kind\n"), "{\"id\": \"t\", \"metadata\": {\"kind\": [1], \"expects\": \"x\"}}\n"),
        ("format", "format: 2\nidd: s\n".into(), TASK),
        ("format0", suite("format: 0\n"), TASK),
        ("names", "id: a/b\nversion: \"\"\n".into(), "{\"id\": \"\"}\n{\"id\": \"../x\"}\n{\"id\": \"a\\u0007b\"}\n{\"id\": \" a\"}\n"),
        ("contradiction", suite("expect: {forbidden_tools: [charge]}\n"), "{\"id\": \"t\", \"expect\": {\"tool_names\": [\"a\", \"charge\", \"a\"], \"max_calls\": {\"a\": 1}}}\n"),
        ("broken json", SUITE.into(), "{\"id\": \"t\"\n{\"id\": \"u\"}\n[1, 2]\n\"x\"\n"),
        ("empty", SUITE.into(), ""),
        ("empty suite", "".into(), TASK),
        ("list suite", "- a\n- b\n".into(), TASK),
        ("syntax", "id: [\n".into(), TASK),
        ("nul", "id: \"a\\0b\"\nversion: \"1\"\n".into(), TASK),
    ];
    for (name, suite, task) in cases {
        println!("=== {name}");
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::write(root.join("suite.yaml"), suite).unwrap();
        fs::write(root.join("tasks.jsonl"), task).unwrap();
        let found = load::validate(&[root.to_path_buf()], &|_| vec![]);
        for e in found.problems {
            println!("{}", shown(&e, root));
        }
    }
}
