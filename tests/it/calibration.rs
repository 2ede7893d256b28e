//! `assize calibrate`: open data, judges that must be refused, what is undefined, and the fault cases.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

use serde_json::Value;

use crate::common::{Done, Place, here, near};

fn unpacked(name: &str) -> String {
    let mut text = String::new();
    let file = fs::File::open(here("tests/reference/data").join(name)).unwrap();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    text
}

/// The one certificate that a command printed.
fn certificate(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap()
}

fn row<'a>(slice: &'a Value, name: &str) -> &'a Value {
    let rows = slice["rows"].as_array().unwrap();
    rows.iter()
        .find(|r| r["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {slice}"))
}

fn all(certificate: &Value) -> &Value {
    &certificate["slices"][0]
}

/// A place with labels and verdicts: item, label, verdict.
fn judged(items: impl IntoIterator<Item = (&'static str, &'static str)>) -> Place {
    let place = Place::new();
    let (mut labels, mut verdicts) = (
        "item,rater,label\n".to_owned(),
        "item,judge,verdict\n".to_owned(),
    );
    for (at, (label, verdict)) in items.into_iter().enumerate() {
        labels.push_str(&format!("i{at:04},ann,{label}\n"));
        verdicts.push_str(&format!("i{at:04},tone,{verdict}\n"));
    }
    place.write("labels.csv", labels);
    place.write("verdicts.csv", verdicts);
    place
}

const CALIBRATE: &str = "calibrate --labels labels.csv --verdicts verdicts.csv --out out --replicates 400 --format json";

fn refused(place: &Place, options: &str) -> Value {
    certificate(&place.expect(
        1,
        &format!("{CALIBRATE} --threshold accuracy=0.5 {options}"),
    ))
}

/// Labels half and half; the judge is right on `right` of each hundred.
fn half_right(items: usize, right: usize) -> Place {
    judged((0..items).map(|i| {
        let label = if i % 2 == 0 { "pass" } else { "fail" };
        let other = if i % 2 == 0 { "fail" } else { "pass" };
        (
            label,
            if i / 2 * 37 % 100 < right {
                label
            } else {
                other
            },
        )
    }))
}

#[test]
fn llmbar_is_reproduced_under_the_published_rule_and_kept_apart_under_ours() {
    let place = Place::new();
    let table = unpacked("llmbar/verdicts.csv.gz");
    let mut labels: Vec<String> = vec![];
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        labels.push(format!("{}/{},authors,{}", cells[0], cells[1], cells[4]));
    }
    labels.sort();
    labels.dedup();
    place.write(
        "labels.csv",
        format!("item,rater,label\n{}\n", labels.join("\n")),
    );
    place.write("verdicts.csv", table);
    let map = "--map item=subset+item --map judge=subset+judge+prompting \
               --map verdict.a_first=original --map verdict.b_first=swapped";
    let options = format!("--scale pairwise:1,2 --unparsable published --replicates 200 {map}");
    let done = place.expect(
        1,
        &format!("calibrate --labels labels.csv --verdicts verdicts.csv --out out --format json {options}"),
    );
    let certificates: Vec<Value> = serde_json::from_str(&done.stdout).unwrap();
    let by_judge: BTreeMap<&str, &Value> = certificates
        .iter()
        .map(|c| (c["judge"].as_str().unwrap(), c))
        .collect();
    let published = fs::read_to_string(here("tests/reference/data/llmbar/published.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(published.as_bytes());
    let (mut cells, mut full) = (0, 0);
    for record in reader.deserialize::<BTreeMap<String, String>>() {
        let record = record.unwrap();
        let judge = format!(
            "{}/{}/{}",
            record["subset"], record["judge"], record["prompting"]
        );
        let one = by_judge[judge.as_str()];
        let percent = |name: &str| record[name].parse::<f64>().unwrap() / 100.0;
        let theirs = &one["other_rules"][0];
        near(
            &row(theirs, "accuracy:a_first")["value"],
            percent("acc_original_pct"),
            1e-9,
        );
        near(
            &row(theirs, "accuracy:b_first")["value"],
            percent("acc_swapped_pct"),
            1e-9,
        );
        near(
            &row(theirs, "accuracy_of_orders")["value"],
            percent("acc_average_pct"),
            1e-9,
        );
        near(
            &row(theirs, "accuracy")["value"],
            percent("acc_both_pct"),
            1e-9,
        );
        let agreement = percent("positional_agreement_pct");
        near(
            &row(theirs, "position_consistency")["value"],
            agreement,
            1e-9,
        );
        cells += 1;
        let unusable = one["verdicts"]["unusable"].as_object().unwrap();
        let ours = row(all(one), "position_consistency");
        if unusable.is_empty() {
            let kappa: f64 = record["upstream_kappa_between_orders"].parse().unwrap();
            near(&row(all(one), "kappa_between_orders")["value"], kappa, 1e-9);
            near(&ours["value"], agreement, 1e-9);
            full += 1;
        } else {
            let asked: u64 = record["n"].parse().unwrap();
            assert!(
                ours["items"].as_u64().unwrap() < asked,
                "what was not read enters nothing"
            );
        }
    }
    assert_eq!((cells, full), (195, 195 - 47));
}

const PANDALM: &str = "calibrate --labels pandalm.csv --verdicts pandalm.csv --scale pairwise:1,2,0 \
    --map-labels item=idx --map-labels label.r1=annotator1 --map-labels label.r2=annotator2 \
    --map-labels label.r3=annotator3 --map item=idx --format json --out out";

#[test]
fn pandalm_has_three_raters_two_judges_and_25_unusable_verdicts() {
    let place = Place::new();
    let data = fs::read(here("tests/reference/data/pandalm/labels.csv")).unwrap();
    place.write("pandalm.csv", data);
    let of = |judge: &str, column: &str| {
        let options = format!("--judge {judge} --map verdict={column} --unparsable published");
        certificate(&place.expect(1, &format!("{PANDALM} {options}")))
    };
    let gpt = of("gpt-3.5", "judge_gpt35_raw");
    let people = |name: &str| {
        let rows = gpt["humans"].as_array().unwrap();
        rows.iter().find(|r| r["name"] == name).unwrap()["value"].clone()
    };
    near(&people("human_kappa:r1,r2"), 0.8520, 5e-5);
    near(&people("human_kappa:r1,r3"), 0.8789, 5e-5);
    near(&people("human_kappa:r2,r3"), 0.8617, 5e-5);
    assert_eq!(
        gpt["verdicts"]["unusable"],
        serde_json::json!({"unparsable": 25})
    );
    assert_eq!(
        (&gpt["verdicts"]["items"], &gpt["labels"]["items"]),
        (&974.into(), &999.into())
    );
    near(&row(all(&gpt), "accuracy")["value"], 0.7156, 5e-5);
    near(&row(all(&gpt), "kappa")["value"], 0.4929, 5e-5);
    near(
        &row(&gpt["other_rules"][0], "accuracy")["value"],
        0.6977,
        5e-5,
    );
    near(&row(&gpt["other_rules"][0], "kappa")["value"], 0.4755, 5e-5);
    let truth: Vec<u64> = gpt["other_rules"][0]["confusion"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            row.as_array()
                .unwrap()
                .iter()
                .map(|c| c.as_u64().unwrap())
                .sum()
        })
        .collect();
    assert_eq!(truth, [422, 472, 105, 0]);
    assert_eq!(gpt["alt_test"].as_array().unwrap().len(), 3);
    let panda = of("pandalm-7b", "judge_pandalm7b_raw");
    near(&row(all(&panda), "accuracy")["value"], 0.6677, 5e-5);
    near(&row(all(&panda), "kappa")["value"], 0.4354, 5e-5);
}

#[test]
fn two_judges_of_pandalm_are_compared_on_the_items_that_both_answered() {
    let place = Place::new();
    let data = fs::read_to_string(here("tests/reference/data/pandalm/labels.csv")).unwrap();
    place.write("pandalm.csv", &data);
    let mut long = "idx,judge,verdict\n".to_owned();
    for line in data.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        long.push_str(&format!(
            "{0},gpt,{1}\n{0},panda,{2}\n",
            cells[0], cells[4], cells[5]
        ));
    }
    place.write("long.csv", long);
    let command = PANDALM.replace("--verdicts pandalm.csv", "--verdicts long.csv");
    let done = place.expect(1, &format!("{command} --judge gpt --against panda"));
    let against = &certificate(&done)["against"];
    assert_eq!(
        (&against["judge"], &against["items"]),
        (&"panda".into(), &974.into())
    );
    let accuracy = &against["rows"][0];
    let (low, high) = (
        accuracy["low"].as_f64().unwrap(),
        accuracy["high"].as_f64().unwrap(),
    );
    let value = accuracy["value"].as_f64().unwrap();
    assert!(low < value && value < high && accuracy["p"].as_f64().unwrap() < 0.05);
    let changed = against["changed"].as_array().unwrap();
    let count = |what: &str| changed.iter().filter(|c| c["change"] == what).count() as f64;
    let lost = changed.iter().filter(|c| c["new"].is_null()).count();
    assert_eq!(lost, 25);
    // A verdict that became unusable is listed, and is no loss of accuracy.
    let broken = changed
        .iter()
        .filter(|c| c["change"] == "broken" && !c["new"].is_null())
        .count();
    near(
        &accuracy["value"],
        (count("fixed") - broken as f64) / 974.0,
        1e-9,
    );
    assert!(
        place
            .read("out/calibration.md")
            .contains("## Against panda")
    );
}

#[test]
fn judges_that_know_nothing_are_refused_each_for_its_own_reason() {
    let constant = judged((0..100).map(|i| (if i % 2 == 0 { "pass" } else { "fail" }, "pass")));
    let cases = [
        (constant, "constant_judge"),
        (half_right(200, 50), "judge_near_chance"),
        (half_right(200, 8), "judge_inverted"),
        (half_right(12, 100), "too_few_labels"),
    ];
    for (place, reason) in cases {
        let found = refused(&place, "");
        assert_eq!(found["result"]["result"], "refused");
        assert_eq!(found["result"]["reason"], reason, "{}", found["result"]);
        assert!(place.read("out/calibration.md").contains(reason));
    }
}

#[test]
fn a_good_judge_passes_only_thresholds_that_its_bounds_reach() {
    let place = half_right(400, 92);
    let options =
        "--threshold sensitivity=0.85 --threshold specificity=0.85 --threshold kappa=0.75";
    let found = certificate(&place.expect(0, &format!("{CALIBRATE} {options}")));
    assert_eq!(found["result"]["result"], "passed");
    // The point is above, the bound below.
    let high = certificate(&place.expect(1, &format!("{CALIBRATE} --threshold sensitivity=0.91")));
    assert!(row(all(&high), "sensitivity")["value"].as_f64().unwrap() > 0.91);
    assert_eq!(high["result"]["reason"], "threshold_missed");
    let none = certificate(&place.expect(1, CALIBRATE));
    assert_eq!(none["result"]["reason"], "no_thresholds");
    let typo = place.expect(2, &format!("{CALIBRATE} --threshold sensitvity=0.8"));
    assert!(typo.error().contains("sensitvity"));
}

#[test]
fn labels_of_other_items_refuse() {
    let place = half_right(100, 90);
    let verdicts = place.read("verdicts.csv").replace("i0", "j0");
    place.write("verdicts.csv", verdicts);
    assert_eq!(refused(&place, "")["result"]["reason"], "no_overlap");
}

#[test]
fn looks_at_the_test_part_are_counted_and_the_tuning_part_certifies_nothing() {
    let place = half_right(400, 92);
    let split = |(at, line): (usize, &str)| match at {
        0 => format!("{line},split\n"),
        at => format!("{line},{}\n", if at > 200 { "dev" } else { "test" }),
    };
    let labels: String = place
        .read("labels.csv")
        .lines()
        .enumerate()
        .map(split)
        .collect();
    place.write("labels.csv", labels);
    let ok = "--threshold accuracy=0.8";
    let first = place.expect(0, &format!("{CALIBRATE} {ok}"));
    let first = certificate(&first);
    assert_eq!(
        (&first["labels"]["look"], &first["labels"]["looks"]),
        (&1.into(), &1.into())
    );
    assert_eq!(first["labels"]["items"], 200);
    let again = certificate(&place.expect(0, &format!("{CALIBRATE} {ok}")));
    assert_eq!(again, first);
    let other = place
        .read("verdicts.csv")
        .replace("i0000,tone,pass", "i0000,tone,fail");
    place.write("verdicts.csv", other);
    let second = certificate(&place.expect(0, &format!("{CALIBRATE} {ok}")));
    assert_eq!(
        (&second["labels"]["look"], &second["labels"]["looks"]),
        (&2.into(), &2.into())
    );
    let dev = certificate(&place.expect(1, &format!("{CALIBRATE} {ok} --split dev")));
    assert_eq!(dev["result"]["reason"], "not_test_split");
    assert_eq!(dev["labels"]["looks"], Value::Null);
}

#[test]
fn what_is_undefined_is_null_with_a_reason() {
    // One class of labels: nothing is known of failures (also the fault cases 43, 59, 65).
    let single = refused(&judged((0..60).map(|_| ("pass", "pass"))), "");
    assert_eq!(single["result"]["reason"], "single_class");
    for (name, reason) in [
        ("specificity", "no_items"),
        ("kappa", "expected_agreement_is_one"),
        ("alpha", "no_variation"),
        ("ac1", "single_category"),
        ("youden", "single_class"),
    ] {
        let found = row(all(&single), name);
        assert_eq!(
            (&found["value"], &found["reason"]),
            (&Value::Null, &reason.into()),
            "{name}"
        );
    }
    // A small perfect set is bounded: three of three may be an error rate of .7 (fault case 57).
    let perfect = refused(&half_right(6, 100), "");
    let sensitivity = row(all(&perfect), "sensitivity");
    near(&sensitivity["low"], 0.2924, 1e-4);
    let kappa = row(all(&perfect), "kappa");
    assert_eq!(
        (&kappa["low"], &kappa["reason"]),
        (&Value::Null, &"no_variation".into())
    );
    assert_eq!(perfect["result"]["reason"], "too_few_labels");
    // One rater: nothing is known of how people agree.
    let rows = perfect["humans"].as_array().unwrap();
    let ceiling = rows
        .iter()
        .find(|r| r["name"] == "ceiling_kappa:judge_minus_human")
        .unwrap();
    assert_eq!(
        (&ceiling["value"], &ceiling["reason"]),
        (&Value::Null, &"too_few_humans".into())
    );
    assert!(
        perfect["notices"]
            .as_array()
            .unwrap()
            .iter()
            .any(|n| n["code"] == "one_rater")
    );
}

#[test]
fn raters_without_a_common_item_have_no_agreement() {
    let place = half_right(100, 90);
    let labels = place.read("labels.csv");
    let labels: Vec<String> = labels
        .lines()
        .enumerate()
        .map(|(at, l)| {
            if at % 2 == 0 && at > 0 {
                l.replace("ann", "bob")
            } else {
                l.to_owned()
            }
        })
        .collect();
    place.write("labels.csv", labels.join("\n"));
    let found = refused(&place, "--threshold kappa=0.9999");
    let rows = found["humans"].as_array().unwrap();
    for name in [
        "human_alpha",
        "human_kappa:ann,bob",
        "ceiling_agreement:judge_minus_human",
    ] {
        let row = rows.iter().find(|r| r["name"] == name).unwrap();
        assert!(row["value"].is_null() && row["reason"].is_string(), "{row}");
    }
    assert!(
        found["notices"]
            .as_array()
            .unwrap()
            .iter()
            .any(|n| n["code"] == "little_overlap")
    );
}

#[test]
fn a_constant_rater_beside_a_varied_one_has_kappa_0_and_two_constants_none() {
    let place = half_right(100, 90);
    let more: String = (0..100).map(|i| format!("i{i:04},bob,pass\n")).collect();
    place.write("labels.csv", place.read("labels.csv") + &more);
    let found = refused(&place, "--threshold kappa=0.9999");
    let rows = found["humans"].as_array().unwrap();
    let kappa = rows
        .iter()
        .find(|r| r["name"] == "human_kappa:ann,bob")
        .unwrap();
    near(&kappa["value"], 0.0, 1e-12);
    // Items on which two raters part have no majority and no truth.
    assert_eq!(found["labels"]["without_truth"], 50);
}

#[test]
fn an_empty_reply_and_a_false_word_are_what_they_are() {
    // Fault case 35: nothing came, which is no failure; and the word "false" is no pass.
    let mut items = vec![("pass", "true"); 30];
    items.extend([("fail", "false"); 30]);
    items.extend([("pass", ""); 5]);
    let found = refused(&judged(items), "--threshold kappa=0.9999 --unparsable fail");
    assert_eq!(
        found["verdicts"]["unusable"],
        serde_json::json!({"missing": 5})
    );
    assert_eq!(row(all(&found), "accuracy")["value"], 1.0);
    assert_eq!(
        all(&found)["confusion"],
        serde_json::json!([[30, 0], [0, 30]])
    );
    near(
        &row(&found["other_rules"][0], "accuracy")["value"],
        60.0 / 65.0,
        1e-12,
    );
}

#[test]
fn too_many_unusable_verdicts_refuse() {
    let place = half_right(400, 95);
    let verdicts: Vec<String> = place
        .read("verdicts.csv")
        .lines()
        .enumerate()
        .map(|(at, l)| match at % 8 {
            1 => l
                .rsplit_once(',')
                .map(|(a, _)| format!("{a},garbage"))
                .unwrap(),
            _ => l.to_owned(),
        })
        .collect();
    place.write("verdicts.csv", verdicts.join("\n"));
    assert_eq!(refused(&place, "")["result"]["reason"], "missing_high");
}

#[test]
fn items_of_one_task_count_as_one_witness() {
    let place = half_right(400, 90);
    let by_task = |(at, line): (usize, &str)| match at {
        0 => format!("{line},task,arm\n"),
        at => format!(
            "{line},t{},{}\n",
            at / 40,
            if at % 2 == 0 { "x" } else { "y" }
        ),
    };
    let labels: String = place
        .read("labels.csv")
        .lines()
        .enumerate()
        .map(by_task)
        .collect();
    let alone = certificate(&place.expect(1, CALIBRATE));
    place.write("labels.csv", labels);
    let grouped = certificate(&place.expect(1, CALIBRATE));
    let width = |c: &Value| {
        let row = row(all(c), "accuracy");
        row["high"].as_f64().unwrap() - row["low"].as_f64().unwrap()
    };
    assert_eq!(row(all(&grouped), "accuracy")["units"], 11);
    assert!(width(&grouped) > width(&alone));
    let slices: Vec<&str> = grouped["slices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["slice"].as_str().unwrap())
        .collect();
    assert_eq!(slices, ["all", "arm=x", "arm=y"]);
    assert!(
        grouped["slices"][1]["error_rates"]["positives"]
            .as_f64()
            .unwrap()
            <= 200.0
    );
}

#[test]
fn a_panel_is_examined_as_one_judge_and_keeps_its_ties() {
    let place = half_right(200, 90);
    let own = place.read("verdicts.csv");
    let mut text = own.clone();
    for (judge, wrong) in [("b", "fail"), ("c", "")] {
        for line in own.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let verdict = if cells[0].ends_with('3') {
                wrong
            } else {
                cells[2]
            };
            text.push_str(&format!("{},{judge},{verdict}\n", cells[0]));
        }
    }
    place.write("verdicts.csv", text);
    let options = "--threshold accuracy=0.5 --panel tone,b,c";
    let found = certificate(&place.expect(0, &format!("{CALIBRATE} {options}")));
    assert_eq!(found["judge"], "panel(tone+b+c)");
    let ties = found["verdicts"]["unusable"]["panel_tie"].as_u64().unwrap();
    assert!(ties > 0, "{}", found["verdicts"]);
    assert!(
        place
            .expect(2, &format!("{CALIBRATE} --panel tone,b"))
            .error()
            .contains("odd")
    );
}

#[test]
fn the_certificate_follows_its_schema_and_is_the_same_at_any_number_of_threads() {
    let place = half_right(300, 90);
    place.expect(
        0,
        &format!("{CALIBRATE} --threshold accuracy=0.8 --threads 1"),
    );
    let once = place.files("out");
    place.expect(
        0,
        &format!("{CALIBRATE} --threshold accuracy=0.8 --threads 2"),
    );
    assert_eq!(once, place.files("out"));
    assert_eq!(
        once.keys().collect::<Vec<_>>(),
        ["calibration.csv", "calibration.json", "calibration.md"]
    );
    let schema: Value =
        serde_json::from_str(&place.expect(0, "schema calibration").stdout).unwrap();
    let found: Value = serde_json::from_slice(&once["calibration.json"]).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<String> = validator
        .iter_errors(&found)
        .map(|e| e.to_string())
        .collect();
    assert!(problems.is_empty(), "{problems:?}");
    let csv = String::from_utf8(once["calibration.csv"].clone()).unwrap();
    assert!(
        csv.starts_with("judge,slice,name,value,low,high,method,items,part,units,p,reason\r\n")
    );
}

#[test]
fn the_shipped_label_set_certifies_a_pairwise_judge() {
    let place = Place::new();
    for name in ["labels.csv", "verdicts.csv", "items.jsonl"] {
        place.write(
            name,
            fs::read(here("calibration/llmbar").join(name)).unwrap(),
        );
    }
    let options = "--scale pairwise:1,2 --judge GPT-4/Vanilla --against GPT-4/Vanilla_NoRules \
                   --threshold accuracy=0.8 --threshold position_consistency=0.85";
    let found = certificate(&place.expect(0, &format!("{CALIBRATE} {options}")));
    assert_eq!(found["result"]["result"], "passed");
    assert_eq!(
        (&found["labels"]["items"], &found["labels"]["looks"]),
        (&128.into(), &1.into())
    );
    let accuracy = &found["against"]["rows"][0];
    assert!(
        accuracy["low"].as_f64().unwrap() > 0.0,
        "the rules in the prompt help: {accuracy}"
    );
    assert!(row(all(&found), "length_slope")["value"].is_number());
}
