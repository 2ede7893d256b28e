//! Writing trials and grades: one transaction per import, so that a bad record leaves nothing behind.

use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension, Transaction, params};

use super::files::Prepared;
use super::open::{put_meta, put_suite};
use super::{RunStore, sql};
use crate::base::digest::canonical;
use crate::base::{ArmId, Digest, Error, Result, TaskId};
use crate::model::grade::{Cell, Finding, TrialGrades};
use crate::model::measure::Measure;
use crate::model::plan::PlanBody;
use crate::model::suite::Suite;
use crate::model::trace::{Event, Trace};
use crate::model::trial::{Trial, TrialStatus};

/// In place of the states of a trial: its grader failed.
pub(super) const GRADER_FAILED: &str = "grader";

/// What became of a trial that was handed to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It is new.
    New,
    /// The same trial with the same evidence was stored before.
    Already,
}

/// Writes trials inside one transaction.
pub struct TrialWriter<'a> {
    db: Transaction<'a>,
    arms: HashMap<ArmId, i64>,
    tasks: HashMap<TaskId, i64>,
    seen: HashSet<(i64, i64, u32)>,
}

/// Writes grades inside one transaction.
pub struct GradeWriter<'a> {
    db: Transaction<'a>,
}

impl RunStore {
    /// Stores trials: everything that `work` puts is durable when this returns, or nothing is.
    ///
    /// # Errors
    ///
    /// Those of `work`, after which nothing of it is stored, and those of the database.
    pub fn store_trials<T>(
        &mut self,
        work: impl FnOnce(&mut TrialWriter) -> Result<T>,
    ) -> Result<T> {
        let db = self.db.transaction().map_err(sql)?;
        let mut writer = TrialWriter::new(db, &self.plan.plan)?;
        let done = work(&mut writer)?;
        writer.finish()?;
        Ok(done)
    }

    /// Stores trials of a plan that has more arms or tasks than the locked one, and locks it with
    /// them: plan, suite and trials change together, or nothing does.
    ///
    /// # Errors
    ///
    /// As [`RunStore::store_trials`], and if the plan cannot be written.
    pub fn store_trials_of<T>(
        &mut self,
        body: PlanBody,
        suite: &Suite,
        work: impl FnOnce(&mut TrialWriter) -> Result<T>,
    ) -> Result<T> {
        if body == self.plan.plan {
            return self.store_trials(work);
        }
        let plan = self.plan_with(body);
        let db = self.db.transaction().map_err(sql)?;
        put_suite(&db, suite)?;
        let mut writer = TrialWriter::new(db, &plan.plan)?;
        let done = work(&mut writer)?;
        // The plan is written before the commit, where a full disk is still harmless, and shown
        // after it. Killed between the two, the run holds trials that its plan does not name; they
        // are in no report, and the same import again names them.
        let shown = Prepared::write(&self.dir.join("plan.json"), |out| plan.write(out))?;
        writer.finish()?;
        shown.publish()?;
        self.plan = plan;
        Ok(done)
    }

    /// Replaces all grades and scores by those that `work` puts.
    ///
    /// # Errors
    ///
    /// Those of `work`, after which the earlier grades stand, and those of the database.
    pub fn replace_grades<T>(
        &mut self,
        work: impl FnOnce(&mut GradeWriter) -> Result<T>,
    ) -> Result<T> {
        let db = self.db.transaction().map_err(sql)?;
        let mut writer = GradeWriter::over(db)?;
        let done = work(&mut writer)?;
        put_meta(
            &writer.db,
            "graded",
            &super::fingerprint::of_trials(&writer.db)?,
        )?;
        writer.db.commit().map_err(sql)?;
        Ok(done)
    }
}

fn dictionary<K: Eq + std::hash::Hash>(
    db: &Transaction,
    table: &str,
    column: &str,
    names: impl Iterator<Item = K>,
    text: impl Fn(&K) -> &str,
) -> Result<HashMap<K, i64>> {
    let insert = format!("INSERT OR IGNORE INTO {table} (name) VALUES (?1)");
    let select = format!("SELECT {column} FROM {table} WHERE name = ?1");
    let mut keys = HashMap::new();
    for name in names {
        db.prepare_cached(&insert)
            .and_then(|mut s| s.execute([text(&name)]))
            .map_err(sql)?;
        let key = db
            .prepare_cached(&select)
            .and_then(|mut s| s.query_row([text(&name)], |row| row.get(0)))
            .map_err(sql)?;
        keys.insert(name, key);
    }
    Ok(keys)
}

impl<'a> TrialWriter<'a> {
    fn new(db: Transaction<'a>, plan: &PlanBody) -> Result<Self> {
        let arms = plan.arms.iter().map(|a| a.id.clone());
        let tasks = plan.tasks.iter().map(|t| t.id.clone());
        Ok(Self {
            arms: dictionary(&db, "arms", "arm", arms, ArmId::as_str)?,
            tasks: dictionary(&db, "tasks", "task", tasks, TaskId::as_str)?,
            seen: HashSet::new(),
            db,
        })
    }

    /// Commits, with a fingerprint of all trials, by which a vanished one is noticed.
    fn finish(self) -> Result<()> {
        put_meta(
            &self.db,
            "trials_hash",
            &super::fingerprint::of_trials(&self.db)?,
        )?;
        self.db.commit().map_err(sql)
    }

    /// Stores one trial with its evidence.
    ///
    /// # Errors
    ///
    /// If its arm or task is not planned, if the same trial came twice in this import, or if it is
    /// stored already with other evidence.
    pub fn put(&mut self, trial: &Trial, trace: Option<&Trace>) -> Result<Stored> {
        let arm = *self
            .arms
            .get(&trial.arm)
            .ok_or_else(|| Error::input(format!("arm `{}` is not in the plan", trial.arm)))?;
        let task = *self
            .tasks
            .get(&trial.task)
            .ok_or_else(|| Error::input(format!("task `{}` is not in the suite", trial.task)))?;
        if !self.seen.insert((arm, task, trial.index)) {
            return Err(Error::input(format!(
                "two trials with one id: arm `{}`, task `{}`, trial {}",
                trial.arm, trial.task, trial.index
            ))
            .hint("number the trials of a task differently, or remove one of the records"));
        }
        let hashed = Hashed::new(trial, trace)?;
        if let Some(stored) = self.stored_digest(trial)? {
            return same_evidence(trial, &stored, &hashed.digest);
        }
        self.insert(trial, arm, task, trace, &hashed)?;
        Ok(Stored::New)
    }

    fn stored_digest(&self, trial: &Trial) -> Result<Option<String>> {
        self.db
            .prepare_cached("SELECT digest FROM trials WHERE id = ?1")
            .and_then(|mut s| {
                s.query_row([trial.id.as_str()], |row| row.get(0))
                    .optional()
            })
            .map_err(sql)
    }

    fn insert(
        &self,
        trial: &Trial,
        arm: i64,
        task: i64,
        trace: Option<&Trace>,
        hashed: &Hashed,
    ) -> Result<()> {
        let (boundary, code) = match &trial.status {
            TrialStatus::Infra { boundary, code, .. } => {
                (Some(boundary.name()), Some(code.as_str()))
            }
            _ => (None, None),
        };
        let insert =
            "INSERT INTO trials (id, arm, task, idx, status, boundary, code, body, trace, digest)
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        self.db
            .prepare_cached(insert)
            .and_then(|mut s| {
                s.execute(params![
                    trial.id.as_str(),
                    arm,
                    task,
                    trial.index,
                    trial.status.to_string(),
                    boundary,
                    code,
                    hashed.body,
                    hashed.head,
                    hashed.digest
                ])
            })
            .map_err(sql)?;
        let row = self.db.last_insert_rowid();
        for (event, (body, hash)) in trace.iter().flat_map(|t| &t.events).zip(&hashed.events) {
            let insert = "INSERT INTO events (trial, sequence, kind, body, hash) VALUES (?1, ?2, ?3, ?4, ?5)";
            let kind = kind_name(event);
            self.db
                .prepare_cached(insert)
                .and_then(|mut s| s.execute(params![row, event.sequence as i64, kind, body, hash]))
                .map_err(sql)?;
        }
        Ok(())
    }
}

fn same_evidence(trial: &Trial, stored: &str, found: &str) -> Result<Stored> {
    if stored == found {
        return Ok(Stored::Already);
    }
    Err(Error::input(format!(
        "arm `{}`, task `{}`, trial {} is already stored with other evidence",
        trial.arm, trial.task, trial.index
    ))
    .hint("stored evidence is never overwritten: import into a new run"))
}

fn kind_name(event: &Event) -> String {
    serde_json::to_value(event.kind)
        .ok()
        .and_then(|v| v.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// A trial as it is stored: texts, the chain of its events, and a digest over all of it.
pub(super) struct Hashed {
    pub body: String,
    pub head: Option<String>,
    /// Body and chained hash of each event.
    pub events: Vec<(String, String)>,
    pub digest: String,
}

impl Hashed {
    pub(super) fn new(trial: &Trial, trace: Option<&Trace>) -> Result<Self> {
        let unwritable =
            |e: serde_json::Error| Error::io(format!("a trial cannot be written: {e}"));
        let body = canonical(&serde_json::to_value(trial).map_err(unwritable)?);
        let mut events = Vec::new();
        let mut previous = String::new();
        for event in trace.iter().flat_map(|t| &t.events) {
            let text = canonical(&serde_json::to_value(event).map_err(unwritable)?);
            previous = chained(&previous, &text);
            events.push((text, previous.clone()));
        }
        let head = match trace {
            Some(trace) => {
                let head = trace.head();
                Some(canonical(&serde_json::to_value(head).map_err(unwritable)?))
            }
            None => None,
        };
        let digest = trial_digest(&body, head.as_deref(), &previous);
        Ok(Self {
            body,
            head,
            events,
            digest,
        })
    }
}

/// The chained hash of an event: blake3 of the previous hash and the event's canonical text.
pub(super) fn chained(previous: &str, text: &str) -> String {
    Digest::of_bytes([previous.as_bytes(), text.as_bytes()].concat().as_slice())
        .as_str()
        .to_owned()
}

/// The digest of a stored trial: its body, the head of its trace, and the last hash of its chain.
pub(super) fn trial_digest(body: &str, head: Option<&str>, last_hash: &str) -> String {
    Digest::of_parts(&[body, head.unwrap_or(""), last_hash])
        .as_str()
        .to_owned()
}

impl<'a> GradeWriter<'a> {
    /// Begins with no grades at all.
    pub(super) fn over(db: Transaction<'a>) -> Result<Self> {
        db.execute_batch("DELETE FROM grades; DELETE FROM scores;")
            .map_err(sql)?;
        Ok(Self { db })
    }

    pub(super) fn connection(&self) -> &rusqlite::Connection {
        &self.db
    }

    /// Leaves the earlier grades as they were.
    pub(super) fn roll_back(self) -> Result<()> {
        self.db.rollback().map_err(sql)
    }

    /// Reads trials while grades are written, see [`RunStore::trials_after`].
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn trials_after(&self, after: i64, limit: usize) -> Result<Vec<super::StoredTrial>> {
        super::read::trials_after(&self.db, after, limit)
    }

    /// Records that the grader failed on a trial: an infrastructure error, never the agent's.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn put_failed_grader(&mut self, row: i64) -> Result<()> {
        self.db
            .prepare_cached("INSERT INTO scores (trial, states, reasons) VALUES (?1, ?2, '{}')")
            .and_then(|mut s| s.execute((row, GRADER_FAILED)))
            .map_err(sql)
            .map(|_| ())
    }

    /// Stores the grades and scores of one trial.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn put(&mut self, row: i64, grades: &TrialGrades) -> Result<()> {
        let insert = "INSERT INTO grades (trial, position, dimension, rule, finding, value, reason, events, detail, notices)
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        for (position, grade) in grades.grades.iter().enumerate() {
            let (value, reason) = match &grade.finding {
                Finding::Value(value) => (Some(*value), None),
                Finding::NotApplicable(reason) | Finding::Ungradable(reason) => {
                    (None, Some(reason.as_str()))
                }
                Finding::Pass | Finding::Fail => (None, None),
            };
            let events: Vec<String> = grade.events.iter().map(u64::to_string).collect();
            self.db
                .prepare_cached(insert)
                .and_then(|mut s| {
                    s.execute(params![
                        row,
                        position as i64,
                        grade.dimension.name(),
                        grade.rule,
                        grade.finding.name(),
                        value,
                        reason,
                        events.join(" "),
                        grade.detail,
                        grade.notices.join(" ")
                    ])
                })
                .map_err(sql)?;
        }
        self.put_scores(row, grades)
    }

    fn put_scores(&mut self, row: i64, grades: &TrialGrades) -> Result<()> {
        let mut states = vec!['-'; Measure::ALL.len()];
        let mut values: Vec<Option<f64>> = vec![None; Measure::ALL.len()];
        let mut reasons = serde_json::Map::new();
        for score in &grades.scores {
            let at = score.measure as usize;
            match &score.cell {
                Cell::Value(value) => {
                    states[at] = 's';
                    values[at] = Some(*value);
                }
                Cell::NotApplicable(reason) => {
                    states[at] = 'n';
                    reasons.insert(score.measure.name().to_owned(), reason.clone().into());
                }
                Cell::Ungradable(reason) => {
                    states[at] = 'u';
                    reasons.insert(score.measure.name().to_owned(), reason.clone().into());
                }
            }
        }
        let marks: String = (0..Measure::ALL.len())
            .map(|i| format!(", ?{}", i + 3))
            .collect();
        let insert = format!(
            "INSERT INTO scores VALUES (?1, ?2{marks}, ?{})",
            Measure::ALL.len() + 3
        );
        let mut statement = self.db.prepare_cached(&insert).map_err(sql)?;
        let states: String = states.into_iter().collect();
        statement.raw_bind_parameter(1, row).map_err(sql)?;
        statement.raw_bind_parameter(2, states).map_err(sql)?;
        for (i, value) in values.iter().enumerate() {
            statement.raw_bind_parameter(i + 3, value).map_err(sql)?;
        }
        let reasons = serde_json::Value::Object(reasons).to_string();
        statement
            .raw_bind_parameter(Measure::ALL.len() + 3, reasons)
            .map_err(sql)?;
        statement.raw_execute().map_err(sql).map(|_| ())
    }
}
