//! Limits and faults of a live run: what is the agent's own.

use serde_json::json;

use crate::common::{Place, Report, near};
use crate::live_common::{Endpoint, Found, arms, chat, run, scripted, status, suite};

const LOOK: &str = "tools: {look: {simulated: {result: 1}}}\n";

/// A model that would pass after five turns of 100 tokens and a second each.
const FIVE: &str = "
  slow:
    usage: {input_tokens: 80, output_tokens: 20}
    delay_ms: 1000
    default: {turns: [{call: [{name: look}, {name: look}], repeat: 4}, {say: '{\"status\": \"ok\"}'}]}
";

#[test]
fn every_limit_is_the_agent_s_and_the_next_larger_one_is_not_reached() {
    for (limit, key, reached, enough) in [
        ("steps", "steps", "4", "5"),
        ("tool_calls", "tool_calls", "7", "8"),
        ("tokens", "tokens", "399", "500"),
        ("cost_usd", "cost_usd", "0.000399", "0.0005"),
        ("wall_time_s", "wall_time_s", "3.5", "5.5"),
    ] {
        for (most, passes) in [(reached, false), (enough, true)] {
            let place = Place::new();
            suite(&place, 1, 2, &format!("{LOOK}limits: {{{key}: {most}}}\n"));
            arms(&place, FIVE, &scripted("slow"));
            let found = run(&place, "");
            if passes {
                found.all_passed("slow", 2);
                continue;
            }
            found.all_failed("slow", 2);
            let wanted = json!({"status": "limit_reached", "which": limit});
            assert_eq!(status(&place, "run", "slow", "t0", 1), wanted);
        }
    }
}

#[test]
fn an_endpoint_that_never_answers_meets_the_wall_time_of_the_trial() {
    let place = Place::new();
    let endpoint = Endpoint::start(&place, "\n  hang: {default: {preset: hanging}}\n");
    suite(&place, 1, 2, "limits: {wall_time_s: 0.4}\n");
    arms(&place, "", &chat("hang", &endpoint.url(), ""));
    run(&place, "").all_failed("hang", 2);
    let wanted = json!({"status": "limit_reached", "which": "wall_time_s"});
    assert_eq!(status(&place, "run", "hang", "t0", 0), wanted);
}

#[test]
fn without_a_limit_a_loop_ends_all_the_same() {
    let place = Place::new();
    suite(&place, 1, 1, LOOK);
    arms(
        &place,
        "\n  looping: {default: {preset: looping}}\n",
        &scripted("looping"),
    );
    run(&place, "").all_failed("looping", 1);
    let wanted = json!({"status": "limit_reached", "which": "steps"});
    assert_eq!(status(&place, "run", "looping", "t0", 0), wanted);
}

/// The suite that `assize init` makes: `hasty` pays again when a reply is lost, `careful` looks first.
#[test]
fn to_pay_again_after_a_lost_reply_is_a_duplicate_although_the_outcome_passes() {
    let place = Place::new();
    place.expect(0, "init desk");
    place.expect(1, "run desk/suites/starter --out run");
    let report = place.report("run");
    let lost = |arm, metric| segment(&report, arm, metric);
    let (careful, hasty) = ("careful", "hasty");
    near(&lost(careful, "duplicate_rate")["value"], 0.0, 0.0);
    near(&lost(hasty, "duplicate_rate")["value"], 1.0, 0.0);
    near(&lost(careful, "recovery_rate")["value"], 1.0, 0.0);
    near(&lost(hasty, "recovery_rate")["value"], 0.0, 0.0);
    // The intervals do not even touch.
    let bound = |arm, metric, key: &str| lost(arm, metric)[key].as_f64().unwrap();
    assert!(bound(careful, "recovery_rate", "low") > bound(hasty, "recovery_rate", "high"));
    assert!(bound(careful, "duplicate_rate", "high") < bound(hasty, "duplicate_rate", "low"));
    // A trial of which both is true: it paid twice, and its outcome passes.
    let twice = place.read("run/report/trials.csv");
    let mut lines = twice.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let both = lines.filter(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        cells[at("duplicate_effects")] == "1.0" && cells[at("success")] == "1.0"
    });
    let both: Vec<&str> = both.collect();
    assert!(!both.is_empty() && both.iter().all(|l| l.starts_with("hasty,lost-reply")));
    assert!(Found { report }.infra("hasty").is_empty());
}

fn segment(report: &Report, arm: &str, metric: &str) -> serde_json::Value {
    let rows = report.0["estimates"].as_array().unwrap().iter();
    let mut rows = rows.filter(|e| e["arm"] == arm && e["metric"] == metric);
    rows.find(|e| e["segment"] == "kind=lost_reply")
        .unwrap()
        .clone()
}
