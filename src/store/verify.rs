//! Re-deriving every digest of a run.

use rusqlite::params;

use super::ledger::{self, Ledger};
use super::open::Source;
use super::row::{chained, trial_digest};
use super::{RunStore, sql};
use crate::base::{Digest, Result};
use crate::model::suite::Suite;
use crate::model::trial::TrialStatus;

/// What verification found.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Verification {
    /// Trials whose digests were re-derived.
    pub trials: u64,
    /// Attempts that were run again, whose digests were re-derived too.
    pub attempts: u64,
    /// Events whose chain was re-derived.
    pub events: u64,
    /// Everything that does not match.
    pub mismatches: Vec<String>,
}

impl RunStore {
    /// Re-derives trial ids, event chains and trial digests from what is stored. The plan's own
    /// digest was checked when the run was opened.
    ///
    /// # Errors
    ///
    /// If the database cannot be read at all; what merely does not match is in the result.
    pub fn verify(&self) -> Result<Verification> {
        let mut found = Verification::default();
        let check: String = self
            .db
            .query_row("PRAGMA quick_check", [], |r| r.get(0))
            .map_err(sql)?;
        if check != "ok" {
            found.mismatches.push(format!("run.sqlite: {check}"));
        }
        let hash = self.meta("suite")?.map(|t| Digest::of_bytes(t.as_bytes()));
        if self.meta("suite_hash")?.as_deref() != hash.as_ref().map(Digest::as_str) {
            found
                .mismatches
                .push("the stored suite does not match its hash".to_owned());
        }
        let suite = self.suite()?;
        if suite.digest != self.plan.plan.suite_digest {
            found
                .mismatches
                .push("the stored suite is not the one of the plan".to_owned());
        }
        let derived = Suite::new(suite.spec.clone(), suite.tasks.clone()).digest;
        if self.plan.source != Source::Table && derived != suite.digest {
            found
                .mismatches
                .push("the stored suite does not give its own digest".to_owned());
        }
        self.verify_ledgers(&mut found)?;
        self.verify_amendments(&mut found)?;
        found.trials = self.verify_trials("trials", &mut found)?;
        found.attempts = self.verify_trials("attempts", &mut found)?;
        Ok(found)
    }

    /// The ledgers say what was stored and in which order.
    fn verify_ledgers(&self, found: &mut Verification) -> Result<()> {
        let trials = Ledger::stored(&self.db, ledger::TRIALS)?;
        if trials.is_some() && trials != Some(Ledger::of_trials(&self.db)?) {
            found
                .mismatches
                .push("trials were added, removed or changed since they were stored".to_owned());
        }
        let amendments = Ledger::stored(&self.db, ledger::AMENDMENTS)?;
        if amendments.is_some() && amendments != Some(Ledger::of_amendments(&self.db)?) {
            found.mismatches.push(
                "amendments were added, removed or changed since they were stored".to_owned(),
            );
        }
        let judged = super::fingerprint::of_judged(&self.db)?;
        if self.meta("judged_hash")?.is_some_and(|hash| hash != judged) {
            found.mismatches.push(
                "verdicts, labels or certificates were changed since they were stored".to_owned(),
            );
        }
        Ok(())
    }

    /// How many there are.
    fn verify_trials(&self, table: &str, found: &mut Verification) -> Result<u64> {
        let select = format!(
            "SELECT t.row, t.id, a.name, k.name, t.idx, t.body, t.trace, t.digest, t.status, t.boundary, t.code
             FROM {table} t JOIN arms a ON a.arm = t.arm JOIN tasks k ON k.task = t.task ORDER BY t.row"
        );
        let mut select = self.db.prepare(&select).map_err(sql)?;
        let mut rows = select.query([]).map_err(sql)?;
        let mut count = 0;
        while let Some(r) = rows.next().map_err(sql)? {
            count += 1;
            let stored = StoredRow {
                row: r.get(0).map_err(sql)?,
                id: r.get(1).map_err(sql)?,
                arm: r.get(2).map_err(sql)?,
                task: r.get(3).map_err(sql)?,
                index: r.get(4).map_err(sql)?,
                body: r.get(5).map_err(sql)?,
                head: r.get(6).map_err(sql)?,
                digest: r.get(7).map_err(sql)?,
                columns: (
                    r.get(8).map_err(sql)?,
                    r.get(9).map_err(sql)?,
                    r.get(10).map_err(sql)?,
                ),
            };
            self.verify_trial(&stored, found)?;
        }
        Ok(count)
    }

    /// What stands beside the trials must follow from them: an amendment repeats its status in
    /// columns and names a trial; an attempt is an infrastructure error and was run again.
    fn verify_amendments(&self, found: &mut Verification) -> Result<()> {
        let stray = "SELECT count(*) FROM attempts t LEFT JOIN amendments m ON m.trial = t.row
                     WHERE coalesce(m.boundary, t.boundary) IS NULL
                     OR NOT EXISTS (SELECT 1 FROM trials n WHERE n.arm = t.arm AND n.task = t.task
                         AND n.idx = t.idx AND n.id = t.id AND n.row > t.row)";
        if self.count(stray)? > 0 {
            found
                .mismatches
                .push("a trial was set aside that was not run again".to_owned());
        }
        let lost = "SELECT count(DISTINCT trial) FROM events WHERE trial NOT IN
                    (SELECT row FROM trials UNION ALL SELECT row FROM attempts)";
        if self.count(lost)? > 0 {
            found
                .mismatches
                .push("there are events of a trial that is not there".to_owned());
        }
        let mut select = self
            .db
            .prepare("SELECT trial, id, status, boundary, code, body FROM amendments")
            .map_err(sql)?;
        let mut rows = select.query([]).map_err(sql)?;
        while let Some(r) = rows.next().map_err(sql)? {
            let text = |column| r.get::<_, String>(column).map_err(sql);
            let (row, id) = (r.get::<_, i64>(0).map_err(sql)?, text(1)?);
            let columns = (text(2)?, text(3)?, text(4)?);
            let says = serde_json::from_str::<TrialStatus>(&text(5)?).ok();
            let agrees = says.is_some_and(|status| match &status {
                TrialStatus::Infra { boundary, code, .. } => {
                    columns == (status.to_string(), boundary.name().to_owned(), code.clone())
                }
                _ => false,
            });
            if !agrees || !self.is_row_of(row, &id)? {
                found
                    .mismatches
                    .push(format!("trial {id}: its amendment does not match"));
            }
        }
        Ok(())
    }

    fn is_row_of(&self, row: i64, id: &str) -> Result<bool> {
        let select = "SELECT count(*) FROM (SELECT row, id FROM trials UNION ALL SELECT row, id FROM attempts)
                      WHERE row = ?1 AND id = ?2";
        let count: i64 = self
            .db
            .prepare_cached(select)
            .and_then(|mut s| s.query_row((row, id), |r| r.get(0)))
            .map_err(sql)?;
        Ok(count == 1)
    }

    fn count(&self, select: &str) -> Result<i64> {
        self.db.query_row(select, [], |r| r.get(0)).map_err(sql)
    }

    fn verify_trial(&self, stored: &StoredRow, found: &mut Verification) -> Result<()> {
        let name = format!(
            "arm `{}`, task `{}`, trial {}",
            stored.arm, stored.task, stored.index
        );
        let last = self.verify_events(stored.row, &name, found)?;
        if trial_digest(&stored.body, stored.head.as_deref(), &last) != stored.digest {
            found
                .mismatches
                .push(format!("{name}: its digest does not match what is stored"));
        }
        if !stored.columns_match_body() {
            found
                .mismatches
                .push(format!("{name}: its columns do not match its body"));
        }
        if !self.id_matches(stored) {
            found.mismatches.push(format!(
                "{name}: its id does not follow from suite, task, arm and index"
            ));
        }
        Ok(())
    }

    fn verify_events(&self, row: i64, name: &str, found: &mut Verification) -> Result<String> {
        let mut select = self
            .db
            .prepare_cached(
                "SELECT sequence, body, hash FROM events WHERE trial = ?1 ORDER BY sequence",
            )
            .map_err(sql)?;
        let mut events = select.query(params![row]).map_err(sql)?;
        let mut previous = String::new();
        let mut broken = false;
        while let Some(e) = events.next().map_err(sql)? {
            found.events += 1;
            let (sequence, body, hash): (i64, String, String) = (
                e.get(0).map_err(sql)?,
                e.get(1).map_err(sql)?,
                e.get(2).map_err(sql)?,
            );
            previous = chained(&previous, &body);
            if previous != hash && !broken {
                found
                    .mismatches
                    .push(format!("{name}: the chain breaks at event {sequence}"));
                broken = true;
            }
        }
        Ok(previous)
    }

    fn id_matches(&self, stored: &StoredRow) -> bool {
        let plan = self.plan();
        let arm = plan.body.arms.iter().find(|a| a.id.as_str() == stored.arm);
        let task = plan
            .body
            .tasks
            .iter()
            .find(|t| t.id.as_str() == stored.task);
        match (arm, task) {
            (Some(arm), Some(task)) => plan.trial_id(arm, task, stored.index).as_str() == stored.id,
            _ => false,
        }
    }
}

struct StoredRow {
    row: i64,
    id: String,
    arm: String,
    task: String,
    index: u32,
    body: String,
    head: Option<String>,
    digest: String,
    /// Status, boundary and code columns, which repeat what the body says.
    columns: (String, Option<String>, Option<String>),
}

impl StoredRow {
    fn columns_match_body(&self) -> bool {
        let Ok(trial) = serde_json::from_str::<crate::model::trial::Trial>(&self.body) else {
            return false;
        };
        let code = match &trial.status {
            TrialStatus::Infra { code, .. } => Some(code.clone()),
            _ => None,
        };
        let boundary = trial.status.boundary().map(|b| b.name().to_owned());
        trial.id.as_str() == self.id
            && trial.arm.as_str() == self.arm
            && trial.task.as_str() == self.task
            && trial.index == self.index
            && (trial.status.to_string(), boundary, code) == self.columns
    }
}
