//! How a live run is started, limited, stopped and gone on with.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::common::{Done, Place};
use crate::live_common::{
    Endpoint, Found, Raw, Streamed, arms, chat, closed_port, says, scripted, suite,
};

const OK: &str = "{\"status\": \"ok\"}";

/// A server that answers everything but tasks that it is told to leave hanging.
fn hanging(which: &'static str) -> (Raw, Arc<AtomicBool>) {
    let hangs = Arc::new(AtomicBool::new(true));
    let flag = hangs.clone();
    let raw = Raw::start(move |request| {
        while request.text.contains(which) && flag.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(20));
        }
        says("cand", request.number, OK)
    });
    (raw, hangs)
}

fn stored(events: &[Value], status: &str) -> usize {
    let trials = events.iter().filter(|e| e["event"] == "trial");
    trials.filter(|e| e["status"] == status).count()
}

#[test]
fn a_run_that_is_broken_off_keeps_what_it_has_and_goes_on_with_the_rest() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let place = Place::new();
        let (server, hangs) = hanging("go 1");
        suite(&place, 3, 4, "");
        arms(&place, "", &chat("cand", &server.url(), ""));
        let mut command = place.command();
        command.args([
            "run",
            "s",
            "--out",
            "run",
            "--no-preflight",
            "--concurrency",
            "2",
        ]);
        let mut streamed = Streamed::start(&mut command);
        streamed.until("trial");
        // The first asks for an orderly end, the second for one at once.
        streamed.signal(signal);
        while server.requests() == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        streamed.signal(signal);
        let (done, events) = streamed.end();
        assert!(
            done.stderr.contains("go on with: assize run --resume run"),
            "{done:#?}"
        );
        let found = Found::of(&place, "run");
        let waiting = found.count("cand", "not_started") + found.count("base", "not_started");
        assert!(waiting > 0);
        let stopping = events.iter().find(|e| e["event"] == "stopping").unwrap();
        assert_eq!(stopping["reason"], "interrupted");
        let kept = stored(&events, "completed");
        assert!(kept > 0);
        let broken: u64 = found.infra("cand").iter().map(|(_, n)| n).sum();
        assert!(
            found
                .infra("cand")
                .iter()
                .all(|(what, _)| what == "cancelled:cancelled")
        );
        assert_eq!(kept as u64 + broken + waiting, 24);

        hangs.store(false, Ordering::SeqCst);
        place.expect(0, "run --resume run --no-preflight");
        let found = Found::of(&place, "run");
        found.all_passed("cand", 12);
        found.all_passed("base", 12);
        place.expect(0, "verify run");
        let again = place.expect(0, "run --resume run --format json");
        assert!(
            !again.stdout.contains("\"event\":\"trial\""),
            "nothing is left to run"
        );
    }
}

#[test]
fn trials_in_flight_that_are_broken_off_are_cancelled_and_run_again() {
    let place = Place::new();
    let (server, hangs) = hanging("go");
    suite(&place, 2, 1, "");
    arms(&place, "", &chat("cand", &server.url(), ""));
    let mut command = place.command();
    command.args([
        "run",
        "s",
        "--out",
        "run",
        "--no-preflight",
        "--concurrency",
        "9",
    ]);
    let streamed = Streamed::start(&mut command);
    while server.requests() < 2 {
        std::thread::sleep(Duration::from_millis(10));
    }
    streamed.signal(Signal::SIGTERM);
    std::thread::sleep(Duration::from_millis(200));
    streamed.signal(Signal::SIGTERM);
    let (_, events) = streamed.end();
    assert_eq!(stored(&events, "infra:cancelled:cancelled"), 2);
    Found::of(&place, "run").excluded("cand", "cancelled:cancelled", 2);
    hangs.store(false, Ordering::SeqCst);
    place.expect(0, "run --resume run --no-preflight");
    Found::of(&place, "run").all_passed("cand", 2);
}

#[test]
fn events_are_lines_of_json_from_the_first_to_the_decision() {
    let place = Place::new();
    suite(&place, 2, 3, "");
    arms(&place, "", "");
    let mut command = place.command();
    command.args(["run", "s", "--out", "run"]);
    let (done, events) = Streamed::start(&mut command).end();
    assert_eq!(done.code, 0);
    let kinds: Vec<&str> = events
        .iter()
        .map(|e| e["event"].as_str().unwrap())
        .collect();
    assert_eq!(kinds.first(), Some(&"started"));
    assert_eq!(kinds[kinds.len() - 2..], ["ended", "decided"]);
    assert_eq!(stored(&events, "completed"), 6);
    assert_eq!(
        events[0],
        json!({"event": "started", "planned": 6, "stored": 0})
    );
    assert_eq!(events.last().unwrap()["report"], place.report("run").0);
}

#[test]
fn a_cost_that_is_used_up_stops_the_run_and_is_refused_without_a_price() {
    let place = Place::new();
    let endpoint = Endpoint::start(&place, "");
    suite(&place, 10, 3, "");
    let priced = ", price: {input_per_million: 1000, output_per_million: 1000}";
    let good = chat("good", &endpoint.url(), priced);
    arms(&place, "", &good);
    let refused = place.expect(2, "run s --out run --max-cost 0.05");
    assert!(
        refused.error().contains("arm `base` declares no price"),
        "{refused:#?}"
    );
    place.write("s/arms.yaml", format!("format: 1\narms:\n{good}"));
    let done = place.expect(
        0,
        "run s --out run --max-cost 0.05 --concurrency 1 --no-preflight",
    );
    assert!(
        done.stderr
            .contains("stopped early (--max-cost 0.05 is used up)"),
        "{done:#?}"
    );
    let found = Found::of(&place, "run");
    assert!(found.count("good", "started") > 0);
    assert!(found.count("good", "not_started") > 0);
    assert_eq!(found.infra("good"), []);
    assert!(
        found.report.0["notices"]
            .as_array()
            .unwrap()
            .iter()
            .any(|n| n["code"] == "not_started")
    );
    place.expect(0, "run --resume run --no-preflight");
    Found::of(&place, "run").all_passed("good", 30);
}

#[test]
fn trials_that_wait_for_their_arm_are_not_started_once_the_money_is_spent() {
    let place = Place::new();
    let server = Raw::start(|request| {
        std::thread::sleep(Duration::from_millis(100));
        says("cand", request.number, OK)
    });
    suite(&place, 30, 1, "");
    let one = ", concurrency: 1, price: {input_per_million: 1000, output_per_million: 1000}";
    let arm = chat("cand", &server.url(), one);
    place.write("s/arms.yaml", format!("format: 1\narms:\n{arm}"));
    place.expect(
        0,
        "run s --out run --max-cost 0.01 --concurrency 30 --no-preflight",
    );
    // The first trial uses all of it up; the next may have begun before that was known.
    let found = Found::of(&place, "run");
    let started = found.count("cand", "started");
    assert!((1..=3).contains(&started), "{started}");
    assert_eq!(found.count("cand", "not_started"), 30 - started);
    assert_eq!(server.requests() as u64, started);
}

#[test]
fn a_broken_attempt_costs_what_it_costs() {
    let place = Place::new();
    let tool = "tools: {act: {command: {run: [sh, -c, 'kill -9 $$']}}}\n";
    suite(&place, 1, 1, tool);
    let models = "
  act: {usage: {input_tokens: 80, output_tokens: 20}, default: {turns: [{call: [{name: act}]}]}}
";
    arms(&place, models, &scripted("act"));
    let mut command = place.command();
    command.args(["run", "s", "--out", "run", "--infra-retries", "2"]);
    let (_, events) = Streamed::start(&mut command).end();
    let mut trials = events.iter().filter(|e| e["arm"] == "act");
    let trial = trials.next().unwrap();
    assert_eq!(trial["status"], "infra:tool:tool_died");
    crate::common::near(&trial["cost_usd"], 3.0 * 100.0 / 1e6, 1e-12);
    Found::of(&place, "run").excluded("act", "tool:tool_died", 1);
}

#[test]
fn a_time_that_is_over_stops_the_run() {
    let place = Place::new();
    let slow = Raw::start(|request| {
        std::thread::sleep(Duration::from_millis(50));
        says("cand", request.number, OK)
    });
    suite(&place, 100, 10, "");
    arms(&place, "", &chat("cand", &slow.url(), ""));
    let done = place.expect(
        0,
        "run s --out run --max-time 1s --concurrency 2 --no-preflight",
    );
    assert!(
        done.stderr
            .contains("stopped early (--max-time 1s is over)"),
        "{done:#?}"
    );
    let found = Found::of(&place, "run");
    assert!(found.count("cand", "not_started") > 0);
    assert!(found.count("cand", "valid") > 0);
}

#[test]
fn one_run_has_one_writer() {
    let place = Place::new();
    let (server, hangs) = hanging("go");
    suite(&place, 1, 1, "");
    arms(&place, "", &chat("cand", &server.url(), ""));
    let mut command = place.command();
    command.args(["run", "s", "--out", "run", "--no-preflight"]);
    let first = Streamed::start(&mut command);
    while server.requests() == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    for second in ["run s --out run --no-preflight", "run --resume run"] {
        let refused = place.assize(second);
        assert_ne!(refused.code, 0);
        assert!(
            refused.error().contains("one run has one writer"),
            "{refused:#?}"
        );
        assert!(
            refused.error().contains(&first.child.id().to_string()),
            "{refused:#?}"
        );
    }
    hangs.store(false, Ordering::SeqCst);
    assert_eq!(first.end().0.code, 0);
    Found::of(&place, "run").all_passed("cand", 1);
}

#[test]
fn too_few_open_files_are_said_before_anything_is_run() {
    let place = Place::new();
    suite(&place, 1, 1, "");
    arms(&place, "", "");
    let assize = place.command().get_program().to_owned();
    let mut shell = Command::new("sh");
    shell
        .current_dir(place.path(""))
        .args(["-c", "ulimit -n 64; exec \"$0\" \"$@\""]);
    shell
        .arg(assize)
        .args(["run", "s", "--out", "run", "--concurrency", "1000"]);
    let done = Done::of(shell.output().unwrap());
    assert_eq!(done.code, 2, "{done:#?}");
    assert!(
        done.error()
            .contains("1000 trials at a time need about 1064 open files, but the limit is 64"),
        "{done:#?}"
    );
    assert!(done.error().contains("ulimit -n 1064"));
    place.expect(0, "run s --out run");
}

#[test]
fn arms_that_cannot_be_asked_are_refused_with_their_names() {
    let place = Place::new();
    suite(&place, 1, 1, "");
    arms(
        &place,
        "",
        &chat(
            "cand",
            "http://127.0.0.1:1/v1",
            ", api_key_env: NOT_SET_ANYWHERE",
        ),
    );
    let done = place.expect(2, "run s --out run");
    assert!(
        done.error().contains("arm `cand`") && done.error().contains("NOT_SET_ANYWHERE"),
        "{done:#?}"
    );
    arms(
        &place,
        "\n  careful: {default: {preset: steady}}\n",
        "  x: {kind: scripted, script: script.yaml, model: carefull}\n",
    );
    let done = place.expect(2, "run s --out run");
    assert!(done.error().contains("no model `carefull`"), "{done:#?}");
    assert!(done.error().contains("careful"), "{done:#?}");
    assert!(!place.path("run/report").exists());
}

#[test]
fn two_endpoints_need_no_arms_file() {
    let place = Place::new();
    let endpoint = Endpoint::start(&place, "\n  bad: {default: {turns: [{say: no}]}}\n");
    suite(&place, 2, 2, "");
    let url = endpoint.url();
    place.expect(
        0,
        &format!("run s --out one --baseline-url {url} --candidate-url {url} --model good"),
    );
    let found = Found::of(&place, "one");
    found.all_passed("baseline", 4);
    found.all_passed("candidate", 4);
    assert!(!found.report.comparisons().is_empty());
    place.assize(&format!("run s --out two --baseline-url {url} --candidate-url {url} --model good --candidate-model bad"));
    Found::of(&place, "two").all_failed("candidate", 4);
    let root = endpoint.root();
    place.expect(0, &format!("run s --out three --protocol anthropic --baseline-url {root} --candidate-url {root} --model good"));
    Found::of(&place, "three").all_passed("candidate", 4);
    for (more, said) in [
        (
            "--baseline-url nonsense --candidate-url http://x/v1 --model m",
            "--baseline-url",
        ),
        (
            "--baseline-url http://x/v1 --candidate-url http://y/v1",
            "model",
        ),
    ] {
        let done = place.expect(2, &format!("run s --out four {more}"));
        assert!(done.stderr.contains(said), "{done:#?}");
    }
}

#[test]
fn an_arm_keeps_its_own_concurrency_and_rate() {
    let most: Arc<[AtomicUsize; 2]> = Arc::default();
    let now: Arc<[AtomicUsize; 2]> = Arc::default();
    let counted = most.clone();
    let server = Raw::start(move |request| {
        let arm = usize::from(request.text.contains("\"wide\""));
        let running = now[arm].fetch_add(1, Ordering::SeqCst) + 1;
        counted[arm].fetch_max(running, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(100));
        now[arm].fetch_sub(1, Ordering::SeqCst);
        says(["narrow", "wide"][arm], request.number, OK)
    });
    let place = Place::new();
    suite(&place, 8, 1, "");
    let narrow = chat("narrow", &server.url(), ", concurrency: 1");
    arms(
        &place,
        "",
        &[narrow, chat("wide", &server.url(), "")].concat(),
    );
    place.expect(0, "run s --out run --concurrency 12");
    assert_eq!(most[0].load(Ordering::SeqCst), 1);
    assert!(most[1].load(Ordering::SeqCst) > 1);

    let times = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = times.clone();
    let server = Raw::start(move |request| {
        noted.lock().unwrap().push(Instant::now());
        says("slow", request.number, OK)
    });
    suite(&place, 3, 1, "");
    arms(
        &place,
        "",
        &chat("slow", &server.url(), ", rate: {requests_per_minute: 60}"),
    );
    place.expect(0, "run s --out rated --no-preflight");
    let times = times.lock().unwrap();
    assert_eq!(times.len(), 3);
    // Only too early would be wrong; a slow machine is late.
    assert!(times[2] - times[0] >= Duration::from_millis(1000));
}

#[test]
fn an_arm_that_does_not_answer_stops_the_run_before_it_begins() {
    let place = Place::new();
    let endpoint = Endpoint::with(
        &place,
        "",
        &["--key", "RIGHT"],
        &[("RIGHT", "sk-right-one-1")],
    );
    let down = format!("http://127.0.0.1:{}/v1", closed_port());
    suite(
        &place,
        2,
        2,
        "decision: {baseline: base, candidate: down, rules: [{dimension: outcome, rule: non_inferior, margin: 0.1}]}\n",
    );
    let locked = chat("good", &endpoint.url(), ", api_key_env: KEY");
    arms(&place, "", &[chat("down", &down, ""), locked].concat());
    let start = |key: &str, arguments: &[&str]| {
        let output = place.command().env("KEY", key).args(arguments).output();
        Done::of(output.unwrap())
    };
    let done = start("sk-wrong-one-1", &["run", "s", "--out", "run"]);
    assert_eq!(done.code, 4, "{done:#?}");
    assert!(
        done.stderr
            .contains("arm `down` does not answer: unreachable"),
        "{done:#?}"
    );
    assert!(done.stderr.contains("--no-preflight"), "{done:#?}");
    let report = place.report("run");
    assert_eq!(report.gate(), ("infrastructure", 4));
    let rows = report.0["preflight"].as_array().unwrap();
    let named: Vec<[&str; 3]> = rows
        .iter()
        .map(|r| ["arm", "boundary", "code"].map(|key| r[key].as_str().unwrap()))
        .collect();
    assert_eq!(
        named,
        [
            ["down", "provider", "unreachable"],
            ["good", "provider", "unauthorized"]
        ]
    );
    assert!(
        rows.iter()
            .all(|r| !r["detail"].as_str().unwrap().is_empty())
    );
    for arm in ["base", "down", "good"] {
        assert_eq!(report.accounting(arm, "outcome")["not_started"], 4);
        assert_eq!(report.accounting(arm, "outcome")["started"], 0);
    }
    let page = place.read("run/report/report.md");
    assert!(page.contains("| down | provider | unreachable |"), "{page}");
    for (name, bytes) in place.files("run") {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("sk-wrong-one-1"), "{name}");
    }
    let json = start(
        "sk-wrong-one-1",
        &["run", "--resume", "run", "--format", "json"],
    );
    assert_eq!(json.code, 4);
    let last: Value = serde_json::from_str(json.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["event"], &last["gate"]["exit_code"]),
        (&json!("decided"), &json!(4))
    );

    // Somebody starts the endpoint, and finds the right key.
    let port = down
        .rsplit(':')
        .next()
        .unwrap()
        .trim_end_matches("/v1")
        .to_owned();
    let models = "\n  down: {default: {turns: [{say: '{\"status\": \"ok\"}'}]}}\n";
    let _mended = Endpoint::with(&place, models, &["--port", &port], &[]);
    let done = start("sk-right-one-1", &["run", "--resume", "run"]);
    assert_ne!(done.code, 4, "{done:#?}");
    let found = Found::of(&place, "run");
    assert_eq!(found.report.0["preflight"], json!([]));
    for arm in ["base", "down", "good"] {
        found.all_passed(arm, 4);
    }
}

#[test]
fn scripted_arms_are_not_asked_first() {
    let place = Place::new();
    suite(&place, 1, 1, "");
    arms(
        &place,
        "\n  gone: {default: {preset: down}}\n",
        &scripted("gone"),
    );
    place.assize("run s --out run");
    let report = place.report("run");
    assert_eq!(report.0["preflight"], json!([]));
    Found { report }.excluded("gone", "provider:overloaded", 1);
}

#[test]
fn a_task_that_says_nothing_is_refused_before_a_live_arm_is_asked() {
    let place = Place::new();
    suite(&place, 1, 1, "");
    arms(&place, "", "");
    place.write("s/tasks.jsonl", "{\"id\": \"t0\"}\n");
    for command in ["run s --out run", "validate s"] {
        let done = place.expect(2, command);
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(
            said.contains("tasks.jsonl:1: task `t0` has no `input`"),
            "{said}"
        );
    }
    assert!(!place.path("run").exists(), "nothing is planned");
}

#[test]
fn a_key_that_is_written_into_an_arm_is_refused_before_anything_is_stored() {
    let place = Place::new();
    suite(&place, 1, 1, "");
    let key = "hunter2-hunter2-hunter2";
    for (more, where_) in [
        (format!("system: 'use {key}'"), "system"),
        (format!("params: {{a: [{{b: 'x{key}'}}]}}"), "params"),
        (format!("headers: {{x-team: '{key}'}}"), "headers.x-team"),
        ("params: {api_key: other-secret}".to_owned(), "api_key"),
        (
            "headers: {x-custom: 'Bearer other-secret'}".to_owned(),
            "x-custom",
        ),
        ("headers: {x-pass: other-secret}".to_owned(), "x-pass"),
    ] {
        let url = "http://127.0.0.1:1/v1";
        arms(
            &place,
            "",
            &chat("cand", url, &format!(", api_key_env: BRKKEY, {more}")),
        );
        let mut command = place.command();
        command
            .env("BRKKEY", key)
            .args(["run", "s", "--out", "run"]);
        let done = Done::of(command.output().unwrap());
        assert_eq!(done.code, 2, "{done:#?}");
        assert!(done.error().contains(where_), "{done:#?}");
        assert!(
            !done.error().contains(key) && !done.error().contains("other-secret"),
            "{done:#?}"
        );
        assert!(!place.path("run").exists());
    }
}
