//! One function per command: configuration in, result out.

pub mod asking;
pub mod calculator;
pub mod calibrate;
pub mod calibrate_live;
pub mod compare;
mod disagreements;
pub mod endpoint;
pub mod evaluate;
pub mod golden;
pub mod grade;
pub mod import;
pub mod init;
pub mod judge;
mod judge_disagreements;
pub mod judge_live;
mod judged;
pub mod label_sample;
pub mod live;
mod live_facts;
mod own_key;
mod pair_disagreements;
mod pair_rows;
mod pair_sample;
mod pairs;
mod preferences;
mod preflight;
pub mod recorded;
pub mod report;
mod resumed;
mod rules_of_report;
pub mod run;
mod short_form;
pub mod show;
pub mod sizing;
pub mod stats;
mod tables;
mod trials;
pub mod validate;
pub mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::base::{Error, Result, TaskId};
use crate::model::arm::{Arm, ArmSpec};
use crate::model::estimate::Gate;
use crate::model::report::Report;
use crate::model::suite::{Suite, Task};
use crate::store::{RunStore, Source};

/// Says a line to whoever watches.
pub type Talk<'a> = dyn FnMut(&str) + 'a;

/// What a deciding command did.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The report.
    pub report: Report,
    /// The folder that holds it.
    pub folder: PathBuf,
    /// Whether two arms were named, so that something could be compared.
    pub compared: bool,
}

impl Decided {
    /// The gate.
    pub fn gate(&self) -> &Gate {
        &self.report.gate
    }
}

/// The suite on disk from which a run was planned, if it is still there.
///
/// # Errors
///
/// If it was edited since, or cannot be read.
fn suite_of_run(store: &RunStore, named: Option<&Path>) -> Result<Suite> {
    let recorded = match &store.plan_file().source {
        Source::Folder(folder) => Some(folder.as_path()),
        Source::Table => None,
    };
    let stored = store.suite()?;
    let Some(folder) = named.or(recorded.filter(|f| f.exists())) else {
        return Ok(stored);
    };
    let suite = crate::load::suite(folder)?.suite;
    if suite.digest == stored.digest {
        return Ok(stored);
    }
    Err(Error::input(format!(
        "the suite was edited since the run was planned: {}",
        edited(&stored, &suite)
    ))
    .in_file(folder)
    .hint("restore the suite, or start a new run; the stored run was left as it is"))
}
pub mod coverage;

/// Names at most so many edited parts of a suite.
const MOST_NAMED: usize = 5;

/// The keys and tasks in which two versions of a suite differ.
fn edited(was: &Suite, is: &Suite) -> String {
    let members = |suite: &Suite| match serde_json::to_value(&suite.spec) {
        Ok(serde_json::Value::Object(members)) => members,
        _ => Default::default(),
    };
    let (old, new) = (members(was), members(is));
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let keys: Vec<&String> = keys
        .into_iter()
        .filter(|key| old.get(*key) != new.get(*key))
        .collect();
    let of = |suite: &Suite| -> BTreeMap<TaskId, Task> {
        let tasks = suite
            .tasks
            .iter()
            .map(|task| (task.id.clone(), task.clone()));
        tasks.collect()
    };
    let (old, new) = (of(was), of(is));
    let ids: BTreeSet<&TaskId> = old.keys().chain(new.keys()).collect();
    let tasks = ids
        .into_iter()
        .filter_map(|id| match (old.get(id), new.get(id)) {
            (Some(was), Some(is)) if was == is => None,
            (Some(_), Some(_)) => Some(format!("task `{id}`")),
            (Some(_), None) => Some(format!("task `{id}` is gone")),
            _ => Some(format!("task `{id}` is new")),
        });
    // What the suite expects is merged into every task.
    let of_all = keys
        .iter()
        .any(|key| ["expect", "faults"].contains(&key.as_str()));
    let mut parts: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    parts.extend(tasks.filter(|_| !of_all));
    let more = parts.len().saturating_sub(MOST_NAMED);
    parts.truncate(MOST_NAMED);
    match (parts.is_empty(), more) {
        (true, _) => "the order of its tasks".to_owned(),
        (_, 0) => parts.join(", "),
        _ => format!("{} and {more} more", parts.join(", ")),
    }
}

/// The arms of a run; of imported ones only what the plan holds is known.
fn arms_of_run(store: &RunStore) -> Result<Vec<Arm>> {
    if let Some((arms, _)) = store.remembered_arms()? {
        return Ok(arms);
    }
    store
        .plan()
        .body
        .arms
        .iter()
        .map(|arm| {
            let spec = serde_json::json!({"kind": "recorded", "path": "", "model": arm.model});
            let spec: ArmSpec =
                serde_json::from_value(spec).map_err(|e| Error::io(e.to_string()))?;
            Ok(Arm::new(arm.id.clone(), spec, None))
        })
        .collect()
}
