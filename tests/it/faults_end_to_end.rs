//! Cases in which tools of this field decided wrongly, from a table of results to the decision.
//!
//! The inputs are those of `reference/faults`. Each test asks for the sound property of the whole:
//! what the report says, and with which code the command ends.

use std::fs;

use serde_json::{Value, json};

use super::common::{Place, Report, here, near};

fn case(name: &str) -> Value {
    let file = here("tests/reference/faults").join(name);
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// A table of results, row by row.
struct Table(String);

impl Table {
    fn new() -> Self {
        Self("arm,task,trial,reward,status\n".to_owned())
    }

    fn row(&mut self, arm: &str, task: &str, trial: usize, reward: &str, status: &str) {
        self.0
            .push_str(&format!("{arm},{task},{trial},{reward},{status}\n"));
    }

    /// Completed trials of one task with these scores.
    fn scores(&mut self, arm: &str, task: &str, scores: &Value) {
        for (trial, score) in scores.as_array().unwrap().iter().enumerate() {
            self.row(arm, task, trial, &score.to_string(), "ok");
        }
    }

    /// Completed trials of many tasks: an object from task to scores.
    fn tasks(&mut self, arm: &str, tasks: &Value) {
        for (task, scores) in tasks.as_object().unwrap() {
            self.scores(arm, task, scores);
        }
    }
}

/// A suite with these tasks, whose gate wants no loss above .05 and no broken task, and the decision
/// about a table of results: the exit code and the report.
fn decided(tasks: &[&str], table: &Table) -> (i32, Report, Place) {
    let place = Place::new();
    let suite = "\
id: s
version: \"1\"
expect: {external_result: true}
decision:
  baseline: a
  candidate: b
  schedule: assumed
  margins: {outcome: 0.05}
  rules:
    - {dimension: outcome, rule: non_inferior}
    - {dimension: outcome, rule: no_task_regression}
";
    place.write("s/suite.yaml", suite);
    let lines: String = tasks
        .iter()
        .map(|t| format!("{{\"id\": \"{t}\"}}\n"))
        .collect();
    place.write("s/tasks.jsonl", lines);
    place.write("t.csv", &table.0);
    place.expect(0, "import table t.csv --suite s --run run");
    let code = place.assize("compare run").code;
    let report = place.report("run");
    assert_eq!(report.gate().1, i64::from(code));
    (code, report, place)
}

/// 09: all five trials of each task enter, so that the difference is +.6 and not −1.
#[test]
fn every_trial_counts() {
    let case = case("09-repeat-trials-silently-dropped.json");
    let mut table = Table::new();
    for (arm, key) in [("a", "trials_baseline"), ("b", "trials_candidate")] {
        for (at, task) in ["q1", "q2"].iter().enumerate() {
            table.scores(arm, task, &case["input"][key][at]);
        }
    }
    let (_, report, _) = decided(&["q1", "q2"], &table);
    let outcome = report.comparison("success_rate");
    near(
        &outcome["value"],
        case["sound_answer"]["delta"].as_f64().unwrap(),
        1e-12,
    );
    assert_eq!(outcome["tasks"], case["sound_answer"]["n_tasks"]);
    assert_eq!(
        report.estimate("b", "success_rate")["trials"],
        case["sound_answer"]["n_trials"]
    );
    // Two tasks are no evidence, whatever their trials say.
    assert_eq!(outcome["decision"], "inconclusive");
}

/// 19: two runs per arm cannot make a discovery of one task.
#[test]
fn two_runs_are_not_a_broken_task() {
    let case = case("19-per-task-p-zero-two-runs.json");
    let mut table = Table::new();
    table.tasks("a", &case["input"]["A"]);
    table.tasks("b", &case["input"]["B"]);
    let (code, report, _) = decided(&["t1", "t2"], &table);
    assert_eq!((report.gate(), code), (("inconclusive", 3), 3));
    let screen = &report.0["screens"][0];
    assert_eq!(screen["regressions"], json!([]), "{screen:#}");
    let rule = &report.0["gate"]["rules"][1];
    assert_eq!(rule["result"], "inconclusive");
    assert!(
        rule["reason"]
            .as_str()
            .unwrap()
            .starts_with("screen_cannot_run"),
        "{rule:#}"
    );
}

/// 39: one task breaks and another is mended; the mean does not move, and the gate fails.
#[test]
fn a_gain_elsewhere_does_not_hide_a_broken_task() {
    let case = case("39-netting-hides-broken-case.json");
    let mut table = Table::new();
    table.tasks("a", &case["input"]["base"]);
    table.tasks("b", &case["input"]["head"]);
    let (code, report, place) = decided(&["a", "b", "c"], &table);
    assert_eq!((report.gate(), code), (("failed", 1), 1));
    near(&report.comparison("success_rate")["value"], 0.0, 1e-12);
    let screen = &report.0["screens"][0];
    let named = |list: &str| screen[list][0]["task"].clone();
    assert_eq!(
        (named("regressions"), named("improvements")),
        (json!("a"), json!("b")),
        "{screen:#}"
    );
    assert_eq!(report.0["gate"]["rules"][1]["result"], "failed");
    assert!(
        place
            .read("run/report/report.md")
            .contains("no single task broken | **failed**")
    );
}

/// 41: a case that the candidate never ran blocks the decision, although all others pass.
#[test]
fn a_case_that_was_not_run_blocks_the_gate() {
    let case = case("41-dropping-failing-cases-passes.json");
    let mut table = Table::new();
    table.tasks("a", &case["input"]["base"]);
    table.scores("b", "a", &case["input"]["base"]["a"]);
    let (code, report, _) = decided(&["a", "b"], &table);
    assert_eq!((report.gate(), code), (("infrastructure", 4), 4));
    let outcome = report.comparison("success_rate");
    assert_eq!(outcome["decision"], "not_decidable");
    assert_eq!(outcome["tasks_unpaired"], 1);
    let counts = report.accounting("b", "outcome");
    assert_eq!(
        (&counts["planned"], &counts["scored"]),
        (&json!(10), &json!(5)),
        "{counts:#}"
    );
    assert_eq!(
        report.estimate("b", "success_rate")["bounds"],
        json!([0.5, 1.0])
    );
}

/// 41, the other way about: a task of the suite that neither arm ran is missing in both.
#[test]
fn a_task_that_nobody_ran_is_missing() {
    let mut table = Table::new();
    for arm in ["a", "b"] {
        table.scores(arm, "a", &json!([1, 1, 1, 1, 1]));
    }
    let (code, report, _) = decided(&["a", "b"], &table);
    assert_eq!((report.gate(), code), (("infrastructure", 4), 4));
    for arm in ["a", "b"] {
        assert_eq!(report.accounting(arm, "outcome")["planned"], 10);
        assert_eq!(
            report.estimate(arm, "success_rate")["bounds"],
            json!([0.5, 1.0])
        );
    }
}

/// 47: ten rate limits are ten infrastructure errors and no rate at all.
#[test]
fn rate_limits_give_no_rate() {
    let case = case("47-rate-limit-counted-as-agent-failure.json");
    let trials = case["input"]["trials"].as_u64().unwrap() as usize;
    let mut table = Table::new();
    for trial in 0..trials {
        table.row("a", "t", trial, "1", "ok");
        // Some tools write a reward of 0 beside the error; it is nobody's.
        table.row("b", "t", trial, ["", "0"][trial % 2], "429");
    }
    let (code, report, place) = decided(&["t"], &table);
    assert_eq!((report.gate(), code), (("infrastructure", 4), 4));
    let rate = report.estimate("b", "success_rate");
    assert!(rate["value"].is_null(), "{rate:#}");
    assert_eq!(rate["trials"], case["sound_answer"]["measured"]);
    let counts = report.accounting("b", "outcome");
    assert_eq!(
        counts["excluded"],
        json!({"provider": case["sound_answer"]["infra_errors"]})
    );
    assert_eq!(
        report.comparison("success_rate")["decision"],
        "not_decidable"
    );
    let failures = place.read("run/report/failures.csv");
    assert_eq!(failures.lines().count(), 1, "nobody failed: {failures}");
}

/// 53: one pass and nine crashes are one of ten, at worst .1, and decide nothing.
#[test]
fn crashed_runs_stay_in_the_denominator() {
    let case = case("53-crashed-runs-vanish.json");
    let requested = case["input"]["runs_requested"].as_u64().unwrap() as usize;
    let mut table = Table::new();
    for trial in 0..requested {
        table.row("a", "t", trial, "1", "ok");
        let (reward, status) = if trial == 0 {
            ("1", "ok")
        } else {
            ("", "RuntimeError: boom")
        };
        table.row("b", "t", trial, reward, status);
    }
    let (code, report, _) = decided(&["t"], &table);
    assert_eq!((report.gate(), code), (("infrastructure", 4), 4));
    let counts = report.accounting("b", "outcome");
    assert_eq!(counts["planned"], case["sound_answer"]["requested"]);
    assert_eq!(counts["scored"], case["sound_answer"]["measured"]);
    assert_eq!(
        counts["excluded"],
        json!({"runner": case["sound_answer"]["errors"]})
    );
    let rate = report.estimate("b", "success_rate");
    near(
        &rate["bounds"][0],
        case["sound_answer"]["worst_case_pass_rate"]
            .as_f64()
            .unwrap(),
        1e-12,
    );
    near(&rate["bounds"][1], 1.0, 1e-12);
    assert_eq!(
        report.comparison("success_rate")["decision"],
        "not_decidable"
    );
}

/// 73: a cost that nobody recorded is not measured, and half the costs are half the trials.
#[test]
fn an_unknown_cost_is_not_zero() {
    let case = case("73-unknown-cost-passes-budget.json");
    assert!(case["sound_answer"]["score"].is_null());
    let place = Place::new();
    let mut rows = String::from("arm,task,trial,reward,cost_usd,latency_ms\n");
    for task in 0..10 {
        let cost = if task % 2 == 0 { "0.5" } else { "" };
        rows.push_str(&format!("a,t{task},0,1,,100\nb,t{task},0,1,,100\n"));
        rows.push_str(&format!("c,t{task},0,1,{cost},100\n"));
    }
    place.write("t.csv", rows);
    place.expect(0, "import table t.csv --run run --baseline a --candidate b --margin cost_usd.mean=1.2 --assume-schedule");
    // A margin on what nobody recorded cannot be met.
    place.expect(3, "compare run");
    let report = place.report("run");
    for arm in ["a", "b"] {
        let cost = report.estimate(arm, "cost_usd.mean");
        assert_eq!(cost["status"], "not_measured", "{cost:#}");
        assert!(cost["value"].is_null());
        assert!(
            report
                .comparisons()
                .iter()
                .all(|c| c["metric"] != "cost_usd.mean")
        );
    }
    let cost = report.estimate("c", "cost_usd.mean");
    near(&cost["value"], 0.5, 1e-12);
    assert_eq!(cost["trials"], 5);
    assert_eq!(
        cost["status"], "not_decidable",
        "half of it is missing: {cost:#}"
    );
    let trials = place.read("run/report/trials.csv");
    let mut rows = csv::Reader::from_reader(trials.as_bytes());
    let at = rows
        .headers()
        .unwrap()
        .iter()
        .position(|h| h == "cost_usd")
        .unwrap();
    let cells: Vec<String> = rows.records().map(|r| r.unwrap()[at].to_owned()).collect();
    assert_eq!(cells.iter().filter(|c| c.is_empty()).count(), 25);
}

/// 45: a hundred trials of an easy and a hard task are two tasks.
#[test]
fn pooled_trials_are_not_independent() {
    let case = case("45-pooled-wilson-over-clustered-trials.json");
    let n = case["input"]["trials_per_task"].as_u64().unwrap() as usize;
    let mut table = Table::new();
    for arm in ["a", "b"] {
        table.scores(arm, "easy", &json!(vec![1; n]));
        table.scores(arm, "hard", &json!(vec![0; n]));
    }
    let (code, report, _) = decided(&["easy", "hard"], &table);
    let rate = report.estimate("a", "success_rate");
    near(&rate["value"], 0.5, 1e-12);
    let (low, high) = (
        rate["low"].as_f64().unwrap(),
        rate["high"].as_f64().unwrap(),
    );
    assert!(low < 0.05 && high > 0.95, "[{low}, {high}] pools trials");
    assert_eq!((report.gate().0, code), ("inconclusive", 3));
}

/// 61: eight trials are never squeezed into five, and all of them enter pass@2.
#[test]
fn extra_trials_are_counted_or_refused() {
    let case = case("61-pass-at-k-with-extra-trials.json");
    let place = Place::new();
    let mut rows = String::from("arm,task,trial,reward\n");
    for (trial, score) in case["input"]["scores"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
    {
        rows.push_str(&format!("a,t,{trial},{score}\nb,t,{trial},{score}\n"));
    }
    place.write("t.csv", rows);
    let refused = place.expect(2, "import table t.csv --run five --trials 5");
    assert!(
        refused.error().contains("5 trials are planned"),
        "{}",
        refused.stderr
    );
    assert!(!place.path("five").exists());
    place.expect(0, "import table t.csv --run run --baseline a --candidate b");
    place.assize("compare run");
    let report = place.report("run");
    let at_k = report.estimates("a", "pass_at_k");
    let two = at_k
        .iter()
        .find(|e| e["k"] == case["input"]["K_VALUE"])
        .unwrap();
    near(
        &two["value"],
        case["sound_answer"]["or_value_n8"].as_f64().unwrap(),
        1e-6,
    );
    assert_eq!(two["trials"], 8);
}

/// 69: that a loss of five points would have been detected does not show that there is none.
#[test]
fn power_is_not_equivalence() {
    let case = case("69-noise-verdict-without-equivalence.json");
    let number = |key: &str| case["input"][key].as_u64().unwrap();
    let mut table = Table::new();
    let mut tasks = vec![];
    for task in 0..number("n") {
        let name = format!("t{task}");
        let (a, b) = match task {
            t if t < number("candidate_only") => ("0", "1"),
            t if t < number("candidate_only") + number("baseline_only") => ("1", "0"),
            _ => ("1", "1"),
        };
        table.row("a", &name, 0, a, "ok");
        table.row("b", &name, 0, b, "ok");
        tasks.push(name);
    }
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let (_, report, _) = decided(&tasks, &table);
    let outcome = report.comparison("success_rate");
    near(
        &outcome["value"],
        case["sound_answer"]["delta"].as_f64().unwrap(),
        1e-12,
    );
    near(
        &outcome["high"],
        case["sound_answer"]["ci95"][1].as_f64().unwrap(),
        2e-3,
    );
    // Not worse by five points, that much is shown; equal within five points is not.
    assert_eq!(outcome["decision"], "non_inferior");
    assert!(outcome["high"].as_f64() > outcome["margin"].as_f64());
}

/// 63: a misspelt key in a contract stops the run; no check is skipped for it.
#[test]
fn a_misspelt_rule_stops_the_run() {
    let case = case("63-malformed-rule-silently-skipped.json");
    assert!(case["input"]["expect"]["ordering"]["before"][0]["secnd"].is_string());
    let place = Place::new();
    place.copy_suite("refunds", "s");
    let good = place.read("s/tasks/refund-requires-order-lookup.json");
    let bad = good.replacen("\"must_ask_before_write\"", "\"must_ask_befor_write\"", 1);
    assert_ne!(good, bad);
    place.write("s/tasks/refund-requires-order-lookup.json", bad);
    for command in ["run s --out run", "golden check s", "validate s"] {
        let done = place.expect(2, command);
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(
            said.contains("tasks/refund-requires-order-lookup.json:"),
            "{said}"
        );
        assert!(
            said.contains("`must_ask_befor_write`")
                && said.contains("did you mean `must_ask_before_write`?"),
            "{said}"
        );
    }
    assert!(!place.path("run").exists());
}
