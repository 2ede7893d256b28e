use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::model::report::Report;
use crate::report::fixture;

fn read(bytes: &[u8]) -> Vec<BTreeMap<String, String>> {
    ::csv::Reader::from_reader(bytes)
        .deserialize()
        .map(|row| row.unwrap())
        .collect()
}

fn bytes(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Vec<u8> {
    let mut out = vec![];
    write(&mut out).unwrap();
    out
}

fn snapshot(name: &str, bytes: Vec<u8>) {
    insta::with_settings!({prepend_module_to_snapshot => false, snapshot_path => "../snapshots"}, {
        insta::assert_snapshot!(name, String::from_utf8(bytes).unwrap());
    });
}

#[test]
fn every_file_of_the_airline_run() {
    let report = fixture::airline();
    snapshot(
        "estimates.csv",
        bytes(|out| estimates(&report.estimates, out)),
    );
    snapshot(
        "comparisons.csv",
        bytes(|out| comparisons(&report.comparisons, out)),
    );
    snapshot(
        "accounting.csv",
        bytes(|out| accounting(&report.accounting, out)),
    );
    snapshot(
        "failures.csv",
        bytes(|out| failures([fixture::failure()], out)),
    );
    snapshot(
        "disagreements.csv",
        bytes(|out| disagreements(fixture::disagreements(), out)),
    );
}

/// The columns that a JSON row has when its nested values are flattened.
fn flat_keys(row: &impl serde::Serialize) -> Vec<String> {
    let text = serde_json::to_string(row).unwrap();
    // serde_json sorts the keys of a `Value`; the order is read from the text instead.
    let Value::Object(map) = serde_json::from_str(&text).unwrap() else {
        panic!("a row is an object");
    };
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort_by_key(|key| text.find(&format!("\"{key}\":")));
    let mut flat = vec![];
    for key in keys {
        match key.as_str() {
            "bounds" | "tasks_fixed" | "worst" | "best" => {
                flat.extend(["low", "high"].map(|end| format!("{key}_{end}")));
            }
            "settle" => flat.extend(["tasks", "text", "cost_usd"].map(|k| format!("settle_{k}"))),
            "excluded" => {}
            _ => flat.push(key.clone()),
        }
    }
    flat
}

fn header(bytes: &[u8]) -> Vec<String> {
    let mut reader = ::csv::Reader::from_reader(bytes);
    reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect()
}

#[test]
fn columns_are_the_json_keys() {
    let report = fixture::airline();
    let file = bytes(|out| estimates(&report.estimates, out));
    assert_eq!(header(&file), flat_keys(&report.estimates[0]));
    let file = bytes(|out| comparisons(&report.comparisons, out));
    assert_eq!(header(&file), flat_keys(&report.comparisons[0]));
    let file = bytes(|out| failures([fixture::failure()], out));
    assert_eq!(header(&file), flat_keys(&fixture::failure()));
    let file = bytes(|out| disagreements(fixture::disagreements(), out));
    assert_eq!(header(&file), flat_keys(&fixture::disagreements()[0]));
    let row = fixture::judge_disagreement();
    let file = bytes(|out| judge_disagreements([&row], out));
    assert_eq!(header(&file), flat_keys(&row));
    let row = fixture::pair();
    let file = bytes(|out| pairs([&row], out));
    assert_eq!(header(&file), flat_keys(&row));
    let file = bytes(|out| accounting(&report.accounting, out));
    let mut keys = flat_keys(&report.accounting[0]);
    keys.extend(crate::model::trial::Boundary::ALL.map(|b| format!("excluded_{b}")));
    assert_eq!(header(&file), keys);
}

#[test]
fn status_and_decision_are_spelled_as_in_json() {
    let report = fixture::airline();
    let json = serde_json::to_value(&report).unwrap();
    let file = read(&bytes(|out| estimates(&report.estimates, out)));
    for (row, json) in file.iter().zip(json["estimates"].as_array().unwrap()) {
        assert_eq!(row["status"], json["status"].as_str().unwrap());
    }
    let file = read(&bytes(|out| comparisons(&report.comparisons, out)));
    for (row, json) in file.iter().zip(json["comparisons"].as_array().unwrap()) {
        assert_eq!(row["decision"], json["decision"].as_str().unwrap());
    }
}

#[test]
fn excluded_trials_keep_their_boundary() {
    let mut row = fixture::airline().accounting.swap_remove(0);
    row.excluded = BTreeMap::from([("provider".into(), 30), ("a, new one".into(), 2)]);
    let read = read(&bytes(|out| accounting(&[row], out)));
    assert_eq!(read[0]["excluded_provider"], "30");
    assert_eq!(read[0]["excluded_runner"], "0");
    assert_eq!(read[0]["excluded_a, new one"], "2");
}

#[test]
fn lines_end_with_cr_lf() {
    let file =
        String::from_utf8(bytes(|out| estimates(&fixture::airline().estimates, out))).unwrap();
    assert!(file.lines().count() > 30);
    assert_eq!(file.matches('\n').count(), file.matches("\r\n").count());
}

fn plain(cell: &str) -> String {
    formula_unsafe(cell).to_owned()
}

/// Texts of any characters, with those that matter to CSV and Markdown much more often.
pub fn hostile() -> impl Strategy<Value = String> {
    "(\\PC|[\\x00-\\x1f,\";'=+@|`<>*_\\[\\]\\\\#&-]|[\u{2028}\u{2029}\u{85}\u{202e}\u{feff}]){0,12}"
}

proptest! {
    #[test]
    fn any_text_reads_back_up_to_the_prefix(pool in prop::collection::vec(hostile(), 1..9)) {
        let mut texts = pool.iter().cycle().cloned();
        let report: Report = fixture::with_texts(&fixture::airline(), || texts.next().unwrap());
        let file = read(&bytes(|out| estimates(&report.estimates, out)));
        prop_assert_eq!(file.len(), report.estimates.len());
        for (cells, row) in file.iter().zip(&report.estimates) {
            prop_assert_eq!(plain(&cells["arm"]), row.arm.as_str());
            prop_assert_eq!(plain(&cells["segment"]), row.segment.as_deref().unwrap_or(""));
            prop_assert_eq!(plain(&cells["notices"]), row.notices.join(";"));
            prop_assert_eq!(cells["value"].parse().ok(), row.value);
        }
        let file = read(&bytes(|out| comparisons(&report.comparisons, out)));
        prop_assert_eq!(file.len(), report.comparisons.len());
        for (cells, row) in file.iter().zip(&report.comparisons) {
            prop_assert_eq!(plain(&cells["candidate"]), row.candidate.as_str());
            prop_assert_eq!(cells["value"].parse().ok(), row.value);
            prop_assert_eq!(&cells["decision"], row.decision.name());
        }
    }
}
