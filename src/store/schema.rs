//! Tables of `run.sqlite`.

use rusqlite::Connection;

use crate::base::Result;
use crate::model::measure::Measure;

/// Creates the tables of format 1 where they do not exist.
///
/// `arms` and `tasks` are dictionaries; `trials.row` is only an internal key. `scores` has a column
/// per measure: the value, null where there is none, and in `states` one letter per measure in
/// [`Measure::ALL`] order: `s` scored, `n` not applicable, `u` ungradable, `-` not measured at all.
/// `verdicts` and `labels` hold answers as levels of the scale in `judges`; a verdict without an answer
/// has a reason. `ord` and `identity` are empty where they were not varied.
pub fn create(db: &Connection) -> Result<()> {
    let columns: String = Measure::ALL
        .iter()
        .map(|m| format!(", {} REAL", m.name()))
        .collect();
    db.execute_batch(&format!(
        "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
         CREATE TABLE IF NOT EXISTS arms (arm INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
         CREATE TABLE IF NOT EXISTS tasks (task INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
         CREATE TABLE IF NOT EXISTS trials (
             row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
             arm INTEGER NOT NULL REFERENCES arms, task INTEGER NOT NULL REFERENCES tasks,
             idx INTEGER NOT NULL, status TEXT NOT NULL, boundary TEXT, code TEXT, body TEXT NOT NULL,
             trace TEXT, digest TEXT NOT NULL, UNIQUE (arm, task, idx));
         CREATE TABLE IF NOT EXISTS events (
             trial INTEGER NOT NULL REFERENCES trials, sequence INTEGER NOT NULL, kind TEXT NOT NULL,
             body TEXT NOT NULL, hash TEXT NOT NULL, UNIQUE (trial, sequence));
         CREATE TABLE IF NOT EXISTS grades (
             trial INTEGER NOT NULL REFERENCES trials, position INTEGER NOT NULL, dimension TEXT NOT NULL,
             rule TEXT NOT NULL, finding TEXT NOT NULL, value REAL, reason TEXT, events TEXT NOT NULL,
             detail TEXT NOT NULL, notices TEXT NOT NULL, UNIQUE (trial, position));
         CREATE TABLE IF NOT EXISTS scores (
             trial INTEGER PRIMARY KEY REFERENCES trials, states TEXT NOT NULL{columns}, reasons TEXT NOT NULL);
         CREATE TABLE IF NOT EXISTS judges (
             judge TEXT PRIMARY KEY, scale TEXT NOT NULL, pin TEXT, certificate TEXT);
         CREATE TABLE IF NOT EXISTS verdicts (
             trial INTEGER NOT NULL REFERENCES trials, judge TEXT NOT NULL REFERENCES judges,
             repeat INTEGER NOT NULL, ord TEXT NOT NULL, identity TEXT NOT NULL, answer TEXT, reason TEXT,
             score REAL, UNIQUE (trial, judge, repeat, ord, identity));
         CREATE TABLE IF NOT EXISTS labels (
             trial INTEGER NOT NULL REFERENCES trials, judge TEXT NOT NULL REFERENCES judges,
             rater TEXT NOT NULL, answer TEXT NOT NULL, stratum TEXT, probability REAL,
             UNIQUE (trial, judge, rater));"
    ))
    .map_err(super::sql)
}
