//! Results as text for people or JSON for scripts.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use super::args::Format;
use super::wants_json;
use crate::app::Decided;
use crate::app::calculator;
use crate::app::coverage::{self, CellResult};
use crate::app::golden::{CheckedTrace, Golden};
use crate::app::import::Imported;
use crate::app::show::Shown;
use crate::app::sizing::{Design, Sizing, TrialCost};
use crate::base::{Error, Result};
use crate::load::Validation;
use crate::model::estimate::{ComparisonRow, DecisionWord, EstimateRow, EstimateStatus};
use crate::model::report::Report;
use crate::store::Verification;

/// Says a line to whoever watches.
pub fn talk(line: &str) {
    // Nobody may be listening; that is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints an error with its parts and hints.
pub fn error(error: &Error) {
    let mut text = String::from("error: ");
    text.push_str(&error.to_string());
    talk(&text);
}

/// Prints a text to stdout.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        // A reader that stopped reading (`| head`) has what it wanted.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(Error::io(format!("cannot write to stdout: {e}"))),
        Ok(()) => Ok(()),
    }
}

/// Prints a value as JSON.
pub fn json(value: &impl Serialize) -> Result<()> {
    print(&serde_json::to_string_pretty(value).map_err(|e| Error::io(e.to_string()))?)
}

/// Prints an event of a run as one line of JSON.
pub fn event(event: &impl Serialize) {
    // A reader that stopped reading has what it wanted; the run goes on.
    let _ = serde_json::to_string(event).map(|line| print(&line));
}

/// Prints what was made, and what to do with it.
pub fn initialised(made: &crate::app::init::Initialised, format: Format) -> Result<u8> {
    if wants_json(format) {
        json(&serde_json::json!({"files": made.files, "suite": made.suite}))?;
        return Ok(0);
    }
    let mut text = String::new();
    for file in &made.files {
        text.push_str(&format!("{}\n", file.display()));
    }
    text.push_str(&format!("next: assize run {}", made.suite.display()));
    print(&text)?;
    Ok(0)
}

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

/// Prints where an endpoint listens, in one line.
pub fn listening(address: std::net::SocketAddr, format: Format) -> Result<()> {
    if wants_json(format) {
        let line = serde_json::json!({"listening": format!("http://{address}")});
        return print(&line.to_string());
    }
    print(&format!("listening on http://{address}"))
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
        .filter(|c| c.segment.is_none())
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
        let by = stopped.by.as_deref().unwrap_or("its process ended");
        text.push_str(&format!(
            "stopped early: {} of {} trials started; {by}\n",
            stopped.started, stopped.planned
        ));
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
        .map(|r| format!(": {}", explained(r, row)))
        .unwrap_or_default();
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

/// Prints what an import did.
pub fn imported(done: &Imported, format: Format) -> Result<u8> {
    let arms: Vec<&str> = done.arms.iter().map(|a| a.as_str()).collect();
    if wants_json(format) {
        json(&serde_json::json!({
            "run": done.run, "arms": arms, "trials": done.count.read, "new": done.count.new,
        }))?;
        return Ok(0);
    }
    print(&format!(
        "{} trials of {} in {}; `assize compare {}` decides",
        done.count.read,
        arms.join(", "),
        done.run.display(),
        done.run.display()
    ))?;
    Ok(0)
}

/// Prints every problem; exit code 2 if there are any.
pub fn problems(found: &Validation, format: Format) -> Result<u8> {
    let code = if found.problems.is_empty() { 0 } else { 2 };
    if wants_json(format) {
        let problems: Vec<_> = found.problems.iter().map(problem).collect();
        json(&serde_json::json!({
            "suites": found.suites, "tasks": found.tasks, "arms": found.arms, "judges": found.judges,
            "scripts": found.scripts, "labels": found.labels, "traces": found.traces,
            "problems": problems,
        }))?;
        return Ok(code);
    }
    let mut text: String = found.problems.iter().map(|p| format!("{p}\n")).collect();
    text.push_str(&format!(
        "{} suites, {} tasks, {} arms, {} judges, {} scripts, {} label sets, {} trace files or folders: {} problems",
        found.suites,
        found.tasks,
        found.arms,
        found.judges,
        found.scripts,
        found.labels,
        found.traces,
        found.problems.len()
    ));
    print(&text)?;
    Ok(code)
}

fn problem(error: &Error) -> serde_json::Value {
    serde_json::json!({
        "message": error.message(), "file": error.file(), "line": error.line(), "hints": error.hints(),
    })
}

/// Prints a golden command's result; exit code 1 if a check failed.
pub fn golden(done: &Golden, format: Format) -> Result<u8> {
    match done {
        Golden::Checked(results) => checked(results, format),
        Golden::Frozen {
            folder,
            tasks,
            kept,
            missing,
            drafts,
        } => {
            if wants_json(format) {
                json(&serde_json::json!({
                    "folder": folder, "tasks": tasks, "kept": kept, "missing": missing, "drafts": drafts,
                }))?;
                return Ok(0);
            }
            let mut text = format!(
                "{} golden traces frozen in {}",
                tasks.len(),
                folder.display()
            );
            let mut say = |what: &str, names: &[String]| {
                if !names.is_empty() {
                    text.push_str(&format!("\n{what}: {}", names.join(", ")));
                }
            };
            say("kept, since they have a golden trace already", kept);
            say("not frozen, since every trial breaks a rule", missing);
            for draft in drafts {
                text.push_str(&format!(
                    "\ndrafted a contract to look at: {}",
                    draft.display()
                ));
            }
            print(&text)?;
            Ok(0)
        }
    }
}

fn checked(results: &[CheckedTrace], format: Format) -> Result<u8> {
    let failed = results.iter().filter(|r| !r.result.passed()).count();
    let code = u8::from(failed > 0);
    if wants_json(format) {
        json(&serde_json::json!({"failed": failed, "results": results}))?;
        return Ok(code);
    }
    let mut text = String::new();
    for CheckedTrace { file, result } in results {
        let mark = if result.passed() { "PASS" } else { "FAIL" };
        let file = file
            .as_ref()
            .map_or(String::new(), |f| format!(" {}", f.display()));
        let hash = result.path_hash.as_deref().unwrap_or("no trace");
        let drift = if result.passed() && result.drifted {
            " (path differs from the golden trace, as the contract allows)"
        } else {
            ""
        };
        text.push_str(&format!("{mark} {} {hash}{file}{drift}\n", result.task));
        for failure in &result.failures {
            let events: Vec<String> = failure.events.iter().map(u64::to_string).collect();
            let events = if events.is_empty() {
                String::new()
            } else {
                format!(" (events {})", events.join(" "))
            };
            text.push_str(&format!(
                "  - {}: {}{events}\n",
                failure.rule, failure.reason
            ));
        }
    }
    text.push_str(&format!("{} checked, {failed} failed", results.len()));
    print(&text)?;
    Ok(code)
}

/// Prints what verification found; exit code 1 if something does not match.
pub fn verification(found: &Verification, format: Format) -> Result<u8> {
    let code = u8::from(!found.mismatches.is_empty());
    if wants_json(format) {
        json(found)?;
        return Ok(code);
    }
    let mut text: String = found
        .mismatches
        .iter()
        .map(|m| format!("MISMATCH {m}\n"))
        .collect();
    text.push_str(&format!(
        "{} trials and {} events: {} mismatches",
        found.trials,
        found.events,
        found.mismatches.len()
    ));
    print(&text)?;
    Ok(code)
}

/// Prints a coverage table as CSV, with its extremes on stderr.
pub fn coverage(cells: &[CellResult], format: Format) -> Result<u8> {
    if wants_json(format) {
        json(&cells)?;
    } else {
        print(coverage::to_csv(cells)?.trim_end())?;
    }
    if let Some(summary) = coverage::summary(cells) {
        talk(&format!(
            "{} cells: coverage at least {:.4}, mean {:.4}, largest one-sided miss {:.4}, no interval in at most {:.4}",
            summary.cells,
            summary.min_coverage,
            summary.mean_coverage,
            summary.largest_miss,
            summary.most_undefined
        ));
    }
    Ok(0)
}

/// Prints how many tasks and trials a margin needs.
pub fn sizing(found: &Sizing, format: Format) -> Result<u8> {
    if wants_json(format) {
        json(found)?;
        return Ok(0);
    }
    let mut text = format!(
        "{} at margin {}, {:.0} % interval, power {}, assumed loss {}\n",
        found.metric,
        found.margin,
        100.0 * found.level,
        found.power,
        found.assumed_loss
    );
    text.push_str(&variances_line(found));
    found
        .trial_costs
        .iter()
        .for_each(|cost| text.push_str(&trial_cost_line(cost)));
    let line = |d: &Design| {
        let mde = d.mde.map_or("–".to_owned(), |m| format!("{m:.4}"));
        let cost = d.cost.map_or(String::new(), |c| format!(", cost {c:.2}"));
        let bound = if d.at_most { " (at most)" } else { "" };
        format!(
            "{} tasks × {} trials: detectable {mde}, {} trials in both arms{cost}{bound}\n",
            d.tasks, d.trials, d.trials_in_all
        )
    };
    text.push_str(&format!("the suite as it is: {}", line(&found.suite)));
    for design in &found.needed {
        text.push_str(&format!("needed: {}", line(design)));
    }
    if let Some(unknown) = &found.unknown {
        text.push_str(&format!("not known: {unknown}\n"));
    }
    text.push_str(&found.advice);
    print(&text)?;
    Ok(0)
}

fn variances_line(found: &Sizing) -> String {
    let v = &found.variances;
    let part =
        |variance: Option<f64>| variance.map_or("not known".to_owned(), |v| format!("{v:.4}"));
    format!(
        "variances ({}): of the true difference {}, of a trial {} and {}, of the difference of two trials {:.4}\n",
        found.variances_from,
        part(v.difference),
        part(v.within_a),
        part(v.within_b),
        v.one_trial
    )
}

fn trial_cost_line(cost: &TrialCost) -> String {
    let source = match cost.source {
        "prices" => "the pilot's tokens at the prices of the arms file",
        "recorded" => "as the pilot recorded it",
        other => other,
    };
    match cost.baseline.zip(cost.candidate) {
        Some((a, b)) => format!("a trial costs {a:.4} + {b:.4} ({source})\n"),
        None => format!("a trial costs {:.4} in both arms ({source})\n", cost.both),
    }
}

/// Prints the ids of all methods of the calculator.
pub fn methods() -> Result<u8> {
    print(&calculator::METHODS.join("\n"))?;
    Ok(0)
}

/// Prints one trial.
pub fn shown(found: &Shown, format: Format) -> Result<u8> {
    if wants_json(format) {
        json(found)?;
        return Ok(0);
    }
    let trial = &found.trial;
    let mut text = format!(
        "arm {}, task {}, trial {}: {}\n",
        trial.arm, trial.task, trial.index, trial.status
    );
    for grade in &found.grades {
        let events: Vec<String> = grade.events.iter().map(u64::to_string).collect();
        let detail = if grade.detail.is_empty() {
            String::new()
        } else {
            format!(": {}", grade.detail)
        };
        text.push_str(&format!(
            "{:<12} {:<24} {:<15} events {}{detail}\n",
            grade.dimension.name(),
            grade.rule,
            grade.finding.name(),
            events.join(" ")
        ));
    }
    for event in &found.events {
        text.push_str(&serde_json::to_string(event).map_err(|e| Error::io(e.to_string()))?);
        text.push('\n');
    }
    print(text.trim_end())?;
    Ok(0)
}
