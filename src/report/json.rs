//! `report.json`: the report as its versioned contract.

use std::io::{self, Write};

use crate::model::report::Report;

/// Writes `report.json`: indented, keys in the order of the contract, a newline at the end.
///
/// A number that is not finite becomes `null`, because JSON has no word for it and undefined is
/// `null` everywhere in the contract.
///
/// # Errors
///
/// Whatever `out` reports.
pub fn write(report: &Report, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, report)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use serde_json::Value;

    fn text(report: &Report) -> String {
        let mut out = vec![];
        write(report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn reads_back_as_the_same_report() {
        let report = fixture::airline();
        let written = text(&report);
        assert_eq!(serde_json::from_str::<Report>(&written).unwrap(), report);
        assert!(written.ends_with("}\n") && !written.ends_with("\n\n"));
    }

    #[test]
    fn keys_come_in_the_order_of_the_contract() {
        let written = text(&fixture::airline());
        let order = [
            "format",
            "run",
            "arms",
            "accounting",
            "estimates",
            "comparisons",
            "drift",
            "gate",
        ];
        let places: Vec<usize> = order
            .iter()
            .map(|key| written.find(&format!("\n  \"{key}\": ")).unwrap())
            .collect();
        assert!(places.is_sorted(), "{places:?}");
    }

    #[test]
    fn what_is_not_finite_is_null() {
        let mut report = fixture::airline();
        report.estimates[0].value = Some(f64::NAN);
        report.estimates[0].high = Some(f64::INFINITY);
        let value: Value = serde_json::from_str(&text(&report)).unwrap();
        assert_eq!(value["estimates"][0]["value"], Value::Null);
        assert_eq!(value["estimates"][0]["high"], Value::Null);
    }

    /// A blended score would need a key of its own; the keys that stand beside the dimensions are
    /// therefore listed here, and a new one has to be argued for.
    #[test]
    fn no_key_holds_a_number_across_dimensions() {
        let value = serde_json::to_value(fixture::airline()).unwrap();
        let top: Vec<&String> = value.as_object().unwrap().keys().collect();
        let mut expected = vec![
            "accounting",
            "arms",
            "comparisons",
            "drift",
            "environment",
            "estimates",
            "format",
            "gate",
            "infrastructure",
            "input_differs",
            "judges",
            "live",
            "notices",
            "preflight",
            "reporting_rules",
            "preferences",
            "robustness",
            "rules",
            "run",
            "screens",
            "stopped",
        ];
        expected.sort_unstable();
        let mut top: Vec<&str> = top.into_iter().map(String::as_str).collect();
        top.sort_unstable();
        assert_eq!(top, expected);
        for table in ["accounting", "estimates", "comparisons", "rules"] {
            for row in value[table].as_array().unwrap() {
                assert!(row["dimension"].is_string(), "{table}: {row}");
            }
        }
        let gate: Vec<&String> = value["gate"].as_object().unwrap().keys().collect();
        assert_eq!(gate.len(), 3, "{gate:?}");
        for rule in value["gate"]["rules"].as_array().unwrap() {
            assert!(rule["dimension"].is_string(), "{rule}");
        }
    }
}
