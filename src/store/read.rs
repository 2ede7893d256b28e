//! Reading a run: trials with their evidence in batches, and everything graded as columns.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};

use super::{RunStore, sql};
use crate::base::{ArmId, Error, Result, TaskId};
use crate::model::report::{FailureRow, InfrastructureRow};
use crate::model::suite::Suite;
use crate::model::trace::{Event, Trace};
use crate::model::trial::Trial;

/// How much evidence is read at a time, beyond one trial: a parsed event takes several times its text.
const BATCH_BYTES: usize = 4 << 20;

/// A trial as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTrial {
    /// Internal key.
    pub row: i64,
    /// The trial.
    pub trial: Trial,
    /// Its evidence.
    pub trace: Option<Trace>,
}

/// How often one rule found one thing in one arm.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundRule {
    /// Arm.
    pub arm: String,
    /// Dimension name.
    pub dimension: String,
    /// Rule.
    pub rule: String,
    /// Finding name.
    pub finding: String,
    /// Reason, where there is one.
    pub reason: Option<String>,
    /// Trials.
    pub trials: u64,
}

impl RunStore {
    /// The snapshot of the suite that was taken when the run was planned.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn suite(&self) -> Result<Suite> {
        let text = self
            .meta("suite")?
            .ok_or_else(|| damaged("the suite is missing"))?;
        serde_json::from_str(&text).map_err(|e| damaged(&format!("the suite cannot be read: {e}")))
    }

    /// Number of stored trials.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn trial_count(&self) -> Result<u64> {
        self.db
            .query_row("SELECT count(*) FROM trials", [], |row| {
                row.get::<_, i64>(0)
            })
            .map_err(sql)
            .map(|n| n as u64)
    }

    /// Number of stored trials of one arm.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn trials_of(&self, arm: &ArmId) -> Result<u64> {
        let count = "SELECT count(*) FROM trials t JOIN arms a ON a.arm = t.arm WHERE a.name = ?1";
        self.db
            .query_row(count, [arm.as_str()], |row| row.get::<_, i64>(0))
            .map_err(sql)
            .map(|n| n as u64)
    }

    /// One trial with its evidence; `None` if it is not stored.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn trial(&self, arm: &ArmId, task: &TaskId, index: u32) -> Result<Option<StoredTrial>> {
        let select = "SELECT t.row FROM trials t JOIN arms a ON a.arm = t.arm
                      JOIN tasks k ON k.task = t.task WHERE a.name = ?1 AND k.name = ?2 AND t.idx = ?3";
        let row: Option<i64> = self
            .db
            .query_row(select, params![arm.as_str(), task.as_str(), index], |r| {
                r.get(0)
            })
            .optional()
            .map_err(sql)?;
        match row {
            Some(row) => Ok(self.trials_after(row - 1, 1)?.pop()),
            None => Ok(None),
        }
    }

    /// How many trials of an arm carry each notice, of the importer, the trace or a grade.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn trial_notices(&self, arm: &ArmId) -> Result<BTreeMap<String, u64>> {
        let select = "SELECT code, count(DISTINCT row) FROM (
                SELECT t.row AS row, t.arm AS arm, n.value ->> '$.code' AS code
                FROM trials t, json_each(t.body, '$.notices') n
                UNION SELECT t.row, t.arm, n.value ->> '$.code'
                FROM trials t, json_each(t.trace, '$.notices') n
                UNION SELECT t.row, t.arm, n.value FROM trials t
                JOIN grades g ON g.trial = t.row AND g.notices != '',
                json_each('[\"' || replace(g.notices, ' ', '\",\"') || '\"]') n)
             JOIN arms a USING (arm) WHERE a.name = ?1 GROUP BY code";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let rows = select
            .query_map([arm.as_str()], |r| {
                Ok((r.get::<_, String>(0)?, r.get::<_, i64>(1)? as u64))
            })
            .map_err(sql)?;
        rows.map(|row| row.map_err(sql)).collect()
    }

    /// How often an arm called each tool that the trace names.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn called_tools(&self, arm: &ArmId) -> Result<BTreeMap<String, u64>> {
        let select = "SELECT e.body ->> '$.capability' AS tool, count(*) FROM events e
                      JOIN trials t ON t.row = e.trial JOIN arms a ON a.arm = t.arm
                      WHERE a.name = ?1 AND e.kind = 'tool_call' AND tool IS NOT NULL GROUP BY 1";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let rows = select
            .query_map([arm.as_str()], |r| {
                Ok((r.get::<_, String>(0)?, r.get::<_, i64>(1)? as u64))
            })
            .map_err(sql)?;
        rows.map(|row| row.map_err(sql)).collect()
    }

    /// The tasks of which an arm has a stored trial, however it ended.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn recorded_tasks(&self, arm: &ArmId) -> Result<BTreeSet<TaskId>> {
        let select = "SELECT DISTINCT k.name FROM trials t JOIN arms a ON a.arm = t.arm
                      JOIN tasks k ON k.task = t.task WHERE a.name = ?1";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let names = select
            .query_map([arm.as_str()], |r| r.get::<_, String>(0))
            .map_err(sql)?;
        names
            .map(|name| name.map(TaskId::new).map_err(sql))
            .collect()
    }

    /// Reads at most `limit` trials after the internal key `after`, in stored order; fewer where
    /// their evidence is large, and none only at the end.
    ///
    /// # Errors
    ///
    /// If the database cannot be read or holds what no version of this tool wrote.
    pub fn trials_after(&self, after: i64, limit: usize) -> Result<Vec<StoredTrial>> {
        trials_after(&self.db, after, limit)
    }

    /// The internal keys of all trials, in stored order.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn rows(&self) -> Result<Vec<i64>> {
        let mut select = self
            .db
            .prepare("SELECT row FROM trials ORDER BY row")
            .map_err(sql)?;
        let rows = select.query_map([], |r| r.get(0)).map_err(sql)?;
        rows.map(|r| r.map_err(sql)).collect()
    }

    /// How often each rule found what, per arm.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn found_rules(&self) -> Result<Vec<FoundRule>> {
        let select = "SELECT a.name, g.dimension, g.rule, g.finding, g.reason, count(*)
                      FROM grades g JOIN trials t ON t.row = g.trial JOIN arms a ON a.arm = t.arm
                      GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let rows = select
            .query_map([], |r| {
                Ok(FoundRule {
                    arm: r.get(0)?,
                    dimension: r.get(1)?,
                    rule: r.get(2)?,
                    finding: r.get(3)?,
                    reason: r.get(4)?,
                    trials: r.get::<_, i64>(5)? as u64,
                })
            })
            .map_err(sql)?;
        rows.map(|r| r.map_err(sql)).collect()
    }

    /// Hands every broken rule to `each`, ordered by arm, task, trial and rule as the plan and the
    /// graders list them.
    ///
    /// # Errors
    ///
    /// Those of `each` and of the database.
    pub fn for_each_failure(&self, mut each: impl FnMut(FailureRow) -> Result<()>) -> Result<()> {
        // The dictionaries were filled in plan order, so their keys sort as the plan does.
        let select = "SELECT a.name, k.name, t.idx, g.dimension, g.rule, g.events, g.detail
                      FROM trials t JOIN grades g ON g.trial = t.row JOIN arms a ON a.arm = t.arm
                      JOIN tasks k ON k.task = t.task WHERE g.finding = 'fail'
                      ORDER BY t.arm, t.task, t.idx, g.position";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let mut rows = select.query([]).map_err(sql)?;
        while let Some(r) = rows.next().map_err(sql)? {
            let dimension: String = r.get(3).map_err(sql)?;
            each(FailureRow {
                arm: r.get(0).map_err(sql)?,
                task: r.get(1).map_err(sql)?,
                trial: r.get(2).map_err(sql)?,
                dimension: parse(&format!("\"{dimension}\""), "a dimension")?,
                rule: r.get(4).map_err(sql)?,
                events: r.get(5).map_err(sql)?,
                detail: r.get(6).map_err(sql)?,
            })?;
        }
        Ok(())
    }

    /// Infrastructure errors by arm, boundary and code.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn infrastructure(&self) -> Result<Vec<InfrastructureRow>> {
        let select =
            "SELECT a.name, t.boundary, t.code, count(*) FROM current t JOIN arms a ON a.arm = t.arm
                      WHERE t.boundary IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let rows = select
            .query_map([], |r| {
                Ok(InfrastructureRow {
                    arm: r.get(0)?,
                    boundary: r.get(1)?,
                    code: r.get::<_, Option<String>>(2)?.unwrap_or_default(),
                    trials: r.get::<_, i64>(3)? as u64,
                })
            })
            .map_err(sql)?;
        rows.map(|r| r.map_err(sql)).collect()
    }

    /// The distinct digests of the inputs that an arm's trials of each task were given; trials
    /// without a recorded input are left out.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn input_digests(&self, arm: &str) -> Result<BTreeMap<TaskId, Vec<String>>> {
        let select = "SELECT k.name, t.body ->> '$.input_digest' AS input FROM trials t
                      JOIN arms a ON a.arm = t.arm JOIN tasks k ON k.task = t.task
                      WHERE a.name = ?1 AND input IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2";
        let mut select = self.db.prepare(select).map_err(sql)?;
        let rows = select
            .query_map([arm], |r| {
                Ok((r.get::<_, String>(0)?, r.get::<_, String>(1)?))
            })
            .map_err(sql)?;
        let mut digests: BTreeMap<TaskId, Vec<String>> = BTreeMap::new();
        for row in rows {
            let (task, digest) = row.map_err(sql)?;
            digests.entry(TaskId::new(task)).or_default().push(digest);
        }
        Ok(digests)
    }

    /// Status, and what each rule of a dimension found, in one trial: for evidence cells.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn evidence(&self, arm: &str, task: &str, index: u32, dimension: &str) -> Result<String> {
        let select = "SELECT t.status, g.rule, g.finding, g.events, g.detail
                      FROM current t JOIN arms a ON a.arm = t.arm JOIN tasks k ON k.task = t.task
                      LEFT JOIN grades g ON g.trial = t.row AND g.dimension = ?4
                          AND g.finding IN ('pass', 'fail', 'value')
                      WHERE a.name = ?1 AND k.name = ?2 AND t.idx = ?3 ORDER BY g.position";
        let mut select = self.db.prepare_cached(select).map_err(sql)?;
        let mut rows = select
            .query(params![arm, task, index, dimension])
            .map_err(sql)?;
        let mut parts: Vec<String> = Vec::new();
        while let Some(r) = rows.next().map_err(sql)? {
            if parts.is_empty() {
                parts.push(r.get::<_, String>(0).map_err(sql)?);
            }
            let Some(rule) = r.get::<_, Option<String>>(1).map_err(sql)? else {
                continue;
            };
            let (finding, events, detail): (String, String, String) = (
                r.get(2).map_err(sql)?,
                r.get(3).map_err(sql)?,
                r.get(4).map_err(sql)?,
            );
            let events = if events.is_empty() {
                String::new()
            } else {
                format!(" (events {events})")
            };
            let detail = if detail.is_empty() {
                String::new()
            } else {
                format!(": {detail}")
            };
            parts.push(format!("{rule} {finding}{events}{detail}"));
        }
        Ok(parts.join("; "))
    }
}

/// Reads trials from a connection or a transaction, see [`RunStore::trials_after`].
pub(super) fn trials_after(db: &Connection, after: i64, limit: usize) -> Result<Vec<StoredTrial>> {
    let mut select = db
        .prepare_cached(
            "SELECT row, body, trace, amended FROM current WHERE row > ?1 ORDER BY row LIMIT ?2",
        )
        .map_err(sql)?;
    let mut rows = select.query(params![after, limit as i64]).map_err(sql)?;
    let mut trials = Vec::new();
    let mut held = 0;
    while let Some(found) = rows.next().map_err(sql)? {
        let row: i64 = found.get(0).map_err(sql)?;
        let body: String = found.get(1).map_err(sql)?;
        let head: Option<String> = found.get(2).map_err(sql)?;
        held += body.len();
        let amended: Option<String> = found.get(3).map_err(sql)?;
        let mut trial: Trial = parse(&body, "a trial")?;
        if let Some(status) = amended {
            trial.status = parse(&status, "an amendment")?;
        }
        let trace = match head {
            Some(head) => Some(Trace {
                events: events(db, row, &mut held)?,
                ..parse(&head, "a trace")?
            }),
            None => None,
        };
        trials.push(StoredTrial { row, trial, trace });
        if held > BATCH_BYTES {
            break;
        }
    }
    Ok(trials)
}

/// The events of a trial; adds the length of their texts to `held`.
fn events(db: &Connection, row: i64, held: &mut usize) -> Result<Vec<Event>> {
    let mut select = db
        .prepare_cached("SELECT body FROM events WHERE trial = ?1 ORDER BY sequence")
        .map_err(sql)?;
    let bodies = select
        .query_map([row], |r| r.get::<_, String>(0))
        .map_err(sql)?;
    bodies
        .map(|body| {
            let body = body.map_err(sql)?;
            *held += body.len();
            parse(&body, "an event")
        })
        .collect()
}

pub(super) fn parse<T: serde::de::DeserializeOwned>(text: &str, what: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| damaged(&format!("{what} cannot be read: {e}")))
}

pub(super) fn damaged(what: &str) -> Error {
    Error::refused(format!("the run is damaged: {what}"))
        .hint("`assize verify RUN` lists everything that does not match")
}
