//! A pairwise judge on a run: preferences, what labels make of them, and what the order does.

use serde_json::{Value, json};

use super::{MODEL, OUTCOME, judge, recorded, talk};
use crate::common::{Place, near};
use crate::live_common::Endpoint;

const PREFERENCE: &str = "tone@1.preference";

/// Rules on what people prefer.
const BETTER: &str = "    - {dimension: quality, metric: tone@1.preference, rule: superior}
    - {dimension: quality, metric: tone@1.preference, rule: non_inferior, margin: 0.2}\n";

/// A scripted pairwise judge that sees the better output, errs and favours the first place at known rates.
pub(super) fn compares(model: &str, sensitivity: f64, bias: f64) -> String {
    let say = |word: &str| json!({"reason": "so", "answer": word}).to_string();
    let judge = json!({"default": {"judge": {"label_in": "worth: (?P<truth>[0-9])",
        "sensitivity": sensitivity, "pairwise": true, "position_bias": bias,
        "first": say("first"), "second": say("second")}}});
    format!("  {model}: {judge}\n")
}

/// The file of a pairwise judge.
pub(super) fn pairwise(place: &Place, endpoint: &Endpoint, model: &str) {
    let text = judge(&endpoint.url(), model, "")
        .replace("{kind: binary}", "{kind: pairwise}")
        .replace("[task, messages, final]", "[final]")
        .replace("{{ evidence }}", "{{ first }}\\n{{ second }}")
        .replace("{sensitivity: 0.6, specificity: 0.6}", "{accuracy: 0.5}");
    place.write("judge.yaml", text);
}

/// The candidate's text is the better one on two of three tasks, and as good on the third.
fn mostly_better(arm: &str, i: usize) -> String {
    match (arm, i % 3) {
        ("challenger-b", 0 | 1) => format!("answer {i}, worth: 5"),
        _ => format!("answer {i}, worth: 3"),
    }
}

/// Certifies the judge on pairs of known worth.
fn certify(place: &Place) {
    let (mut labels, mut lines) = ("item,rater,label\n".to_owned(), String::new());
    for i in 0..120 {
        let (worth, names) = [([5, 3], ["A", "first"]), ([2, 4], ["output_2", "B"])][i % 2];
        // Levels of the scale and places say the same.
        let label = names[i / 2 % 2];
        labels.push_str(&format!("p{i},ann,{label}\n"));
        let of = |n: i32| format!("answer to {i}, worth: {n}");
        let outputs = (of(worth[0]), of(worth[1]));
        let item = json!({"item": format!("p{i}"), "output_1": outputs.0, "output_2": outputs.1});
        lines.push_str(&format!("{item}\n"));
    }
    place.write("gold/labels.csv", labels);
    place.write("gold/items.jsonl", lines);
    place.expect(
        0,
        "calibrate judge.yaml --labels gold/labels.csv --out gold/out",
    );
}

/// The one row of the report on preferences.
fn preference(place: &Place) -> Value {
    let rows = place.report("run").0["preferences"].clone();
    assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");
    rows[0].clone()
}

/// Answers of a person to a sheet of pairs: the worth that the texts name.
fn fill(place: &Place) -> usize {
    let mut labels = "item,rater,label\n".to_owned();
    let items = place.read("run/pair-labels/items.jsonl");
    for line in items.lines() {
        let item: Value = serde_json::from_str(line).unwrap();
        let worth = |key: &str| {
            let text = item[key].as_str().unwrap();
            let at = text.find("worth: ").unwrap() + "worth: ".len();
            text[at..=at].parse::<u32>().unwrap()
        };
        let said = match worth("output_1").cmp(&worth("output_2")) {
            std::cmp::Ordering::Greater => "first",
            std::cmp::Ordering::Less => "second",
            std::cmp::Ordering::Equal => "tie",
        };
        labels.push_str(&format!("{},ann,{said}\n", item["item"].as_str().unwrap()));
    }
    place.write("run/pair-labels/labels.csv", labels);
    items.lines().count()
}

#[test]
fn labels_of_pairs_decide_behind_a_certified_judge_and_its_own_preference_does_not() {
    let place = Place::new();
    talk(&place, 60, BETTER, mostly_better);
    let endpoint = Endpoint::with(
        &place,
        &compares(MODEL, 0.9, 0.1),
        &["--record", "asked.jsonl"],
        &[],
    );
    pairwise(&place, &endpoint, MODEL);

    place.expect(0, "judge run --judge judge.yaml");
    place.expect(3, "compare run");
    let report = place.report("run");
    let row = report.comparison(PREFERENCE);
    assert_eq!(
        (&row["status"], &row["decision"], &row["reason"]),
        (
            &json!("uncalibrated"),
            &json!("inconclusive"),
            &json!("uncalibrated")
        )
    );
    assert!(row["value"].is_null() && row["low"].is_null(), "{row}");
    let said = preference(&place);
    assert_eq!(
        (&said["status"], &said["reason"], &said["labelled"]),
        (&json!("uncalibrated"), &json!("no_certificate"), &json!(0))
    );
    let count = |key: &str| said["counts"][key].as_u64().unwrap();
    assert_eq!((count("planned"), count("judged")), (60, 60));
    assert_eq!(
        count("wins") + count("losses") + count("ties") + count("flips"),
        60
    );
    let mean = (count("wins") as f64 - count("losses") as f64) / 60.0;
    near(&said["value"], mean, 1e-12);
    assert!(mean > 0.3, "{said}");
    // A believed judge stands in no table of words before people have looked.
    let believed = |r: &&Value| r["metric"] == PREFERENCE;
    assert!(
        !report.0["robustness"]
            .as_array()
            .unwrap()
            .iter()
            .any(|r| believed(&r))
    );
    let page = place.read("run/report/report.md");
    assert!(
        page.contains("Not known what people prefer, so nothing is decided"),
        "{page}"
    );

    place.expect(0, "label-sample run --pairs -n 45");
    assert_eq!(fill(&place), 45);
    let sheet =
        place.read("run/pair-labels/sheet.csv") + &place.read("run/pair-labels/items.jsonl");
    assert!(!sheet.contains("quillon") && !sheet.contains("challenger"));
    let key = place.read("run/pair-labels/key.csv");
    let first = |arm: &str| key.lines().filter(|l| l.contains(arm)).count();
    assert_eq!((first(",baseline,"), first(",candidate,")), (23, 22));

    // A certificate says nothing of other pairs, and labels nothing of whether the judge may speak.
    certify(&place);
    let certified = "--certificate gold/out/calibration.json --canary gold/labels.csv";
    let asked = || recorded(&place, "asked.jsonl").len();
    let before = asked();
    place.expect(0, &format!("judge run --judge judge.yaml {certified}"));
    // Forty items are judged again in both orders, and no pair is.
    assert_eq!(asked(), before + 80);
    place.expect(3, "compare run");
    let report = place.report("run");
    let row = report.comparison(PREFERENCE);
    assert_eq!(
        (&row["status"], &row["reason"], &row["value"]),
        (
            &json!("not_identified"),
            &json!("pairs_not_labelled"),
            &Value::Null
        )
    );
    let rule = &report.0["gate"]["rules"][0];
    assert_eq!(rule["reason"], "inconclusive: pairs_not_labelled");
    let labels = "--labels run/pair-labels/labels.csv";
    place.expect(
        0,
        &format!("judge run --judge judge.yaml {certified} {labels}"),
    );
    let db = rusqlite::Connection::open(place.path("run/run.sqlite")).unwrap();
    let rows = |table: &str| {
        let select = format!("SELECT count(*) FROM {table}");
        db.query_row(&select, [], |r| r.get::<_, i64>(0)).unwrap()
    };
    assert_eq!((rows("pairs"), rows("pair_labels")), (60, 45));
    drop(db);
    place.expect(0, "compare run");
    let report = place.report("run");
    assert_eq!(report.gate(), ("passed", 0));
    let row = report.comparison(PREFERENCE);
    assert_eq!(
        (&row["method"], &row["decision"], &row["status"]),
        (&json!("ppi_paired_bp_hall"), &json!("better"), &json!("ok"))
    );
    let limit = |key: &str| row[key].as_f64().unwrap();
    assert!(
        limit("low") < 2.0 / 3.0 && 2.0 / 3.0 < limit("high"),
        "{row}"
    );
    assert_eq!(preference(&place)["labelled"], 45);
    let pairs = place.read("run/report/pairs.csv");
    assert_eq!(pairs.lines().count(), 61);
    let labelled = |l: &&str| !l.ends_with(',');
    assert_eq!(pairs.lines().skip(1).filter(labelled).count(), 45);
    let judge = &report.0["judges"][0];
    let labels = &judge["labels"];
    assert_eq!(
        (&judge["pairs"], &judge["verdicts"], labels),
        (&json!(true), &json!(60), &json!({"challenger-b": 45}))
    );
    let page = place.read("run/report/report.md");
    assert!(
        page.contains("labelled pairs: 45 with challenger-b"),
        "{page}"
    );
    let own = "\n- The judge's own preference";
    assert!(page.contains(own), "{page}");
    assert!(page.contains("What people prefer: +"), "{page}");
    place.expect(0, "verify run");

    // What is stored of pairs cannot be changed by other hands.
    let db = rusqlite::Connection::open(place.path("run/run.sqlite")).unwrap();
    db.execute("UPDATE pairs SET preference = 'baseline'", [])
        .unwrap();
    drop(db);
    place.expect(1, "verify run");
}

#[test]
fn a_judge_that_flips_gives_ties_and_a_position_effect() {
    let place = Place::new();
    talk(&place, 30, OUTCOME, mostly_better);
    let leftist = "leftist-2026-01-01";
    let endpoint = Endpoint::start(&place, &compares(leftist, 1.0, 1.0));
    pairwise(&place, &endpoint, leftist);
    place.expect(0, "judge run --judge judge.yaml");
    place.assize("compare run");
    let row = preference(&place);
    let counts = &row["counts"];
    assert_eq!(
        (&counts["flips"], &counts["flips_first"], &counts["ties"]),
        (&json!(30), &json!(30), &json!(0))
    );
    assert_eq!((&counts["wins"], &row["value"]), (&json!(0), &json!(0.0)));
    let share = &row["consistency"];
    assert_eq!((&share["count"], &share["of"]), (&json!(0), &json!(30)));
    let first = &row["first_place"];
    assert_eq!(
        (&first["count"], &first["value"]),
        (&json!(30), &json!(1.0))
    );
    // 1 of 30 by Clopper and Pearson, and two tails of a fair coin.
    near(&first["low"], 0.025f64.powf(1.0 / 30.0), 1e-9);
    near(&row["p_first_place"], 2.0f64.powi(-29), 1e-15);
    let page = place.read("run/report/report.md");
    assert!(page.contains("the first place won 30 of 30"), "{page}");

    let text = place.read("run/report/judge_disagreements.json");
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    let of_order: Vec<&Value> = rows
        .iter()
        .filter(|r| r["kind"] == "judge_vs_order")
        .collect();
    assert!(!of_order.is_empty(), "{text}");
    let stratum = of_order[0]["stratum"].as_str().unwrap();
    assert!(
        stratum.contains("of 30 items: tone@1, whichever came first won"),
        "{stratum}"
    );
    // Neither order stands first for the baseline's sake.
    let orders = |r: &&&Value| r["who_a"] == "tone@1, a_first" && r["who_b"] == "tone@1, b_first";
    assert_eq!(of_order.iter().filter(orders).count(), of_order.len());
    let page = place.read("run/report/judge_disagreements.md");
    for names in [&text, &page] {
        assert!(!names.contains("quillon") && !names.contains("challenger"));
    }
    // The baseline's output is always among what is shown.
    let worth = |row: &Value, n: u8| {
        let evidence = row["evidence"].as_str().unwrap().to_owned();
        evidence.find(&format!("worth: {n}"))
    };
    assert!(of_order.iter().all(|r| worth(r, 3).is_some()));
    place.expect(0, "report run");
    assert_eq!(place.read("run/report/judge_disagreements.json"), text);
}

#[test]
fn people_who_see_it_otherwise_are_listed_blinded() {
    let place = Place::new();
    talk(&place, 30, OUTCOME, mostly_better);
    let endpoint = Endpoint::start(&place, &compares(MODEL, 0.0, 0.0));
    pairwise(&place, &endpoint, MODEL);
    place.expect(0, "label-sample run --pairs -n 30");
    fill(&place);
    place.expect(
        0,
        "judge run --judge judge.yaml --labels run/pair-labels/labels.csv",
    );
    // A person who answers with the scale's levels says the same.
    let places = place.read("run/pair-labels/labels.csv");
    let levels = places
        .replace(",first", ",A")
        .replace(",second", ",output_2");
    place.write("run/pair-labels/labels.csv", levels);
    let same = place.expect(
        0,
        "judge run --judge judge.yaml --labels run/pair-labels/labels.csv",
    );
    assert!(!same.stderr.contains("replaced"), "{same:#?}");
    place.assize("compare run");
    // A judge that is always wrong loses its weight, and without a certificate labels decide nothing.
    let report = place.report("run");
    let row = report.comparison(PREFERENCE);
    assert!(row["value"].as_f64().unwrap() > 0.5, "{row}");
    assert_eq!(
        (&row["status"], &row["decision"]),
        (&json!("uncalibrated"), &json!("inconclusive"))
    );
    assert!(preference(&place)["value"].as_f64().unwrap() < -0.5);
    let rows: Vec<Value> =
        serde_json::from_str(&place.read("run/report/judge_disagreements.json")).unwrap();
    let human: Vec<&Value> = rows
        .iter()
        .filter(|r| r["kind"] == "judge_vs_human")
        .collect();
    assert!(human.len() > 3, "{rows:?}");
    for row in &human {
        // The better text is the one that people name, whichever letter it has.
        let evidence = row["evidence"].as_str().unwrap();
        let letter = row["answer_b"].as_str().unwrap();
        let at = |n: u8| evidence.find(&format!("worth: {n}"));
        let wanted = match (at(5), at(3)) {
            (Some(good), Some(poor)) if good < poor => "A",
            (Some(_), Some(_)) => "B",
            _ => "tie",
        };
        assert_eq!(letter, wanted, "{row}");
    }
    let letters: Vec<&Value> = human.iter().map(|r| &r["answer_b"]).collect();
    assert!(letters.contains(&&json!("A")) && letters.contains(&&json!("B")));
}

#[test]
fn replies_that_cannot_be_used_are_infrastructure_and_not_decidable() {
    let place = Place::new();
    talk(&place, 30, BETTER, |arm, i| match (arm, i % 5) {
        ("challenger-b", 0) => format!("prose {i}"),
        _ => format!("answer {i}, worth: 3"),
    });
    let say = json!({"reason": "so", "answer": "tie"}).to_string();
    let odd = json!({"default": {"turns": [{"say": say, "cases": [
        {"when": "'prose' in user", "say": "the first, I would say"}]}]}});
    let endpoint = Endpoint::start(&place, &format!("  {MODEL}: {odd}\n"));
    pairwise(&place, &endpoint, MODEL);
    place.expect(0, "judge run --judge judge.yaml");
    place.expect(4, "compare run");
    let report = place.report("run");
    assert_eq!(report.gate(), ("infrastructure", 4));
    let row = report.comparison(PREFERENCE);
    assert_eq!(
        (&row["decision"], &row["reason"], &row["status"]),
        (
            &json!("not_decidable"),
            &json!("missing_high"),
            &json!("not_decidable")
        )
    );
    for arm in ["quillon-prod", "challenger-b"] {
        let counts = report.accounting(arm, "quality");
        assert_eq!(
            (&counts["judged"], &counts["excluded"]),
            (&json!(24), &json!({"judge": 6}))
        );
    }
    let said = preference(&place);
    assert_eq!(said["counts"]["unusable"], json!({"unparsable": 6}));
    assert_eq!(
        (&said["counts"]["judged"], &said["counts"]["ties"]),
        (&json!(24), &json!(24))
    );
    // Six of thirty pairs could have gone either way.
    assert!(said["worst"][0].as_f64().unwrap() < -0.2, "{said}");
    assert!(said["best"][1].as_f64().unwrap() > 0.2, "{said}");
    assert_eq!(
        (
            &said["first_place"]["value"],
            &said["first_place"]["reason"]
        ),
        (&Value::Null, &json!("no_strict_flip"))
    );
}

#[test]
fn recorded_verdicts_on_pairs_go_the_same_way() {
    let place = Place::new();
    talk(&place, 20, BETTER, mostly_better);
    let (a, b) = ("quillon-prod", "challenger-b");
    let mut verdicts = "item,judge,order,verdict\n".to_owned();
    let mut labels = "item,rater,label,stratum,probability\n".to_owned();
    for i in 0..20 {
        let item = format!("{a}/t{i:03}/0|{b}/t{i:03}/0");
        // Every fourth answer goes to whichever came second.
        for (order, second) in [("a_first", "B"), ("b_first", "A")] {
            let answer = if i % 4 == 0 { second } else { "B" };
            verdicts.push_str(&format!("{item},rec,{order},{answer}\n"));
        }
        labels.push_str(&format!("{item},ann,B,task,1.0\n"));
    }
    place.write("verdicts.csv", &verdicts);
    place.write("labels.csv", &labels);
    let put = "judge run --verdicts verdicts.csv --scale pairwise:A,B,tie";
    place.expect(0, &format!("{put} --labels labels.csv"));
    place.assize("compare run");
    let row = preference(&place);
    assert_eq!(row["metric"], "rec.preference");
    let counts = &row["counts"];
    assert_eq!(
        (&counts["wins"], &counts["flips_second"], &counts["losses"]),
        (&json!(15), &json!(5), &json!(0))
    );
    near(&row["value"], 0.75, 1e-12);
    near(&row["consistency"]["value"], 0.75, 1e-12);
    let report = place.report("run");
    let compared = report.comparison("rec.preference");
    near(&compared["value"], 1.0, 1e-9);
    assert_eq!(compared["notices"], json!(["few_labels"]));

    // The other way round it says the other thing.
    place.assize(&format!("compare run --baseline {b} --candidate {a}"));
    let row = preference(&place);
    assert_eq!(row["counts"]["losses"], 15);
    near(&row["value"], -0.75, 1e-12);

    place.write("verdicts.csv", verdicts.replace("t003/0|", "t003/7|"));
    let refused = place.expect(2, put);
    assert!(
        refused.error().contains("is of no pair of this run"),
        "{refused:?}"
    );
    place.write("verdicts.csv", verdicts.replace("order", "odd"));
    assert_eq!(place.assize(put).code, 2);
}
