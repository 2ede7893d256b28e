//! What a live run decides about arms whose truth is known.

use std::collections::BTreeMap;

use crate::common::Place;

/// Two scripted arms that succeed at these rates in every one of 40 tasks.
fn suite(place: &Place, rates: [f64; 2], seed: u64) {
    place.write(
        "s/suite.yaml",
        "id: s\nversion: '1'\ntrials: 5\n\
         expect: {final_schema: {type: object, required: [ok], properties: {ok: {enum: [true]}}}}\n\
         decision: {baseline: a, candidate: b, primary: [outcome]}\n",
    );
    let task = |n: u32| format!("{{\"id\": \"t{n}\", \"input\": {{\"user\": \"task {n}\"}}}}\n");
    place.write("s/tasks.jsonl", (0..40).map(task).collect::<String>());
    place.write(
        "s/arms.yaml",
        "arms:\n  a: {kind: scripted, script: script.yaml, model: a}\n  b: {kind: scripted, script: script.yaml, model: b}\n",
    );
    let model = |rate: f64| {
        format!(
            "{{default: {{any_of: [{{rate: {rate}, turns: [{{say: '{{\"ok\": true}}'}}]}}, {{rate: {:.2}, turns: [{{say: '{{\"ok\": false}}'}}]}}]}}}}",
            1.0 - rate
        )
    };
    let script = format!(
        "seed: {seed}\nmodels:\n  a: {}\n  b: {}\n",
        model(rates[0]),
        model(rates[1])
    );
    place.write("s/script.yaml", script);
}

/// How often each word was given to the outcome.
fn words(rates: [f64; 2], seeds: u64) -> BTreeMap<String, u64> {
    let mut words = BTreeMap::new();
    for seed in 0..seeds {
        let place = Place::new();
        suite(&place, rates, 1000 + seed);
        place.expect(0, &format!("run s --out r --seed {seed}"));
        let report = place.report("r");
        let word = report.comparison("success_rate")["decision"].clone();
        *words.entry(word.as_str().unwrap().to_owned()).or_default() += 1;
    }
    words
}

#[test]
fn slow_arms_of_known_truth_get_the_right_word() {
    if std::env::var("ASSIZE_SLOW").is_err() {
        eprintln!("skipped: set ASSIZE_SLOW=1");
        return;
    }
    let apart = words([0.80, 0.65], 100);
    assert!(apart.get("worse").is_some_and(|n| *n >= 72), "{apart:?}");
    let equal = words([0.80, 0.80], 100);
    let wrong: u64 = ["worse", "better"]
        .iter()
        .filter_map(|w| equal.get(*w))
        .sum();
    assert!(wrong <= 8, "{equal:?}");
}

#[test]
fn a_large_loss_is_worse_and_no_loss_is_not() {
    assert_eq!(words([0.95, 0.40], 2).get("worse"), Some(&2));
    assert_eq!(words([1.0, 1.0], 1).get("worse"), None);
}
