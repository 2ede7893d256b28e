//! `assize show`: one trial with its grades and events.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::suite_of_run;
use crate::base::{ArmId, Error, Result, TaskId};
use crate::grade::Grader;
use crate::model::grade::{Grade, Score};
use crate::model::trace::Event;
use crate::model::trial::Trial;
use crate::store::RunStore;

/// Which trial to show.
#[derive(Clone, Debug)]
pub struct ShowCommand {
    /// Run folder.
    pub run: PathBuf,
    /// Arm.
    pub arm: ArmId,
    /// Task.
    pub task: TaskId,
    /// Trial number.
    pub trial: u32,
    /// Only these events; empty for all.
    pub events: Vec<u64>,
}

/// A trial with what was found in it.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// The trial.
    pub trial: Trial,
    /// One grade per rule.
    pub grades: Vec<Grade>,
    /// What was measured.
    pub scores: Vec<Score>,
    /// Its events, as stored.
    pub events: Vec<Event>,
}

/// Finds one trial and grades it from its evidence.
///
/// # Errors
///
/// If there is no such run or trial.
pub fn show(command: &ShowCommand) -> Result<Shown> {
    let store = RunStore::open(&command.run)?;
    let suite = suite_of_run(&store, None).or_else(|_| store.suite())?;
    let stored = store
        .trial(&command.arm, &command.task, command.trial)?
        .ok_or_else(|| absent(&store, &command.run, &command.arm))?;
    let grader = Grader::new(&suite)?;
    let graded = grader
        .task(&command.task)
        .map(|task| {
            task.grade(
                &stored.trial.status,
                &stored.trial.recorded,
                stored.trace.as_ref(),
            )
        })
        .unwrap_or_default();
    let wanted = |e: &Event| command.events.is_empty() || command.events.contains(&e.sequence);
    let events = stored.trace.map(|t| t.events).unwrap_or_default();
    Ok(Shown {
        trial: stored.trial,
        grades: graded.grades,
        scores: graded.scores,
        events: events.into_iter().filter(wanted).collect(),
    })
}

fn absent(store: &RunStore, run: &Path, arm: &ArmId) -> Error {
    let plan = store.plan();
    let arms: Vec<String> = plan
        .body
        .arms
        .iter()
        .map(|a| format!("`{}`", a.id))
        .collect();
    let hint = if plan.arm(arm).is_none() {
        format!("the run holds the arms {}", arms.join(", "))
    } else {
        "task ids and trial numbers stand in trials.csv and failures.csv of the report".to_owned()
    };
    Error::input("the run holds no such trial")
        .in_file(run)
        .hint(hint)
}
