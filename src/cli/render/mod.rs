//! Results as text for people or JSON for scripts.

mod decided;
mod golden;
mod sizing;

use std::io::Write;

use serde::Serialize;

use super::args::Format;
use super::wants_json;
use crate::app::calculator;
use crate::app::coverage::{self, CellResult};
use crate::app::import::Imported;
use crate::app::show::Shown;
use crate::base::{Error, Result};
use crate::load::Validation;
use crate::store::Verification;
pub use decided::{decided, decided_event};
pub use golden::golden;
pub use sizing::sizing;

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

/// Prints where an endpoint listens, in one line.
pub fn listening(address: std::net::SocketAddr, format: Format) -> Result<()> {
    if wants_json(format) {
        let line = serde_json::json!({"listening": format!("http://{address}")});
        return print(&line.to_string());
    }
    print(&format!("listening on http://{address}"))
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

/// How many of a thing, in words.
fn counted(count: usize, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        _ => format!("{count} {thing}s"),
    }
}

/// Prints every problem; exit code 2 if there are any.
pub fn problems(found: &Validation, format: Format) -> Result<u8> {
    let code = if found.problems.is_empty() { 0 } else { 2 };
    if wants_json(format) {
        let problems: Vec<_> = found.problems.iter().map(problem).collect();
        json(&serde_json::json!({
            "suites": found.suites, "tasks": found.tasks, "arms": found.arms, "judges": found.judges,
            "scripts": found.scripts, "labels": found.labels, "traces": found.traces,
            "problems": problems, "notices": found.notices,
        }))?;
        return Ok(code);
    }
    let mut text: String = found.problems.iter().map(|p| format!("{p}\n")).collect();
    text.extend(found.notices.iter().map(|n| format!("note: {n}\n")));
    let traces = match found.traces {
        1 => "1 trace file or folder".to_owned(),
        more => format!("{more} trace files or folders"),
    };
    text.push_str(&format!(
        "{}, {}, {}, {}, {}, {}, {traces}: {}",
        counted(found.suites, "suite"),
        counted(found.tasks, "task"),
        counted(found.arms, "arm"),
        counted(found.judges, "judge"),
        counted(found.scripts, "script"),
        counted(found.labels, "label set"),
        counted(found.problems.len(), "problem")
    ));
    print(&text)?;
    Ok(code)
}

fn problem(error: &Error) -> serde_json::Value {
    serde_json::json!({
        "message": error.message(), "file": error.file(), "line": error.line(), "hints": error.hints(),
    })
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
    let attempts = match found.attempts {
        0 => String::new(),
        1 => ", 1 attempt that was run again".to_owned(),
        more => format!(", {more} attempts that were run again"),
    };
    let mismatches = match found.mismatches.len() {
        1 => "1 mismatch".to_owned(),
        more => format!("{more} mismatches"),
    };
    text.push_str(&format!(
        "{}{attempts} and {}: {mismatches}",
        counted(found.trials as usize, "trial"),
        counted(found.events as usize, "event"),
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
