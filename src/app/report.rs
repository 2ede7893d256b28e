//! `assize report`: the report of a run, from what is stored.

use std::path::{Path, PathBuf};

use super::evaluate::Evaluation;
use super::{Decided, Talk, disagreements, judge_disagreements, pair_disagreements, pair_rows};
use crate::base::{Error, ErrorKind, Result};
use crate::compare::gate::GateResult;
use crate::plan::PlanOptions;
use crate::report;
use crate::store::{FileFolder, RunStore};

/// Writes the report of a run again.
///
/// # Errors
///
/// If there is no run, or files fail.
pub fn report(run: &Path, talk: &mut Talk) -> Result<Decided> {
    let store = RunStore::open(run)?;
    if let Err(edited) = super::suite_of_run(&store, None) {
        talk(&format!(
            "note: {}; this report is made from the suite as it was",
            edited.message()
        ));
    }
    let folder = store.dir().join("report");
    write(vec![&store], &PlanOptions::default(), folder, talk)
}

/// Evaluates one or two runs and writes every file of the report. If arms did not answer when a run was to
/// begin or to go on, the gate says `infrastructure`, whatever the rules say of what is stored.
///
/// # Errors
///
/// If a store is damaged, a chosen arm is absent, or files fail.
pub fn write(
    stores: Vec<&RunStore>,
    choices: &PlanOptions,
    folder: PathBuf,
    talk: &mut Talk,
) -> Result<Decided> {
    let evaluation = Evaluation::new(stores, choices)?;
    let failures = evaluation.failures()?;
    let mut report = evaluation.report(&failures).map_err(damaged)?;
    for store in &evaluation.stores {
        report.preflight.extend(store.unanswered()?);
    }
    if !report.preflight.is_empty() {
        let infrastructure = GateResult::Infrastructure;
        report.gate.result = infrastructure.as_str().to_owned();
        report.gate.exit_code = infrastructure.exit_code();
        if let Some(stopped) = &mut report.stopped {
            stopped.by = Some("an arm did not answer before it began".to_owned());
        }
    }
    let samples = disagreements::samples(&evaluation)?;
    let mut judged = judge_disagreements::samples(&evaluation)?;
    judged.extend(pair_disagreements::samples(&evaluation)?);
    let files = FileFolder::create(&folder)?;
    files.write("report.json", |out| report::json::write(&report, out))?;
    let markdown = report::markdown::render(&report, &samples)?;
    files.write("report.md", |out| out.write_all(markdown.as_bytes()))?;
    files.write("estimates.csv", |out| {
        report::csv::estimates(&report.estimates, out)
    })?;
    files.write("comparisons.csv", |out| {
        report::csv::comparisons(&report.comparisons, out)
    })?;
    files.write("accounting.csv", |out| {
        report::csv::accounting(&report.accounting, out)
    })?;
    files.write("failures.csv", |out| report::csv::failures(&failures, out))?;
    files.write("disagreements.csv", |out| {
        report::csv::disagreements(&samples, out)
    })?;
    // A run without judges has no judges that disagree, and no empty files that say so.
    if !report.judges.is_empty() {
        files.write("judges.csv", |out| report::csv::judges(&report.judges, out))?;
    }
    if !judged.is_empty() {
        files.write("judge_disagreements.csv", |out| {
            report::csv::judge_disagreements(&judged, out)
        })?;
        let text = report::markdown::judge_disagreements(&judged)?;
        files.write("judge_disagreements.md", |out| {
            out.write_all(text.as_bytes())
        })?;
        let json = serde_json::to_string_pretty(&judged).map_err(|e| Error::io(e.to_string()))?;
        files.write("judge_disagreements.json", |out| {
            out.write_all(json.as_bytes())
        })?;
    }
    let pairs = pair_rows::rows(&evaluation)?;
    if !pairs.is_empty() {
        files.write("pairs.csv", |out| report::csv::pairs(&pairs, out))?;
    }
    super::trials::write(&evaluation, &files)?;
    evaluation.stores[0].note_report(&files)?;
    talk(&format!("report in {}", folder.display()));
    Ok(Decided {
        report,
        folder,
        compared: evaluation.roles().is_some(),
    })
}

/// What the statistics refuse as input was read from the store, so the store is at fault.
fn damaged(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Input => Error::refused(format!(
            "the run holds impossible scores: {}",
            error.message()
        ))
        .hint("`assize verify RUN` lists what does not match; `assize grade RUN` grades again"),
        _ => error,
    }
}
