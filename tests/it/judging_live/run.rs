//! What verdicts on a run are worth: certificates, canaries, drift, pairs, panels.

use serde_json::{Value, json};

use super::pairs::{compares, pairwise};
use super::{MODEL, OUTCOME, errs, gold, json_of, judge, notice, plain, recorded, said, talk};
use crate::common::{Place, airline, near};
use crate::live_common::Endpoint;

const QUALITY: &str = "    - {dimension: quality, rule: non_inferior, margin: 0.25}\n";

/// Good in four of five, in the candidate as in the baseline, though not on the same tasks.
fn quality(arm: &str, i: usize) -> String {
    let poor = (i + usize::from(arm == "challenger-b")).is_multiple_of(5);
    format!(
        "answer {i} of many, grade: {}",
        if poor { "poor" } else { "good" }
    )
}

/// Labels of people for the drawn sheet: what the texts say.
fn fill(place: &Place) {
    let mut labels = "item,rater,label\n".to_owned();
    for line in place.read("run/labels/items.jsonl").lines() {
        let item: Value = serde_json::from_str(line).unwrap();
        let good = line.contains("grade: good");
        let label = if good { "pass" } else { "fail" };
        labels.push_str(&format!("{},ann,{label}\n", item["item"].as_str().unwrap()));
    }
    place.write("run/labels/labels.csv", labels);
}

#[test]
fn quality_needs_a_certificate_that_still_holds() {
    let place = Place::new();
    talk(&place, 100, QUALITY, quality);
    let endpoint = Endpoint::start(&place, &errs(MODEL, 0.92, 0.9));
    gold(&place, "gold", 240, plain);
    place.write("judge.yaml", judge(&endpoint.url(), MODEL, ""));
    place.expect(
        0,
        "calibrate judge.yaml --labels gold/labels.csv --out gold/out",
    );
    let rate = |place: &Place| {
        place
            .report("run")
            .estimate("challenger-b", "tone@1.rate")
            .clone()
    };

    place.expect(0, "judge run --judge judge.yaml");
    place.expect(3, "compare run");
    let row = rate(&place);
    assert_eq!(
        (&row["status"], &row["reason"]),
        (&json!("uncalibrated"), &json!("no_certificate"))
    );
    assert_eq!(place.report("run").gate(), ("inconclusive", 3));

    let certified = "--certificate gold/out/calibration.json --canary gold/labels.csv";
    let changed = judge(&endpoint.url(), MODEL, "").replace("Polite", "Kind");
    place.write("other.yaml", changed);
    let refused = place.expect(2, &format!("judge run --judge other.yaml {certified}"));
    assert!(refused.error().contains("pins differ"), "{refused:?}");

    place.expect(0, &format!("judge run --judge judge.yaml {certified}"));
    place.expect(3, "compare run");
    let row = rate(&place);
    assert_eq!(
        (&row["status"], &row["method"]),
        (&json!("ok"), &json!("lang_reiczigel_checked"))
    );
    let limit = |key: &str| row[key].as_f64().unwrap();
    assert!(limit("low") < 0.8 && 0.8 < limit("high"), "{row}");
    near(&row["value"], 0.8, 0.12);
    assert_eq!(
        place.report("run").comparison("tone@1.rate")["status"],
        "not_identified"
    );

    place.expect(0, "label-sample run -n 60");
    fill(&place);
    let labels = "--labels run/labels/labels.csv";
    place.expect(
        0,
        &format!("judge run --judge judge.yaml {certified} {labels}"),
    );
    place.expect(0, "compare run");
    assert_eq!(
        place.report("run").comparison("tone@1.rate")["method"],
        "ppi_paired_bp_hall"
    );
    assert_eq!(notice(&place, "canary_shift"), None);

    // The same id answers, and is no longer the same judge.
    let port = endpoint.port.to_string();
    drop(endpoint);
    let _shifted = Endpoint::with(&place, &errs(MODEL, 0.0, 1.0), &["--port", &port], &[]);
    place.expect(0, &format!("judge run --judge judge.yaml {certified}"));
    let page = json_of(&place, "run/judging/tone@1.json");
    assert_eq!(page["canary"]["invalid"], "canary_shift", "{page}");
    place.expect(3, "compare run");
    assert_eq!(rate(&place)["status"], "uncalibrated");
    let why = notice(&place, "canary_shift").unwrap();
    assert!(why.contains("does not hold"), "{why}");
    place.expect(0, "verify run");
}

#[test]
fn equal_questions_are_one_question() {
    let place = Place::new();
    // Twelve trials of three contents, of a judge that errs by chance.
    talk(&place, 12, OUTCOME, |_, i| {
        format!("answer {}, grade: good", i % 3)
    });
    let endpoint = Endpoint::with(
        &place,
        &errs(MODEL, 0.6, 0.6),
        &["--record", "asked.jsonl"],
        &[],
    );
    let price = ", price: {input_per_million: 1000, output_per_million: 1000}, concurrency: 1";
    let file = judge(&endpoint.url(), MODEL, price).replace("[task, messages, final]", "[final]");
    place.write("judge.yaml", file);
    let verdicts = |place: &Place| {
        place.assize("compare run");
        let report = place.report("run");
        ["quillon-prod", "challenger-b"].map(|arm| report.estimate(arm, "tone@1.rate").clone())
    };

    let stopped = place.expect(3, "judge run --judge judge.yaml --max-cost 0.000001");
    assert!(
        stopped.error().contains("used up after 1 calls"),
        "{stopped:#?}"
    );
    let rest = place.expect(0, "judge run --judge judge.yaml");
    let asked = recorded(&place, "asked.jsonl").len();
    assert_eq!(asked, 3, "{rest:#?}");
    assert!(
        rest.stderr
            .contains("24 questions, 8 kept from before, 14 equal to one that was asked, 2 calls"),
        "{rest:#?}"
    );
    let before = verdicts(&place);
    let again = place.expect(0, "judge run --judge judge.yaml");
    assert!(
        again
            .stderr
            .contains("24 questions, 24 kept from before, 0 calls"),
        "{again:#?}"
    );
    assert_eq!(verdicts(&place), before);
}

#[test]
fn what_is_replaced_is_said() {
    let place = Place::new();
    talk(&place, 12, OUTCOME, quality);
    let endpoint = Endpoint::start(&place, &errs(MODEL, 1.0, 1.0));
    let file = judge(&endpoint.url(), MODEL, "");
    place.write("judge.yaml", &file);
    place.expect(0, "judge run --judge judge.yaml");
    place.expect(0, "label-sample run -n 6");
    fill(&place);
    let labelled = "judge run --judge judge.yaml --labels run/labels/labels.csv";
    let first = place.expect(0, labelled);
    assert!(!first.stderr.contains("replaced"), "{first:#?}");
    let same = place.expect(0, labelled);
    assert!(!same.stderr.contains("replaced"), "{same:#?}");
    let labels = place.read("run/labels/labels.csv");
    let fewer: Vec<&str> = labels.lines().take(5).collect();
    place.write("run/labels/labels.csv", fewer.join("\n"));
    let fewer = place.expect(0, labelled);
    assert!(
        fewer.stderr.contains("12 labels replaced by 4"),
        "{fewer:#?}"
    );
    place.write("judge.yaml", file.replace("Polite", "Kind"));
    let other = place.expect(0, "judge run --judge judge.yaml");
    assert!(
        other.stderr.contains("24 verdicts of pin ") && other.stderr.contains("are replaced"),
        "{other:#?}"
    );
}

#[test]
fn a_pairwise_judge_sees_both_orders_and_flips_are_ties() {
    let place = Place::new();
    // The candidate's text is the better one on two of three tasks, and as good on the third.
    talk(&place, 30, OUTCOME, |arm, i| match (arm, i % 3) {
        ("challenger-b", 0 | 1) => format!("answer {i}, worth: 5"),
        _ => format!("answer {i}, worth: 3"),
    });
    let models = [
        compares(MODEL, 1.0, 0.0),
        compares("leftist-2026-01-01", 1.0, 1.0),
    ]
    .concat();
    let endpoint = Endpoint::with(&place, &models, &["--record", "asked.jsonl"], &[]);
    let write = |model: &str| pairwise(&place, &endpoint, model);
    write(MODEL);
    place.expect(0, "judge run --judge judge.yaml --concurrency 1");
    let page = json_of(&place, "run/judging/tone@1.json");
    let pairs = &page["pairs"];
    let of = |key: &str| pairs[key].as_u64().unwrap();
    assert_eq!(
        (&pairs["a"], &pairs["b"]),
        (&json!("quillon-prod"), &json!("challenger-b"))
    );
    assert!(
        of("b_wins") >= 20 && of("b_wins") + of("a_wins") + of("ties") == 30,
        "{pairs}"
    );
    assert_eq!(of("ties"), of("first_won") + of("second_won"), "{pairs}");
    // Of a pair that differs, either order comes first, by chance.
    let asked = recorded(&place, "asked.jsonl");
    assert_eq!(asked.len(), 60);
    let worth = |body: &Value, n: u8| body.to_string().find(&format!("worth: {n}"));
    let better_first = |b: &&[Value]| worth(&b[0], 5) < worth(&b[0], 3);
    let differ = |b: &&[Value]| worth(&b[0], 5).is_some();
    let (left, all) = (
        asked.chunks(2).filter(differ).filter(better_first).count(),
        asked.chunks(2).filter(differ).count(),
    );
    assert!(all == 20 && (4..=16).contains(&left), "{left} of {all}");

    write("leftist-2026-01-01");
    place.expect(0, "judge run --judge judge.yaml");
    let pairs = &json_of(&place, "run/judging/tone@1.json")["pairs"];
    assert_eq!(
        (&pairs["ties"], &pairs["first_won"]),
        (&json!(30), &json!(30)),
        "{pairs}"
    );
}

#[test]
fn replies_that_cannot_be_used_are_infrastructure_of_the_judge() {
    let place = Place::new();
    talk(&place, 20, OUTCOME, |arm, i| match (arm, i) {
        ("challenger-b", 3) => "prose".to_owned(),
        _ => format!("{i} grade: good"),
    });
    let odd = json!({"default": {"turns": [{"say": said("pass"), "cases": [
        {"when": "'prose' in user", "say": "pass, I would say"}]}]}});
    let endpoint = Endpoint::start(&place, &format!("  {MODEL}: {odd}\n"));
    place.write("judge.yaml", judge(&endpoint.url(), MODEL, ""));
    place.expect(0, "judge run --judge judge.yaml");
    let page = json_of(&place, "run/judging/tone@1.json");
    assert_eq!(page["asking"]["unusable"], json!({"unparsable": 1}));
    place.assize("compare run");
    let report = place.report("run");
    let counts = report.accounting("challenger-b", "quality");
    assert_eq!(
        (&counts["judged"], &counts["excluded"]),
        (&json!(19), &json!({"judge": 1})),
        "{counts}"
    );
    assert_eq!(report.accounting("quillon-prod", "quality")["judged"], 20);
    // The trial itself is as good as any.
    assert_eq!(
        report.estimate("challenger-b", "success_rate")["value"],
        1.0
    );
}

#[test]
fn a_panel_asks_its_members_and_is_examined_under_its_own_pin() {
    let place = Place::new();
    let (two, three) = ("second-2026-01-01", "third-2026-01-01");
    let models = [
        errs(MODEL, 1.0, 1.0),
        errs(two, 1.0, 1.0),
        errs(three, 0.0, 0.0),
    ];
    let endpoint = Endpoint::with(&place, &models.concat(), &["--record", "asked.jsonl"], &[]);
    gold(&place, "gold", 60, plain);
    for (name, model) in [("a", MODEL), ("b", two), ("c", three)] {
        let member = judge(&endpoint.url(), model, "").replace("id: tone", &format!("id: {name}"));
        place.write(&format!("{name}.yaml"), member);
    }
    place.write(
        "panel.yaml",
        "id: panel\nversion: \"1\"\nscale: {kind: binary}\npanel: [a.yaml, b.yaml, c.yaml]\nthresholds: {sensitivity: 0.6}\n",
    );
    place.expect(
        0,
        "calibrate panel.yaml --labels gold/labels.csv --out gold/out",
    );
    assert_eq!(recorded(&place, "asked.jsonl").len(), 180);
    let certificate = json_of(&place, "gold/out/calibration.json");
    let pin = assize::load::judge(&place.path("panel.yaml")).unwrap().pin;
    assert_eq!(certificate["pin"], pin.as_str());
    assert_eq!(
        certificate["slices"][0]["confusion"],
        json!([[30, 0], [0, 30]])
    );
    talk(&place, 8, OUTCOME, |_, i| format!("{i} grade: good"));
    place.expect(
        0,
        "judge run --judge panel.yaml --certificate gold/out/calibration.json --canary gold/labels.csv",
    );
    let page = json_of(&place, "run/judging/panel@1.json");
    assert_eq!(
        (&page["verdicts"], &page["asking"]["questions"]),
        (&json!(16), &json!(48))
    );
    assert_eq!(
        (&page["canary"]["items"], &page["canary"]["changed"]),
        (&json!(40), &json!(0))
    );
}

#[test]
fn the_airline_run_claims_no_quality() {
    let report = airline().report();
    for arm in ["gpt-4o", "llama-3.1-8b"] {
        let row = report.estimate(arm, "quality.rate");
        assert_eq!(
            (&row["status"], &row["reason"]),
            (&json!("not_measured"), &json!("no_judge"))
        );
        assert!(row["value"].is_null() && row["low"].is_null(), "{row}");
    }
    let quality = |r: &Value| r["dimension"] == "quality";
    assert!(!report.comparisons().into_iter().any(quality));
    assert!(
        !report.0["gate"]["rules"]
            .as_array()
            .unwrap()
            .iter()
            .any(quality)
    );
}

#[test]
fn answers_of_a_shifted_judge_are_not_kept_for_the_one_that_was_examined() {
    let place = Place::new();
    talk(&place, 12, OUTCOME, |_, i| format!("{i} grade: good"));
    let endpoint = Endpoint::start(&place, &errs(MODEL, 1.0, 1.0));
    gold(&place, "gold", 120, plain);
    place.write("judge.yaml", judge(&endpoint.url(), MODEL, ""));
    let calibrate = "calibrate judge.yaml --labels gold/labels.csv --out gold/out";
    place.expect(0, calibrate);
    let port = endpoint.port.to_string();
    drop(endpoint);
    let certified = "judge run --judge judge.yaml --certificate gold/out/calibration.json --canary gold/labels.csv";

    let shifted = Endpoint::with(&place, &errs(MODEL, 0.0, 0.0), &["--port", &port], &[]);
    place.expect(0, certified);
    let invalid = || json_of(&place, "run/judging/tone@1.json")["canary"]["invalid"].clone();
    assert_eq!(invalid(), "canary_shift");
    drop(shifted);

    let _examined = Endpoint::with(&place, &errs(MODEL, 1.0, 1.0), &["--port", &port], &[]);
    place.expect(0, certified);
    let asking = json_of(&place, "run/judging/tone@1.json")["asking"].clone();
    assert_eq!(asking["kept"], 0, "{asking}");
    assert!(invalid().is_null());
    // What the examined judge answered is kept: asking again asks nobody, and what was asked is said to be earlier.
    place.expect(0, certified);
    let earlier = json_of(&place, "run/judging/tone@1.json")["earlier"].clone();
    assert!(
        earlier.as_array().unwrap().contains(&"asking".into()),
        "{earlier}"
    );
}

#[test]
fn drift_during_a_run_withdraws_its_certificate() {
    let place = Place::new();
    talk(&place, 12, OUTCOME, |_, i| format!("{i} grade: good"));
    let endpoint = Endpoint::start(&place, &errs(MODEL, 1.0, 1.0));
    gold(&place, "gold", 120, plain);
    place.write("judge.yaml", judge(&endpoint.url(), MODEL, ""));
    place.expect(
        0,
        "calibrate judge.yaml --labels gold/labels.csv --out gold/out",
    );
    place.expect(
        0,
        "judge run --judge judge.yaml --certificate gold/out/calibration.json",
    );
    place.assize("compare run");
    assert!(notice(&place, "canary_missing").is_some());
    let certified = |place: &Place| {
        let row = place
            .report("run")
            .estimate("challenger-b", "tone@1.rate")
            .clone();
        !row["calibration"].is_null()
    };
    // Without a canary nobody knows whether the judge still is the one that was examined.
    assert!(!certified(&place));
    place.expect(
        0,
        "judge run --judge judge.yaml --certificate gold/out/calibration.json --canary gold/labels.csv",
    );
    place.assize("compare run");
    assert!(certified(&place));

    let port = endpoint.port.to_string();
    drop(endpoint);
    let impostor = errs(MODEL, 1.0, 1.0).replacen('{', "{\"model\": \"impostor-2026-02-02\", ", 1);
    let _impostor = Endpoint::with(&place, &impostor, &["--port", &port], &[]);
    std::fs::remove_file(place.path("run/judging/replies.jsonl")).unwrap();
    place.expect(0, "judge run --judge judge.yaml");
    place.assize("compare run");
    assert!(!certified(&place));
    assert!(
        notice(&place, "model_drift")
            .unwrap()
            .contains("no certificate holds")
    );
    assert_eq!(notice(&place, "canary_missing"), None);
    assert_eq!(
        place.report("run").accounting("challenger-b", "quality")["judged"],
        0
    );

    // What the report says of a judge cannot be taken out by other hands.
    place.expect(0, "verify run");
    let db = rusqlite::Connection::open(place.path("run/run.sqlite")).unwrap();
    let removed = db.execute("DELETE FROM meta WHERE key = 'judge_notices/tone@1'", []);
    assert_eq!(removed.unwrap(), 1);
    drop(db);
    place.expect(1, "verify run");
}
