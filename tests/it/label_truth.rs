//! `assize calibrate`: how labels become truth, who is behind them, and what is checked before anything
//! is measured.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Done, Place, here, near};

const CALIBRATE: &str = "calibrate --labels labels.csv --verdicts verdicts.csv --out out --replicates 400 --format json";

fn certificate(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"))
}

fn row<'a>(certificate: &'a Value, name: &str) -> &'a Value {
    let slice = certificate["slices"][0]["rows"].as_array().unwrap();
    let mut rows = slice
        .iter()
        .chain(certificate["humans"].as_array().unwrap());
    rows.find(|r| r["name"] == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

fn notice<'a>(certificate: &'a Value, code: &str) -> Option<&'a str> {
    let notices = certificate["notices"].as_array().unwrap();
    let found = notices.iter().find(|n| n["code"] == code)?;
    found["detail"].as_str()
}

fn reason(certificate: &Value) -> &str {
    certificate["result"]["reason"].as_str().unwrap_or("")
}

fn word(good: bool) -> &'static str {
    if good { "pass" } else { "fail" }
}

/// 120 items, half of them good; the judge errs on one in twelve of each kind. `labels` writes the rows
/// of an item: its number and whether it is good.
fn place(labels: impl Fn(usize, bool) -> String) -> Place {
    let place = Place::new();
    let mut rows = "item,rater,label,adjudicated\n".to_owned();
    let mut verdicts = "item,judge,verdict\n".to_owned();
    for i in 0..120 {
        let good = i % 2 == 0;
        rows.push_str(&labels(i, good));
        let said = word(good != (i / 2 % 12 == 0));
        verdicts.push_str(&format!("i{i:03},tone,{said}\n"));
    }
    place.write("labels.csv", rows);
    place.write("verdicts.csv", verdicts);
    place
}

/// Two raters who part on every third item, where ann is right.
fn disputed(i: usize, good: bool) -> String {
    let other = word(good != i.is_multiple_of(3));
    format!("i{i:03},ann,{},\ni{i:03},bob,{other},\n", word(good))
}

#[test]
fn items_that_people_dispute_do_not_vanish() {
    let place = place(disputed);
    let found = certificate(&place.expect(1, &format!("{CALIBRATE} --threshold accuracy=0.5")));
    assert_eq!(reason(&found), "truth_unsettled", "{}", found["result"]);
    let labels = &found["labels"];
    assert_eq!(
        (&labels["without_truth"], &labels["without_truth_because"]),
        (&40.into(), &json!({"raters_tie": 40}))
    );
    assert_eq!(labels["truth_from"], json!({"majority": 80}));
    assert!(
        notice(&found, "items_without_truth")
            .unwrap()
            .contains("i000")
    );
    // Were the judge wrong on all of them, it would be right on 73 or so of 120.
    let worst = row(&found, "accuracy_worst_truth");
    assert_eq!(worst["items"], 120);
    assert!(worst["value"].as_f64() < row(&found, "accuracy")["value"].as_f64());
    assert_eq!(found["thresholds"][0]["items"], 80);
    let page = place.read("out/calibration.md");
    assert!(
        page.contains("40 of 120 labelled items have no truth"),
        "{page}"
    );
}

#[test]
fn an_expert_or_an_adjudicated_label_settles_what_people_dispute() {
    let place = place(disputed);
    let threshold = "--threshold accuracy=0.8";
    let expert =
        certificate(&place.expect(0, &format!("{CALIBRATE} {threshold} --truth expert:ann")));
    assert_eq!(expert["truth"], "expert:ann");
    assert_eq!(expert["labels"]["truth_from"], json!({"expert": 120}));
    near(&row(&expert, "accuracy")["value"], 110.0 / 120.0, 1e-12);
    assert!(notice(&expert, "expert_truth").is_some());
    let other =
        certificate(&place.expect(1, &format!("{CALIBRATE} {threshold} --truth expert:bob")));
    assert!(row(&other, "accuracy")["value"].as_f64().unwrap() < 0.7);

    let missing = place.expect(2, &format!("{CALIBRATE} {threshold} --truth expert:eve"));
    assert!(missing.error().contains("eve") && missing.error().contains("ann, bob"));
    let none = place.expect(2, &format!("{CALIBRATE} {threshold} --truth expert"));
    assert!(none.error().contains("adjudicated"));
    assert!(
        place
            .expect(2, &format!("{CALIBRATE} --truth median"))
            .error()
            .contains("median")
    );

    // Adjudicated labels outrank ties and majorities alike, under any rule, and are no rater's.
    let settled = self::place(|i, good| {
        let more = if i % 3 == 0 {
            format!("i{i:03},adjudicator,{},\n", word(good))
        } else {
            String::new()
        };
        disputed(i, good) + &more
    });
    for (rule, by) in [
        ("majority", json!({"adjudicated": 40, "majority": 80})),
        ("expert", json!({"adjudicated": 40, "agreement": 80})),
    ] {
        let found =
            certificate(&settled.expect(0, &format!("{CALIBRATE} {threshold} --truth {rule}")));
        assert_eq!(found["labels"]["truth_from"], by, "{rule}");
        assert_eq!(found["labels"]["adjudicated"], 40);
        assert_eq!(found["labels"]["raters"], json!({"ann": 120, "bob": 120}));
        near(&row(&found, "accuracy")["value"], 110.0 / 120.0, 1e-12);
        near(
            &row(&found, "human_kappa:ann,bob")["value"],
            1.0 / 3.0,
            1e-9,
        );
    }
    let marked =
        self::place(|i, good| format!("{}i{i:03},ann,{},yes\n", disputed(i, !good), word(good)));
    let found = certificate(&marked.expect(0, &format!("{CALIBRATE} {threshold}")));
    assert_eq!(found["labels"]["truth_from"], json!({"adjudicated": 120}));
}

#[test]
fn shares_of_labels_are_what_a_rater_drawn_at_random_says() {
    let place = place(|i, good| {
        let third = word(good == (i % 4 != 3));
        format!(
            "i{i:03},ann,{0},\ni{i:03},bob,{0},\ni{i:03},eve,{third},\n",
            word(good)
        )
    });
    let found = certificate(&place.expect(
        0,
        &format!("{CALIBRATE} --truth soft --threshold accuracy=0.7 --threshold sensitivity=0.7"),
    ));
    assert_eq!(found["truth"], "soft");
    assert_eq!(found["labels"]["without_truth"], 0);
    // Odd items are bad, and of every second of them eve says the contrary: 30 shares of a third.
    let good = 60.0 + 30.0 / 3.0;
    let mut right = 0.0;
    let mut found_good = 0.0;
    for i in 0..120 {
        let share = match (i % 2, i % 4) {
            (0, _) => 1.0,
            (_, 3) => 1.0 / 3.0,
            _ => 0.0,
        };
        let says = (i % 2 == 0) != (i / 2 % 12 == 0);
        right += if says { share } else { 1.0 - share };
        found_good += if says { share } else { 0.0 };
    }
    near(&row(&found, "accuracy")["value"], right / 120.0, 1e-9);
    let sensitivity = row(&found, "sensitivity");
    near(&sensitivity["value"], found_good / good, 1e-9);
    assert_eq!(sensitivity["method"], "bootstrap_bca");
    let expected = &found["slices"][0]["expected_confusion"];
    near(&expected[1][1], found_good, 1e-9);
    assert_eq!(found["slices"][0]["confusion"], json!([]));
    assert_eq!(row(&found, "alpha")["reason"], "soft_truth");
    near(&found["slices"][0]["error_rates"]["positives"], good, 1e-9);

    let nominal = format!("{CALIBRATE} --truth soft --scale nominal");
    assert!(place.expect(2, &nominal).error().contains("binary"));
}

#[test]
fn one_rater_behind_most_labels_makes_raters_the_units() {
    let place = place(|i, good| {
        let rater = if i % 5 == 4 { "bob" } else { "ann" };
        format!("i{i:03},{rater},{},\n", word(good))
    });
    let threshold = "--threshold accuracy=0.7 --threshold kappa=0.3";
    let found = certificate(&place.expect(1, &format!("{CALIBRATE} {threshold}")));
    assert_eq!(reason(&found), "one_rater_dominates", "{}", found["result"]);
    assert_eq!(found["labels"]["unit"], "rater");
    let accuracy = row(&found, "accuracy");
    assert_eq!(
        (&accuracy["low"], &accuracy["units"], &accuracy["reason"]),
        (&Value::Null, &2.into(), &"too_few_units".into())
    );
    assert_eq!(row(&found, "kappa")["reason"], "too_few_raters");
    assert!(notice(&found, "little_overlap").is_some());
    // Whose standard it is can be said, and is then written into the certificate.
    let open =
        certificate(&place.expect(1, &format!("{CALIBRATE} {threshold} --truth expert:ann")));
    assert_eq!(reason(&open), "truth_unsettled");
    let all: String = (0..120)
        .map(|i| {
            let own = word(i % 2 == 0);
            let second = if i % 5 == 4 {
                format!("i{i:03},bob,{own}\n")
            } else {
                String::new()
            };
            format!("i{i:03},ann,{own}\n{second}")
        })
        .collect();
    place.write("labels.csv", format!("item,rater,label\n{all}"));
    let dominated = certificate(&place.expect(1, &format!("{CALIBRATE} {threshold}")));
    assert_eq!(reason(&dominated), "one_rater_dominates");
    let declared =
        certificate(&place.expect(0, &format!("{CALIBRATE} {threshold} --truth expert:ann")));
    assert_eq!(declared["labels"]["unit"], "item");
    assert!(notice(&declared, "expert_truth").unwrap().contains("ann"));
}

#[test]
fn one_rater_for_all_leaves_people_undefined() {
    let place = place(|i, good| format!("i{i:03},ann,{},\n", word(good)));
    let ceiling = "--threshold accuracy=0.7 --threshold ceiling_kappa:judge_minus_human=-0.5 --threshold human_alpha=0.1";
    let found = certificate(&place.expect(1, &format!("{CALIBRATE} {ceiling}")));
    assert!(notice(&found, "one_rater").unwrap().contains("`ann`"));
    assert_eq!(reason(&found), "threshold_missed");
    for held in found["thresholds"].as_array().unwrap() {
        assert_eq!(held["passed"], held["name"] == "accuracy", "{held}");
        assert_eq!(
            held["reached"].is_null(),
            held["name"] != "accuracy",
            "{held}"
        );
    }
}

#[test]
fn thresholds_are_checked_before_a_look_is_counted() {
    let place = place(|i, good| format!("i{i:03},ann,{},\n", word(good)));
    for (threshold, word) in [
        ("kappa=nan", "NaN"),
        ("accuracy=80", "[0, 1]"),
        ("kappa=-5", "[-1, 1]"),
        ("sensitvity=0.8", "did you mean `sensitivity`"),
        ("ac2=0.8", "ac1"),
        ("alt_test:passes=1", "no interval"),
    ] {
        let done = place.expect(2, &format!("{CALIBRATE} --threshold {threshold}"));
        assert!(done.error().contains(word), "{threshold}: {}", done.error());
    }
    let several = place.expect(
        2,
        &format!("{CALIBRATE} --threshold kappa=9 --threshold acuracy=1"),
    );
    assert!(several.error().contains("kappa") && several.error().contains("acuracy"));
    let late = place.expect(
        2,
        &format!("{CALIBRATE} --threshold kappa=0.1 --against gone.csv"),
    );
    assert!(late.error().contains("gone.csv"));
    assert!(!place.path("labels.looks.json").exists());
    let first = certificate(&place.expect(0, &format!("{CALIBRATE} --threshold kappa=0.1")));
    assert_eq!(first["labels"]["look"], 1);
}

#[test]
fn a_copied_set_keeps_its_looks_and_an_attempt_without_verdicts_is_none() {
    let place = place(|i, good| format!("i{i:03},ann,{},\n", word(good)));
    let ok = "--threshold accuracy=0.7";
    place.expect(0, &format!("{CALIBRATE} {ok}"));
    place.write("copy.csv", place.read("labels.csv"));
    let verdicts = place.read("verdicts.csv");
    place.write("verdicts.csv", verdicts.replacen("pass", "fail", 1));
    let copied = CALIBRATE.replace(
        "--labels labels.csv --verdicts verdicts.csv --out out",
        "--labels copy.csv --verdicts verdicts.csv --out other",
    );
    let second = certificate(&place.expect(0, &format!("{copied} {ok}")));
    assert_eq!(
        (&second["labels"]["look"], &second["labels"]["looks"]),
        (&2.into(), &2.into())
    );
    let rule = certificate(&place.expect(0, &format!("{copied} {ok} --truth expert:ann")));
    assert_eq!(rule["labels"]["looks"], 3);

    let nothing: String = (0..120).map(|i| format!("i{i:03},tone,\n")).collect();
    place.write("empty.csv", format!("item,judge,verdict\n{nothing}"));
    let empty = CALIBRATE.replace("verdicts.csv --out out", "empty.csv --out empty");
    let lost = certificate(&place.expect(1, &format!("{empty} {ok}")));
    let codes: Vec<&str> = lost["result"]["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["missing_high", "threshold_missed"]);
    assert_eq!(
        (&lost["labels"]["look"], &lost["labels"]["looks"]),
        (&Value::Null, &3.into())
    );
    // Elsewhere and without its ledger the set is a new one, unless a certificate of it is shown.
    place.write("far/labels.csv", place.read("labels.csv"));
    place.write("far/verdicts.csv", verdicts.replacen("pass", "", 1));
    let far = "calibrate --labels far/labels.csv --verdicts far/verdicts.csv --replicates 400 --format json";
    let gone = place.expect(2, &format!("{far} {ok} --against other/calibration.json"));
    assert!(gone.error().contains("not at hand"), "{}", gone.error());
    let lines: String = place
        .read("verdicts.csv")
        .lines()
        .skip(1)
        .map(|l| {
            let cells: Vec<&str> = l.split(',').collect();
            format!(
                "{}\n",
                json!({"item": cells[0], "judge": cells[1], "verdict": cells[2]})
            )
        })
        .collect();
    place.write("other/verdicts.jsonl", lines);
    let shown =
        certificate(&place.expect(0, &format!("{far} {ok} --against other/calibration.json")));
    assert_eq!(
        (&shown["labels"]["look"], &shown["labels"]["looks"]),
        (&4.into(), &4.into())
    );
    assert_eq!(shown["against"]["items"], 119);
}

#[test]
fn an_edited_certificate_is_found_out() {
    let place = place(|i, good| format!("i{i:03},ann,{},\n", word(good)));
    place.expect(0, &format!("{CALIBRATE} --threshold accuracy=0.7"));
    let file = place.path("out/calibration.json");
    assert!(assize::load::certificate(&file).is_ok());
    let text = place.read("out/calibration.json");
    let edited = text.replacen("\"true_positive\": 55", "\"true_positive\": 60", 1);
    assert_ne!(edited, text);
    place.write("out/calibration.json", edited);
    let wrong = assize::load::certificate(&file).unwrap_err();
    assert!(wrong.message().contains("edited"), "{wrong}");
    let against = place.expect(
        2,
        &format!("{CALIBRATE} --threshold accuracy=0.7 --against out/calibration.json"),
    );
    assert!(against.error().contains("edited"));
    let mut old: Value = serde_json::from_str(&text).unwrap();
    old["format"] = 1.into();
    old.as_object_mut().unwrap().remove("digest");
    place.write("out/calibration.json", old.to_string());
    assert!(
        assize::load::certificate(&file)
            .unwrap_err()
            .message()
            .contains("format 1")
    );
    // Spaces and the order of keys are not what it says.
    let value: Value = serde_json::from_str(&text).unwrap();
    place.write("out/calibration.json", value.to_string());
    assert!(assize::load::certificate(&file).is_ok());
}

#[test]
fn spellings_columns_and_cells_are_read_with_care() {
    let base = place(|i, good| format!("i{i:03},ann,{},\n", word(good)));
    let refused = |labels: &str, what: &str| {
        base.write("labels.csv", labels);
        let done = base.expect(2, CALIBRATE);
        assert!(done.error().contains(what), "{}", done.error());
    };
    refused(
        "item,rater,label,probabilty\ni000,ann,pass,0.5\n",
        "did you mean `probability`",
    );
    refused(
        "item,rater,label,adjudicated\ni000,ann,pass,perhaps\n",
        "labels.csv:2",
    );
    refused(
        "item,rater,label,adjudicated\ni000,ann,pass,yes\ni000,bob,fail,yes\n",
        "adjudicated twice",
    );
    refused(
        "item,rater,label\ni000,ann,pass\ni000,ann,fail\n",
        "two different labels",
    );

    // Umlauts in two forms, cases, a column for people, and empty cells.
    let (mut labels, mut verdicts) = (
        "item,rater,label,remark\n".to_owned(),
        "item,judge,verdict\n".to_owned(),
    );
    for i in 0..120 {
        let level = ["g\u{fc}ltig", "gu\u{308}ltig", "Falsch", "falsch"][i % 4];
        let said = if i % 4 < 2 { "gu\u{308}ltig" } else { "FALSCH" };
        labels.push_str(&format!("\u{e9}{i},ann,{level},x\n"));
        verdicts.push_str(&format!("e\u{301}{i},tone,{said}\n"));
    }
    labels.push_str("blank,ann,,x\n");
    base.write("labels.csv", labels);
    base.write("verdicts.csv", verdicts);
    let found = certificate(&base.expect(1, CALIBRATE));
    assert_eq!(found["scale"]["levels"], json!(["Falsch", "g\u{fc}ltig"]));
    assert_eq!(row(&found, "accuracy")["value"], 1.0);
    assert!(notice(&found, "spellings_merged").is_some());
    assert!(notice(&found, "blank_labels").unwrap().contains("line 122"));
    assert!(
        notice(&found, "unknown_columns")
            .unwrap()
            .contains("remark")
    );
}

#[test]
fn a_key_twice_in_a_line_is_an_error_with_its_line() {
    let place = place(|i, good| format!("i{i:03},ann,{},\n", word(good)));
    place.write(
        "labels.jsonl",
        "{\"item\":\"i000\",\"label\":\"pass\"}\n{\"item\":\"i001\",\"label\":\"pass\",\"label\":\"fail\"}\n",
    );
    let done = place.expect(2, &CALIBRATE.replace("labels.csv", "labels.jsonl"));
    assert!(
        done.error().contains("labels.jsonl:2") && done.error().contains("`label` occurs twice"),
        "{}",
        done.error()
    );
}

#[test]
fn a_foreign_items_file_beside_labels_does_no_harm_until_it_is_needed() {
    let place = place(|i, good| format!("i{i:03},ann,{},\n", word(good)));
    place.write("items.jsonl", "{\"idx\": 1}\n");
    let found = certificate(&place.expect(0, &format!("{CALIBRATE} --threshold accuracy=0.7")));
    assert!(notice(&found, "items_unreadable").unwrap().contains("item"));
    place.write("prompt.txt", "Judge it.");
    let needed = place.expect(
        2,
        &format!("{CALIBRATE} --threshold accuracy=0.7 --prompt prompt.txt"),
    );
    assert!(needed.error().contains("items.jsonl"));
}

#[test]
fn short_examples_of_the_prompt_are_recognised() {
    let place = place(|i, good| format!("i{i:03},ann,{},\n", word(good)));
    let items: String = (0..120)
        .map(|i| {
            let item = json!({"item": format!("i{i:03}"), "input": format!("Question {i}"), "output": format!("answer {i}")});
            format!("{item}\n")
        })
        .collect();
    place.write("items.jsonl", items);
    place.write(
        "prompt.txt",
        "Judge it.\nExample:\nQuestion 5\nGood.\nanswer\n",
    );
    let done = place.expect(2, &format!("{CALIBRATE} --prompt prompt.txt"));
    assert!(done.error().contains("`i005`"), "{}", done.error());
    assert!(!done.error().contains("`i050`") && !done.error().contains("`i000`"));
}

#[test]
fn validate_checks_label_sets_and_the_thresholds_of_judges() {
    let place = Place::new();
    place.expect(0, &format!("validate {}", here("calibration").display()));
    place.write(
        "calibration/tone/labels.csv",
        "item,rater,label,split\na,ann,pass,test\na,ann,fail,test\nb,ann,fail,tset\nc,ann,pass,dev\n",
    );
    place.write(
        "calibration/tone/items.jsonl",
        "{\"item\":\"a\",\"output\":\"x\"}\n{\"item\":\"b\"}\n{\"item\":\"c\",\"output\":\"x\",\"output\":\"y\"}\n",
    );
    let done = place.expect(2, "validate calibration");
    let said = &done.stdout;
    for line in [
        "labels.csv:3",
        "labels.csv:4",
        "items.jsonl:2",
        "items.jsonl:3",
        "1 label set",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    place.write(
        "calibration/tone/labels.csv",
        "item,rater,label\na,ann,pass\nz,ann,fail\n",
    );
    place.write(
        "calibration/tone/items.jsonl",
        "{\"item\":\"a\",\"output\":\"x\"}\n",
    );
    let done = place.expect(2, "validate calibration/tone/labels.csv");
    assert!(
        done.stdout.contains("labels.csv:3") && done.stdout.contains("`z`"),
        "{}",
        done.stdout
    );

    let judge = fs::read_to_string(here("calibration/demo/judge.yaml")).unwrap();
    let at = judge.find("thresholds:").unwrap();
    let wrong = format!(
        "{}thresholds: {{sensitvity: 0.8, accuracy: 80}}\n",
        &judge[..at]
    );
    place.write("judge.yaml", wrong);
    let done = place.expect(2, "validate judge.yaml");
    for what in ["judge.yaml:", "did you mean `sensitivity`", "[0, 1]"] {
        assert!(done.stdout.contains(what), "{what}: {}", done.stdout);
    }
}
