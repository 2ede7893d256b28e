//! Fingerprints of what is stored, to find what was changed by other hands.

use std::collections::BTreeMap;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::write::GradeWriter;
use super::{RunStore, sql};
use crate::base::Result;

impl RunStore {
    /// Grades again with `work` and names the trials whose stored grades or scores differ from what
    /// comes out; what is stored stays as it is.
    ///
    /// # Errors
    ///
    /// Those of `work` and of the database.
    pub fn differing_grades(
        &mut self,
        work: impl FnOnce(&mut GradeWriter) -> Result<()>,
    ) -> Result<Vec<String>> {
        let stored = fingerprints(&self.db)?;
        let db = self.db.transaction().map_err(sql)?;
        let mut writer = GradeWriter::over(db)?;
        work(&mut writer)?;
        let again = fingerprints(writer.connection())?;
        writer.roll_back()?;
        // Trials that came after the last grading have no grades yet; that is no difference.
        let all_graded = self.meta("graded")? == Some(super::ledger::state(&self.db)?);
        let rows = stored
            .keys()
            .chain(again.keys().filter(|_| all_graded))
            .copied();
        let mut differing: Vec<i64> = rows
            .filter(|row| stored.get(row) != again.get(row))
            .collect();
        differing.sort_unstable();
        differing.dedup();
        differing.into_iter().map(|row| self.name_of(row)).collect()
    }

    fn name_of(&self, row: i64) -> Result<String> {
        let select = "SELECT a.name, k.name, t.idx FROM trials t JOIN arms a ON a.arm = t.arm
                      JOIN tasks k ON k.task = t.task WHERE t.row = ?1";
        let named = self.db.query_row(select, [row], |r| {
            let (arm, task, index): (String, String, u32) = (r.get(0)?, r.get(1)?, r.get(2)?);
            Ok(format!("arm `{arm}`, task `{task}`, trial {index}"))
        });
        match named {
            Err(rusqlite::Error::QueryReturnedNoRows) => Ok("a trial that is not there".to_owned()),
            other => other.map_err(sql),
        }
    }
}

/// The fingerprint of everything that is stored of judges, by which a changed verdict is noticed.
pub(super) fn of_judged(db: &Connection) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    for select in [
        "SELECT judge, scale, pin, certificate FROM judges ORDER BY judge",
        "SELECT * FROM verdicts ORDER BY trial, judge, repeat, ord, identity",
        "SELECT * FROM labels ORDER BY trial, judge, rater",
        "SELECT * FROM pairs ORDER BY judge, baseline, candidate, repeat",
        "SELECT * FROM pair_labels ORDER BY judge, baseline, candidate, rater",
        "SELECT key, value FROM meta WHERE key GLOB 'judge_notices/*' ORDER BY key",
        "SELECT key, value FROM meta WHERE key GLOB 'judge_asked/*' ORDER BY key",
    ] {
        each_row(db, select, |_, value| add(&mut hasher, value))?;
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// A fingerprint of the grades and scores of each trial, by the trial's internal key.
fn fingerprints(db: &Connection) -> Result<BTreeMap<i64, [u8; 32]>> {
    let mut hashers: BTreeMap<i64, blake3::Hasher> = BTreeMap::new();
    for select in [
        "SELECT * FROM grades ORDER BY trial, position",
        "SELECT * FROM scores ORDER BY trial",
    ] {
        each_row(db, select, |trial, value| {
            add(hashers.entry(trial).or_default(), value);
        })?;
    }
    Ok(hashers
        .into_iter()
        .map(|(row, hasher)| (row, *hasher.finalize().as_bytes()))
        .collect())
}

/// Hands over every value with the first of its row, if that is an integer.
fn each_row(db: &Connection, select: &str, mut each: impl FnMut(i64, ValueRef)) -> Result<()> {
    let mut select = db.prepare(select).map_err(sql)?;
    let columns = select.column_count();
    let mut rows = select.query([]).map_err(sql)?;
    while let Some(row) = rows.next().map_err(sql)? {
        let key = row.get_ref(0).map_err(sql)?.as_i64().unwrap_or_default();
        for column in 0..columns {
            each(key, row.get_ref(column).map_err(sql)?);
        }
    }
    Ok(())
}

fn add(hasher: &mut blake3::Hasher, value: ValueRef) {
    let (kind, bytes): (u8, Vec<u8>) = match value {
        ValueRef::Null => (0, vec![]),
        ValueRef::Integer(n) => (1, n.to_le_bytes().to_vec()),
        ValueRef::Real(x) => (2, x.to_le_bytes().to_vec()),
        ValueRef::Text(text) => (3, text.to_vec()),
        ValueRef::Blob(bytes) => (4, bytes.to_vec()),
    };
    hasher.update(&[kind]);
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(&bytes);
}
