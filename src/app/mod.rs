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

use std::path::{Path, PathBuf};

use crate::base::{Error, Result};
use crate::model::arm::{Arm, ArmSpec};
use crate::model::estimate::Gate;
use crate::model::report::Report;
use crate::model::suite::Suite;
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
    Err(
        Error::input("the suite was edited since the run was planned")
            .in_file(folder)
            .hint("restore the suite, or start a new run; the stored run was left as it is"),
    )
}
pub mod coverage;

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
