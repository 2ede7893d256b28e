//! Reports of live runs: drift over time, trials that never started, retries and caches.

use assize::model::plan::TrialSpec;
use assize::model::trace::Usage;
use assize::model::trial::{Boundary, LiveTrial, TrialStatus};
use serde_json::{Value, json};

use crate::common::Place;
use crate::live_run::{LiveRun, live};

fn rules(schedule: &str) -> Value {
    json!({
        "baseline": "incumbent", "candidate": "challenger", "schedule": schedule,
        "margins": {"outcome": 0.2},
        "rules": [{"dimension": "outcome", "rule": "non_inferior"}],
    })
}

/// Whether a coin that the trial brings along falls below `rate`.
fn by_chance(spec: &TrialSpec, rate: f64) -> bool {
    ((spec.seed >> 11) as f64) / ((1u64 << 53) as f64) < rate
}

/// The challenger loses its strength in the second half of the blocks.
fn weakening(spec: &TrialSpec, half: u32) -> bool {
    let weak = spec.arm.as_str() == "challenger" && spec.block >= half;
    by_chance(spec, if weak { 0.3 } else { 0.9 })
}

fn report(place: &Place, code: i32) -> Value {
    place.expect(0, "grade run");
    place.expect(code, "compare run");
    place.expect(0, "report run");
    place.expect(0, "verify run");
    place.report("run").0
}

fn outcome(report: &Value) -> &Value {
    let mut rows = report["comparisons"].as_array().unwrap().iter();
    rows.find(|c| c["metric"] == "success_rate" && c["segment"].is_null())
        .unwrap()
}

fn accounting<'a>(report: &'a Value, arm: &str) -> &'a Value {
    let mut rows = report["accounting"].as_array().unwrap().iter();
    rows.find(|r| r["arm"] == arm && r["dimension"] == "outcome")
        .unwrap()
}

fn has(list: &Value, code: &str) -> bool {
    list.as_array()
        .unwrap()
        .iter()
        .any(|n| n == code || n["code"] == code)
}

#[test]
fn drift_of_one_arm_leaves_the_comparison_open() {
    let place = Place::new();
    LiveRun::new(40, 6, rules("checked")).write(&place.path("run"), |s| weakening(s, 3));
    let report = report(&place, 3);
    let drift = &report["drift"][0];
    assert_eq!(
        (&drift["dimension"], &drift["blocks"]),
        (&json!("outcome"), &json!(6))
    );
    assert_eq!(
        (&drift["positive"], &drift["absorbed"]),
        (&json!(true), &json!(false))
    );
    assert!(drift["p"].as_f64().unwrap() < 0.01, "{drift}");
    let row = outcome(&report);
    assert_eq!(
        (&row["decision"], &row["reason"]),
        (&json!("inconclusive"), &json!("schedule"))
    );
    assert!(has(&row["notices"], "drift"), "{row}");
    let page = place.read("run/report/report.md");
    assert!(page.contains("## Time") && page.contains("drift; nothing can be decided"));
    assert!(page.contains("no proof that there was none"));
}

#[test]
fn drift_that_both_arms_share_is_no_obstacle() {
    let place = Place::new();
    let both = |s: &TrialSpec| by_chance(s, if s.block >= 3 { 0.3 } else { 0.9 });
    LiveRun::new(60, 6, rules("checked")).write(&place.path("run"), both);
    let report = report(&place, 0);
    assert_eq!(report["drift"][0]["positive"], false, "{}", report["drift"]);
    assert!(outcome(&report)["reason"].is_null());
    assert!(place.read("run/report/report.md").contains("none shown"));
}

#[test]
fn whole_tasks_make_blocks_the_units() {
    let place = Place::new();
    LiveRun::new(40, 4, rules("whole_tasks")).write(&place.path("run"), |s| weakening(s, 5));
    place.expect(0, "grade run");
    place.assize("compare run");
    let report = place.report("run").0;
    let drift = &report["drift"][0];
    assert_eq!(
        (&drift["reason"], &drift["absorbed"]),
        (&json!("whole_tasks"), &json!(true))
    );
    let row = outcome(&report);
    assert!(
        has(&row["notices"], "blocks_as_units") && row["reason"].is_null(),
        "{row}"
    );
    assert!((row["n_c"].as_f64().unwrap() - 10.0).abs() < 1e-9, "{row}");
}

#[test]
fn single_trials_with_drift_are_compared_by_block() {
    let place = Place::new();
    LiveRun::new(400, 1, rules("checked")).write(&place.path("run"), |s| weakening(s, 5));
    place.expect(0, "grade run");
    place.assize("compare run");
    let report = place.report("run").0;
    let drift = &report["drift"][0];
    assert_eq!(
        (&drift["positive"], &drift["absorbed"]),
        (&json!(true), &json!(true)),
        "{drift}"
    );
    let row = outcome(&report);
    assert!((row["n_c"].as_f64().unwrap() - 10.0).abs() < 1e-9, "{row}");
}

#[test]
fn what_never_started_is_counted_and_not_missing() {
    for trials in [1, 4] {
        let place = Place::new();
        let run = LiveRun::new(60, trials, rules("checked"));
        let specs = run.schedule();
        let first = specs.len() * 6 / 10;
        let mut store = run.open(&place.path("run"));
        let made: Vec<LiveTrial> = specs[..first].iter().map(|s| live(s, true)).collect();
        store.live_writer().unwrap().put_batch(&made).unwrap();
        drop(store);
        // A run that was stopped early decides nothing, whatever it shows.
        let report = report(&place, 3);
        let rows = ["incumbent", "challenger"].map(|arm| accounting(&report, arm));
        let total = |key: &str| rows.iter().map(|r| r[key].as_u64().unwrap()).sum::<u64>();
        let all = specs.len() as u64;
        assert_eq!((total("planned"), total("started")), (all, first as u64));
        assert_eq!(total("not_started"), all - first as u64);
        assert_eq!(
            (total("valid"), rows[0]["excluded"].clone()),
            (first as u64, json!({}))
        );
        let row = outcome(&report);
        assert_eq!(row["decision"], "equivalent", "{row}");
        assert_eq!(
            has(&row["notices"], "tasks_not_started"),
            trials == 1,
            "{row}"
        );
        assert!(has(&report["notices"], "not_started"));
        assert_eq!(report["infrastructure"], json!([]));
        let mut estimates = report["estimates"].as_array().unwrap().iter();
        let rate = estimates.find(|e| e["metric"] == "success_rate").unwrap();
        assert_eq!(
            (&rate["bounds"], &rate["value"]),
            (&json!([1.0, 1.0]), &json!(1.0))
        );
        assert!(place.read("run/report/report.md").contains("never started"));
    }
}

#[test]
fn missing_trials_are_measured_against_those_that_started() {
    let place = Place::new();
    let run = LiveRun::new(40, 4, rules("checked"));
    let specs = run.schedule();
    let mut made: Vec<LiveTrial> = specs[..80].iter().map(|s| live(s, true)).collect();
    for trial in made.iter_mut().step_by(8) {
        trial.trial.status = TrialStatus::infra(Boundary::Provider, "http_500", "");
    }
    let mut store = run.open(&place.path("run"));
    store.live_writer().unwrap().put_batch(&made).unwrap();
    drop(store);
    let report = report(&place, 4);
    assert_eq!(outcome(&report)["reason"], "missing_high");
    assert_eq!(report["infrastructure"][0]["code"], "http_500");
}

#[test]
fn retries_and_caches_are_reported_by_arm() {
    let place = Place::new();
    let run = LiveRun::new(10, 1, rules("checked"));
    let mut made: Vec<LiveTrial> = run.schedule().iter().map(|s| live(s, true)).collect();
    let first_of = |made: &[LiveTrial]| {
        made.iter()
            .position(|t| t.trial.arm.as_str() == "incumbent")
            .unwrap()
    };
    let at = first_of(&made);
    let lost = TrialStatus::infra(Boundary::Provider, "http_500", "");
    made[at].trial.attempts = vec![lost.clone(), lost];
    made[at].trial.model_retries = 3;
    for (i, trial) in made.iter_mut().enumerate() {
        let events = &mut trial.trace.as_mut().unwrap().events;
        events[2].usage = Some(Usage {
            input_tokens: Some(100),
            output_tokens: Some(10),
            cached_tokens: Some(if i % 2 == 0 { 0 } else { 64 }),
            cost_usd: Some(if i % 2 == 0 { 0.25 } else { 0.125 }),
        });
    }
    let last = made.len() - 1;
    made[last].response_ids = made[0].response_ids.clone();
    let mut store = run.open(&place.path("run"));
    store.live_writer().unwrap().put_batch(&made).unwrap();
    drop(store);
    place.expect(0, "grade run");
    place.expect(0, "report run");
    let report = place.report("run").0;
    let rows = report["live"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    let of = |key: &str| {
        rows.iter()
            .map(|r| r[key].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (of("retried"), of("retried_trials")),
        (vec![2, 0], vec![1, 0])
    );
    assert_eq!(of("model_retries"), [3, 0]);
    assert_eq!(of("warm_cache").iter().sum::<u64>(), 1);
    let sides = |side: &str, key: &str| {
        rows.iter()
            .map(|r| r[side][key].as_f64().unwrap())
            .sum::<f64>()
    };
    assert_eq!(
        (sides("cold", "trials"), sides("warm", "trials")),
        (10.0, 9.0)
    );
    assert_eq!(
        (
            sides("cold", "cached_tokens"),
            sides("warm", "cached_tokens")
        ),
        (0.0, 576.0)
    );
    assert_eq!(
        (
            sides("cold", "cost_usd_mean"),
            sides("warm", "cost_usd_mean")
        ),
        (0.5, 0.25)
    );
    assert!(sides("warm", "latency_ms_p50") > 0.0);
    let page = place.read("run/report/report.md");
    assert!(page.contains("## Retries and caches") && page.contains("| incumbent | warm |"));
}
