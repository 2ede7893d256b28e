//! What may differ when a run is gone on with, and what is said of it: the plan is locked.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::base::{ArmId, Digest, Error, Result};
use crate::load;
use crate::model::arm::Arm;
use crate::store::RunStore;

/// Refuses another number of trials per task than the plan's.
///
/// # Errors
///
/// If one is asked for.
pub(super) fn same_trials(store: &RunStore, asked: Option<u32>) -> Result<()> {
    let plan = store.plan();
    let arms = &plan.body.arms;
    let Some((asked, arm)) = asked.and_then(|k| Some((k, arms.iter().find(|a| a.trials != k)?)))
    else {
        return Ok(());
    };
    Err(Error::input(format!(
        "`-k {asked}` (or ASSIZE_TRIALS) asks for other trials per task than the run's locked plan: arm `{}` has {}",
        arm.id, arm.trials
    ))
    .in_file(store.dir())
    .hint("leave `-k` out to go on, or start a new run; the stored run was left as it is"))
}

/// Refuses another suite than that of the run; `named` is empty if none was named.
///
/// # Errors
///
/// If another one is named.
pub(super) fn same_suite(planned: &Path, named: &Path) -> Result<()> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| load::absolute(path));
    if named.as_os_str().is_empty() || real(planned) == real(named) {
        return Ok(());
    }
    Err(
        Error::input("the run was planned from another suite folder than this")
            .in_file(named)
            .hint(format!(
                "leave it out, or name {}; the stored run was left as it is",
                planned.display()
            )),
    )
}

/// How the arms of a file differ from those that a run goes on with, a sentence for each.
pub(super) fn edited_arms(stored: &[Arm], file: &Path) -> Vec<String> {
    let place = file.display();
    // What arms recorded or script is compared by its bytes elsewhere.
    let unread = |_: &Path| Ok(Digest::of_bytes(&[]));
    let written = match load::arms(file, &unread) {
        Ok(written) => written,
        Err(_) => {
            return vec![format!(
                "{place} cannot be read any more; the run goes on with the arms that it stored"
            )];
        }
    };
    let ids = stored.iter().chain(&written).map(|arm| &arm.id);
    let difference = |id: &ArmId| {
        let of = |arms: &[Arm]| arms.iter().find(|arm| arm.id == *id).cloned();
        let what = match (of(stored), of(&written)) {
            (Some(was), Some(is)) if was.spec == is.spec => return None,
            (Some(was), Some(is)) => format!("{} of arm `{id}` was edited", changed(&was, &is)),
            (Some(_), None) => format!("arm `{id}` is gone"),
            _ => format!("arm `{id}` is new"),
        };
        Some(format!(
            "in {place} {what} since the run was planned; the run goes on with the arms that it stored, start a new run for others"
        ))
    };
    ids.collect::<BTreeSet<_>>()
        .into_iter()
        .filter_map(difference)
        .collect()
}

/// The keys of an arm that changed.
fn changed(was: &Arm, is: &Arm) -> String {
    let members = |arm: &Arm| match serde_json::to_value(&arm.spec) {
        Ok(Value::Object(members)) => members,
        _ => Default::default(),
    };
    let (was, is) = (members(was), members(is));
    let keys: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let differ = keys.into_iter().filter(|key| was.get(*key) != is.get(*key));
    let names: Vec<String> = differ.map(|key| format!("`{key}`")).collect();
    names.join(", ")
}
