//! What the product shows, through the binary and its reports.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::common::{Place, Report, airline, near};

const GPT: &str = "gpt-4o";
const LLAMA: &str = "llama-3.1-8b";

/// Metrics that the airline recordings can and cannot give, with the reason.
const MEASURED: [&str; 7] = [
    "success_rate",
    "conformance_rate",
    "tool_calls.mean",
    "repeated_calls.mean",
    "steps.mean",
    "violation_rate",
    "duplicate_rate",
];
const NOT_MEASURED: [(&str, &str); 7] = [
    ("input_tokens.mean", "not_recorded"),
    ("output_tokens.mean", "not_recorded"),
    ("cost_usd.mean", "not_recorded"),
    ("latency_ms.mean", "not_recorded"),
    ("reach_rate", "no_fault_declared"),
    ("recovery_rate", "no_fault_declared"),
    ("quality.rate", "no_judge"),
];

#[test]
fn the_first_command_decides_and_returns_the_gates_code() {
    let run = airline();
    let report = run.report();
    assert_eq!(report.gate(), ("failed", 1));
    assert_eq!(run.done.code, 1);
    assert!(run.done.stdout.contains("gate: failed (exit code 1)"));
    let last = run.done.stdout.lines().last().unwrap();
    assert!(last.ends_with("run/report/report.md"), "{last}");
    let names: Vec<&str> = run.files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "accounting.csv",
            "comparisons.csv",
            "disagreements.csv",
            "estimates.csv",
            "failures.csv",
            "report.json",
            "report.md",
            "trials.csv"
        ]
    );
}

#[test]
fn success_and_pass_k_of_the_airline_run() {
    let report = airline().report();
    for (arm, value, trials) in [(GPT, 0.42, 200), (LLAMA, 1.0 / 3.0, 150)] {
        let rate = report.estimate(arm, "success_rate");
        near(&rate["value"], value, 5e-5);
        assert_eq!(
            (&rate["tasks"], &rate["trials"]),
            (&json!(50), &json!(trials))
        );
        assert_eq!(rate["method"], "sen_cp");
        assert_eq!(rate["status"], "ok");
        let counts = report.accounting(arm, "outcome");
        for column in [
            "planned", "started", "finished", "valid", "graded", "scored",
        ] {
            assert_eq!(counts[column], trials, "{arm} {column}");
        }
    }
    let all = [
        (GPT, vec![0.42, 0.2733, 0.22, 0.20]),
        (LLAMA, vec![0.3333, 0.3133, 0.30]),
    ];
    for (arm, values) in all {
        let rows = report.estimates(arm, "pass_hat_k");
        let ks: Vec<u64> = rows.iter().map(|r| r["k"].as_u64().unwrap()).collect();
        assert_eq!(ks, [1, 2, 3, 4], "{arm}");
        for (row, value) in rows.iter().zip(&values) {
            near(&row["value"], *value, 5e-5);
            assert!(row["low"].as_f64() < row["high"].as_f64());
        }
    }
    let beyond = report.estimates(LLAMA, "pass_hat_k")[3];
    assert!(beyond["value"].is_null() && beyond["low"].is_null());
    assert_eq!(beyond["status"], "not_estimable");
    assert_eq!(beyond["reason"], "too_few_trials_for_k");
}

#[test]
fn calls_and_repeats_of_the_airline_run() {
    let report = airline().report();
    for (arm, calls, repeated) in [(GPT, 1164.0, 32.0), (LLAMA, 690.0, 267.0)] {
        near(
            &report.estimate(arm, "tool_calls.total")["value"],
            calls,
            0.0,
        );
        near(
            &report.estimate(arm, "repeated_calls.total")["value"],
            repeated,
            0.0,
        );
    }
}

#[test]
fn every_measured_dimension_has_contrast_interval_mde_and_word() {
    let report = airline().report();
    let words = [
        "better",
        "non_inferior",
        "equivalent",
        "worse",
        "inconclusive",
    ];
    let rows = report.comparisons();
    let metrics: Vec<&str> = rows.iter().map(|c| c["metric"].as_str().unwrap()).collect();
    assert_eq!(metrics, MEASURED);
    for row in rows {
        let number = |key: &str| {
            row[key]
                .as_f64()
                .unwrap_or_else(|| panic!("{key}: {row:#}"))
        };
        assert!(number("low") < number("value") && number("value") < number("high"));
        assert!(number("mde") > 0.0);
        assert!(
            words.contains(&row["decision"].as_str().unwrap()),
            "{row:#}"
        );
        if row["decision"] == "inconclusive" {
            assert!(
                row["settle"]["tasks"].as_u64() > row["tasks"].as_u64(),
                "{row:#}"
            );
        }
    }
    for (metric, reason) in NOT_MEASURED {
        for arm in [GPT, LLAMA] {
            let row = report.estimate(arm, metric);
            assert_eq!(row["status"], "not_measured", "{metric}");
            assert_eq!(row["reason"], reason, "{metric}");
            for key in ["value", "low", "high"] {
                assert!(row[key].is_null(), "{metric} has a {key}");
            }
        }
    }
}

#[test]
fn the_outcome_difference_is_inconclusive_and_says_what_would_settle_it() {
    let outcome = airline().report().comparison("success_rate").clone();
    near(&outcome["value"], -0.0867, 5e-5);
    assert_eq!(outcome["margin"], 0.05);
    assert_eq!(outcome["decision"], "inconclusive");
    assert_eq!(outcome["tasks"], 50);
    let tasks = outcome["settle"]["tasks"].as_u64().unwrap();
    let said = format!("outcome, success rate: about {tasks} tasks would show");
    assert!(airline().markdown().contains(&said), "{said}");
}

/// No key and no row of a report speaks of all dimensions at once, and every estimate and contrast
/// names exactly one.
#[test]
fn nothing_blends_dimensions() {
    fn keys(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                found.push(key.clone());
                keys(value, found);
            }),
            Value::Array(list) => list.iter().for_each(|value| keys(value, found)),
            _ => {}
        }
    }
    let Report(report) = airline().report();
    let mut found = vec![];
    keys(&report, &mut found);
    for word in ["overall", "combined", "composite", "blended", "index_score"] {
        assert!(!found.iter().any(|key| key.contains(word)), "{word}");
    }
    let dimensions = [
        "outcome",
        "trajectory",
        "efficiency",
        "permission",
        "duplicates",
        "recovery",
        "quality",
    ];
    for list in ["estimates", "comparisons", "accounting", "rules"] {
        for row in report[list].as_array().unwrap() {
            assert!(
                dimensions.contains(&row["dimension"].as_str().unwrap()),
                "{row:#}"
            );
        }
    }
}

#[test]
fn the_page_says_who_wrote_before_speaking_and_whose_texts_differ() {
    let run = airline();
    let report = run.report();
    let rules = report.0["rules"].as_array().unwrap();
    let asking: Vec<&Value> = rules
        .iter()
        .filter(|r| r["rule"] == "must_ask_before_write")
        .collect();
    let counts: Vec<[u64; 2]> = asking
        .iter()
        .map(|r| ["fail", "pass"].map(|key| r[key].as_u64().unwrap()))
        .collect();
    assert_eq!(counts, [[0, 118], [42, 3]], "gpt-4o, then Llama");
    let page = run.markdown();
    let line = |text: &str| {
        page.lines()
            .find(|l| l.contains(text))
            .unwrap_or_else(|| panic!("{text}"))
    };
    let broken = line("in **42 of 45** trials that wrote");
    assert!(broken.contains(LLAMA) && broken.contains("must_ask_before_write"));
    assert!(broken.contains("trial 0, event 9:"), "{broken}");
    let held = line("in **0 of 118** trials that wrote");
    assert!(
        held.contains(GPT) && held.contains("must_ask_before_write"),
        "{held}"
    );
    assert!(page.contains("37 of 50 tasks had different user texts in the two arms"));
    assert_eq!(report.0["input_differs"]["differ"], 37);
    assert_eq!(report.0["input_differs"]["compared"], 50);
}

/// The events that the report names are those of the recording: at each stands the call of a
/// writing tool, and no question before it.
#[test]
fn the_named_events_are_the_writes() {
    let place = Place::new();
    place.write("run.sqlite", &airline().database);
    let report = airline().report();
    let rules = report.0["rules"].as_array().unwrap();
    let of = |r: &&Value| r["arm"] == LLAMA && r["rule"] == "must_ask_before_write";
    let examples = rules.iter().find(of).unwrap()["examples"].clone();
    let db = rusqlite::Connection::open(place.path("run.sqlite")).unwrap();
    let mut looked = 0;
    for example in examples.as_array().unwrap() {
        for event in example["events"].as_array().unwrap() {
            let select = "SELECT e.kind, e.body ->> '$.capability',
                    (SELECT count(*) FROM events q WHERE q.trial = e.trial AND q.kind = 'question'
                     AND q.sequence < e.sequence)
                FROM events e JOIN trials t ON t.row = e.trial JOIN arms a ON a.arm = t.arm
                JOIN tasks k ON k.task = t.task
                WHERE a.name = ?1 AND k.name = ?2 AND t.idx = ?3 AND e.sequence = ?4";
            let key = (
                LLAMA,
                example["task"].as_str().unwrap(),
                example["trial"].as_u64().unwrap() as i64,
                event.as_u64().unwrap() as i64,
            );
            let (kind, tool, asked): (String, String, i64) = db
                .query_row(select, key, |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
                .unwrap();
            assert_eq!((kind.as_str(), asked), ("tool_call", 0));
            assert!(example["detail"].as_str().unwrap().starts_with(&tool));
            looked += 1;
        }
    }
    assert!(looked > 0, "{examples:#}");
}

#[test]
fn one_or_two_threads_and_a_second_time_give_the_same_bytes() {
    let place = Place::new();
    place.copy_suite("airline", "suites/airline");
    place.expect(1, "run suites/airline --out run --threads 1");
    let first = place.files("run/report");
    assert_eq!(
        first.keys().collect::<Vec<_>>(),
        airline().files.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &first {
        assert!(
            bytes == &airline().files[name],
            "{name} depends on the number of threads"
        );
    }
    // The same command again finds its trials; `compare` and `report` decide from what is stored.
    let again = place.expect(1, "run suites/airline --out run --threads 2");
    assert!(
        again.stderr.contains("200 trials recorded, 0 of them new"),
        "{}",
        again.stderr
    );
    assert!(place.files("run/report") == first);
    place.expect(1, "compare run");
    assert!(place.files("run/report") == first);
    place.expect(0, "report run");
    assert!(place.files("run/report") == first);
    let verified = place.expect(0, "verify run");
    assert!(
        verified.stdout.contains("350 trials"),
        "{}",
        verified.stdout
    );
}

/// The golden traces hold; each faulty one, put in the place of the good one, fails for its own
/// reason; a deleted one fails.
#[test]
fn golden_check_exits_with_0_and_1() {
    let place = Place::new();
    place.copy_suite("refunds", "refunds");
    let tasks = place.files("refunds/tasks").len();
    let good = place.expect(0, "golden check refunds");
    assert!(
        good.stdout
            .ends_with(&format!("{tasks} checked, 0 failed\n")),
        "{}",
        good.stdout
    );
    place.expect(0, "golden check refunds --traces refunds/golden");

    let index = place.read("refunds/faulty/EXPECTED.yaml");
    let expected: BTreeMap<String, BTreeMap<String, String>> =
        serde_saphyr::from_str(&index).unwrap();
    assert!(expected.len() >= 20);
    let golden = place.files("refunds/golden");
    for (file, want) in &expected {
        let task = &want["task"];
        for (name, bytes) in &golden {
            if !name.starts_with(&format!("{task}.")) {
                place.write(&format!("traces/{name}"), bytes);
            }
        }
        let ending = file.rsplit_once('.').unwrap().1;
        let faulty = fs::read(place.path(&format!("refunds/faulty/{file}"))).unwrap();
        place.write(&format!("traces/{task}.{ending}"), faulty);
        let done = place.expect(1, "golden check refunds --traces traces --format json");
        let found: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(found["failed"], 1, "{file}");
        let results = found["results"].as_array().unwrap();
        let failures = |r: &&Value| !r["result"]["failures"].as_array().unwrap().is_empty();
        let failed = results.iter().find(failures).unwrap();
        assert_eq!(failed["result"]["task"], **task, "{file}");
        let rules: Vec<&str> = failed["result"]["failures"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["rule"].as_str().unwrap())
            .collect();
        let wanted = [want.get("rule"), want.get("also")];
        let wanted: Vec<&str> = wanted.into_iter().flatten().map(String::as_str).collect();
        assert_eq!(rules, wanted, "{file}");
        fs::remove_dir_all(place.path("traces")).unwrap();
    }
    fs::remove_file(place.path("refunds/golden/voucher-amount.json")).unwrap();
    let gone = place.expect(1, "golden check refunds");
    assert!(
        gone.stdout.contains("FAIL voucher-amount"),
        "{}",
        gone.stdout
    );
    assert!(
        gone.stdout.contains(&format!("{tasks} checked, 1 failed")),
        "{}",
        gone.stdout
    );
}

/// The tasks whose trials of Llama are lost to the provider: ten tasks, thirty trials.
fn lost(task: u64) -> bool {
    task.is_multiple_of(5)
}

/// The success rate of Llama's other forty tasks, three trials each: 42 of 120.
const REST: f64 = 42.0 / 120.0;

/// Marks Llama's trials of the lost tasks in the recorded file, half with a status, half as tau-bench
/// writes them down: no messages, a reward of 0, and the exception.
fn mark_recorded(place: &Place) {
    let name = "suites/airline/recorded/llama-3.1-8b-airline.json.gz";
    let mut text = String::new();
    let packed = fs::read(place.path(name)).unwrap();
    GzDecoder::new(packed.as_slice())
        .read_to_string(&mut text)
        .unwrap();
    let mut log: Value = serde_json::from_str(&text).unwrap();
    let records = log["results"].as_array_mut().unwrap();
    let mut marked = 0;
    for record in records
        .iter_mut()
        .filter(|r| lost(r["task_id"].as_u64().unwrap()))
    {
        if marked % 2 == 0 {
            record["status"] = json!("provider_error");
        } else {
            record["traj"] = json!([]);
            record["reward"] = json!(0.0);
            record["info"] = json!({"error": "Error code: 429 - rate limit reached",
                "traceback": "Traceback (most recent call last): ..."});
        }
        marked += 1;
    }
    assert_eq!(marked, 30);
    let mut packed = GzEncoder::new(vec![], Compression::fast());
    packed.write_all(log.to_string().as_bytes()).unwrap();
    place.write(name, packed.finish().unwrap());
}

/// The tidy table of the same trials, with the same ones marked in its status column.
fn table(place: &Place, status: &str) {
    let mut rows = csv::Writer::from_writer(vec![]);
    rows.write_record(["arm", "task_id", "trial", "reward", "status"])
        .unwrap();
    let mut trials = csv::Reader::from_reader(airline().files["trials.csv"].as_slice());
    let header = trials.headers().unwrap().clone();
    let at = |name: &str| header.iter().position(|h| h == name).unwrap();
    let (arm, task, trial, success) = (at("arm"), at("task"), at("trial"), at("success"));
    for row in trials.records() {
        let row = row.unwrap();
        let marked = &row[arm] == LLAMA && lost(row[task].parse().unwrap());
        let status = if marked { status } else { "ok" };
        rows.write_record([&row[arm], &row[task], &row[trial], &row[success], status])
            .unwrap();
    }
    place.write("outcomes.csv", rows.into_inner().unwrap());
}

/// What must be true of a report in which 30 of 150 trials of one arm were lost to the provider.
fn check_lost(report: &Report, boundary: &str) {
    let rest = report.estimate(LLAMA, "success_rate");
    near(&rest["value"], REST, 1e-12);
    assert_eq!((&rest["tasks"], &rest["trials"]), (&json!(40), &json!(120)));
    near(&rest["bounds"][0], 42.0 / 150.0, 1e-12);
    near(&rest["bounds"][1], 72.0 / 150.0, 1e-12);
    near(&report.estimate(GPT, "success_rate")["value"], 0.42, 1e-12);
    let counts = report.accounting(LLAMA, "outcome");
    for (column, n) in [
        ("planned", 150),
        ("started", 150),
        ("valid", 120),
        ("graded", 120),
        ("scored", 120),
    ] {
        assert_eq!(counts[column], n, "{column}");
    }
    assert_eq!(counts["excluded"], json!({boundary: 30}));
    let lost = report.0["infrastructure"].as_array().unwrap();
    let lost: u64 = lost
        .iter()
        .map(|r| {
            assert_eq!(
                (&r["arm"], &r["boundary"]),
                (&json!(LLAMA), &json!(boundary))
            );
            r["trials"].as_u64().unwrap()
        })
        .sum();
    assert_eq!(lost, 30);
    assert!(!report.comparisons().is_empty());
    for row in report.comparisons() {
        assert_eq!(row["decision"], "not_decidable", "{row:#}");
        assert_eq!(row["reason"], "missing_high", "{row:#}");
    }
    // Of all broken rules none belongs to a lost trial, and no rule was even asked of one.
    for rule in report.0["rules"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| r["arm"] == LLAMA)
    {
        let number = |key: &str| rule[key].as_u64().unwrap();
        let ungradable: u64 = rule["ungradable"]
            .as_object()
            .unwrap()
            .values()
            .map(|v| v.as_u64().unwrap())
            .sum();
        let asked = number("pass")
            + number("fail")
            + number("value")
            + number("not_applicable")
            + ungradable;
        assert!(asked <= 120, "{rule:#}");
        assert!(
            rule["examples"]
                .as_array()
                .unwrap()
                .iter()
                .all(|e| !self::lost(e["task"].as_str().unwrap().parse().unwrap()))
        );
    }
}

fn no_failure_of_a_lost_trial(place: &Place, run: &str) {
    let failures = place.read(&format!("{run}/report/failures.csv"));
    let mut failures = csv::Reader::from_reader(failures.as_bytes());
    let mut n = 0;
    for row in failures.records() {
        let row = row.unwrap();
        assert!(
            &row[0] != LLAMA || !lost(row[1].parse().unwrap()),
            "{row:?}"
        );
        n += 1;
    }
    assert!(n > 0);
}

#[test]
fn provider_errors_in_a_recording_are_nobodys_failure() {
    let place = Place::new();
    place.copy_suite("airline", "suites/airline");
    mark_recorded(&place);
    let done = place.expect(4, "run suites/airline --out run");
    let report = place.report("run");
    assert_eq!(report.gate(), ("infrastructure", 4), "{}", done.stdout);
    check_lost(&report, "provider");
    no_failure_of_a_lost_trial(&place, "run");
    let page = place.read("run/report/report.md");
    assert!(page.contains("**The gate is undecided: infrastructure** (exit code 4)"));
    assert!(page.contains("| 120 of 150 | 30 provider |"));
    assert!(page.contains(".2800 to .4800 whatever the missing trials held"));
}

#[test]
fn provider_errors_in_a_table_are_nobodys_failure() {
    let place = Place::new();
    place.copy_suite("airline", "suites/airline");
    for (status, boundary) in [("provider_error", "provider"), ("gremlins", "runner")] {
        table(&place, status);
        place.expect(
            0,
            &format!("import table outcomes.csv --suite suites/airline --run {boundary}-{status}"),
        );
        let done = place.expect(4, &format!("compare {boundary}-{status}"));
        let report = place.report(&format!("{boundary}-{status}"));
        assert_eq!(report.gate(), ("infrastructure", 4), "{}", done.stdout);
        check_lost(&report, boundary);
        no_failure_of_a_lost_trial(&place, &format!("{boundary}-{status}"));
    }
    // Without a suite the margin is the rule.
    table(&place, "provider_error");
    place.expect(0, "import table outcomes.csv --run bare --baseline gpt-4o --candidate llama-3.1-8b --margin outcome=0.05 --assume-schedule");
    place.expect(4, "compare bare");
    assert_eq!(place.report("bare").gate(), ("infrastructure", 4));
    check_lost(&place.report("bare"), "provider");
}

/// Five tasks, 100 passing trials each, for two arms.
#[test]
fn five_tasks_that_always_pass_have_a_wide_interval() {
    let place = Place::new();
    let mut rows = String::from("arm,task,trial,reward\n");
    for arm in ["a", "b"] {
        for task in 0..5 {
            (0..100).for_each(|trial| rows.push_str(&format!("{arm},t{task},{trial},1\n")));
        }
    }
    place.write("t.csv", rows);
    place.expect(0, "import table t.csv --run run --baseline a --candidate b --margin outcome=0.05 --assume-schedule");
    place.expect(3, "compare run");
    let report = place.report("run");
    for arm in ["a", "b"] {
        let rate = report.estimate(arm, "success_rate");
        near(&rate["value"], 1.0, 0.0);
        near(&rate["low"], 0.478, 5e-4);
        near(&rate["high"], 1.0, 0.0);
        assert_eq!((&rate["tasks"], &rate["trials"]), (&json!(5), &json!(500)));
    }
    let outcome = report.comparison("success_rate");
    assert_eq!(outcome["decision"], "inconclusive");
    assert!(outcome["low"].as_f64() < Some(-0.05) && outcome["high"].as_f64() > Some(0.05));
    assert!(outcome["settle"]["tasks"].as_u64() > Some(5));
}

#[test]
fn one_task_is_printed_and_decides_nothing() {
    let place = Place::new();
    for (name, candidate) in [("worse", 0), ("same", 1)] {
        let mut rows = String::from("arm,task,trial,reward\n");
        for trial in 0..30 {
            rows.push_str(&format!("a,t,{trial},1\nb,t,{trial},{candidate}\n"));
        }
        place.write("t.csv", rows);
        place.expect(0, &format!("import table t.csv --run {name} --baseline a --candidate b --margin outcome=0.05 --assume-schedule"));
        place.expect(3, &format!("compare {name}"));
        let report = place.report(name);
        for arm in ["a", "b"] {
            let rate = report.estimate(arm, "success_rate");
            assert_eq!(rate["status"], "not_estimable");
            assert!(rate["high"].as_f64().unwrap() - rate["low"].as_f64().unwrap() > 0.9);
        }
        let outcome = report.comparison("success_rate");
        assert_eq!(outcome["status"], "not_estimable");
        assert_eq!(outcome["decision"], "inconclusive");
        assert!(outcome["low"].is_number() && outcome["high"].is_number());
        let page = place.read(&format!("{name}/report/report.md"));
        assert!(page.contains("not estimable"), "{page}");
    }
}

/// A table whose arms differ by exactly −0.08, with these names of arm, task and segment.
fn named(names: &dyn Fn(usize) -> String) -> String {
    let mut rows = csv::Writer::from_writer(vec![]);
    rows.write_record(["arm", "task", "trial", "reward", "kind"])
        .unwrap();
    let (baseline, candidate, kind) = (names(0), names(1), names(2));
    for task in 0..25 {
        for (arm, reward) in [
            (&baseline, "1"),
            (&candidate, if task < 2 { "0" } else { "1" }),
        ] {
            rows.write_record([arm, &names(task + 3), "0", reward, &kind])
                .unwrap();
        }
    }
    String::from_utf8(rows.into_inner().unwrap()).unwrap()
}

/// Names that a spreadsheet would calculate, and that Markdown or a browser would render.
fn hostile(n: usize) -> String {
    let shapes = [
        "=HYPERLINK(\"http://evil.example\";\"x\")",
        "@SUM(A1:A9)",
        "+1+cmd|' /C calc'!A0",
        "-2+3",
        "| a | b |",
        "<script>alert(1)</script>",
        "[click](http://evil.example)",
        "**bold** `code`",
        "# heading",
        "<!-- gone",
        "a\nb | c",
        "\t=1",
        "\\|",
        "![i](x)",
    ];
    format!("{} {n}", shapes[n % shapes.len()])
}

/// Lines of a page with their number of cells: what makes up its tables.
fn shape(page: &str) -> Vec<(bool, usize)> {
    let line = |line: &str| (line.starts_with('|'), line.matches('|').count());
    page.lines().map(line).filter(|l| l.0).collect()
}

#[test]
fn hostile_names_change_no_table_and_are_no_formulas() {
    let place = Place::new();
    place.write("plain.csv", named(&|n| format!("name {n:02}")));
    place.write("hostile.csv", named(&hostile));
    for name in ["plain", "hostile"] {
        let names = |n: usize| {
            if name == "plain" {
                format!("name {n:02}")
            } else {
                hostile(n)
            }
        };
        let roles = [
            "--baseline".to_owned(),
            names(0),
            "--candidate".to_owned(),
            names(1),
        ];
        let mut import = place.command();
        import.args([
            "import",
            "table",
            &format!("{name}.csv"),
            "--run",
            name,
            "--margin",
            "outcome=0.05",
        ]);
        import
            .args(["--map", "segment.kind=kind", "--assume-schedule"])
            .args(&roles);
        let done = super::common::Done::of(import.output().unwrap());
        assert_eq!(done.code, 0, "{done:#?}");
        place.expect(3, &format!("compare {name}"));
    }
    let page = place.read("hostile/report/report.md");
    assert_eq!(shape(&page), shape(&place.read("plain/report/report.md")));
    for raw in [
        "<script",
        "<!--",
        "[click](",
        "![i]",
        "**bold**",
        "\n# heading",
    ] {
        assert!(!page.contains(raw), "{raw} is rendered");
    }
    for (file, bytes) in place.files("hostile/report") {
        let Some(name) = file.strip_suffix(".csv") else {
            continue;
        };
        let mut rows = csv::ReaderBuilder::new()
            .flexible(false)
            .from_reader(bytes.as_slice());
        let header = rows.headers().unwrap().clone();
        for row in rows.records() {
            for (column, cell) in header.iter().zip(&row.unwrap()) {
                let formula = cell.trim_start().starts_with(['=', '+', '-', '@']);
                assert!(
                    !formula || cell.parse::<f64>().is_ok(),
                    "{name}.{column}: {cell}"
                );
            }
        }
    }
    let comparisons = place.read("hostile/report/comparisons.csv");
    let mut rows = csv::Reader::from_reader(comparisons.as_bytes());
    let value = rows
        .headers()
        .unwrap()
        .iter()
        .position(|h| h == "value")
        .unwrap();
    let first = rows.records().next().unwrap().unwrap();
    assert_eq!(&first[value], "-0.08");
    assert!(
        comparisons.contains("'=HYPERLINK"),
        "the name stays readable"
    );
}

const SUITE: &str = "\
id: s
version: \"1\"
tools: {look: {}, pay: {writes: true}}
decision: {baseline: a, candidate: b, schedule: assumed, margins: {outcome: 0.05}}
";

/// A record of a chat log in which the agent calls one tool and says one sentence.
fn record(task: &str, tool: &str, said: &str) -> String {
    json!({"task_id": task, "trial": 0, "reward": 1, "messages": [
        {"role": "user", "content": said},
        {"role": "assistant", "tool_calls": [{"id": "1", "type": "function",
            "function": {"name": tool, "arguments": json!({"note": said}).to_string()}}]},
        {"role": "tool", "tool_call_id": "1", "content": said},
        {"role": "assistant", "content": said}]})
    .to_string()
}

/// What an agent says, and the tools that it invents, reach the page through the details of broken
/// rules and through disagreements.
#[test]
fn hostile_agents_change_no_table() {
    let place = Place::new();
    let hostile = "=1|2\n\n| x | y |\n|:--|:--|\n<img src=x onerror=alert(1)> [a](b) # c";
    for (name, tool, said) in [("plain", "other", "words"), ("hostile", hostile, hostile)] {
        place.write(&format!("{name}/suite.yaml"), SUITE);
        let tasks = "{\"id\": \"t1\", \"expect\": {\"tool_names\": [\"look\"]}}\n{\"id\": \"t2\", \"expect\": {\"tool_names\": [\"look\"]}}\n";
        place.write(&format!("{name}/tasks.jsonl"), tasks);
        place.write(&format!("{name}/arms.yaml"), "arms:\n  a: {kind: recorded, path: a.jsonl, trials: 1}\n  b: {kind: recorded, path: b.jsonl, trials: 1}\n");
        for (arm, tool) in [("a", "look"), ("b", tool)] {
            let log = format!(
                "{}\n{}\n",
                record("t1", tool, said),
                record("t2", tool, said)
            );
            place.write(&format!("{name}/{arm}.jsonl"), log);
        }
        place.expect(0, &format!("run {name} --out {name}-run"));
    }
    let page = place.read("hostile-run/report/report.md");
    assert_eq!(
        shape(&page),
        shape(&place.read("plain-run/report/report.md"))
    );
    assert!(
        page.contains("tool_names (trajectory) broken in **2 of 2**"),
        "{page}"
    );
    assert!(!page.contains("<img") && !page.contains("[a](b)"), "{page}");
    assert_eq!(
        page.lines().count(),
        place.read("plain-run/report/report.md").lines().count()
    );
}
