//! What was hidden from judges, per arm and name, for the report.

use std::collections::BTreeMap;

use serde::Serialize;

use super::names::NameKind;
use super::scrub::Edit;
use crate::base::ArmId;

/// How often a name or the ids of an arm's trials were hidden.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HiddenRow {
    /// Arm in whose trials it stood.
    pub arm: String,
    /// What it names: `arm`, `model`, `host`, `listed`, `vendor`, `family`; `id` for ids.
    pub kind: String,
    /// The name; empty for ids.
    pub name: String,
    /// Occurrences.
    pub times: u64,
    /// Trials in which it stood.
    pub trials: u64,
}

/// Counts what was hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HiddenCount {
    counts: BTreeMap<(ArmId, Option<NameKind>, String), (u64, u64)>,
}

impl HiddenCount {
    /// Counts one trial of an arm.
    pub fn add(&mut self, arm: &ArmId, edits: &[Edit]) {
        let mut of_trial: BTreeMap<(Option<NameKind>, String), u64> = BTreeMap::new();
        for edit in edits {
            let name = edit.name.clone().unwrap_or_default();
            *of_trial.entry((edit.kind, name)).or_default() += 1;
        }
        for ((kind, name), times) in of_trial {
            let count = self.counts.entry((arm.clone(), kind, name)).or_default();
            count.0 += times;
            count.1 += 1;
        }
    }

    /// The counts by arm, kind and name.
    pub fn rows(&self) -> Vec<HiddenRow> {
        let rows = self.counts.iter();
        rows.map(|((arm, kind, name), (times, trials))| HiddenRow {
            arm: arm.to_string(),
            kind: kind.map_or("id", NameKind::name).to_owned(),
            name: name.clone(),
            times: *times,
            trials: *trials,
        })
        .collect()
    }
}
