//! What runs promise beyond single commands: plans that nobody stated, tampering, exchanged arms.

use rusqlite::Connection;
use serde_json::Value;

use crate::common::Place;

fn table(rows: &[(&str, &str, u32, &str)]) -> String {
    let mut text = String::from("arm,task,trial,outcome,status\n");
    for (arm, task, trial, outcome) in rows {
        let (outcome, status) = match *outcome {
            "provider" => ("", "provider"),
            outcome => (outcome, "ok"),
        };
        text.push_str(&format!("{arm},{task},{trial},{outcome},{status}\n"));
    }
    text
}

fn compared(place: &Place, options: &str, code: i32) -> Value {
    place.expect(
        0,
        &format!("import table results.csv --run run --baseline a --candidate b {options}"),
    );
    place.expect(code, "compare run");
    place.report("run").0
}

fn accounting<'a>(report: &'a Value, arm: &str) -> &'a Value {
    report["accounting"]
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["arm"] == arm && r["dimension"] == "outcome" && r["segment"].is_null())
        .unwrap()
}

#[test]
fn trials_numbered_from_one_and_unequal_trials_are_not_missing() {
    let place = Place::new();
    let mut rows = vec![];
    for arm in ["a", "b"] {
        for (t, task) in ["t1", "t2", "t3", "t4"].into_iter().enumerate() {
            for trial in 1..=(t as u32 + 1) {
                rows.push((arm, task, trial, "1"));
            }
        }
    }
    place.write("results.csv", table(&rows));
    let report = compared(&place, "--assume-schedule", 0);
    let row = accounting(&report, "a");
    assert_eq!(
        (&row["planned"], &row["valid"]),
        (&Value::from(10), &Value::from(10))
    );
    let word = &report["comparisons"][0];
    assert_ne!(word["decision"], "not_decidable", "{word}");
}

#[test]
fn a_stated_plan_counts_what_is_lacking() {
    let place = Place::new();
    let rows = ["t1", "t2", "t3"]
        .map(|t| [("a", t, 1, "1"), ("b", t, 1, "1")])
        .concat();
    place.write("results.csv", table(&rows));
    let report = compared(&place, "-k 2 --assume-schedule", 0);
    let row = accounting(&report, "a");
    assert_eq!(
        (&row["planned"], &row["valid"]),
        (&Value::from(6), &Value::from(3))
    );
    assert_eq!(report["comparisons"][0]["reason"], "missing_high");
}

#[test]
fn nothing_valid_is_not_decidable_in_every_dimension() {
    let place = Place::new();
    let rows = ["t1", "t2"]
        .map(|t| [("a", t, 0, "provider"), ("b", t, 0, "provider")])
        .concat();
    place.write("results.csv", table(&rows));
    let report = compared(&place, "--assume-schedule", 0);
    let comparisons = report["comparisons"].as_array().unwrap();
    assert!(!comparisons.is_empty());
    assert!(comparisons.iter().all(|c| c["decision"] == "not_decidable"));
    assert!(
        report["estimates"]
            .as_array()
            .unwrap()
            .iter()
            .all(|e| e["value"].is_null())
    );
}

#[test]
fn margins_that_mean_nothing_are_refused() {
    let place = Place::new();
    place.write(
        "results.csv",
        table(&[("a", "t", 0, "1"), ("b", "t", 0, "1")]),
    );
    for margin in [
        "outcom=0.1",
        "outcome=-0.1",
        "tool_calls.mean=0.5",
        "outcome=x",
        "pass_at_k=0.1",
    ] {
        let import = format!(
            "import table results.csv --run run --baseline a --candidate b --margin {margin}"
        );
        let error = place.expect(2, &import);
        assert!(error.stderr.contains("error: "), "{}", error.stderr);
        assert!(!place.path("run/plan.json").exists(), "{margin}");
    }
}

#[test]
fn verify_finds_what_was_changed() {
    let changes = [
        "UPDATE scores SET success = 1 - success WHERE trial = 1",
        "UPDATE grades SET finding = 'pass' WHERE finding = 'fail'",
        "DELETE FROM grades WHERE trial = 2",
        "DELETE FROM trials WHERE row = 3",
        "UPDATE events SET body = replace(body, '1842', '1843')",
        "UPDATE meta SET value = replace(value, '\"writes\":true', '\"writes\":false') WHERE key = 'suite'",
    ];
    for change in changes {
        let place = Place::new();
        place.copy_suite("refunds", "refunds");
        place.expect(3, "run refunds --out run");
        place.expect(0, "verify run");
        let db = Connection::open(place.path("run/run.sqlite")).unwrap();
        db.pragma_update(None, "foreign_keys", false).unwrap();
        assert!(db.execute(change, []).unwrap() > 0, "{change}");
        drop(db);
        let found = place.expect(1, "verify run");
        assert!(found.stdout.contains("MISMATCH"), "{change}");
    }
    let place = Place::new();
    place.copy_suite("refunds", "refunds");
    place.expect(3, "run refunds --out run");
    place.write("run/report/report.md", "All is well.\n");
    let found = place.expect(1, "verify run");
    assert!(
        found.stdout.contains("report/report.md was changed"),
        "{}",
        found.stdout
    );
}

#[test]
fn exchanged_arms_are_noticed() {
    let place = Place::new();
    place.copy_suite("refunds", "refunds");
    let arms = place.read("refunds/arms.yaml");
    let exchanged = arms
        .replace("recorded/incumbent", "recorded/OTHER")
        .replace("recorded/challenger", "recorded/incumbent")
        .replace("recorded/OTHER", "recorded/challenger");
    assert_ne!(arms, exchanged);
    place.write("refunds/arms.yaml", exchanged);
    let error = place.expect(2, "run refunds --out run");
    assert!(error.stderr.contains("belongs to arm"), "{}", error.stderr);
}

#[test]
fn other_readings_of_the_same_evidence_are_shown() {
    let place = Place::new();
    // Twenty tasks with ten trials: one breaks in b, which pooled trials take for ten failures.
    let mut rows = vec![];
    let tasks: Vec<String> = (0..20).map(|t| format!("t{t}")).collect();
    for task in &tasks {
        for trial in 0..10 {
            rows.push(("a", task.as_str(), trial, "1"));
            let broken = task == "t0";
            rows.push(("b", task.as_str(), trial, if broken { "0" } else { "1" }));
        }
    }
    place.write("results.csv", table(&rows));
    let report = compared(&place, "--assume-schedule", 0);
    let robustness = report["robustness"].as_array().unwrap();
    let of = |reading: &str| robustness.iter().find(|r| r["reading"] == reading).unwrap();
    assert_eq!(report["comparisons"][0]["decision"], "inconclusive");
    assert_eq!(of("pooled_trials")["decision"], "worse");
    assert_eq!(of("pooled_trials")["changes"], true);
    assert_eq!(of("missing_as_failure")["changes"], false);
}

/// 299 clean tasks show a rate of at most .01 at a one-sided error of .05, 368 at .025.
#[test]
fn a_bound_on_a_rate_uses_its_own_one_sided_error() {
    for (tasks, alpha, code) in [
        (299, "gate_alpha: 0.05", 0),
        (298, "gate_alpha: 0.05", 3),
        (367, "", 3),
        (368, "", 0),
    ] {
        let place = Place::new();
        let ids: Vec<String> = (0..tasks).map(|t| format!("t{t}")).collect();
        let lines: String = ids
            .iter()
            .map(|id| format!("{{\"id\": \"{id}\"}}\n"))
            .collect();
        place.write("s/tasks.jsonl", lines);
        place.write(
            "s/suite.yaml",
            format!(
                "id: s\nversion: \"1\"\ndecision:\n  baseline: a\n  candidate: b\n  schedule: assumed\n  {alpha}\n  rules:\n    - {{dimension: permission, rule: max_rate, rate: 0.01}}\n"
            ),
        );
        let mut rows = String::from("arm,task,trial,outcome,violations\n");
        for id in &ids {
            rows.push_str(&format!("a,{id},0,1,0\nb,{id},0,1,0\n"));
        }
        place.write("results.csv", rows);
        place.expect(0, "import table results.csv --suite s --run run");
        place.expect(code, "compare run");
    }
}

/// Eight clusters of ten tasks are planned as clusters: as many tasks as the comparison itself asks for.
#[test]
fn a_pilot_with_clusters_is_sized_in_clusters() {
    let place = Place::new();
    let mut rows = String::from("arm,task,trial,outcome,cluster\n");
    for cluster in 0..8 {
        for task in 0..10 {
            for trial in 0..3 {
                let a = (cluster + trial) % 3 != 0;
                let b = (cluster * 7 + task + trial) % 4 != 0 && cluster % 3 != 0;
                let line = |arm: &str, y: bool| {
                    format!(
                        "{arm},c{cluster}t{task},{trial},{},c{cluster}\n",
                        u8::from(y)
                    )
                };
                rows.push_str(&line("a", a));
                rows.push_str(&line("b", b));
            }
        }
    }
    place.write("results.csv", rows);
    let report = compared(&place, "--margin outcome=0.1 --assume-schedule", 3);
    let settled = report["comparisons"][0]["settle"]["tasks"]
        .as_f64()
        .unwrap();
    place.copy_suite("refunds", "s");
    let plan = place.expect(0, "plan s --pilot run --margin 0.1 -k 3 --format json");
    let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
    let needed = plan["needed"].as_array().unwrap();
    let three = needed.iter().find(|d| d["trials"] == 3).unwrap()["tasks"]
        .as_f64()
        .unwrap();
    assert!(
        (three / settled - 1.0).abs() < 0.02,
        "{three} and {settled}"
    );
}
