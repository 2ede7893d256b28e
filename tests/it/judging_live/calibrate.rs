//! `assize calibrate JUDGE`: certificates of judges that are asked now.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{MODEL, errs, gold, json_of, judge, plain, recorded, said};
use crate::common::Place;
use crate::live_common::Endpoint;

fn codes(certificate: &Value) -> BTreeSet<String> {
    let reasons = certificate["result"]["reasons"].as_array().unwrap();
    let code = |r: &Value| r["code"].as_str().unwrap().to_owned();
    reasons.iter().map(code).collect()
}

#[test]
fn a_certificate_has_the_pin_and_a_second_call_asks_nobody() {
    let place = Place::new();
    let models = format!(
        "{}{}",
        errs(MODEL, 0.95, 0.9),
        errs("older-2025-01-01", 0.75, 0.8)
    );
    let endpoint = Endpoint::with(&place, &models, &["--record", "asked.jsonl"], &[]);
    gold(&place, "gold", 120, plain);
    place.write("new.yaml", judge(&endpoint.url(), MODEL, ""));
    place.expect(0, "calibrate new.yaml --labels gold/labels.csv");
    let folder = "gold/certificates/tone@1";
    let certificate = json_of(&place, &format!("{folder}/calibration.json"));
    let pin = assize::load::judge(&place.path("new.yaml")).unwrap().pin;
    assert_eq!(certificate["pin"], pin.as_str());
    assert_eq!(certificate["result"]["result"], "passed");
    let verdicts = place.read(&format!("{folder}/verdicts.jsonl"));
    assert_eq!(verdicts.lines().count(), 120);
    assert_eq!(recorded(&place, "asked.jsonl").len(), 120);

    let again = place.expect(0, "calibrate new.yaml --labels gold/labels.csv");
    assert!(
        again.stderr.contains("120 kept from before, 0 calls"),
        "{again:?}"
    );
    assert_eq!(recorded(&place, "asked.jsonl").len(), 120);
    assert_eq!(place.read(&format!("{folder}/verdicts.jsonl")), verdicts);

    let old = judge(&endpoint.url(), "older-2025-01-01", "").replace("\"1\"", "\"0\"");
    place.write("old.yaml", old);
    place.expect(
        0,
        "calibrate new.yaml --labels gold/labels.csv --against old.yaml",
    );
    assert_eq!(recorded(&place, "asked.jsonl").len(), 240);
    // What one examination paid for, the other's does not pay again: here the old version's own.
    place.assize("calibrate old.yaml --labels gold/labels.csv");
    assert_eq!(recorded(&place, "asked.jsonl").len(), 240);
    let certificate = json_of(&place, &format!("{folder}/calibration.json"));
    let against = &certificate["against"];
    assert_eq!(against["items"], 120);
    let rows = against["rows"].as_array().unwrap();
    let row = rows.iter().find(|r| r["name"] == "accuracy").unwrap();
    let number = |key: &str| row[key].as_f64().unwrap();
    assert!(number("low") < number("value") && number("value") < number("high"));
    assert!(number("value") > 0.0, "{row}");
    let answers = |file: &str| -> Vec<Value> {
        let lines = place.read(&format!("{folder}/{file}"));
        let answer = |l: &str| serde_json::from_str::<Value>(l).unwrap()["verdict"].clone();
        lines.lines().map(answer).collect()
    };
    let pairs = answers("verdicts.jsonl")
        .into_iter()
        .zip(answers("against.jsonl"));
    let changed = pairs.filter(|(new, old)| new != old).count();
    assert!(changed > 10);
    assert_eq!(against["changed"].as_array().unwrap().len(), changed);
}

#[test]
fn only_the_part_that_is_looked_at_is_asked_and_nobody_before_all_is_checked() {
    let place = Place::new();
    let endpoint = Endpoint::with(
        &place,
        &errs(MODEL, 0.95, 0.9),
        &["--record", "asked.jsonl"],
        &[],
    );
    gold(&place, "gold", 160, plain);
    let labels = place
        .read("gold/labels.csv")
        .replace("rater,label", "rater,label,split");
    let split = |(at, line): (usize, &str)| match at {
        0 => format!("{line}\n"),
        // Items without a label are not judged either.
        at if at > 150 => String::new(),
        at => format!("{line},{}\n", if at > 110 { "dev" } else { "test" }),
    };
    let labels: String = labels.lines().enumerate().map(split).collect();
    place.write("gold/labels.csv", labels);
    let text = judge(&endpoint.url(), MODEL, "");
    let wrong = text.replace("sensitivity: 0.6", "sensitvity: 0.6");
    place.write("judge.yaml", wrong);
    let done = place.expect(2, "calibrate judge.yaml --labels gold/labels.csv");
    assert!(
        done.error().contains("did you mean `sensitivity`"),
        "{done:?}"
    );
    place.write("judge.yaml", text);
    for wrong in [
        "--threshold kappa=nan",
        "--truth expert",
        "--against gone.csv",
    ] {
        place.expect(
            2,
            &format!("calibrate judge.yaml --labels gold/labels.csv {wrong}"),
        );
    }
    assert!(recorded(&place, "asked.jsonl").is_empty());
    place.expect(0, "calibrate judge.yaml --labels gold/labels.csv");
    assert_eq!(recorded(&place, "asked.jsonl").len(), 110);
    let found = json_of(&place, "gold/certificates/tone@1/calibration.json");
    assert_eq!(found["verdicts"]["unlabelled"], 0);
    place.expect(
        1,
        "calibrate judge.yaml --labels gold/labels.csv --split dev",
    );
    assert_eq!(recorded(&place, "asked.jsonl").len(), 150);
}

#[test]
fn a_judge_that_never_answers_is_no_look() {
    let place = Place::new();
    let endpoint = Endpoint::start(&place, &errs(MODEL, 1.0, 1.0));
    gold(&place, "gold", 60, plain);
    place.write(
        "judge.yaml",
        judge(&endpoint.url(), "nobody-2026-01-01", ""),
    );
    let done = place.assize("calibrate judge.yaml --labels gold/labels.csv");
    assert!(done.code != 0, "{done:?}");
    assert!(!place.path("gold/labels.looks.json").exists());
}

#[test]
fn whatever_changes_in_the_judges_file_is_asked_anew() {
    let place = Place::new();
    let endpoint = Endpoint::with(
        &place,
        &errs(MODEL, 1.0, 1.0),
        &["--record", "asked.jsonl"],
        &[],
    );
    gold(&place, "gold", 12, plain);
    let first = judge(&endpoint.url(), MODEL, "");
    let changes: [(&str, &str); 9] = [
        ("", ""),
        ("Polite and", "Polite, kind and"),
        ("{{ task }}", "{{ task }} "),
        ("version: \"1\"", "version: \"2\""),
        ("id: tone", "id: tune"),
        ("max_retries: 0", "max_retries: 0, params: {temperature: 0}"),
        ("sensitivity: 0.6", "sensitivity: 0.7"),
        ("[task, messages, final]", "[task, final]"),
        ("id: tone", "id: tone\ndescription: x"),
    ];
    for (at, (from, to)) in changes.iter().enumerate() {
        place.write("judge.yaml", first.replacen(from, to, 1));
        // Twelve labels certify nobody; that they are asked about is what counts here.
        for _ in 0..2 {
            place.expect(1, "calibrate judge.yaml --labels gold/labels.csv --out all");
        }
        assert_eq!(recorded(&place, "asked.jsonl").len(), 12 * (at + 1), "{to}");
    }
}

#[test]
fn another_model_is_drift_and_gives_no_certificate() {
    let place = Place::new();
    let line = errs(MODEL, 1.0, 1.0).replacen('{', "{\"model\": \"impostor-2026-02-02\", ", 1);
    let endpoint = Endpoint::start(&place, &line);
    gold(&place, "gold", 60, plain);
    place.write("judge.yaml", judge(&endpoint.url(), MODEL, ""));
    let done = place.expect(1, "calibrate judge.yaml --labels gold/labels.csv");
    assert!(done.error().contains("another model"), "{done:?}");
    let folder = place.files("gold");
    assert!(
        folder.keys().all(|f| !f.contains("calibration")),
        "{:?}",
        folder.keys()
    );
    let kept = &folder["certificates/tone@1/replies.jsonl"];
    assert!(kept.is_empty(), "a drifted reply is not kept");
}

#[test]
fn replies_that_say_no_level_are_neither_pass_nor_failure() {
    let place = Place::new();
    let when = |what: &str, say: &str| json!({"when": format!("'{what}' in user"), "say": say});
    let odd = json!({"default": {"turns": [{"say": said("fail"), "cases": [
        when("prose", "I think that this one passes."),
        when("offscale", &said("excellent")),
        when("nothing", ""),
        when("grade: good", &said("pass")),
    ]}]}});
    let models = format!("  {MODEL}: {odd}\n");
    let endpoint = Endpoint::with(&place, &models, &["--record", "asked.jsonl"], &[]);
    let words = ["prose", "offscale", "nothing"];
    gold(&place, "gold", 90, |i, grade| match words.get(i / 2) {
        Some(word) => format!("{word} {i} grade: {grade}"),
        None => plain(i, grade),
    });
    place.write("judge.yaml", judge(&endpoint.url(), MODEL, ""));
    let done = place.expect(0, "calibrate judge.yaml --labels gold/labels.csv");
    assert!(done.stderr.contains("6 unusable"), "{done:?}");
    let certificate = json_of(&place, "gold/certificates/tone@1/calibration.json");
    let verdicts = &certificate["verdicts"];
    assert_eq!(verdicts["items_without"], 6, "{verdicts}");
    let counted = verdicts["unusable"].as_object().unwrap().values();
    assert_eq!(counted.filter_map(Value::as_u64).sum::<u64>(), 6);
    assert_eq!(
        certificate["slices"][0]["confusion"],
        json!([[42, 0], [0, 42]])
    );
    let asked = recorded(&place, "asked.jsonl");
    for word in words {
        let times = asked
            .iter()
            .filter(|b| b.to_string().contains(&format!("{word} ")));
        let times = times.count();
        assert!(
            (2..=6).contains(&times),
            "{word}: {times} times for two items"
        );
    }
}

#[test]
fn useless_judges_are_refused_each_for_its_own_reason() {
    let place = Place::new();
    let models = [
        errs("kind-2026-01-01", 1.0, 0.0),
        // What a scripted judge draws depends on the port that it listens on; a fair coin would look
        // inverted in one run of fifty.
        errs("coin-2026-01-01", 0.55, 0.55),
        errs("contrary-2026-01-01", 0.05, 0.05),
        errs(MODEL, 1.0, 1.0),
    ];
    let endpoint = Endpoint::start(&place, &models.concat());
    gold(&place, "gold", 200, plain);
    gold(&place, "few", 12, plain);
    let reasons = [
        "constant_judge",
        "judge_near_chance",
        "judge_inverted",
        "too_few_labels",
    ];
    let cases = [
        ("kind-2026-01-01", "gold", reasons[0]),
        ("coin-2026-01-01", "gold", reasons[1]),
        ("contrary-2026-01-01", "gold", reasons[2]),
        (MODEL, "few", reasons[3]),
    ];
    for (model, labels, reason) in cases {
        place.write("judge.yaml", judge(&endpoint.url(), model, ""));
        place.expect(
            1,
            &format!("calibrate judge.yaml --labels {labels}/labels.csv --out {model}"),
        );
        let found = codes(&json_of(&place, &format!("{model}/calibration.json")));
        let own: Vec<&str> = reasons.into_iter().filter(|r| found.contains(*r)).collect();
        assert_eq!(own, [reason], "{model}: {found:?}");
    }
}

#[test]
fn a_pairwise_judge_is_certified_in_both_orders() {
    let place = Place::new();
    let say = |word: &str| json!({"reason": "so", "answer": word}).to_string();
    let script = json!({"default": {"judge": {"label_in": "worth: (?P<truth>[0-9])", "pairwise": true,
        "sensitivity": 0.97, "position_bias": 0.1, "first": say("first"), "second": say("second")}}});
    let endpoint = Endpoint::start(&place, &format!("  {MODEL}: {script}\n"));
    let (mut labels, mut lines) = ("item,rater,label\n".to_owned(), String::new());
    for i in 0..120 {
        let (worth, label) = [([5, 3], "A"), ([2, 4], "B")][i % 2];
        labels.push_str(&format!("p{i},ann,{label}\n"));
        let of = |n: i32| format!("answer to {i}, worth: {n}");
        let item =
            json!({"item": format!("p{i}"), "output_1": of(worth[0]), "output_2": of(worth[1])});
        lines.push_str(&format!("{item}\n"));
    }
    place.write("gold/labels.csv", labels);
    place.write("gold/items.jsonl", lines);
    let text = judge(&endpoint.url(), MODEL, "")
        .replace("{kind: binary}", "{kind: pairwise}")
        .replace("[task, messages, final]", "[final]")
        .replace("{{ evidence }}", "{{ first }}\\n{{ second }}")
        .replace("{sensitivity: 0.6, specificity: 0.6}", "{accuracy: 0.6}");
    place.write("judge.yaml", text);
    place.expect(
        0,
        "calibrate judge.yaml --labels gold/labels.csv --out gold/out",
    );
    let certificate = json_of(&place, "gold/out/calibration.json");
    assert_eq!(certificate["verdicts"]["verdicts"], 240);
    let rows = certificate["slices"][0]["rows"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|r| r["name"] == name).unwrap();
    let consistent = row("position_consistency")["value"].as_f64().unwrap();
    assert!((0.75..0.99).contains(&consistent), "{consistent}");
    assert!(row("accuracy")["low"].as_f64().unwrap() > 0.6);
}
