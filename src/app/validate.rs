//! `assize validate` and `assize schema`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::recorded::{self, ReadOptions, read_trials};
use crate::base::{Error, Result, TaskId};
use crate::load::recorded::traces_in;
use crate::load::{self, Validation};
use crate::model::arm::{ArmSpec, ScriptedArm};
use crate::model::suite::Suite;
use crate::model::trial::RecordedTrial;

/// Problems of one recording that are listed; more of them are mostly the same again.
const MOST: usize = 20;

/// Lists every problem of suites, arms, tasks and traces; of suites in which nothing else is wrong,
/// also those of the recordings of their arms.
pub fn validate(paths: &[PathBuf]) -> Validation {
    let mut found = load::validate(paths, &trace_problems);
    for dir in found.sound.clone() {
        recordings(&dir, &mut found);
    }
    found
}

fn recordings(dir: &Path, found: &mut Validation) {
    let arms_file = dir.join("arms.yaml");
    if !arms_file.exists() {
        return;
    }
    let loaded = load::suite(dir).and_then(|suite| {
        let arms = load::arms(&arms_file, &load::recorded::content_digest)?;
        Ok((suite.suite, arms))
    });
    let (suite, arms) = match loaded {
        Ok(loaded) => loaded,
        Err(error) => return found.problems.push(error),
    };
    for arm in &arms {
        let recorded = match &arm.spec {
            ArmSpec::Recorded(recorded) => recorded,
            ArmSpec::Scripted(scripted) => {
                found.problems.extend(script_problems(scripted, dir));
                continue;
            }
            ArmSpec::Chat(_) => continue,
        };
        found.traces += 1;
        let options = recorded::of_arm(&suite, recorded, false);
        let planned = recorded.trials.unwrap_or(suite.spec.trials);
        let problems = recording(&suite, &dir.join(&recorded.path), &options, planned);
        found.problems.extend(problems);
    }
}

/// The problems of a scripted arm: those of its script, or a model that the script does not have.
fn script_problems(arm: &ScriptedArm, dir: &Path) -> Vec<Error> {
    let file = dir.join(&arm.script);
    let script = match load::script(&file) {
        Ok(script) => script,
        Err(error) => return vec![error],
    };
    if script.models.contains_key(&arm.model) {
        return vec![];
    }
    let known: Vec<&str> = script.models.keys().map(String::as_str).collect();
    let problem = Error::input(format!("the script has no model `{}`", arm.model));
    vec![
        problem
            .in_file(file)
            .hint(format!("it has {}", known.join(", "))),
    ]
}

/// The problems of one arm's recording: what breaks its format, unknown tasks, trials that come twice
/// or that nobody planned.
fn recording(suite: &Suite, path: &Path, options: &ReadOptions, planned: u32) -> Vec<Error> {
    let mut problems = Vec::new();
    let mut seen: HashMap<TaskId, Vec<Option<u32>>> = HashMap::new();
    let read = read_trials(path, options, &mut |trial| {
        let problem = |text: String| Error::input(text).at(path, trial.place);
        problems.extend(truncation(path, &trial));
        if suite.task(&trial.task).is_none() {
            problems.push(problem(format!(
                "task `{}` is not in the suite",
                trial.task
            )));
        }
        let of_task = seen.entry(trial.task.clone()).or_default();
        if trial.index.is_some() && of_task.contains(&trial.index) {
            problems.push(problem(format!(
                "two trials with one id: task `{}`",
                trial.task
            )));
        }
        of_task.push(trial.index);
        if of_task.len() as u64 == u64::from(planned) + 1 {
            let text = format!(
                "task `{}` has more than the {planned} planned trials",
                trial.task
            );
            problems.push(problem(text).hint("set the arm's `trials` in arms.yaml"));
        }
        Ok(())
    });
    problems.extend(read.err());
    problems.truncate(MOST);
    problems
}

/// The JSON Schema of a file format.
///
/// # Errors
///
/// If there is no format with this name.
pub fn schema(name: &str) -> Result<Value> {
    load::schema(name).ok_or_else(|| {
        Error::input(format!("no schema `{name}`"))
            .hint(format!("there are {}", load::SCHEMAS.join(", ")))
    })
}

/// The first problem of a file or folder of traces: what follows a broken record cannot be trusted.
fn trace_problems(path: &Path) -> Vec<Error> {
    let files = match traces_in(path) {
        Ok(files) => files,
        Err(error) => return vec![error],
    };
    let options = ReadOptions::new(None, false);
    let mut problems = Vec::new();
    for file in &files {
        let read = read_trials(file, &options, &mut |trial| {
            problems.extend(truncation(file, &trial));
            Ok(())
        });
        problems.extend(read.err());
    }
    problems
}

/// A trace that is not whole is infrastructure when it is imported; here it is a problem to mend.
fn truncation(path: &Path, trial: &RecordedTrial) -> Option<Error> {
    let why = trial.trace.as_ref()?.truncated.as_ref()?;
    Some(
        Error::input(format!(
            "the trace of task `{}` is not whole: {why}",
            trial.task
        ))
        .at(path, trial.place)
        .hint("imported, the trial is an infrastructure error (trace), never the agent's"),
    )
}
