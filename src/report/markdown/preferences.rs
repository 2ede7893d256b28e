//! What pairwise judges said, for a reader with two minutes: who won, by how much, whether that may be
//! believed, and what the order of the outputs did.

use minijinja::Value;
use serde::Serialize;

use super::number::{difference, interval, number, percent};
use super::view::Lookup;
use super::{safe, words};
use crate::model::estimate::{ComparisonRow, EstimateStatus};
use crate::model::measure::Dimension;
use crate::model::preference::{PreferenceCounts, PreferenceRow, ShareRow};

/// One judge's preferences.
#[derive(Serialize)]
pub(super) struct PreferenceLines {
    judge: String,
    baseline: String,
    candidate: String,
    counts: PreferenceCounts,
    /// The judge's own preference with its interval.
    own: Value,
    /// The level of its interval.
    level: String,
    p_sign_flip: Option<Value>,
    tasks: u64,
    /// What labels make of it, or why nothing is known.
    word: Option<String>,
    corrected: Option<Value>,
    labelled: u64,
    /// Whether the judge has a certificate that holds.
    certified: bool,
    why: String,
    missing: String,
    worst: Option<Value>,
    consistency: Value,
    place: Option<Value>,
}

/// All pairwise judges of the report.
pub(super) fn preferences(lookup: &Lookup<'_>) -> Vec<PreferenceLines> {
    let rows = lookup.report.preferences.iter();
    rows.map(|row| lines(lookup, row)).collect()
}

fn lines(lookup: &Lookup<'_>, row: &PreferenceRow) -> PreferenceLines {
    let compared = lookup.compared(Dimension::Quality, &row.metric).next();
    let known = compared.filter(|c| c.value.is_some());
    PreferenceLines {
        judge: row.judge.clone(),
        baseline: row.baseline.clone(),
        candidate: row.candidate.clone(),
        counts: row.counts.clone(),
        own: safe(with_limits(row.value, row.low, row.high)),
        level: percent(row.level),
        p_sign_flip: row.p_sign_flip.map(|p| safe(number(p))),
        tasks: row.tasks,
        word: known.map(|c| words::decision(c.decision)),
        corrected: known.map(|c| safe(with_limits(c.value, c.low, c.high))),
        labelled: row.labelled,
        certified: row.calibration.is_some() && row.status != EstimateStatus::Uncalibrated,
        why: why(row, compared),
        missing: missing(&row.counts),
        worst: row
            .worst
            .zip(row.best)
            .map(|([low, _], [_, high])| safe(interval(Some(low), Some(high), &[]))),
        consistency: safe(share(&row.consistency)),
        place: (row.first_place.of > 0).then(|| {
            let p = row.p_first_place.map(number).unwrap_or_default();
            safe(format!("{}, p {p}", share(&row.first_place)))
        }),
    }
}

fn with_limits(value: Option<f64>, low: Option<f64>, high: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) => format!("{} {}", difference(value), interval(low, high, &[])),
    }
}

/// `90 of 100 (.9000 [.8238, .9510])`, or a dash.
fn share(row: &ShareRow) -> String {
    let Some(value) = row.value else {
        return "–".to_owned();
    };
    let limits = interval(row.low, row.high, &[]);
    format!("{} of {} ({} {limits})", row.count, row.of, number(value))
}

/// Why people's preference is not known or decides nothing; empty where it does.
fn why(row: &PreferenceRow, compared: Option<&ComparisonRow>) -> String {
    let status = words::status(row.status);
    let reason = row.reason.as_deref().map(words::reason);
    let reason = reason.or_else(|| {
        let reason = compared?.reason.as_deref()?;
        Some(words::reason(reason))
    });
    match (row.status, reason) {
        (EstimateStatus::Ok, None) => String::new(),
        (EstimateStatus::Ok, Some(reason)) => reason,
        (_, Some(reason)) => format!("{status}: {reason}"),
        (_, None) => status.to_owned(),
    }
}

/// What is missing of the planned pairs: `3 unparsable, 1 trial lost`, or empty.
fn missing(counts: &PreferenceCounts) -> String {
    let unusable = counts
        .unusable
        .iter()
        .map(|(why, n)| (words::plain(why), *n));
    let others = [
        ("with a trial lost to infrastructure", counts.trial_lost),
        ("not judged", counts.not_judged),
    ];
    let others = others.map(|(why, n)| (why.to_owned(), n));
    let parts: Vec<String> = unusable
        .chain(others)
        .filter(|(_, n)| *n > 0)
        .map(|(why, n)| format!("{n} {why}"))
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use crate::report::fixture;
    use crate::report::markdown::render;

    #[test]
    fn a_reader_sees_who_won_and_that_nothing_is_decided() {
        let mut report = fixture::airline();
        report.preferences = vec![fixture::preference()];
        let page = render(&report, &[]).unwrap();
        let at = page.find("### Quality: llama").unwrap();
        let section = page[at..].split("\n## ").next().unwrap();
        for wanted in [
            "| 47 of 50 | 20 | 7 | 8 | 12 | 2 unparsable, 1 with a trial lost to infrastructure |",
            "Not known what people prefer",
            "no certificate",
            "+.2500 [.0500,\u{a0}.4500]",
            "Whatever the missing pairs held: [−.0100,\u{a0}.5000]",
            "both orders got the same answer in 35 of 47 (.7447 [.5000,\u{a0}.9000])",
            "no effect of the place to measure",
        ] {
            assert!(section.contains(wanted), "{wanted}\n{section}");
        }
        assert!(!section.contains("<b>"), "{section}");
    }
}
