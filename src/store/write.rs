//! Writing trials and grades: one transaction per import, so that a bad record leaves nothing behind.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, Transaction, params};

use super::files::Prepared;
use super::ledger::Ledger;
use super::open::{put_meta, put_suite};
use super::row::{self, Hashed, Place};
use super::{RunStore, sql};
use crate::base::{ArmId, Error, Result, TaskId};
use crate::model::grade::{Cell, Finding, TrialGrades};
use crate::model::measure::Measure;
use crate::model::plan::PlanBody;
use crate::model::suite::Suite;
use crate::model::trace::Trace;
use crate::model::trial::Trial;

/// In place of the states of a trial: its grader failed.
pub(super) const GRADER_FAILED: &str = "grader";

/// What became of a trial that was handed to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It is new.
    New,
    /// The same trial with the same evidence was stored before.
    Already,
    /// It was run again: what was stored before broke on infrastructure and stands among the attempts.
    Again,
}

/// Writes trials inside one transaction.
pub struct TrialWriter<'a> {
    db: Transaction<'a>,
    arms: HashMap<ArmId, i64>,
    tasks: HashMap<TaskId, i64>,
    seen: HashSet<(i64, i64, u32)>,
    ledger: Ledger,
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
        put_meta(&writer.db, "graded", &super::ledger::state(&writer.db)?)?;
        writer.db.commit().map_err(sql)?;
        Ok(done)
    }
}

pub(super) fn dictionary<K: Eq + std::hash::Hash>(
    db: &Connection,
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
            ledger: Ledger::load(&db)?,
            db,
        })
    }

    /// Commits, with the ledger of all trials, by which a vanished one is noticed.
    fn finish(self) -> Result<()> {
        self.ledger.save(&self.db)?;
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
        let place = Place {
            arm,
            task,
            index: trial.index,
        };
        if let Some(stored) = place.stored(&self.db)? {
            return same_evidence(trial, &stored.digest, &hashed.digest);
        }
        row::insert(&self.db, &mut self.ledger, place, trial, trace, &hashed)?;
        Ok(Stored::New)
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
