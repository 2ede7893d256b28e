//! `assize plan`: variances and costs from a pilot, prices from an arms file.

use serde_json::{Value, json};

use super::common::{Done, Place};

const SUITE: &str = r#"
id: desk
version: "1"
trials: 2
decision:
  baseline: old
  candidate: new
  schedule: assumed
  margins: {outcome: 0.1}
"#;

/// Twelve tasks, `trials` each, with tokens that differ by arm: 1000 + 200 and 3000 + 400 on average.
fn pilot(trials: usize, old: &str, new: &str) -> Place {
    let place = Place::new();
    place.write("desk/suite.yaml", SUITE);
    let tasks: Vec<String> = (0..12)
        .map(|t| {
            json!({"id": format!("t{t}"), "input": {"user": "Hello."}, "expect": {}}).to_string()
        })
        .collect();
    place.write("desk/tasks.jsonl", tasks.join("\n"));
    for (arm, input, output) in [("old", 1000, 200), ("new", 3000, 400)] {
        let mut lines = vec![];
        for task in 0..12 {
            for trial in 0..trials {
                // Half of the trials read 100 tokens more, half as many less.
                let shift = if (task + trial) % 2 == 0 { 100 } else { -100 };
                let reward = i32::from((task * 7 + trial * 3 + input / 1000) % 4 != 0);
                lines.push(record(task, trial, reward, input as i64 + shift, output));
            }
        }
        place.write(&format!("desk/{arm}.jsonl"), lines.join("\n"));
    }
    let arm = |name: &str, price: &str| {
        format!("  {name}: {{kind: recorded, path: {name}.jsonl, trials: {trials}{price}}}\n")
    };
    let file = |old: &str, new: &str| format!("arms:\n{}{}", arm("old", old), arm("new", new));
    place.write("desk/arms.yaml", file("", ""));
    place.write("desk/prices.yaml", file(old, new));
    place.expect(0, "run desk --out pilot");
    place
}

fn record(task: usize, trial: usize, reward: i32, input: i64, output: i64) -> String {
    json!({"task": format!("t{task}"), "trial": trial, "reward": reward, "messages": [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Done.",
         "usage": {"prompt_tokens": input, "completion_tokens": output}}]})
    .to_string()
}

const OLD: &str = ", price: {input_per_million: 2.0, output_per_million: 10.0}";
const NEW: &str = ", price: {input_per_million: 0.5, output_per_million: 1.0}";

fn plan(place: &Place, flags: &str) -> Value {
    let done = place.expect(0, &format!("plan desk {flags} --format json"));
    serde_json::from_str(&done.stdout).unwrap()
}

fn said(done: &Done, parts: &[&str]) {
    let text = format!("{}{}", done.stdout, done.stderr);
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
}

fn near(value: &Value, want: f64) {
    let got = value.as_f64().unwrap();
    assert!((got - want).abs() < 1e-12, "{got} is not {want}");
}

#[test]
fn prices_times_the_pilots_tokens_are_what_a_trial_costs() {
    let place = pilot(2, OLD, NEW);
    let found = plan(&place, "--pilot pilot --arms desk/prices.yaml");
    let cost = &found["trial_costs"][0];
    assert_eq!(cost["source"], "prices");
    // 1000 × 2 + 200 × 10 and 3000 × .5 + 400 × 1 per million.
    near(&cost["baseline"], 0.004);
    near(&cost["candidate"], 0.0019);
    near(&cost["both"], 0.0059);
    assert_eq!(found["trial_costs"].as_array().unwrap().len(), 1);
    // Twelve tasks with two trials in both arms.
    near(&found["suite"]["cost"], 12.0 * 2.0 * 0.0059);
    assert_eq!(found["unknown"], Value::Null);
    let text = place.expect(
        0,
        "plan desk --pilot pilot --arms desk/prices.yaml --format text",
    );
    said(
        &text,
        &["a trial costs 0.0040 + 0.0019 (the pilot's tokens at the prices"],
    );
}

#[test]
fn what_is_stated_goes_before_prices_and_both_are_shown() {
    let place = pilot(2, OLD, NEW);
    let found = plan(
        &place,
        "--pilot pilot --arms desk/prices.yaml --trial-cost 0.5",
    );
    let sources: Vec<&Value> = found["trial_costs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cost| &cost["source"])
        .collect();
    assert_eq!(sources, ["stated", "prices"]);
    near(&found["suite"]["cost"], 12.0);
    // Without prices the pilot knows tokens and no cost.
    let none = plan(&place, "--pilot pilot");
    assert_eq!(none["trial_costs"], json!([]));
    assert_eq!(none["suite"]["cost"], Value::Null);
}

#[test]
fn a_recorded_cost_stands_beside_prices() {
    let place = pilot(2, OLD, NEW);
    // The same pilot imported under prices holds their cost as recorded.
    place.write("desk/arms.yaml", place.read("desk/prices.yaml"));
    place.expect(0, "run desk --out priced");
    let recorded = plan(&place, "--pilot priced");
    assert_eq!(recorded["trial_costs"][0]["source"], "recorded");
    near(&recorded["trial_costs"][0]["both"], 0.0059);
    let doubled = place.read("desk/prices.yaml").replace("10.0", "20.0");
    place.write("desk/prices.yaml", doubled);
    let both = plan(&place, "--pilot priced --arms desk/prices.yaml");
    near(&both["trial_costs"][0]["both"], 0.0079);
    near(&both["trial_costs"][1]["both"], 0.0059);
}

#[test]
fn what_no_number_can_say_is_refused_in_words() {
    let place = pilot(
        2,
        ", price: {input_per_million: 1e308, output_per_million: 1e308}",
        NEW,
    );
    let done = place.expect(2, "plan desk --pilot pilot --arms desk/prices.yaml");
    said(&done, &["more than any number can say", "per million"]);
    let stated = "plan desk --variances 0.01,0.1,0.1";
    let done = place.expect(2, &format!("{stated} --margin 1e-308"));
    said(&done, &["more than 10^12 tasks"]);
    let done = place.expect(2, &format!("{stated} --power 0.01"));
    said(&done, &["power 0.01 is not between 0.025"]);
    let done = place.expect(2, &format!("{stated} --task-cost 1e308 --trial-cost 1"));
    said(&done, &["beyond any number", "larger unit"]);
}

#[test]
fn a_price_or_tokens_that_lack_are_named() {
    let place = pilot(2, OLD, "");
    let done = place.expect(2, "plan desk --pilot pilot --arms desk/prices.yaml");
    said(
        &done,
        &["desk/prices.yaml", "arm `new` has no price", "hint: "],
    );
    let done = place.expect(
        2,
        "plan desk --arms desk/prices.yaml --variances 0.01,0.2,0.2",
    );
    said(&done, &["--pilot"]);
    place.write(
        "desk/other.yaml",
        "arms:\n  else: {kind: recorded, path: old.jsonl}\n",
    );
    let done = place.expect(2, "plan desk --pilot pilot --arms desk/other.yaml");
    said(
        &done,
        &["arm `old` of the pilot is not in the arms file", "`else`"],
    );
    // A table has no tokens.
    let rows = "arm,task,trial,outcome\nold,a,0,1\nold,b,0,0\nnew,a,0,1\nnew,b,0,1\n";
    place.write("table.csv", rows);
    place.expect(
        0,
        "import table table.csv --run table --baseline old --candidate new",
    );
    place.write(
        "desk/prices.yaml",
        place.read("desk/prices.yaml").replace(
            "new: {kind: recorded, path: new.jsonl, trials: 2",
            &format!("new: {{kind: recorded, path: new.jsonl, trials: 2{NEW}"),
        ),
    );
    let done = place.expect(2, "plan desk --pilot table --arms desk/prices.yaml");
    said(
        &done,
        &[
            "did not record what arm `old` reads and writes",
            "--trial-cost",
        ],
    );
}

#[test]
fn one_trial_per_task_gives_an_answer_that_says_what_it_cannot_know() {
    let place = pilot(1, OLD, NEW);
    let found = plan(
        &place,
        "--pilot pilot --arms desk/prices.yaml --task-cost 1",
    );
    let variances = &found["variances"];
    for part in ["difference", "within_a", "within_b"] {
        assert_eq!(variances[part], Value::Null, "{part}");
    }
    // The total is the sample variance of the twelve differences.
    let difference = |task: i32| {
        let y = |k: i32| f64::from(u8::from((task * 7 + k) % 4 != 0));
        y(3) - y(1)
    };
    let d: Vec<f64> = (0..12).map(difference).collect();
    let mean = d.iter().sum::<f64>() / 12.0;
    let total = variances["one_trial"].as_f64().unwrap();
    let squares = d.iter().map(|d| (d - mean).powi(2)).sum::<f64>();
    // Moment variances divide by G or by G − 1; either way the spread is that of the differences.
    assert!(total >= squares / 12.0 - 1e-12 && total <= squares / 11.0 + 1e-12);
    let unknown = found["unknown"].as_str().unwrap();
    assert!(
        unknown.contains("both arms have one trial per task") && unknown.contains("upper bound")
    );
    let designs = found["needed"].as_array().unwrap();
    let trials: Vec<&Value> = designs.iter().map(|d| &d["trials"]).collect();
    assert_eq!(trials, [1, 2]);
    assert_eq!(designs[0]["tasks"], designs[1]["tasks"]);
    assert_eq!(
        (&designs[0]["at_most"], &designs[1]["at_most"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(found["best_trials"], Value::Null);
    let text = place.expect(0, "plan desk --pilot pilot --format text");
    said(
        &text,
        &[
            "not known: in the pilot both arms have one trial per task",
            "(at most)",
        ],
    );
}
