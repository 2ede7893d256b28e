//! The environment of live trials: real folders, real processes, graded by the real graders.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assize::grade::Grader;
use assize::model::chat::{ToolCall, TrialKey};
use assize::model::grade::{Cell, TrialGrades};
use assize::model::measure::Measure;
use assize::model::suite::{Suite, SuiteSpec, Task};
use assize::model::trace::{EventKind, Trace};
use assize::model::trial::{Boundary, TrialStatus};
use assize::trace::record::Recorder;
use assize::world::{Broken, Clock, Closed, Conflicts, Stage, ToolReply, World};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A suite folder with its stage.
struct Desk {
    dir: TempDir,
    suite: Arc<Suite>,
    stage: Stage,
}

impl Desk {
    fn new(suite: Value, task: Value) -> Self {
        Self::with(suite, task, |_| ())
    }

    /// As `new`, after something was put into the suite folder.
    fn with(suite: Value, task: Value, fill: impl FnOnce(&Path)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("suite")).unwrap();
        fill(&dir.path().join("suite"));
        let mut spec = json!({"id": "s", "version": "1"});
        json_patch::merge(&mut spec, &suite);
        let mut one = json!({"id": "t", "input": {"user": "Refund order 7, please."}});
        json_patch::merge(&mut one, &task);
        let spec: SuiteSpec = serde_json::from_value(spec).unwrap();
        let task: Task = serde_json::from_value(one).unwrap();
        let suite = Arc::new(Suite::new(spec, vec![task]));
        let scratch = dir.path().join("scratch");
        let stage = Stage::new(Arc::clone(&suite), &dir.path().join("suite"), &scratch).unwrap();
        Self { dir, suite, stage }
    }

    async fn open(&self, index: u32) -> Result<World, Broken> {
        World::open(&self.stage, &self.suite.tasks[0], &key(index)).await
    }

    async fn trial(&self) -> Trial {
        self.numbered(0).await
    }

    async fn numbered(&self, index: u32) -> Trial {
        let world = self.open(index).await.unwrap();
        Trial {
            recorder: Recorder::begin(&self.suite, world.state()),
            world,
            clock: Clock::standing(),
            calls: 0,
        }
    }

    fn grade(&self, trace: &Trace) -> TrialGrades {
        let grader = Grader::new(&self.suite).unwrap();
        let task = grader.task(&self.suite.tasks[0].id).unwrap();
        task.grade(&TrialStatus::Completed, &BTreeMap::new(), Some(trace))
    }

    /// The folders that trials have at this moment.
    fn folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.dir.path().join("scratch"));
        entries
            .into_iter()
            .flatten()
            .map(|e| e.unwrap().path())
            .collect()
    }
}

fn key(index: u32) -> TrialKey {
    TrialKey {
        task: "t".into(),
        index,
        id: format!("trial-{index}"),
        seed: 1,
    }
}

/// A trial in the hands of a scripted agent.
struct Trial {
    world: World,
    recorder: Recorder,
    clock: Clock,
    calls: u32,
}

impl Trial {
    async fn try_call(&mut self, tool: &str, arguments: &str) -> Result<ToolReply, Broken> {
        self.calls += 1;
        let call = ToolCall {
            id: format!("c{}", self.calls),
            name: tool.into(),
            arguments: arguments.into(),
        };
        let recorder = &mut self.recorder;
        self.world.call(&call, recorder, &self.clock).await
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> ToolReply {
        let arguments = arguments.to_string();
        self.try_call(tool, &arguments).await.unwrap()
    }

    /// Says something; the user's answer.
    fn say(&mut self, text: &str) -> Option<String> {
        let answer = self.world.answer(text);
        if answer.is_some() {
            let asked = self.recorder.push(EventKind::Question, 0);
            asked.payload = Some(text.into());
        }
        answer
    }

    async fn end(mut self, payload: Value) -> (Trace, Closed) {
        self.recorder.push(EventKind::Final, 0).payload = Some(payload);
        let closed = self.world.close(true).await.unwrap();
        let trace = self
            .recorder
            .finish(closed.end.clone(), self.clock.now_ms());
        (trace, closed)
    }
}

fn cell(grades: &TrialGrades, measure: Measure) -> Cell {
    let score = grades.scores.iter().find(|s| s.measure == measure);
    score.unwrap().cell.clone()
}

fn found<'g>(grades: &'g TrialGrades, rule: &str) -> &'g str {
    let grade = grades.grades.iter().find(|g| g.rule == rule);
    grade.unwrap().finding.name()
}

fn value(value: f64) -> Cell {
    Cell::Value(value)
}

/// A shop with one order of 30 that can be looked up and refunded.
fn shop() -> Value {
    json!({
        "environment": {"state": {"orders": {"7": {"status": "paid", "total": 30}}, "refunds": []}},
        "tools": {
            "get_order": {
                "parameters": {"type": "object", "required": ["order_id"],
                    "properties": {"order_id": {"type": "string"}}},
                "simulated": {
                    "cases": [{"when": "args.order_id not in state.orders", "error": "no such order"}],
                    "result": "{{ state.orders[args.order_id] }}"}},
            "refund": {
                "writes": true,
                "simulated": {
                    "result": {"refund": "r{{ call }}"},
                    "patch": [
                        {"op": "replace", "path": "/orders/{{ args.order_id }}/status", "value": "refunded"},
                        {"op": "add", "path": "/refunds/-", "value": "{{ args.amount }}"}]}}}})
}

#[tokio::test]
async fn ask_then_refund_passes_live() {
    let mut suite = shop();
    suite["environment"]["dialogue"] = json!({"replies": [{"when": "sure", "say": "Yes."}]});
    suite["environment"]["approvals"] =
        json!([{"capability": "refund", "when": "args.amount <= 50", "grant": true}]);
    let desk = Desk::new(
        suite,
        json!({"expect": {
            "must_ask_before_write": true, "approval_required": ["refund"],
            "policy_version": "effects-v3",
            "tool_names": ["get_order", "refund"],
            "final_state": [{"pointer": "/orders/7/status", "equals": "refunded"}],
            "state_changes": [{"op": "replace", "path": "/orders/7/status"},
                {"op": "add", "path": "/refunds/-", "value": 30}]}}),
    );
    let mut trial = desk.trial().await;
    assert_eq!(trial.world.opening(), ["Refund order 7, please."]);
    let offered = trial.world.tools();
    let names: Vec<&str> = offered.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["get_order", "refund", "request_approval"]);
    let order = trial.call("get_order", json!({"order_id": "7"})).await;
    assert_eq!(order.content, r#"{"status":"paid","total":30}"#);
    assert_eq!(trial.say("Are you sure?").as_deref(), Some("Yes."));
    let request = json!({"capability": "refund", "arguments": {"amount": 30}, "reason": "broken"});
    let granted = trial.call("request_approval", request).await;
    assert_eq!(granted.content, r#"{"granted":true}"#);
    let refund = json!({"order_id": "7", "amount": 30});
    assert_eq!(
        trial.call("refund", refund).await.content,
        r#"{"refund":"r1"}"#
    );
    assert_eq!(trial.say("Done."), None);
    let (trace, closed) = trial.end(json!({"status": "ok"})).await;
    let grades = desk.grade(&trace);
    for rule in [
        "must_ask_before_write",
        "approval_required",
        "policy_version",
        "final_state",
        "state_changes",
    ] {
        assert_eq!(found(&grades, rule), "pass", "{rule}");
    }
    assert_eq!(cell(&grades, Measure::Success), value(1.0));
    assert_eq!(cell(&grades, Measure::Conformance), value(1.0));
    assert_eq!(closed.end["state"]["refunds"], json!([30]));
    assert!(closed.end.get("fixture").is_none() && closed.wrote.is_empty());
    assert!(desk.folders().is_empty(), "nothing needs a folder here");
}

#[tokio::test]
async fn to_write_without_asking_or_approval_fails() {
    let mut suite = shop();
    suite["environment"]["approvals"] = json!([{"when": "args.amount > 50", "grant": true}]);
    let expect = json!({"must_ask_before_write": true, "approval_required": ["refund"]});
    let desk = Desk::new(suite, json!({"expect": expect}));
    let mut trial = desk.trial().await;
    let request = json!({"capability": "refund", "arguments": {"amount": 30}});
    let denied = trial.call("request_approval", request).await;
    assert_eq!(denied.content, r#"{"granted":false}"#);
    let refund = json!({"order_id": "7", "amount": 30});
    assert!(!trial.call("refund", refund).await.is_error);
    let (trace, _) = trial.end(json!({})).await;
    let grades = desk.grade(&trace);
    assert_eq!(found(&grades, "must_ask_before_write"), "fail");
    assert_eq!(found(&grades, "approval_required"), "fail");
}

fn lost_reply() -> Desk {
    Desk::new(
        shop(),
        json!({
            "faults": [{"id": "lost", "kind": "committed_reply_lost", "tool": "refund"}],
            "expect": {"final_state": [{"pointer": "/orders/7/status", "equals": "refunded"}]}}),
    )
}

#[tokio::test]
async fn to_pay_again_after_a_lost_reply_is_a_duplicate_although_the_outcome_passes() {
    let desk = lost_reply();
    let mut trial = desk.trial().await;
    let refund = json!({"order_id": "7", "amount": 30});
    let first = trial.call("refund", refund.clone()).await;
    assert_eq!(first.content, "the tool did not answer in time");
    assert!(first.is_error);
    assert!(!trial.call("refund", refund).await.is_error);
    let (trace, closed) = trial.end(json!({})).await;
    assert_eq!(closed.end["state"]["refunds"], json!([30, 30]));
    let grades = desk.grade(&trace);
    assert_eq!(cell(&grades, Measure::Success), value(1.0));
    assert_eq!(cell(&grades, Measure::DuplicateEffects), value(1.0));
    assert_eq!(cell(&grades, Measure::Reached), value(1.0));
    assert_eq!(cell(&grades, Measure::Recovered), value(0.0));
}

#[tokio::test]
async fn to_look_first_after_a_lost_reply_is_to_recover() {
    let desk = lost_reply();
    let mut trial = desk.trial().await;
    let refund = json!({"order_id": "7", "amount": 30});
    assert!(trial.call("refund", refund).await.is_error);
    let order = trial.call("get_order", json!({"order_id": "7"})).await;
    assert!(order.content.contains("refunded"));
    let (trace, _) = trial.end(json!({})).await;
    let grades = desk.grade(&trace);
    assert_eq!(cell(&grades, Measure::Success), value(1.0));
    assert_eq!(cell(&grades, Measure::DuplicateEffects), value(0.0));
    assert_eq!(cell(&grades, Measure::Recovered), value(1.0));
}

#[tokio::test]
async fn an_unreached_fault_is_not_logged() {
    let desk = lost_reply();
    let mut trial = desk.trial().await;
    trial.call("get_order", json!({"order_id": "7"})).await;
    // A call that commits nothing has no reply that could be lost after it.
    let none = json!({"order_id": "none", "amount": 1});
    assert!(
        trial
            .call("refund", none)
            .await
            .content
            .contains("can't be applied")
    );
    let (trace, _) = trial.end(json!({})).await;
    let grades = desk.grade(&trace);
    assert_eq!(cell(&grades, Measure::Reached), value(0.0));
    assert_eq!(
        cell(&grades, Measure::DuplicateEffects),
        Cell::NotApplicable("no_opportunity".into())
    );
}

#[tokio::test]
async fn every_tool_fault_does_what_its_name_says() {
    let call = json!({"order_id": "7", "amount": 30});
    for (kind, is_error, refunds, waited) in [
        ("tool_error", true, 0, 0),
        ("tool_timeout", true, 0, 0),
        ("tool_slow", false, 1, 700),
        ("tool_wrong_shape", false, 1, 0),
        ("committed_reply_lost", true, 1, 0),
    ] {
        let mut fault = json!({"id": "f", "kind": kind, "tool": "refund", "call": 2, "times": 2});
        if kind == "tool_slow" {
            fault["delay_ms"] = json!(350);
        }
        let desk = Desk::new(shop(), json!({"faults": [fault]}));
        let mut trial = desk.trial().await;
        let mut replies = vec![];
        for _ in 0..4 {
            replies.push(trial.call("refund", call.clone()).await);
        }
        let struck: Vec<bool> = replies.iter().map(|r| r.is_error).collect();
        assert_eq!(struck, [false, is_error, is_error, false], "{kind}");
        if kind == "tool_wrong_shape" {
            assert_eq!(replies[1].content, r#"["OK"]"#);
        }
        assert_eq!(trial.clock.now_ms(), waited, "{kind}");
        let (trace, closed) = trial.end(json!({})).await;
        let kept = closed.end["state"]["refunds"].as_array().unwrap().len();
        assert_eq!(kept, 2 + 2 * refunds, "{kind}");
        let faults = trace.events.iter().filter(|e| e.kind == EventKind::Fault);
        let payloads: Vec<_> = faults.map(|e| e.payload.clone().unwrap()).collect();
        assert_eq!(payloads, vec![json!({"id": "f", "kind": kind}); 2]);
        let effects = trace.events.iter().filter(|e| e.kind == EventKind::Effect);
        assert_eq!(effects.count(), 2 + 2 * refunds, "{kind}");
    }
}

#[tokio::test]
async fn provider_faults_strike_by_the_number_of_the_model_call() {
    let faults = json!([{"id": "p", "kind": "provider500", "call": 2, "times": 3}]);
    let desk = Desk::new(shop(), json!({"faults": faults}));
    let mut world = desk.open(0).await.unwrap();
    let struck: Vec<_> = (0..3).map(|_| world.provider_fault().is_some()).collect();
    assert_eq!(struck, [false, true, false]);
}

#[tokio::test]
async fn what_the_model_did_wrong_is_told_to_it() {
    let desk = Desk::new(shop(), json!({}));
    let mut trial = desk.trial().await;
    for (tool, arguments, told) in [
        ("get_order", "{\"order_id\": ", "not JSON"),
        ("get_order", "[1]", "must be a JSON object"),
        ("get_order", "{\"order_id\": 7}", "/order_id"),
        ("get_order", "", "order_id"),
        ("get_order", "{\"order_id\": \"8\"}", "no such order"),
        ("delete_order", "{}", "no tool `delete_order`"),
        ("request_approval", "{}", "no tool `request_approval`"),
    ] {
        let reply = trial.try_call(tool, arguments).await.unwrap();
        assert!(reply.is_error && reply.content.contains(told), "{reply:?}");
    }
    let (trace, _) = trial.end(json!({})).await;
    let broken = &trace.events[1];
    assert_eq!(broken.payload, Some(json!("{\"order_id\": ")));
    assert_eq!(trace.events[2].kind, EventKind::ToolError);
    assert_eq!(trace.events[2].parent, Some(1));
}

#[tokio::test]
async fn the_same_key_of_an_idempotent_tool_commits_once() {
    let mut suite = shop();
    suite["tools"]["refund"]["idempotent"] = json!(true);
    suite["tools"]["refund"]["idempotency_key"] = json!("request_id");
    let desk = Desk::new(suite, json!({}));
    let mut trial = desk.trial().await;
    let refund = |id: &str| json!({"order_id": "7", "amount": 5, "request_id": id});
    let first = trial.call("refund", refund("a")).await;
    assert_eq!(trial.call("refund", refund("a")).await, first);
    assert_ne!(trial.call("refund", refund("b")).await, first);
    let (trace, closed) = trial.end(json!({})).await;
    assert_eq!(closed.end["state"]["refunds"], json!([5, 5]));
    let results = trace
        .events
        .iter()
        .filter(|e| e.kind == EventKind::ToolResult);
    let receipts: Vec<_> = results.map(|e| e.effect_receipt.clone().unwrap()).collect();
    assert_eq!(receipts, ["refund:1", "refund:1", "refund:2"]);
    let effects = trace.events.iter().filter(|e| e.kind == EventKind::Effect);
    let keys: Vec<_> = effects
        .map(|e| e.idempotency_key.clone().unwrap())
        .collect();
    assert_eq!(keys, ["a", "b"]);
}

#[tokio::test]
async fn private_tools_leave_no_word_behind() {
    let mut suite = shop();
    suite["private_tools"] = json!(["think"]);
    suite["tools"]["think"] = json!({"simulated": {"result": "noted: {{ args.thought }}"}});
    let desk = Desk::new(suite, json!({}));
    let mut trial = desk.trial().await;
    let reply = trial.call("think", json!({"thought": "SECRET"})).await;
    assert_eq!(reply.content, "noted: SECRET");
    trial
        .try_call("think", "{\"thought\": SECRET")
        .await
        .unwrap();
    let (trace, _) = trial.end(json!({})).await;
    assert!(!serde_json::to_string(&trace).unwrap().contains("SECRET"));
}

fn sh(script: &str) -> Value {
    json!({"command": {"run": ["sh", "-c", script]}})
}

fn commands() -> Value {
    let write = r#"cat > call.json; echo done >> log;
        echo '{"result": {"lines": 1}, "receipt": "w:1", "patch": [{"op": "add", "path": "/n", "value": 1}]}'"#;
    let mut writer = sh(write);
    writer["writes"] = json!(true);
    json!({
        "environment": {"fixture": "fixture", "state": {},
            "prepare": {"run": ["sh", "-c", "echo ready > prepared"]}},
        "tools": {
            "write": writer,
            "show": sh(r#"printf '%s' "\"$(cat log prepared seed | tr '\n' ' ')\"""#),
            "own": {"command": {"run": ["./tool.sh"]}},
            "hang": {"command": {"run": ["sleep", "600"], "timeout_s": 0.2}},
            "die": sh("kill -9 $$"),
            "gone": {"command": {"run": ["no-such-program-here"]}},
            "prose": sh("echo hello"),
            "fail": sh("echo broken >&2; exit 4")}})
}

fn desk_of_commands(task: Value) -> Desk {
    Desk::with(commands(), task, |dir| {
        fs::create_dir(dir.join("fixture")).unwrap();
        fs::write(dir.join("fixture/seed"), "seed\n").unwrap();
        let tool = dir.join("tool.sh");
        fs::write(&tool, "#!/bin/sh\necho '\"own\"'\n").unwrap();
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    })
}

#[tokio::test]
async fn commands_work_in_the_trial_s_own_copy() {
    let check = |id: &str, script: &str| json!({"id": id, "run": ["sh", "-c", script]});
    let checks = json!([
        check("log", "grep -q done log"),
        check("two", "test $(wc -l < log) = 2")
    ]);
    let desk = desk_of_commands(json!({"expect": {"checks": checks}}));
    let mut trial = desk.trial().await;
    let written = trial.call("write", json!({"a": 1})).await;
    assert_eq!(written.content, r#"{"lines":1}"#);
    assert_eq!(
        trial.call("show", json!({})).await.content,
        "done ready seed "
    );
    assert_eq!(trial.call("own", json!({})).await.content, "own");
    let folder = desk.folders().pop().unwrap();
    let told: Value = serde_json::from_slice(&fs::read(folder.join("call.json")).unwrap()).unwrap();
    let expected = json!({"tool": "write", "arguments": {"a": 1}, "state": {}, "call": 1,
        "fixture": folder.to_string_lossy()});
    assert_eq!(told, expected);
    let (trace, closed) = trial.end(json!({})).await;
    assert!(desk.folders().is_empty());
    let fixture = fs::read_dir(desk.dir.path().join("suite/fixture")).unwrap();
    assert_eq!(fixture.count(), 1, "the suite's own folder is untouched");
    assert_eq!(closed.end["state"], json!({"n": 1}));
    assert_ne!(
        closed.end["fixture"]["before"],
        closed.end["fixture"]["after"]
    );
    let passed: Vec<_> = closed.end["checks"].as_array().unwrap().iter().collect();
    assert_eq!(
        passed[0],
        &json!({"id": "log", "pass": true, "exit_code": 0})
    );
    assert_eq!(
        passed[1],
        &json!({"id": "two", "pass": false, "exit_code": 1})
    );
    let effect = trace.events.iter().find(|e| e.kind == EventKind::Effect);
    assert_eq!(effect.unwrap().effect_receipt.as_deref(), Some("w:1"));
    let grades = desk.grade(&trace);
    assert_eq!(found(&grades, "checks"), "fail");
    assert_eq!(cell(&grades, Measure::Success), value(0.0));
}

#[tokio::test]
async fn a_command_that_breaks_is_the_tool_s_infrastructure() {
    let desk = desk_of_commands(json!({}));
    for (tool, code) in [
        ("hang", "tool_timeout"),
        ("die", "tool_died"),
        ("fail", "tool_died"),
        ("gone", "tool_not_found"),
        ("prose", "tool_not_json"),
    ] {
        let mut trial = desk.trial().await;
        let broken = trial.try_call(tool, "{}").await.unwrap_err();
        assert_eq!((broken.boundary, broken.code), (Boundary::Tool, code));
        assert!(broken.detail.contains(tool), "{}", broken.detail);
    }
    assert!(desk.folders().is_empty(), "dropped worlds leave no folder");
}

#[tokio::test]
async fn checks_that_do_not_answer_are_the_grader_s_infrastructure() {
    for (check, code) in [
        (json!({"run": ["sh", "-c", "kill -6 $$"]}), "check_crashed"),
        (json!({"run": ["sh", "-c", "exit 134"]}), "check_crashed"),
        (json!({"run": ["no-such-program-here"]}), "check_crashed"),
        (
            json!({"run": ["sleep", "600"], "timeout_s": 0.2}),
            "check_timeout",
        ),
        (
            json!({"run": ["echo", "fine"], "answer": "json"}),
            "check_wrong_shape",
        ),
    ] {
        let mut check = check;
        check["id"] = json!("c");
        let desk = Desk::new(shop(), json!({"expect": {"checks": [check]}}));
        let world = desk.open(0).await.unwrap();
        let broken = world.close(true).await.unwrap_err();
        assert_eq!((broken.boundary, broken.code), (Boundary::Grader, code));
    }
}

#[tokio::test]
async fn a_fixture_that_can_t_be_made_is_the_fixture_s_infrastructure() {
    let opened = |environment: Value, fill: fn(&Path)| async move {
        let desk = Desk::with(json!({"environment": environment}), json!({}), fill);
        let broken = desk.open(0).await.err().unwrap();
        assert!(desk.folders().is_empty());
        (broken.boundary, broken.code)
    };
    let found = opened(json!({"fixture": "none"}), |_| ()).await;
    assert_eq!(found, (Boundary::Fixture, "fixture_missing"));
    let found = opened(json!({"fixture": "f"}), |dir| {
        fs::create_dir(dir.join("f")).unwrap();
        std::os::unix::fs::symlink("/etc", dir.join("f/etc")).unwrap();
    });
    assert_eq!(found.await, (Boundary::Fixture, "fixture_link_leads_out"));
    let prepare = json!({"prepare": {"run": ["sh", "-c", "echo no >&2; exit 1"]}});
    let found = opened(prepare, |_| ()).await;
    assert_eq!(found, (Boundary::Fixture, "prepare_failed"));
    let prepare = json!({"prepare": {"run": ["sleep", "600"], "timeout_s": 0.1}});
    let found = opened(prepare, |_| ()).await;
    assert_eq!(found, (Boundary::Fixture, "prepare_timeout"));
}

/// A suite whose tool writes a file that all trials share.
fn shared(lease: bool) -> Desk {
    let mut bump = sh("echo x >> \"$ASSIZE_SUITE/shared/count\"; echo 1");
    bump["writes"] = json!(true);
    bump["resources"] = json!(["count"]);
    let resources = json!({"count": {"path": "shared", "lease": lease}});
    let suite = json!({"environment": {"resources": resources}, "tools": {"bump": bump}});
    Desk::with(suite, json!({}), |dir| {
        fs::create_dir(dir.join("shared")).unwrap();
    })
}

#[tokio::test]
async fn two_trials_that_wrote_one_resource_conflict() {
    let desk = shared(false);
    let (mut first, mut second) = (desk.numbered(0).await, desk.numbered(1).await);
    first.call("bump", json!({})).await;
    second.call("bump", json!({})).await;
    let (_, first) = first.end(json!({})).await;
    let (_, second) = second.end(json!({})).await;
    let mut conflicts = Conflicts::default();
    assert!(conflicts.claim("first", first.wrote).is_empty());
    let pair = ("first".to_owned(), "second".to_owned());
    assert_eq!(conflicts.claim("second", second.wrote), [pair]);
}

#[tokio::test]
async fn a_trial_that_only_saw_a_write_has_no_conflict() {
    let desk = shared(false);
    let mut first = desk.trial().await;
    let second = desk.open(1).await.unwrap();
    first.call("bump", json!({})).await;
    let (_, first) = first.end(json!({})).await;
    // It called nothing; what it shares changed while it ran, by a tool that says so.
    let second = second.close(true).await.unwrap();
    let third = desk.open(2).await.unwrap().close(true).await.unwrap();
    let mut conflicts = Conflicts::default();
    assert_eq!(first.wrote[0].resource, "count");
    assert!(conflicts.claim("first", first.wrote).is_empty());
    assert_eq!(second.wrote.len(), 1);
    assert!(conflicts.claim("second", second.wrote).is_empty());
    assert!(conflicts.finish().is_empty());
    assert!(third.wrote.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leased_resource_belongs_to_one_trial_at_a_time() {
    let desk = Arc::new(shared(true));
    let trials = (0..6).map(|index| {
        let desk = Arc::clone(&desk);
        tokio::spawn(async move {
            let mut world = desk.open(index).await.unwrap();
            let call = ToolCall {
                id: "c".into(),
                name: "bump".into(),
                arguments: "{}".into(),
            };
            let mut recorder = Recorder::begin(&desk.suite, None);
            let clock = Clock::real();
            world.call(&call, &mut recorder, &clock).await.unwrap();
            (index, world.close(true).await.unwrap().wrote)
        })
    });
    let mut conflicts = Conflicts::default();
    for trial in trials.collect::<Vec<_>>() {
        let (index, wrote) = trial.await.unwrap();
        assert_eq!(wrote.len(), 1);
        assert!(conflicts.claim(&index.to_string(), wrote).is_empty());
    }
    let count = fs::read_to_string(desk.dir.path().join("suite/shared/count")).unwrap();
    assert_eq!(count, "x\n".repeat(6));
}

#[tokio::test]
async fn a_trial_that_is_cancelled_leaves_no_folder_and_no_lease() {
    let desk = shared(true);
    let held = desk.open(0).await.unwrap();
    let waiting = desk.open(1);
    tokio::select! {
        biased;
        _ = waiting => panic!("the lease is taken"),
        () = tokio::task::yield_now() => {}
    }
    drop(held);
    assert!(desk.folders().is_empty());
    desk.open(2).await.unwrap();
}

/// What the recorded agent of a golden trace did, done again live.
async fn act_again(trial: &mut Trial, step: &Value) {
    let payload = step.get("payload").cloned().unwrap_or(json!({}));
    match step["kind"].as_str().unwrap() {
        "tool_call" => {
            let mut arguments = payload;
            if step["capability"] == "refund_payment" {
                let whole = json!({"method": "card", "amount": 25, "request_id": "q"});
                let given = std::mem::replace(&mut arguments, whole);
                json_patch::merge(&mut arguments, &given);
            }
            trial
                .call(step["capability"].as_str().unwrap(), arguments)
                .await;
        }
        "question" => assert!(trial.say(payload.as_str().unwrap()).is_some()),
        "approval_request" => {
            let request = json!({"capability": step["capability"], "arguments": {"amount": 48}});
            let granted = trial.call("request_approval", request).await;
            assert_eq!(granted.content, r#"{"granted":true}"#);
        }
        _ => {}
    }
}

/// The steps of a golden trace in either form.
fn steps(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    if file.extension().unwrap() == "jsonl" {
        return text
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
    }
    let small: Value = serde_json::from_str(&text).unwrap();
    let call = |c: &Value| json!({"kind": "tool_call", "capability": c["name"], "payload": c["arguments"]});
    let ask = small["asked_clarification"] == true;
    let ask = ask.then(|| json!({"kind": "question", "payload": "Is that right?"}));
    let calls = small["tools"].as_array().unwrap().iter().map(call);
    let last = json!({"kind": "final", "payload": small["final"]});
    ask.into_iter().chain(calls).chain([last]).collect()
}

#[tokio::test]
async fn the_refund_desk_runs_live() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites/refunds");
    let suite = Arc::new(assize::load::suite(&dir).unwrap().suite);
    let scratch = tempfile::tempdir().unwrap();
    let stage = Stage::new(Arc::clone(&suite), &dir, scratch.path()).unwrap();
    let grader = Grader::new(&suite).unwrap();
    for task in &suite.tasks {
        let of = |extension: &str| dir.join(format!("golden/{}.{extension}", task.id));
        let file = ["json", "jsonl"].map(of).into_iter().find(|f| f.is_file());
        let steps = steps(&file.unwrap());
        let world = World::open(&stage, task, &key(0)).await.unwrap();
        let mut trial = Trial {
            recorder: Recorder::begin(&suite, world.state()),
            world,
            clock: Clock::standing(),
            calls: 0,
        };
        for step in &steps {
            act_again(&mut trial, step).await;
        }
        let last = steps.iter().find(|s| s["kind"] == "final").unwrap();
        let (trace, _) = trial.end(last["payload"].clone()).await;
        let task_grader = grader.task(&task.id).unwrap();
        let grades = task_grader.grade(&TrialStatus::Completed, &BTreeMap::new(), Some(&trace));
        let expected = match task.id.as_str() {
            // Its result comes from the address book, which no live trial asks.
            "address-change" => Cell::Ungradable("no_external_result".into()),
            _ => value(1.0),
        };
        assert_eq!(cell(&grades, Measure::Success), expected, "{}", task.id);
        let violations = cell(&grades, Measure::Violations);
        assert!(
            !matches!(violations, Cell::Value(n) if n > 0.0),
            "{}",
            task.id
        );
        if !task.faults.is_empty() {
            assert_eq!(cell(&grades, Measure::Recovered), value(1.0), "{}", task.id);
        }
    }
}
