//! Trials that a limit cut short, and the family over which "better" is adjusted.

use serde_json::Value;

use crate::common::Place;

/// A run of arms `a` and `b` from the rows of a table without its header.
fn compared(header: &str, rows: &str, options: &str) -> Value {
    let place = Place::new();
    place.write("results.csv", format!("{header}\n{rows}"));
    place.expect(
        0,
        &format!(
            "import table results.csv --run run --baseline a --candidate b --assume-schedule {options}"
        ),
    );
    place.assize("compare run");
    place.report("run").0
}

fn row<'a>(report: &'a Value, part: &str, arm: Option<&str>, metric: &str) -> &'a Value {
    let rows = report[part].as_array().unwrap().iter();
    let wanted = |r: &&Value| {
        r["metric"] == metric && r["segment"].is_null() && arm.is_none_or(|arm| r["arm"] == arm)
    };
    rows.clone().find(wanted).unwrap()
}

fn has_notice(row: &Value, code: &str) -> bool {
    row["notices"].as_array().unwrap().iter().any(|n| n == code)
}

/// The baseline always answers in 30 to 59 s; the candidate ends after `cut` of every ten trials at 60 s.
fn timed(cut: u32) -> Value {
    let mut rows = String::new();
    for task in 0..30 {
        for trial in 0..3 {
            let at = task * 3 + trial;
            let time = 30_000 + at * 7919 % 29_000;
            rows.push_str(&format!("a,t{task},{trial},1,ok,{time}\n"));
            let (outcome, status, time) = match at % 10 < cut {
                true => ("", "limit_reached:wall_time_s", 60_000),
                false => ("1", "ok", time),
            };
            rows.push_str(&format!("b,t{task},{trial},{outcome},{status},{time}\n"));
        }
    }
    let options = "--margin latency_ms.mean=1.6";
    compared("arm,task,trial,outcome,status,latency", &rows, options)
}

#[test]
fn a_cap_is_not_a_time() {
    let report = timed(10);
    let median = row(&report, "estimates", Some("b"), "latency_ms.p50");
    // All trials ran into the limit, so it is all that is known.
    assert!(
        median["value"].is_null() && median["high"].is_null(),
        "{median}"
    );
    assert_eq!(median["reason"], "beyond_limit", "{median}");
    let mean = row(&report, "estimates", Some("b"), "latency_ms.mean");
    assert!(
        has_notice(mean, "restricted_mean") && has_notice(mean, "censored:90"),
        "{mean}"
    );
    let contrast = row(&report, "comparisons", None, "latency_ms.mean");
    assert_eq!(contrast["decision"], "inconclusive", "{contrast}");
    assert_eq!(contrast["reason"], "censored", "{contrast}");
    assert!(has_notice(contrast, "restricted_mean"), "{contrast}");
    assert_ne!(report["gate"]["result"], "passed");
    let baseline = row(&report, "estimates", Some("a"), "latency_ms.mean");
    assert!(!has_notice(baseline, "restricted_mean"), "{baseline}");
}

#[test]
fn what_lies_below_the_cut_trials_is_known() {
    let report = timed(2);
    let median = row(&report, "estimates", Some("b"), "latency_ms.p50");
    assert!(median["high"].as_f64().unwrap() < 60_000.0, "{median}");
    assert!(has_notice(median, "censored:18"), "{median}");
    let high = row(&report, "estimates", Some("b"), "latency_ms.p90");
    assert!(high["value"].is_null() && high["high"].is_null(), "{high}");
    // At most .88 of the trials lie below the cut, so even the lower limit of the 90th percentile is beyond.
    assert!(
        high["low"].is_null() && has_notice(high, "low_beyond_limit"),
        "{high}"
    );
    let calls = row(&timed(0), "comparisons", None, "latency_ms.mean").clone();
    assert_ne!(calls["reason"], "censored", "{calls}");
}

#[test]
fn a_worse_restricted_mean_is_worse() {
    let mut rows = String::new();
    for task in 0..30 {
        rows.push_str(&format!("a,t{task},0,1,ok,{}\n", 1_000 + task * 10));
        let (status, outcome) = match task % 2 {
            0 => ("limit_reached:wall_time", ""),
            _ => ("ok", "1"),
        };
        rows.push_str(&format!(
            "b,t{task},0,{outcome},{status},{}\n",
            9_000 + task
        ));
    }
    let header = "arm,task,trial,outcome,status,latency";
    let report = compared(header, &rows, "--margin latency_ms.mean=1.2");
    let contrast = row(&report, "comparisons", None, "latency_ms.mean");
    assert_eq!(contrast["decision"], "worse", "{contrast}");
    assert!(has_notice(contrast, "censored:15"), "{contrast}");
}

#[test]
fn the_family_holds_the_metrics_that_have_rules() {
    let mut rows = String::new();
    for task in 0..40 {
        let outcome = u8::from(task >= 5);
        rows.push_str(&format!("a,t{task},0,{outcome},ok,{}\n", 80 + task));
        rows.push_str(&format!("b,t{task},0,1,ok,{}\n", 40 + task % 20));
    }
    let header = "arm,task,trial,outcome,status,latency";
    let options = "--margin outcome=0.05 --margin latency_ms.mean=1.2";
    let report = compared(header, &rows, options);
    let outcome = row(&report, "comparisons", None, "success_rate");
    let time = row(&report, "comparisons", None, "latency_ms.mean");
    let p = |row: &Value| row["p"].as_f64().unwrap();
    // Two dimensions with a p each: the greater stays as it is, the smaller doubles.
    assert_eq!(outcome["p_adjusted"], outcome["p"], "{outcome}");
    let doubled = time["p_adjusted"].as_f64().unwrap();
    assert!((doubled - 2.0 * p(time)).abs() <= 1e-12 * doubled, "{time}");
    assert_eq!(
        (&outcome["primary"], &time["primary"]),
        (&true.into(), &true.into())
    );
    assert!(!has_notice(time, "unadjusted"), "{time}");
    assert_eq!(outcome["decision"], "better", "{outcome}");
}

#[test]
fn accounting_and_trials_agree_and_every_valid_trial_has_a_place() {
    let place = Place::new();
    let rows: String = ["a", "b"]
        .iter()
        .flat_map(|arm| (0..4).map(move |t| format!("{arm},t{t},0,1,ok,{}\n", 100 + t)))
        .collect();
    place.write(
        "results.csv",
        format!("arm,task,trial,outcome,status,latency\n{rows}"),
    );
    place.expect(
        0,
        "import table results.csv --run run --baseline a --candidate b --assume-schedule",
    );
    place.assize("compare run");
    for row in place.report("run").0["accounting"].as_array().unwrap() {
        let count = |key: &str| row[key].as_u64().unwrap();
        let judge = row["excluded"]["judge"].as_u64().unwrap_or(0);
        let placed = [
            "graded",
            "judged",
            "not_applicable",
            "ungradable",
            "not_measured",
        ];
        let placed: u64 = placed.into_iter().map(count).sum();
        assert_eq!(count("valid"), placed + judge, "{row}");
    }
    let trials = place.read("run/report/trials.csv");
    let mut lines = trials.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = names.iter().position(|n| *n == "efficiency_state").unwrap();
    assert!(
        lines.all(|line| line.split(',').nth(at) == Some("scored")),
        "{trials}"
    );
}
