//! A decision as text for people or JSON for scripts.

use std::collections::BTreeMap;

use super::{event, json, print};
use crate::app::Decided;
use crate::base::Result;
use crate::cli::args::Format;
use crate::cli::wants_json;
use crate::model::estimate::{ComparisonRow, DecisionWord, EstimateRow, EstimateStatus};
use crate::model::report::Report;

/// Prints the decision as the last event of a run and returns the gate's exit code.
pub fn decided_event(done: &Decided) -> Result<u8> {
    event(&serde_json::json!({
        "event": "decided",
        "gate": done.gate(),
        "folder": done.folder,
        "report": done.report,
    }));
    Ok(done.gate().exit_code)
}

/// Prints the decision and returns the gate's exit code.
pub fn decided(done: &Decided, format: Format) -> Result<u8> {
    let gate = done.gate();
    if wants_json(format) {
        json(&done.report)?;
        return Ok(gate.exit_code);
    }
    let mut text = head(&done.report);
    if let Some(first) = done.report.comparisons.first() {
        text.push_str(&format!(
            "{} against {}: candidate − baseline, or × (candidate / baseline), with {:.0} % interval\n",
            first.candidate,
            first.baseline,
            100.0 * first.level
        ));
    }
    for comparison in done
        .report
        .comparisons
        .iter()
        .filter(|c| c.segment.is_none() && !is_idle(&done.report, c))
    {
        text.push_str(&comparison_line(comparison));
    }
    text.push_str(&not_measured(&done.report));
    if gate.result == "none" {
        text.push_str("gate: none; the suite declares no rules, so nothing was decided\n");
    } else {
        for rule in &gate.rules {
            let reason = rule
                .reason
                .as_deref()
                .map(|r| format!(" ({r})"))
                .unwrap_or_default();
            text.push_str(&format!(
                "rule {} {}: {}{reason}\n",
                rule.metric, rule.rule, rule.result
            ));
        }
        text.push_str(&format!(
            "gate: {} (exit code {})\n",
            gate.result, gate.exit_code
        ));
    }
    text.push_str(&format!(
        "report: {}",
        done.folder.join("report.md").display()
    ));
    print(&text)?;
    Ok(gate.exit_code)
}

/// What a reader must know before any number: that the run was stopped, and what was lost.
fn head(report: &Report) -> String {
    let mut text = String::new();
    if let Some(stopped) = &report.stopped {
        text.push_str(&format!("stopped early: {stopped}\n"));
    }
    for row in &report.preflight {
        text.push_str(&format!(
            "arm {} does not answer: {} {}\n",
            row.arm, row.boundary, row.code
        ));
    }
    for lost in report.lost() {
        text.push_str(&format!("lost to infrastructure: {lost}\n"));
    }
    text
}

/// Whether neither arm ever did what a metric counts and nobody asked about it: there is nothing to say.
fn is_idle(report: &Report, row: &ComparisonRow) -> bool {
    let mut rules = report.gate.rules.iter();
    row.value.is_none()
        && row.reason.as_deref() == Some("zero_total")
        && !row.primary
        && !rules.any(|rule| rule.metric == row.metric)
}

fn comparison_line(row: &ComparisonRow) -> String {
    let number = |v: Option<f64>| v.map_or("–".to_owned(), |v| format!("{v:.3}"));
    let sign = if row.contrast == "ratio" { "×" } else { "" };
    let better = if row.direction == "gain" {
        "more is better"
    } else {
        "less is better"
    };
    let reason = row
        .reason
        .as_deref()
        .map(|r| format!(": {}", explained(r, row)));
    let lower = row.notices.iter().any(|code| code == "measurably_lower");
    let lower =
        || lower.then(|| ": measurably worse, not shown to be beyond the margin".to_owned());
    let reason = reason.or_else(lower).unwrap_or_default();
    format!(
        "{:<12} {:<20} {:>8} [{}, {}]  {}{reason}  ({better})\n",
        row.dimension.name(),
        row.metric,
        format!("{sign}{}", number(row.value)),
        number(row.low),
        number(row.high),
        row.decision.name()
    )
}

/// A reason with what can be done about it, where something can.
fn explained(reason: &str, row: &ComparisonRow) -> String {
    let drift = row.notices.iter().any(|notice| notice == "drift");
    match reason {
        "schedule" if drift => "schedule (the arms moved against each other during the run: the report's drift screen says how far)".to_owned(),
        "schedule" => "schedule (the arms did not run alternately; if time of day played no part, declare `schedule: assumed` under `decision`, or give --assume-schedule when the run is made)".to_owned(),
        other => other.to_owned(),
    }
}

/// One line per reason: which metrics were not measured, and in which arms.
///
/// What stands above as not decidable does not stand here too.
fn not_measured(report: &Report) -> String {
    let undecidable = |row: &&EstimateRow| {
        report.comparisons.iter().any(|c| {
            c.dimension == row.dimension
                && c.segment.is_none()
                && c.decision == DecisionWord::NotDecidable
        })
    };
    let mut by_reason: BTreeMap<(&str, Vec<&str>), Vec<&str>> = BTreeMap::new();
    let mut arms_of: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    let rows = report.estimates.iter();
    let unmeasured = rows.filter(|e| e.status == EstimateStatus::NotMeasured);
    for row in unmeasured.filter(|row| !undecidable(row)) {
        let reason = row.reason.as_deref().unwrap_or("");
        arms_of
            .entry((reason, &row.metric))
            .or_default()
            .push(&row.arm);
    }
    for ((reason, metric), arms) in arms_of {
        by_reason.entry((reason, arms)).or_default().push(metric);
    }
    let line = |((reason, arms), metrics): ((&str, Vec<&str>), Vec<&str>)| {
        format!(
            "not measured in {} ({reason}): {}\n",
            arms.join(", "),
            metrics.join(", ")
        )
    };
    by_reason.into_iter().map(line).collect()
}
