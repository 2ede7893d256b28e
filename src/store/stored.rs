//! Which trials are stored, for runs that go on where they stopped.

use std::collections::{HashMap, HashSet};

use super::{RunStore, sql};
use crate::base::{ArmId, Result, TaskId};
use crate::model::trial::Boundary;

/// The trials that need not run again; 12 bytes per trial.
#[derive(Clone, Debug, Default)]
pub struct StoredTrials {
    arms: HashMap<ArmId, u32>,
    tasks: HashMap<TaskId, u32>,
    trials: HashSet<(u32, u32, u32)>,
}

impl StoredTrials {
    /// Whether a trial is stored.
    pub fn contains(&self, arm: &ArmId, task: &TaskId, index: u32) -> bool {
        match (self.arms.get(arm), self.tasks.get(task)) {
            (Some(&arm), Some(&task)) => self.trials.contains(&(arm, task, index)),
            _ => false,
        }
    }

    /// Number of trials.
    pub fn len(&self) -> usize {
        self.trials.len()
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }
}

impl RunStore {
    /// The stored trials that stay when the run goes on: all but those that were cancelled.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn stored_trials(&self) -> Result<StoredTrials> {
        self.stored_trials_but(&[Boundary::Cancelled])
    }

    /// The stored trials but those that broke at one of these boundaries, which are to run again.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn stored_trials_but(&self, again: &[Boundary]) -> Result<StoredTrials> {
        let mut stored = StoredTrials {
            arms: self.names("SELECT arm, name FROM arms", ArmId::new)?,
            tasks: self.names("SELECT task, name FROM tasks", TaskId::new)?,
            trials: HashSet::new(),
        };
        let mut select = self
            .db
            .prepare("SELECT arm, task, idx, boundary FROM current")
            .map_err(sql)?;
        let mut rows = select.query([]).map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            let boundary = row.get_ref(3).map_err(sql)?;
            let boundary = boundary.as_str_or_null().ok().flatten();
            if !again.iter().any(|b| Some(b.name()) == boundary) {
                let key = |column| row.get::<_, u32>(column).map_err(sql);
                stored.trials.insert((key(0)?, key(1)?, key(2)?));
            }
        }
        Ok(stored)
    }

    fn names<K: Eq + std::hash::Hash>(
        &self,
        select: &str,
        id: impl Fn(String) -> K,
    ) -> Result<HashMap<K, u32>> {
        let mut select = self.db.prepare(select).map_err(sql)?;
        let rows = select
            .query_map([], |r| Ok((id(r.get(1)?), r.get(0)?)))
            .map_err(sql)?;
        rows.map(|row| row.map_err(sql)).collect()
    }
}
