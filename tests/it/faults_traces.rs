//! Cases in which tools of this field misread evidence; none of the faults may show here.

use assize::base::Result;
use assize::model::arm::TraceFormat;
use assize::model::measure::Measure;
use assize::model::trial::{Boundary, RecordedTrial, TrialStatus};
use assize::trace::import::table::{self, TableMap};
use assize::trace::import::{self, ImportOptions, status_from_error};
use serde_json::json;

fn chat(text: &str) -> Result<Vec<RecordedTrial>> {
    let options = ImportOptions::new("log.json", "stem");
    let mut trials = vec![];
    import::read(
        TraceFormat::OpenaiChat,
        &mut text.as_bytes(),
        &options,
        &mut |trial| {
            trials.push(trial);
            Ok(())
        },
    )?;
    Ok(trials)
}

fn csv(text: &str) -> Result<Vec<RecordedTrial>> {
    let options = ImportOptions::new("t.csv", "stem");
    let mut trials = vec![];
    table::read(
        &mut text.as_bytes(),
        &TableMap::default(),
        &options,
        &mut |trial| {
            trials.push(trial);
            Ok(())
        },
    )?;
    Ok(trials)
}

/// Case 47: an agent that was never observed is not one that failed ten times.
#[test]
fn a_rate_limit_is_not_the_agents_failure() {
    let error = "TimeoutError(429 rate limit)";
    let records: Vec<_> = (0..10)
        .map(|i| json!({"task_id": i, "trial": 0, "reward": 0.0, "traj": [], "info": {"error": error}}))
        .collect();
    let trials = chat(&json!(records).to_string()).unwrap();
    assert_eq!(trials.len(), 10);
    for trial in &trials {
        assert_eq!(trial.status.boundary(), Some(Boundary::Provider));
        assert!(
            trial
                .trace
                .as_ref()
                .is_none_or(|trace| trace.external.is_none())
        );
    }
    assert!(!status_from_error(error, None).is_valid());
}

/// Case 53: crashed runs stay in the denominator as infrastructure, they don't vanish.
#[test]
fn crashed_runs_do_not_vanish() {
    let mut records = vec![json!({"task_id": "t", "trial": 0, "reward": 1.0,
        "traj": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]})];
    records.extend((1..10).map(|i| {
        json!({"task_id": "t", "trial": i, "reward": 0.0, "traj": [],
            "info": {"error": "boom", "traceback": "Traceback…\nRuntimeError: boom"}})
    }));
    let trials = chat(&json!(records).to_string()).unwrap();
    let crashed: Vec<_> = trials.iter().filter(|t| !t.status.is_valid()).collect();
    assert_eq!((trials.len(), crashed.len()), (10, 9));
    let expected = TrialStatus::infra(Boundary::Runner, "unknown_error", "boom");
    assert!(crashed.iter().all(|t| t.status == expected));
}

/// Case 27: a score that is NaN is not a measurement, in JSON Lines as in a table.
#[test]
fn a_nan_score_is_refused() {
    let lines = "{\"task_id\":1,\"messages\":[],\"reward\":1}\n{\"task_id\":4,\"messages\":[],\"reward\":NaN}\n";
    let error = chat(lines).unwrap_err().to_string();
    assert!(
        error.starts_with("log.json:2: record 2: NaN and Infinity are not"),
        "{error}"
    );
    let text = chat("[{\"task_id\":4,\"messages\":[],\"reward\":\"NaN\"}]").unwrap_err();
    assert!(
        text.message().contains("`reward` is not a number"),
        "{text}"
    );
    let error = csv("task,score\n3,1\n4,NaN\n").unwrap_err().to_string();
    assert!(
        error.starts_with("t.csv:3: column `score`: `NaN` is not"),
        "{error}"
    );
}

/// Case 73: an unknown cost is absent, not zero dollars.
#[test]
fn an_unknown_cost_is_absent() {
    let trials = csv("task,score,cost_usd,latency_ms\na,1,,\n").unwrap();
    assert_eq!(
        trials[0].recorded.keys().collect::<Vec<_>>(),
        [&Measure::Success]
    );
    let record =
        json!({"messages": [{"role": "assistant", "content": "x"}], "cost": null, "usage": null});
    assert!(chat(&record.to_string()).unwrap()[0].recorded.is_empty());
}

/// Case 09: all trials of a task are read, not the first alone.
#[test]
fn repeated_trials_are_all_read() {
    let mut text = String::from("arm,task,trial,score\n");
    for (arm, first) in [("a", 1), ("b", 0)] {
        for task in ["q1", "q2"] {
            for trial in 0..5 {
                let score = if trial == 0 { first } else { 1 - first };
                text.push_str(&format!("{arm},{task},{trial},{score}\n"));
            }
        }
    }
    let trials = csv(&text).unwrap();
    let mean = |arm: &str| {
        let of = |t: &&RecordedTrial| t.arm.as_ref().unwrap().as_str() == arm;
        let scores: Vec<f64> = trials
            .iter()
            .filter(of)
            .map(|t| t.recorded[&Measure::Success])
            .collect();
        scores.iter().sum::<f64>() / scores.len() as f64
    };
    assert_eq!(trials.len(), 20);
    assert!((mean("b") - mean("a") - 0.6).abs() < 1e-12);
}

/// Case 63: a misspelt key is an error where it would silently change what is graded.
#[test]
fn a_misspelt_key_is_not_skipped() {
    let options = ImportOptions::new("t.json", "stem");
    let mut sink = |_| Ok(());
    let text = "{\"tools\": [], \"asked_clarificaton\": true}";
    let error = import::read(
        TraceFormat::Small,
        &mut text.as_bytes(),
        &options,
        &mut sink,
    );
    assert_eq!(
        error.unwrap_err().hints(),
        ["did you mean `asked_clarification`?"]
    );
    let text = "{\"sequence\": 0, \"kind\": \"trial_start\", \"secnd\": 1}";
    let error = import::read(
        TraceFormat::Native,
        &mut text.as_bytes(),
        &options,
        &mut sink,
    );
    assert!(error.unwrap_err().message().contains("unknown key `secnd`"));
}

/// What passed through private tools, hidden reasoning, and keys must not get
/// past the importers on any way.
#[test]
fn nothing_hidden_gets_past_an_importer() {
    const SECRET: &str = "SECRETXYZZY";
    let user = json!({"role": "user", "content": "go"});
    let done = |text: &str| json!({"role": "assistant", "content": text});
    let think = |id: serde_json::Value, name: &str| {
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "function": {"name": name, "arguments": format!("{{\"t\": \"{SECRET}\"}}")}}]})
    };
    let echo =
        |id: serde_json::Value| json!({"role": "tool", "tool_call_id": id, "content": SECRET});
    let chats = [
        json!([
            user,
            think(json!("1"), "think"),
            echo(json!("1")),
            echo(json!("1")),
            done("x")
        ]),
        json!([
            user,
            think(json!(5), "functions.think"),
            echo(json!(5)),
            done("x")
        ]),
        json!([
            user,
            think(json!("1"), "think"),
            echo(json!("zz")),
            done("x")
        ]),
        json!([user, done(&format!("<reasoning>{SECRET}</reasoning>x"))]),
        json!([user, done(&format!("[THINK]{SECRET}[/THINK]x"))]),
        json!([
            user,
            done(&format!(
                "<|channel|>analysis<|message|>{SECRET}<|end|><|channel|>final<|message|>x"
            ))
        ]),
    ];
    let native = |events: serde_json::Value| {
        let events = events.as_array().unwrap().clone();
        let lines = events.into_iter().enumerate().map(|(i, mut event)| {
            event["sequence"] = json!(i);
            format!("{event}\n")
        });
        lines.collect::<String>()
    };
    let call = json!({"kind": "tool_call", "capability": "think", "call_id": "1", "payload": {"t": SECRET}});
    let natives = [
        json!([call, {"kind": "tool_result", "parent": 0, "payload_preview": SECRET}]),
        json!([call, {"kind": "tool_error", "payload": SECRET}]),
        json!([{"kind": "tool_result", "call_id": "1", "payload": SECRET}, call]),
        json!([call, {"kind": "effect", "call_id": "1", "payload": SECRET}]),
        json!([{"kind": "decision", "payload": {"choice": "a", "meta": {"reasoning": SECRET}}}]),
        json!([{"kind": "model_result", "payload": {"content": format!("<think>{SECRET}</think>hi")}}]),
        json!([{"kind": "model_call", "payload": {"headers": {"authorization": format!("Bearer {SECRET}")}}}]),
    ];
    let small = json!({"tools": [{"name": "think", "arguments": {"t": SECRET}, "result": SECRET}],
        "final": format!("<thought>{SECRET}</thought>x")});
    let chats = chats
        .iter()
        .map(|c| (TraceFormat::OpenaiChat, c.to_string()));
    let natives = natives
        .iter()
        .map(|n| (TraceFormat::Native, native(n.clone())));
    let mut options = ImportOptions::new("log", "stem");
    options.private_tools.insert("think".to_owned());
    for (format, text) in chats
        .chain(natives)
        .chain([(TraceFormat::Small, small.to_string())])
    {
        assert!(text.contains(SECRET));
        import::read(format, &mut text.as_bytes(), &options, &mut |trial| {
            let kept = format!("{trial:?}");
            assert!(!kept.contains(SECRET), "{text}\n{kept}");
            Ok(())
        })
        .unwrap();
    }
}
