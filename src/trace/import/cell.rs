//! Cells of a table, read as what they mean.

use crate::model::measure::Measure;

/// A trial number from 0; `3.0` is 3, as spreadsheets write it.
pub(crate) fn index(text: &str) -> Result<u32, String> {
    let number = number(text).filter(|n| n.fract() == 0.0 && (0.0..4e9).contains(n));
    number
        .map(|n| n as u32)
        .ok_or_else(|| format!("`{}` is not a trial number from 0", shown(text)))
}

/// A value of a measure, in the unit of the column.
pub(crate) fn measure(measure: Measure, text: &str) -> Result<f64, String> {
    match measure {
        Measure::Success | Measure::Conformance | Measure::Reached | Measure::Recovered => {
            rate(text)
        }
        Measure::CostUsd | Measure::LatencyMs => amount(text),
        _ => count(text),
    }
}

/// A truth word, or a number in [0, 1].
fn rate(text: &str) -> Result<f64, String> {
    match text.to_lowercase().as_str() {
        "true" | "pass" | "passed" | "yes" | "success" => return Ok(1.0),
        "false" | "fail" | "failed" | "no" | "failure" => return Ok(0.0),
        _ => {}
    }
    number(text)
        .filter(|n| (0.0..=1.0).contains(n))
        .ok_or_else(|| {
            let what = "true or false, pass or fail, or a number from 0 to 1";
            not(text, what)
        })
}

fn amount(text: &str) -> Result<f64, String> {
    number(text)
        .filter(|n| *n >= 0.0)
        .ok_or_else(|| not(text, "a number from 0"))
}

fn count(text: &str) -> Result<f64, String> {
    number(text)
        .filter(|n| *n >= 0.0 && n.fract() == 0.0)
        .ok_or_else(|| not(text, "a whole number from 0"))
}

/// A finite decimal number; `NaN` and `inf`, which Rust would parse, are no measurements.
fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|n: &f64| n.is_finite())
}

fn not(text: &str, what: &str) -> String {
    format!(
        "`{}` is not {what}; leave the cell empty if it was not measured",
        shown(text)
    )
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}
