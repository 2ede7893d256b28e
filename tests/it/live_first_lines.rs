//! What a reader learns first of a live run: that it was stopped, what was lost and why, who was asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::common::{Done, Place};
use crate::live_common::{Found, Raw, Streamed, arms, chat, closed_port, http, says, suite};

const OK: &str = "{\"status\": \"ok\"}";

const RULES: &str = "decision:
  baseline: base
  candidate: cand
  margins: {outcome: 0.3}
  rules:
    - {dimension: outcome, rule: non_inferior}
    - {dimension: outcome, rule: min_rate, rate: 0.1}
";

fn slow() -> Raw {
    Raw::start(|request| {
        std::thread::sleep(std::time::Duration::from_millis(30));
        says("cand", request.number, OK)
    })
}

/// The lines of a page up to its first heading of the second level.
fn head(page: &str) -> &str {
    page.split("\n## ").next().unwrap()
}

#[test]
fn a_run_whose_trials_in_flight_were_cancelled_decides_nothing_until_they_have_run() {
    // One task of the candidate hangs, or all of them do; every trial has started.
    for (which, cut_off) in [("\"go 1\"", 2), ("go ", 60)] {
        let place = Place::new();
        let hangs = Arc::new(AtomicBool::new(true));
        let flag = hangs.clone();
        let server = Raw::start(move |request| {
            while request.text.contains(which) && flag.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(20));
            }
            says("cand", request.number, OK)
        });
        suite(&place, 30, 2, RULES);
        arms(&place, "", &chat("cand", &server.url(), ""));
        let mut command = place.command();
        let line = "run s --out run --no-preflight --concurrency 130";
        let mut streamed = Streamed::start(command.args(line.split(' ')));
        for _ in cut_off..120 {
            streamed.until("trial");
        }
        while server.requests() < 60 {
            std::thread::sleep(Duration::from_millis(10));
        }
        streamed.signal(Signal::SIGINT);
        streamed.until("stopping");
        streamed.signal(Signal::SIGINT);
        let (done, _) = streamed.end();
        assert_eq!(done.code, 3, "{done:#?}");
        let go_on = "stopped early (interrupted); go on with: assize run --resume run";
        assert!(done.stderr.contains(go_on), "{done:#?}");
        assert!(!done.stderr.contains("--again"), "{done:#?}");
        let found = Found::of(&place, "run");
        assert_eq!(
            found.report.0["stopped"],
            json!({"started": 120, "cancelled": cut_off, "planned": 120, "by": "interrupted"})
        );
        assert_eq!(found.count("cand", "started"), 60);
        assert_eq!(
            found.infra("cand"),
            [("cancelled:cancelled".to_owned(), cut_off)]
        );
        for rule in found.report.0["gate"]["rules"].as_array().unwrap() {
            assert_eq!(rule["result"], "inconclusive", "{rule}");
            let why = rule["reason"].as_str().unwrap();
            // Of an arm of which nothing is there, no rate can be said to be too low either.
            let unmeasured = why == "not_measured: not_started" && cut_off == 60;
            assert!(
                why.contains("the run was stopped early") || unmeasured,
                "{rule}"
            );
        }
        let said = format!(
            "topped early: 120 of 120 trials started, {cut_off} of them cancelled; interrupted"
        );
        let page = place.read("run/report/report.md");
        assert!(head(&page).contains(&said), "{page}");
        assert!(!head(&page).contains("ost to infrastructure"), "{page}");
        let again = place.expect(0, "report run");
        assert!(again.stdout.contains(&said), "{again:#?}");

        hangs.store(false, Ordering::SeqCst);
        place.expect(0, "run --resume run --no-preflight");
        let found = Found::of(&place, "run");
        assert_eq!(found.report.0["stopped"], Value::Null);
        found.all_passed("cand", 60);
        found.all_passed("base", 60);
    }
}

#[test]
fn a_run_that_was_stopped_says_so_first_and_nothing_of_it_decides() {
    let place = Place::new();
    let server = slow();
    suite(&place, 60, 5, RULES);
    arms(&place, "", &chat("cand", &server.url(), ""));
    let done = place.expect(
        3,
        "run s --out run --max-time 400ms --concurrency 2 --no-preflight",
    );
    let report = place.report("run").0;
    let stopped = &report["stopped"];
    let (started, planned) = (&stopped["started"], &stopped["planned"]);
    assert_eq!(planned, 600);
    assert!(started.as_u64().unwrap() < 600);
    assert_eq!(stopped["by"], "--max-time 400ms is over");
    let first =
        format!("stopped early: {started} of 600 trials started; --max-time 400ms is over\n");
    assert!(done.stdout.starts_with(&first), "{done:#?}");
    let page = place.read("run/report/report.md");
    let said = format!("Stopped early: {started} of 600 trials started; --max-time 400ms is over");
    assert!(head(&page).contains(&said), "{page}");
    for rule in report["gate"]["rules"].as_array().unwrap() {
        let why = rule["reason"].as_str().unwrap();
        assert_eq!(rule["result"], "inconclusive", "{rule}");
        assert!(why.contains("the run was stopped early"), "{rule}");
    }
    assert!(!page.contains("deviates from the locked plan"), "{page}");
    assert!(!page.contains("not locked"), "{page}");
    // What was planned and not started is no infrastructure.
    assert_eq!(report["infrastructure"], json!([]));
    assert!(!done.stdout.contains("lost to infrastructure"), "{done:#?}");
    let rows = place.read("run/report/trials.csv");
    assert!(rows.contains(",not_started,,,,"), "{rows}");

    place.expect(0, "run --resume run --no-preflight");
    let report = place.report("run").0;
    assert_eq!(report["stopped"], Value::Null);
    assert!(!place.read("run/report/report.md").contains("topped early"));
}

#[test]
fn what_infrastructure_lost_is_named_in_the_first_lines_and_in_the_table_of_trials() {
    let place = Place::new();
    let denied = Raw::start(|_| http(401, r#"{"error": {"message": "no such key"}}"#));
    suite(
        &place,
        4,
        3,
        &format!("limits: {{steps: 1}}\ntools: {{act: {{simulated: {{result: 1}}}}}}\n{RULES}"),
    );
    let models = "\n  busy: {default: {turns: [{call: [{name: act}]}, {call: [{name: act}]}]}}\n";
    let more = chat("cand", &denied.url(), "") + &crate::live_common::scripted("busy");
    arms(&place, models, &more);
    let done = place.expect(4, "run s --out run --no-preflight");
    let lost = "cand: 12 of 12 trials (provider unauthorized: 12)";
    let first = format!("lost to infrastructure: {lost}\n");
    assert!(done.stdout.starts_with(&first), "{done:#?}");
    let page = place.read("run/report/report.md");
    assert!(head(&page).contains(lost), "{page}");
    // A dimension that nothing can be decided about is not said to be unmeasured as well.
    let words = |start: &str| {
        let line = page.lines().find(|l| l.starts_with(start));
        line.unwrap_or_default().to_owned()
    };
    assert!(words("- **not decidable:**").contains("outcome"), "{page}");
    assert!(!words("- **not measured:**").contains("outcome"), "{page}");

    let table = place.read("run/report/trials.csv");
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let header = rows.headers().unwrap().clone();
    let at = |name: &str| header.iter().position(|h| h == name).unwrap();
    let of = |row: &csv::StringRecord, name: &str| row[at(name)].to_owned();
    let mut seen = 0;
    for row in rows.records().map(Result::unwrap) {
        let expected = match &row[at("arm")] {
            "base" => ["valid", "", "completed", ""],
            "busy" => ["valid", "", "limit_reached", "steps"],
            _ => ["infrastructure", "provider", "infra", "unauthorized"],
        };
        let names = ["status", "boundary", "terminal", "code"];
        assert_eq!(names.map(|name| of(&row, name)), expected, "{row:?}");
        if &row[at("arm")] == "base" {
            assert_eq!(row[at("success")].parse::<f64>().unwrap(), 1.0);
        }
        seen += 1;
    }
    assert_eq!(seen, 36);
}

#[test]
fn arms_that_did_not_answer_stand_in_every_later_report_until_the_run_goes_on() {
    let place = Place::new();
    let port = closed_port();
    suite(&place, 2, 1, RULES);
    arms(
        &place,
        "",
        &chat("cand", &format!("http://127.0.0.1:{port}/v1"), ""),
    );
    place.expect(4, "run s --out run");
    let before = place.report("run").0;
    let done = place.expect(0, "report run");
    assert!(
        done.stdout.contains("arm cand does not answer: provider"),
        "{done:#?}"
    );
    assert_eq!(place.report("run").0, before);
    assert_eq!(before["preflight"][0]["arm"], "cand");
    let by = "an arm did not answer before it began";
    assert_eq!(
        before["stopped"],
        json!({"started": 0, "cancelled": 0, "planned": 4, "by": by})
    );
    // The run goes on without asking first, and each trial says itself what broke.
    place.expect(4, "run --resume run --no-preflight");
    assert_eq!(place.report("run").0["preflight"], json!([]));
}

#[test]
fn the_short_form_names_who_was_asked_and_no_secret() {
    let place = Place::new();
    let server = slow();
    suite(&place, 1, 1, "");
    let url = server.url().replace("/v1", "/v1?team=blue");
    let both = format!("--baseline-url {url} --candidate-url {url}");
    place.expect(
        0,
        &format!("run s --out run {both} --baseline-model cand --candidate-model cand"),
    );
    let host = server.url().replace("http://", "");
    let report = place.report("run").0;
    for arm in report["arms"].as_array().unwrap() {
        assert_eq!(
            (&arm["endpoint"], &arm["model"]),
            (&json!(host), &json!("cand"))
        );
    }
    let page = place.read("run/report/report.md");
    assert!(page.contains(&format!("(model cand at {host})")), "{page}");
    assert!(!page.contains("team=blue"), "{page}");

    let key = "AIzaSyA1234567890abcdefg";
    let refused = |more: &str| -> Done { place.expect(2, &format!("run s --model m {more}")) };
    for (given, told) in [
        (
            format!("{both} --api-key-env sk-abc123def"),
            "never the key itself",
        ),
        (
            format!("{both} --api-key-env {key}"),
            "never the key itself",
        ),
        (
            format!("{both}&api_key=sk-abc123def"),
            "keys come from the environment",
        ),
        (
            format!("{both}&token=sk-abc123def"),
            "keys come from the environment",
        ),
    ] {
        let done = refused(&given);
        assert!(done.error().contains(told), "{done:#?}");
        for secret in ["sk-abc123def", key] {
            assert!(!format!("{done:?}").contains(secret), "{done:#?}");
        }
    }
}
