//! What a judge's lost answers, certificates and labels do to a run, and what is said of them at once.

use serde_json::json;

use super::{
    MODEL, OUTCOME, errs, gold, json_of, judge, notice, plain, recorded, recorded_judge, said, talk,
};
use crate::common::Place;
use crate::live_common::Endpoint;

const BOTH: &str = "    - {dimension: quality, rule: non_inferior, margin: 0.25}\n    - {dimension: quality, rule: min_rate, rate: 0.1}\n";

/// A judge that speaks prose, which is no verdict.
fn prose() -> String {
    let odd = json!({"default": {"turns": [{"say": "pass, I would say"}]}});
    format!("  {MODEL}: {odd}\n")
}

fn graded(_: &str, i: usize) -> String {
    format!("answer {i}, grade: good")
}

#[test]
fn losing_every_verdict_is_as_undecidable_as_losing_some() {
    let place = Place::new();
    talk(&place, 12, BOTH, graded);
    let endpoint = Endpoint::start(&place, &prose());
    place.write("judge.yaml", judge(&endpoint.url(), MODEL, ""));
    let done = place.expect(0, "judge run --judge judge.yaml");
    let lost = "24 of 24 answers of the judge cannot be used (24 unparsable)";
    assert!(done.stderr.contains(lost), "{done:#?}");
    assert!(done.stderr.contains("only the rest is asked"), "{done:#?}");
    place.expect(4, "compare run");
    let report = place.report("run");
    assert_eq!(report.gate(), ("infrastructure", 4));
    for rule in report.0["gate"]["rules"].as_array().unwrap() {
        assert_eq!(rule["result"], "not_decidable", "{rule}");
        assert_eq!(rule["reason"], "not_decidable: missing_high", "{rule}");
    }
    for arm in ["quillon-prod", "challenger-b"] {
        let row = report.estimate(arm, "tone@1.rate");
        assert_eq!(
            (&row["status"], &row["reason"]),
            (&json!("not_decidable"), &json!("missing_high"))
        );
    }
    let word = report.comparison("tone@1.rate");
    assert_eq!(
        (&word["decision"], &word["reason"]),
        (&json!("not_decidable"), &json!("missing_high"))
    );
    let page = place.read("run/report/report.md");
    assert!(page.contains(lost), "{page}");
    assert!(page.contains("unusable answers: 24 unparsable"), "{page}");
    assert!(!page.contains("- quality (tone@1.rate)"), "{page}");
}

#[test]
fn a_provider_that_fails_is_named_by_its_own_code_and_the_rest_is_asked_later() {
    let place = Place::new();
    talk(&place, 12, BOTH, |arm, i| match (arm, i) {
        ("challenger-b", 3 | 7) => format!("answer {i}, troubled"),
        _ => format!("answer {i}, grade: good"),
    });
    let script = |trouble: serde_json::Value| {
        let answers = json!({"default": {"turns": [{"say": said("pass"), "cases": [trouble]}]}});
        format!("  {MODEL}: {answers}\n")
    };
    let broken =
        script(json!({"when": "'troubled' in user", "say": "-", "error": {"status": 500}}));
    let endpoint = Endpoint::start(&place, &broken);
    place.write("judge.yaml", judge(&endpoint.url(), MODEL, ""));
    let done = place.expect(0, "judge run --judge judge.yaml");
    let lost = "2 of 24 answers of the judge cannot be used (2 server_error)";
    assert!(done.stderr.contains(lost), "{done:#?}");
    assert!(
        done.stderr.contains("; the first: challenger-b/t00"),
        "{done:#?}"
    );
    place.expect(4, "compare run");
    let page = place.read("run/report/report.md");
    assert!(page.contains("unusable answers: 2 server error"), "{page}");

    let port = endpoint.port.to_string();
    drop(endpoint);
    let mended = script(json!({"when": "'troubled' in user", "say": said("fail")}));
    let _mended = Endpoint::with(&place, &mended, &["--port", &port], &[]);
    let done = place.expect(0, "judge run --judge judge.yaml");
    assert!(
        done.stderr.contains("22 kept from before, 2 calls"),
        "{done:#?}"
    );
    assert!(!done.stderr.contains("cannot be used"), "{done:#?}");
    place.expect(3, "compare run");
    assert_eq!(notice(&place, "verdicts_lost"), None);
}

#[test]
fn what_a_certificate_means_is_said_before_anybody_is_asked() {
    let place = Place::new();
    talk(&place, 20, OUTCOME, graded);
    let _endpoint = recorded_judge(&place, MODEL);
    gold(&place, "small", 12, plain);
    place.expect(
        1,
        "calibrate judge.yaml --labels small/labels.csv --out small/out",
    );
    gold(&place, "gold", 120, plain);
    place.expect(
        0,
        "calibrate judge.yaml --labels gold/labels.csv --out gold/out",
    );

    let none = place.expect(0, "judge run --judge judge.yaml");
    assert!(
        none.stderr.contains("`tone@1` has no certificate"),
        "{none:#?}"
    );
    let small = "--certificate small/out/calibration.json --canary small/labels.csv";
    let refused = place.expect(0, &format!("judge run --judge judge.yaml {small}"));
    assert!(
        refused.stderr.contains("was refused (12 items")
            && refused.stderr.contains("`uncalibrated`"),
        "{refused:#?}"
    );
    let good = "--certificate gold/out/calibration.json --canary gold/labels.csv";
    let passed = place.expect(0, &format!("judge run --judge judge.yaml {good}"));
    assert!(
        passed.stderr.contains("passed (120 items of `gold`"),
        "{passed:#?}"
    );
    // The canary is asked anew in each run, whatever is kept of the run's own questions.
    let before = recorded(&place, "asked.jsonl").len();
    let again = place.expect(0, &format!("judge run --judge judge.yaml {good}"));
    assert_eq!(
        recorded(&place, "asked.jsonl").len(),
        before + 40,
        "{again:#?}"
    );
    let kept = place.expect(0, "judge run --judge judge.yaml");
    assert!(
        kept.stderr
            .contains("stays in force; it passed (120 items of `gold`"),
        "{kept:#?}"
    );
    place.assize("compare run");
    let row = place.report("run").0["judges"][0].clone();
    assert_eq!(
        (
            &row["certificate"]["standing"],
            &row["asked"]["canary"]["items"]
        ),
        (&json!("holds"), &json!(40)),
        "{row}"
    );
    let page = place.read("run/report/report.md");
    for said in [
        "### tone@1",
        "passed, and holds for this run (120 items of gold",
        "of 40 labelled items judged again, 0 got another answer (a shift from 5 on) and 0 none; 40 agree with people (a shift below 37)",
        "not asked for (--audit-blinding)",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    let csv = place.read("run/report/judges.csv");
    assert!(
        csv.starts_with("run,judge,pin,models,certificate,"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 2);
    place.expect(0, "verify run");
    // What a call that asks nobody does not look at stays known, and is said to be from before.
    let page = json_of(&place, "run/judging/tone@1.json");
    assert_eq!(
        (&page["canary"]["items"], &page["asking"]["calls"]),
        (&json!(40), &json!(20)),
        "{page}"
    );
    assert_eq!(page["earlier"], json!(["asking", "canary"]));
    assert_eq!(row["asked"]["calls"], page["asking"]["calls"], "{row}");
    // Answers that nobody gave before have no canary beside them.
    std::fs::remove_file(place.path("run/judging/replies.jsonl")).unwrap();
    let anew = place.expect(0, "judge run --judge judge.yaml");
    assert!(
        anew.stderr.contains("asked anew without a canary"),
        "{anew:#?}"
    );
    place.assize("compare run");
    let row = place.report("run").0["judges"][0]["certificate"].clone();
    assert_eq!(
        (&row["standing"], &row["reasons"]),
        (&json!("withdrawn"), &json!(["canary_missing"]))
    );
}

#[test]
fn a_canary_that_nobody_can_use_withdraws_the_certificate() {
    let place = Place::new();
    talk(&place, 12, OUTCOME, graded);
    let endpoint = Endpoint::start(&place, &errs(MODEL, 1.0, 1.0));
    place.write("judge.yaml", judge(&endpoint.url(), MODEL, ""));
    gold(&place, "gold", 120, plain);
    place.expect(
        0,
        "calibrate judge.yaml --labels gold/labels.csv --out gold/out",
    );
    place.expect(0, "judge run --judge judge.yaml");
    let certified = "judge run --judge judge.yaml --certificate gold/out/calibration.json --canary gold/labels.csv";
    let standing = |place: &Place| {
        place.assize("compare run");
        let row = place.report("run").0["judges"][0]["certificate"].clone();
        (row["standing"].clone(), row["reasons"].clone())
    };
    let withdrawn = (json!("withdrawn"), json!(["canary_unusable"]));

    // No usable verdict of the examination is left to compare with.
    let verdicts = place.read("gold/out/verdicts.jsonl");
    place.write(
        "gold/out/verdicts.jsonl",
        "{\"item\": \"g0\", \"judge\": \"tone@1\", \"verdict\": null}\n",
    );
    let done = place.expect(0, certified);
    assert!(
        done.stderr.contains("canary_unusable: no labelled item"),
        "{done:#?}"
    );
    assert_eq!(standing(&place), withdrawn);

    place.write("gold/out/verdicts.jsonl", verdicts);
    place.expect(0, certified);
    assert_eq!(standing(&place).0, "holds");
    // The trials are known from before; the canary gets prose.
    let port = endpoint.port.to_string();
    drop(endpoint);
    let silent = Endpoint::with(&place, &prose(), &["--port", &port], &[]);
    let done = place.expect(0, certified);
    assert!(
        done.stderr.contains("canary_unusable: none of 40 canaries"),
        "{done:#?}"
    );
    assert_eq!(standing(&place), withdrawn);
    assert!(notice(&place, "canary_unusable").is_some());
    let page = json_of(&place, "run/judging/tone@1.json");
    assert_eq!(page["canary"]["unusable"], 40, "{page}");
    // So does a canary that nobody answers.
    drop(silent);
    let done = place.expect(0, certified);
    assert!(done.stderr.contains("canary_unanswered: "), "{done:#?}");
    assert_eq!(standing(&place), withdrawn);
}

#[test]
fn an_unfilled_sheet_costs_nothing() {
    let place = Place::new();
    talk(&place, 12, OUTCOME, graded);
    let _endpoint = recorded_judge(&place, MODEL);
    let short = place.expect(0, "label-sample run -n 500");
    assert!(
        short
            .stderr
            .contains("500 tasks were asked for, and the run has 12"),
        "{short:#?}"
    );
    let empty = place.expect(
        2,
        "judge run --judge judge.yaml --labels run/labels/sheet.csv",
    );
    assert!(
        empty.error().contains("none of the 24 rows has a label")
            && empty.error().contains("column `label`"),
        "{empty:#?}"
    );
    assert!(recorded(&place, "asked.jsonl").is_empty());
    let sheet = place.read("run/labels/sheet.csv");
    let filled: Vec<String> = sheet
        .lines()
        .enumerate()
        .map(|(at, line)| match at {
            1..=5 => format!("{}pass", line.trim_end()),
            _ => line.trim_end().to_owned(),
        })
        .collect();
    place.write("run/labels/sheet.csv", filled.join("\n"));
    let some = place.expect(
        0,
        "judge run --judge judge.yaml --labels run/labels/sheet.csv",
    );
    assert!(some.stderr.contains("labels: 5 of 24 rows"), "{some:#?}");

    place.write("away/sheet.csv", place.read("run/labels/sheet.csv"));
    let away = place.expect(2, "judge run --judge judge.yaml --labels away/sheet.csv");
    assert_eq!(away.error().matches("key.csv").count(), 2, "{away:#?}");
    assert!(
        away.error().contains("`key.csv` is not beside the labels"),
        "{away:#?}"
    );
}

#[test]
fn raters_see_who_said_what() {
    let place = Place::new();
    talk(&place, 12, OUTCOME, graded);
    place.expect(0, "label-sample run -n 3");
    let items = place.read("run/labels/items.jsonl");
    let first: serde_json::Value = serde_json::from_str(items.lines().next().unwrap()).unwrap();
    let parts = first["transcript"].as_array().unwrap();
    assert!(parts.iter().any(|p| p["who"] == "user"), "{first:#}");
    assert!(parts.iter().any(|p| p["who"] == "assistant"), "{first:#}");
    let said: Vec<&str> = parts.iter().map(|p| p["text"].as_str().unwrap()).collect();
    let mut once = said.clone();
    once.dedup();
    assert_eq!(said, once);
}
