//! Writing trials while they run: whole batches, durable when they are reported as stored.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::ledger::Ledger;
use super::row::{self, Hashed, Place, StoredAt};
use super::write::{Stored, dictionary};
use super::{RunStore, read, sql};
use crate::base::{ArmId, Error, Result, TaskId, TrialId};
use crate::model::trial::{Boundary, LiveTrial, Trial, TrialStatus};

/// Pages of the write-ahead log after which it is copied into the database: 32 MB, so that short
/// batches do not pay for a copy each.
const CHECKPOINT_PAGES: i64 = 8_192;

/// Memory for pages of the database, in KiB.
const CACHE_KIB: i64 = 16_384;

/// What became of a trial in a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Put {
    /// Whether it is new.
    pub stored: Stored,
    /// The status that is stored: that of the trial, unless its evidence came out of a cache.
    pub status: TrialStatus,
}

/// Writes the trials of a live run in batches; memory does not grow with their number.
pub struct LiveWriter<'a> {
    db: &'a mut Connection,
    arms: HashMap<ArmId, i64>,
    tasks: HashMap<TaskId, i64>,
    ledger: Ledger,
}

impl RunStore {
    /// Begins to write trials as they end.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn live_writer(&mut self) -> Result<LiveWriter<'_>> {
        let plan = &self.plan.plan;
        let arms = plan.arms.iter().map(|a| a.id.clone());
        let tasks = plan.tasks.iter().map(|t| t.id.clone());
        self.db
            .pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)
            .map_err(sql)?;
        self.db
            .pragma_update(None, "cache_size", -CACHE_KIB)
            .map_err(sql)?;
        let db = self.db.transaction().map_err(sql)?;
        let arms = dictionary(&db, "arms", "arm", arms, ArmId::as_str)?;
        let tasks = dictionary(&db, "tasks", "task", tasks, TaskId::as_str)?;
        db.commit().map_err(sql)?;
        Ok(LiveWriter {
            arms,
            tasks,
            ledger: Ledger::load(&self.db)?,
            db: &mut self.db,
        })
    }
}

impl LiveWriter<'_> {
    /// Stores a batch in one transaction: all of it is durable when this returns, or none of it is
    /// stored. Batches of 64 to 512 trials share the cost of one flush of the disk.
    ///
    /// A response id that any earlier trial of the run had, or that comes twice within a trial, shows
    /// that a cache answered: the trial is stored as `infra(warm_cache, reused_response_id)`. A trial
    /// whose stored predecessor broke on infrastructure takes its place; the predecessor is kept
    /// among the attempts, and its status is added to those of the new one.
    ///
    /// # Errors
    ///
    /// If an arm or task is not planned, if a trial that says something about the agent is stored
    /// already with other evidence, and those of the database.
    pub fn put_batch(&mut self, trials: &[LiveTrial]) -> Result<Vec<Put>> {
        let mut ledger = self.ledger.clone();
        let places: Vec<Place> = trials
            .iter()
            .map(|live| self.place(&live.trial))
            .collect::<Result<_>>()?;
        let db = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(sql)?;
        let mut puts = Vec::with_capacity(trials.len());
        for (live, place) in trials.iter().zip(places) {
            puts.push(put(&db, &mut ledger, place, live)?);
        }
        ledger.save(&db)?;
        db.commit().map_err(sql)?;
        self.ledger = ledger;
        Ok(puts)
    }

    /// Says of a trial that is stored already that it broke on infrastructure, for example because
    /// another trial wrote the same resource. Its evidence and digests stay as they are; wherever the
    /// trial is read it has the new status. Durable when this returns.
    ///
    /// Gives whether anything changed: a trial that is an infrastructure error already keeps its
    /// first cause.
    ///
    /// # Errors
    ///
    /// If no such trial is stored, if the status is no infrastructure error, and those of the
    /// database.
    pub fn amend(&mut self, trial: &TrialId, status: &TrialStatus) -> Result<bool> {
        let TrialStatus::Infra { boundary, code, .. } = status else {
            return Err(Error::input(format!(
                "only infrastructure errors are found out later, not `{status}`"
            )));
        };
        let body = serde_json::to_string(status).map_err(|e| Error::io(e.to_string()))?;
        let db = self.db.transaction().map_err(sql)?;
        // Trials are amended soon after they are stored, so the search from the end is short.
        let select = "SELECT row, boundary FROM current WHERE id = ?1 ORDER BY row DESC LIMIT 1";
        let found: Option<(i64, Option<String>)> = db
            .prepare_cached(select)
            .and_then(|mut s| {
                s.query_row([trial.as_str()], |r| Ok((r.get(0)?, r.get(1)?)))
                    .optional()
            })
            .map_err(sql)?;
        let (row, earlier) = found.ok_or_else(|| {
            Error::input(format!("trial {trial} is not stored and cannot be amended"))
        })?;
        if earlier.is_some() {
            return Ok(false);
        }
        let mut ledger = Ledger::load_amendments(&db)?;
        let insert = "INSERT INTO amendments (trial, id, status, boundary, code, body)
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        db.execute(
            insert,
            params![
                row,
                trial.as_str(),
                status.to_string(),
                boundary.name(),
                code,
                body
            ],
        )
        .map_err(sql)?;
        ledger.step(row, trial.as_str(), &body);
        ledger.save(&db)?;
        db.commit().map_err(sql)?;
        Ok(true)
    }

    fn place(&self, trial: &Trial) -> Result<Place> {
        let arm = self
            .arms
            .get(&trial.arm)
            .ok_or_else(|| Error::input(format!("arm `{}` is not in the plan", trial.arm)))?;
        let task = self
            .tasks
            .get(&trial.task)
            .ok_or_else(|| Error::input(format!("task `{}` is not in the suite", trial.task)))?;
        Ok(Place {
            arm: *arm,
            task: *task,
            index: trial.index,
        })
    }
}

fn put(db: &Connection, ledger: &mut Ledger, place: Place, live: &LiveTrial) -> Result<Put> {
    let earlier = place.stored(db)?;
    let trace = live.trace.as_ref();
    let mut trial = std::borrow::Cow::Borrowed(&live.trial);
    if let Some(earlier) = &earlier {
        if earlier.digest == Hashed::new(&trial, trace)?.digest {
            return Ok(Put {
                stored: Stored::Already,
                status: trial.status.clone(),
            });
        }
        if !earlier.infra {
            return Err(stored_otherwise(&trial));
        }
        let mut attempts = set_aside(db, earlier)?;
        attempts.append(&mut trial.to_mut().attempts);
        trial.to_mut().attempts = attempts;
    }
    if any_reused(db, &live.response_ids)? && trial.status.is_valid() {
        trial.to_mut().status = TrialStatus::infra(Boundary::WarmCache, "reused_response_id", "");
    }
    let hashed = Hashed::new(&trial, trace)?;
    row::insert(db, ledger, place, &trial, trace, &hashed)?;
    Ok(Put {
        stored: earlier.map_or(Stored::New, |_| Stored::Again),
        status: trial.into_owned().status,
    })
}

fn stored_otherwise(trial: &Trial) -> Error {
    Error::input(format!(
        "arm `{}`, task `{}`, trial {} is already stored with other evidence",
        trial.arm, trial.task, trial.index
    ))
    .hint("only trials that broke on infrastructure are run again")
}

/// Moves a stored trial among the attempts; gives how it and its own earlier attempts ended.
fn set_aside(db: &Connection, earlier: &StoredAt) -> Result<Vec<TrialStatus>> {
    let Some(stored) = read::trials_after(db, earlier.row - 1, 1)?.pop() else {
        return Ok(vec![]);
    };
    for statement in [
        "INSERT INTO attempts SELECT row, id, arm, task, idx, status, boundary, code, body, trace, digest
         FROM trials WHERE row = ?1",
        "DELETE FROM trials WHERE row = ?1",
        "DELETE FROM grades WHERE trial = ?1",
        "DELETE FROM scores WHERE trial = ?1",
    ] {
        db.prepare_cached(statement)
            .and_then(|mut s| s.execute([earlier.row]))
            .map_err(sql)?;
    }
    let mut attempts = stored.trial.attempts;
    attempts.push(stored.trial.status);
    Ok(attempts)
}

/// Remembers response ids; whether one of them was there before.
///
/// Only 63 bits of a hash are kept: among a million responses two different ids meet with
/// probability 5·10⁻⁸, and then one trial is left out.
fn any_reused(db: &Connection, ids: &[String]) -> Result<bool> {
    let mut reused = false;
    for id in ids {
        let hash = blake3::hash(id.as_bytes());
        let mut first = [0u8; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        let key = i64::from_le_bytes(first) & i64::MAX;
        let added = db
            .prepare_cached("INSERT OR IGNORE INTO responses (response) VALUES (?1)")
            .and_then(|mut s| s.execute([key]))
            .map_err(sql)?;
        reused |= added == 0;
    }
    Ok(reused)
}
