//! Sound files become the model.

use std::fs;
use std::path::Path;

use assize::base::{Digest, ErrorKind, TaskId};
use assize::load;
use assize::model::arm::ArmSpec;

/// Writes files into a fresh suite folder.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = dir.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    dir
}

/// The contract as teams wrote it before this tool was there.
const GOLDEN: &str = r#"{"id": "refund-requires-order-lookup",
 "input": {"user": "Refund order 1842 to the original card."},
 "expect": {
   "tool_names": ["get_order", "refund_payment"],
   "required_arg_keys": {"get_order": ["order_id"], "refund_payment": ["order_id", "method"]},
   "forbidden_tools": ["create_order", "charge_card"],
   "must_ask_before_write": true,
   "final_schema": {"type": "object", "required": ["status", "refund_id"],
     "properties": {"status": {"enum": ["ok", "needs_human"]}, "refund_id": {"type": ["string", "null"]}}}}}
"#;

const REFUNDS: &str = "\
id: refunds
version: \"3\"
tools:
  get_order: {}
  refund_payment: {writes: true}
  create_order: {writes: true}
  charge_card: {writes: true}
expect:
  forbidden_tools: [charge_card]
  max_calls: {refund_payment: 1}
  policy_version: v3
faults:
  - {id: slow, kind: tool_slow, tool: get_order}
";

#[test]
fn the_golden_contract_is_read_as_it_is_written() {
    let dir = folder(&[("suite.yaml", REFUNDS), ("tasks/refund.json", GOLDEN)]);
    let loaded = load::suite(dir.path()).unwrap();
    let task = &loaded.suite.tasks[0];
    let written: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
    let read = serde_json::to_value(task).unwrap();
    for key in [
        "tool_names",
        "required_arg_keys",
        "forbidden_tools",
        "must_ask_before_write",
        "final_schema",
    ] {
        assert_eq!(read["expect"][key], written["expect"][key], "{key}");
    }
    assert_eq!(read["input"], written["input"]);
    assert_eq!(task.expect.max_calls["refund_payment"], 1, "from the suite");
    assert_eq!(task.expect.policy_version.as_deref(), Some("v3"));
    assert_eq!(task.faults[0].id, "slow");
    assert!(loaded.suite.writes("refund_payment") && !loaded.suite.writes("get_order"));
}

#[test]
fn tasks_stand_in_the_order_of_their_files() {
    let dir = folder(&[
        ("suite.yaml", "id: s\nversion: \"1\"\n"),
        ("tasks/b.yaml", "- id: z\n- id: a\n"),
        ("tasks/a.yml", "id: m\n"),
        ("tasks/c.jsonl", "{\"id\": \"k\"}\n\n{\"id\": \"b\"}\n"),
        ("tasks/.hidden.yaml", "id: hidden\n"),
        ("tasks/notes.txt", "not a task"),
        ("tasks.jsonl", "{\"id\": \"0\"}\n"),
    ]);
    let suite = load::suite(dir.path()).unwrap().suite;
    let ids: Vec<&str> = suite.tasks.iter().map(|t| t.id.as_str()).collect();
    assert_eq!(ids, ["m", "z", "a", "k", "b", "0"]);
    assert!(suite.task(&TaskId::new("k")).is_some());
}

#[test]
fn the_digest_is_of_the_meaning_and_not_of_the_spelling() {
    let yaml = "# A comment.\nversion: '1'\nid: s\nlimits: {steps: 10}\ntrials: 2.0\n";
    let json = "{\"id\": \"s\", \"version\": \"1\", \"limits\": {\"steps\": 10}, \"trials\": 2}";
    let digest = |name: &str, text: &str, task: &str| {
        let dir = folder(&[(name, text), ("tasks.jsonl", task)]);
        load::suite(dir.path()).unwrap().suite.digest
    };
    let task = "{\"id\": \"t\", \"input\": {\"n\": 1}}";
    let same = digest("suite.yaml", yaml, task);
    assert_eq!(
        same,
        digest(
            "suite.json",
            json,
            "{\"input\": {\"n\": 1.0},  \"id\": \"t\"}\n"
        )
    );
    assert_ne!(
        same,
        digest("suite.json", json, "{\"id\": \"t\", \"input\": {\"n\": 2}}")
    );
    assert_ne!(same, digest("suite.json", &json.replace("10", "11"), task));
}

#[test]
fn one_error_carries_all_problems() {
    let dir = folder(&[
        ("suite.yaml", "id: s\nversion: \"1\"\ntrails: 2\n"),
        ("tasks.jsonl", "{\"id\": \"t\", \"inputs\": {}}\n"),
    ]);
    let error = load::suite(dir.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    assert_eq!(error.parts().len(), 2);
    let root = dir.path().display().to_string();
    assert_eq!(
        error.to_string().replace(&root, "S"),
        "S: 2 problems\n\
         S/suite.yaml:3: unknown key `trails`\n  hint: did you mean `trials`?\n\
         S/tasks.jsonl:1: unknown key `inputs`\n  hint: did you mean `input`?"
    );
    let absent = load::suite(&dir.path().join("absent")).unwrap_err();
    assert!(
        absent
            .to_string()
            .ends_with("absent: there is no such folder")
    );
}

#[test]
fn notices_tell_what_is_worth_knowing() {
    let dir = folder(&[
        (
            "suite.yaml",
            "id: s\nversion: \"1\"\nsegments: [kind]\ncluster: source\n",
        ),
        (
            "tasks.jsonl",
            "{\"id\": \"a\", \"metadata\": {\"kind\": \"x\", \"source\": 1}}\n\
             {\"id\": \"b\", \"metadata\": {\"kind\": \"y\", \"source\": 1}}\n\
             {\"id\": \"c\", \"metadata\": {\"kind\": \"y\"}}\n",
        ),
    ]);
    let notices = load::suite(dir.path()).unwrap().notices;
    let told: Vec<_> = notices
        .iter()
        .map(|n| (n.code.as_str(), n.detail.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("metadata_missing", "1 tasks have no `source`: c"),
            (
                "cluster_crosses_segment",
                "1 clusters have tasks in several values of segment `kind`: 1"
            ),
        ]
    );
}

#[test]
fn an_arm_is_known_by_its_definition_and_its_recording() {
    let arms = "arms:\n  b: {kind: recorded, path: b.json}\n  a: {kind: recorded, path: a.json, model: m}\n";
    let dir = folder(&[("arms.yaml", arms), ("a.json", "1"), ("b.json", "2")]);
    let file = dir.path().join("arms.yaml");
    let content = |path: &Path| Ok(Digest::of_bytes(&fs::read(path).unwrap()));
    let first = load::arms(&file, &content).unwrap();
    let names: Vec<&str> = first.iter().map(|a| a.id.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(first[0].model(), Some("m"));
    let ArmSpec::Recorded(recorded) = &first[0].spec else {
        panic!("the arm is recorded")
    };
    assert_eq!(
        recorded.path, "a.json",
        "as written, so that the digest does not depend on the place"
    );
    fs::write(dir.path().join("a.json"), "3").unwrap();
    let second = load::arms(&file, &content).unwrap();
    assert_ne!(first[0].digest, second[0].digest);
    assert_eq!(first[1].digest, second[1].digest);
}
