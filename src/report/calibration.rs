//! `calibration.md` and `calibration.csv`: a judge's certificate for people and for tables.

use std::io::{self, Write};

use minijinja::value::Serde;
use minijinja::{Value, context};

use super::csv::write_rows;
use super::markdown::{self, interval, number};
use crate::base::Result;
use crate::model::calibration::{Calibration, Measured};

const TEMPLATE: &str = include_str!("../../reports/calibration.md.j2");

/// Changed items that the page lists.
const SHOWN: usize = 20;

/// Writes `calibration.json`: indented, with a newline at the end.
///
/// # Errors
///
/// Whatever `out` reports.
pub fn json(certificate: &Calibration, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, certificate)?;
    out.write_all(b"\n")
}

/// A row as the page prints it.
fn line(row: &Measured) -> Value {
    let mut notes = vec![];
    if let Some(units) = row.units {
        notes.push(format!("{units} units"));
    }
    if let Some(p) = row.p {
        notes.push(format!("p {}", number(p)));
    }
    notes.extend(row.reason.clone());
    let value = Value::from_safe_string(row.value.map_or("–".to_owned(), number));
    let interval = Value::from_safe_string(interval(row.low, row.high, &[]));
    let method = row.method.as_deref().unwrap_or("–");
    context! { name => row.name.clone(), value, interval, items => row.items, method, note => notes.join("; ") }
}

fn lines(rows: &[Measured]) -> Vec<Value> {
    rows.iter().map(line).collect()
}

/// The confusion of all items: counts, or expected counts where truth is a share of labels.
fn confusion(certificate: &Calibration) -> Vec<Value> {
    let Some(all) = certificate.slices.first() else {
        return vec![];
    };
    let counts: Vec<Vec<Value>> = match &all.expected_confusion {
        Some(expected) => expected
            .iter()
            .map(|row| {
                row.iter()
                    .map(|n| Value::from_safe_string(number(*n)))
                    .collect()
            })
            .collect(),
        None => all
            .confusion
            .iter()
            .map(|row| row.iter().map(|n| Value::from(*n)).collect())
            .collect(),
    };
    let levels = certificate.scale.levels.iter().zip(counts);
    levels
        .map(|(level, counts)| context! { level, counts })
        .collect()
}

/// Renders `calibration.md`.
///
/// # Errors
///
/// An I/O error if the built-in template does not fit, which the tests rule out.
pub fn render(certificate: &Calibration) -> Result<String> {
    let safe = |x: f64| Value::from_safe_string(number(x));
    let titled = |title: String, rows: &[Measured]| context! { title, rows => lines(rows) };
    let mut parts = vec![];
    for slice in &certificate.slices {
        let title = match slice.slice.as_str() {
            "all" => "All items".to_owned(),
            other => format!("Only {other}"),
        };
        parts.push(titled(title, &slice.rows));
        if slice.slice == "all" && !certificate.humans.is_empty() {
            parts.push(titled(
                "People among themselves".to_owned(),
                &certificate.humans,
            ));
        }
    }
    for other in &certificate.other_rules {
        parts.push(titled(
            format!("Under another rule: {}", other.slice),
            &other.rows,
        ));
    }
    let first = certificate.slices.first();
    let confusion = confusion(certificate);
    let truth_from = certificate.labels.truth_from.iter();
    let truth_from: Vec<Value> = truth_from
        .map(|(by, items)| context! { by, items })
        .collect();
    let unusable = certificate.verdicts.unusable.iter();
    let unusable: Vec<Value> = unusable
        .map(|(reason, count)| context! { reason, count })
        .collect();
    let people: Vec<Value> = certificate
        .alt_test
        .iter()
        .map(|a| {
            let beaten = if a.beaten { "yes" } else { "no" };
            context! { rater => a.rater.clone(), items => a.items, advantage => safe(a.advantage), p => safe(a.p), beaten }
        })
        .collect();
    let thresholds: Vec<Value> = certificate
        .thresholds
        .iter()
        .map(|t| {
            let reached_text = Value::from_safe_string(t.reached.map_or("–".to_owned(), number));
            context! { reached_text, ..Value::from(Serde(t)) }
        })
        .collect();
    let against = certificate.against.as_ref().map(|a| lines(&a.rows));
    markdown::from_template(
        "calibration.md",
        TEMPLATE,
        context! {
            c => Value::from(Serde(certificate)),
            passed => certificate.result.passed(),
            level => number(100.0 * certificate.level),
            parts,
            confusion,
            soft => first.is_some_and(|s| s.expected_confusion.is_some()),
            truth_from,
            unusable,
            thresholds,
            alt_test => people,
            against,
            shown => SHOWN,
        },
    )
}

/// One row of `calibration.csv` with the slice it belongs to.
pub(super) struct Row<'a> {
    /// Judge.
    pub(super) judge: &'a str,
    /// Slice.
    pub(super) slice: &'a str,
    /// What was measured.
    pub(super) measured: &'a Measured,
}

/// Writes `calibration.csv`: one row per slice and number.
///
/// # Errors
///
/// Whatever `out` reports.
pub fn csv(certificate: &Calibration, out: impl Write) -> io::Result<()> {
    let judge = certificate.judge.as_str();
    let of = |slice: &'_ str, rows: &'_ [Measured]| -> Vec<(String, Measured)> {
        rows.iter().map(|m| (slice.to_owned(), m.clone())).collect()
    };
    let mut rows = vec![];
    for slice in certificate.slices.iter().chain(&certificate.other_rules) {
        rows.extend(of(&slice.slice, &slice.rows));
    }
    rows.extend(of("humans", &certificate.humans));
    if let Some(against) = &certificate.against {
        rows.extend(of("against", &against.rows));
    }
    let rows: Vec<Row> = rows
        .iter()
        .map(|(slice, measured)| Row {
            judge,
            slice,
            measured,
        })
        .collect();
    write_rows(&rows, out)
}
