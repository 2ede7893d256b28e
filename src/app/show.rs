//! `assize show`: one trial with its grades and events.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::suite_of_run;
use crate::base::{ArmId, Error, Result, TaskId};
use crate::grade::Grader;
use crate::load::nearest;
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
        .ok_or_else(|| absent(&store, command))?;
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
    let events = stored.trace.map(|t| t.events).unwrap_or_default();
    for wanted in &command.events {
        if !events.iter().any(|e| e.sequence == *wanted) {
            return Err(no_event(*wanted, &events, &command.run));
        }
    }
    let wanted = |e: &Event| command.events.is_empty() || command.events.contains(&e.sequence);
    Ok(Shown {
        trial: stored.trial,
        grades: graded.grades,
        scores: graded.scores,
        events: events.into_iter().filter(wanted).collect(),
    })
}

fn no_event(wanted: u64, events: &[Event], run: &Path) -> Error {
    let hint = match (events.first(), events.last()) {
        (Some(first), Some(last)) => {
            format!(
                "its events are numbered {} to {}",
                first.sequence, last.sequence
            )
        }
        _ => "it has no events".to_owned(),
    };
    Error::input(format!("the trial has no event {wanted}"))
        .in_file(run)
        .hint(hint)
}

/// Why there is no such trial: the arm, the task or the number is not one of the run.
fn absent(store: &RunStore, command: &ShowCommand) -> Error {
    let plan = store.plan();
    let arms: Vec<&str> = plan.body.arms.iter().map(|a| a.id.as_str()).collect();
    let tasks: Vec<&str> = plan.body.tasks.iter().map(|t| t.id.as_str()).collect();
    let (arm, task) = (command.arm.as_str(), command.task.as_str());
    let (what, hint) = if !arms.contains(&arm) {
        let hint = nearest::hint(arm, arms.iter().copied(), "arms");
        (format!("the run has no arm `{arm}`"), hint)
    } else if !tasks.contains(&task) {
        let hint = nearest::hint(task, tasks.iter().copied(), "tasks");
        (format!("the run has no task `{task}`"), hint)
    } else {
        let what = format!(
            "nothing is stored of trial {} of this arm and task",
            command.trial
        );
        let hint = "trials are numbered from 0; those of the run stand in trials.csv of the report";
        (what, hint.to_owned())
    };
    Error::input(what).in_file(&command.run).hint(hint)
}
