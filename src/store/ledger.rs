//! The ledger: one hash over everything that was stored, in stored order, so that a trial that was
//! removed, added or changed by other hands is noticed; it grows by one step per trial.

use rusqlite::Connection;

use super::open::put_meta;
use super::sql;
use crate::base::{Digest, Result};

/// Key under which the ledger of the trials is kept.
pub(super) const TRIALS: &str = "trials_ledger";

/// Key under which the ledger of the amendments is kept.
pub(super) const AMENDMENTS: &str = "amendments_ledger";

const ALL_TRIALS: &str = "SELECT row, id, digest FROM trials
     UNION ALL SELECT row, id, digest FROM attempts ORDER BY row";

const ALL_AMENDMENTS: &str = "SELECT trial, id, body FROM amendments ORDER BY entry";

/// The ledger of all trials and attempts as it stands after the last of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ledger {
    key: &'static str,
    /// The last row that was given away; rows are never used again.
    row: i64,
    hash: String,
}

impl Ledger {
    /// The ledger of the trials; derived where the run has none yet.
    pub(super) fn load(db: &Connection) -> Result<Self> {
        match Self::stored(db, TRIALS)? {
            Some(ledger) => Ok(ledger),
            None => Self::of_trials(db),
        }
    }

    /// The ledger of the amendments; derived where the run has none yet.
    pub(super) fn load_amendments(db: &Connection) -> Result<Self> {
        match Self::stored(db, AMENDMENTS)? {
            Some(ledger) => Ok(ledger),
            None => Self::of_amendments(db),
        }
    }

    /// The ledger as it was saved.
    pub(super) fn stored(db: &Connection, key: &'static str) -> Result<Option<Self>> {
        use rusqlite::OptionalExtension;
        let text: Option<String> = db
            .prepare_cached("SELECT value FROM meta WHERE key = ?1")
            .and_then(|mut s| s.query_row([key], |row| row.get(0)).optional())
            .map_err(sql)?;
        Ok(text.and_then(|text| {
            let (row, hash) = text.split_once(' ')?;
            Some(Self {
                key,
                row: row.parse().ok()?,
                hash: hash.to_owned(),
            })
        }))
    }

    /// Derives the ledger from all trials and attempts that are stored.
    pub(super) fn of_trials(db: &Connection) -> Result<Self> {
        Self::derived(db, TRIALS, ALL_TRIALS)
    }

    /// Derives the ledger from all amendments that are stored.
    pub(super) fn of_amendments(db: &Connection) -> Result<Self> {
        Self::derived(db, AMENDMENTS, ALL_AMENDMENTS)
    }

    fn derived(db: &Connection, key: &'static str, select: &str) -> Result<Self> {
        let mut ledger = Self {
            key,
            row: 0,
            hash: String::new(),
        };
        let mut select = db.prepare(select).map_err(sql)?;
        let mut rows = select.query([]).map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            let (at, id, digest): (i64, String, String) = (
                row.get(0).map_err(sql)?,
                row.get(1).map_err(sql)?,
                row.get(2).map_err(sql)?,
            );
            ledger.step(at, &id, &digest);
        }
        Ok(ledger)
    }

    /// Adds one entry and gives its row.
    pub(super) fn add(&mut self, id: &str, digest: &str) -> i64 {
        let row = self.row + 1;
        self.step(row, id, digest);
        row
    }

    /// Adds one entry about a row that exists.
    pub(super) fn step(&mut self, row: i64, id: &str, digest: &str) {
        self.row = row;
        self.hash = Digest::of_parts(&[&self.hash, id, digest])
            .as_str()
            .to_owned();
    }

    /// Saves the ledger; part of the transaction that stores its entries.
    pub(super) fn save(&self, db: &Connection) -> Result<()> {
        put_meta(db, self.key, &self.text())
    }

    fn text(&self) -> String {
        format!("{} {}", self.row, self.hash)
    }
}

/// Names everything that was stored so far: grades are up to date if this is unchanged.
pub(super) fn state(db: &Connection) -> Result<String> {
    let trials = Ledger::load(db)?.text();
    Ok(format!("{trials}; {}", Ledger::load_amendments(db)?.text()))
}
