//! Tables of `run.sqlite`.

use rusqlite::Connection;

use crate::base::Result;
use crate::model::measure::Measure;

/// Creates the tables of format 1 where they do not exist.
///
/// `arms` and `tasks` are dictionaries; `trials.row` is only an internal key. `scores` has a column
/// per measure: the value, null where there is none, and in `states` one letter per measure in
/// [`Measure::ALL`] order: `s` scored, `n` not applicable, `u` ungradable, `-` not measured at all.
///
/// `attempts` holds trials that broke on infrastructure and were run again, with their evidence;
/// `amendments` what was found out about a trial after it was stored; `responses` a hash of every id
/// of a model's response. `current` shows the trials as they are read: with their amendments.
///
/// Trials have no index over their ids: hashes lie far apart, so that every batch would rewrite as
/// many pages as it has trials. Arm, task and index say the same.
///
/// `verdicts` and `labels` hold answers as levels of the scale in `judges`; a verdict without an answer
/// has a reason. `ord` and `identity` are empty where they were not varied.
///
/// `pairs` holds what a pairwise judge said of two trials of one task, with either of them first and all
/// in all, as `baseline`, `candidate` or `tie`, or the reason why it cannot be used.
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
             row INTEGER PRIMARY KEY, id TEXT NOT NULL,
             arm INTEGER NOT NULL REFERENCES arms, task INTEGER NOT NULL REFERENCES tasks,
             idx INTEGER NOT NULL, status TEXT NOT NULL, boundary TEXT, code TEXT, body TEXT NOT NULL,
             trace TEXT, digest TEXT NOT NULL, UNIQUE (arm, task, idx));
         CREATE TABLE IF NOT EXISTS attempts (
             row INTEGER PRIMARY KEY, id TEXT NOT NULL, arm INTEGER NOT NULL, task INTEGER NOT NULL,
             idx INTEGER NOT NULL, status TEXT NOT NULL, boundary TEXT, code TEXT, body TEXT NOT NULL,
             trace TEXT, digest TEXT NOT NULL);
         CREATE TABLE IF NOT EXISTS amendments (
             entry INTEGER PRIMARY KEY, trial INTEGER NOT NULL UNIQUE, id TEXT NOT NULL,
             status TEXT NOT NULL, boundary TEXT NOT NULL, code TEXT NOT NULL, body TEXT NOT NULL);
         CREATE TABLE IF NOT EXISTS responses (response INTEGER PRIMARY KEY);
         CREATE VIEW IF NOT EXISTS current AS
             SELECT t.row, t.id, t.arm, t.task, t.idx, coalesce(m.status, t.status) AS status,
                 coalesce(m.boundary, t.boundary) AS boundary, coalesce(m.code, t.code) AS code,
                 t.body, t.trace, m.body AS amended
             FROM trials t LEFT JOIN amendments m ON m.trial = t.row;
         CREATE TABLE IF NOT EXISTS events (
             trial INTEGER NOT NULL, sequence INTEGER NOT NULL, kind TEXT NOT NULL,
             body TEXT NOT NULL, hash TEXT NOT NULL, UNIQUE (trial, sequence));
         CREATE TABLE IF NOT EXISTS grades (
             trial INTEGER NOT NULL, position INTEGER NOT NULL, dimension TEXT NOT NULL,
             rule TEXT NOT NULL, finding TEXT NOT NULL, value REAL, reason TEXT, events TEXT NOT NULL,
             detail TEXT NOT NULL, notices TEXT NOT NULL, UNIQUE (trial, position));
         CREATE TABLE IF NOT EXISTS scores (
             trial INTEGER PRIMARY KEY, states TEXT NOT NULL{columns}, reasons TEXT NOT NULL);
         CREATE TABLE IF NOT EXISTS judges (
             judge TEXT PRIMARY KEY, scale TEXT NOT NULL, pin TEXT, certificate TEXT);
         CREATE TABLE IF NOT EXISTS verdicts (
             trial INTEGER NOT NULL REFERENCES trials, judge TEXT NOT NULL REFERENCES judges,
             repeat INTEGER NOT NULL, ord TEXT NOT NULL, identity TEXT NOT NULL, answer TEXT, reason TEXT,
             score REAL, UNIQUE (trial, judge, repeat, ord, identity));
         CREATE TABLE IF NOT EXISTS labels (
             trial INTEGER NOT NULL REFERENCES trials, judge TEXT NOT NULL REFERENCES judges,
             rater TEXT NOT NULL, answer TEXT NOT NULL, stratum TEXT, probability REAL,
             UNIQUE (trial, judge, rater));
         CREATE TABLE IF NOT EXISTS pairs (
             judge TEXT NOT NULL REFERENCES judges, baseline INTEGER NOT NULL REFERENCES trials,
             candidate INTEGER NOT NULL REFERENCES trials, repeat INTEGER NOT NULL,
             baseline_first TEXT, baseline_first_reason TEXT, candidate_first TEXT,
             candidate_first_reason TEXT, preference TEXT, reason TEXT, effect TEXT,
             UNIQUE (judge, baseline, candidate, repeat));
         CREATE TABLE IF NOT EXISTS pair_labels (
             judge TEXT NOT NULL REFERENCES judges, baseline INTEGER NOT NULL REFERENCES trials,
             candidate INTEGER NOT NULL REFERENCES trials, rater TEXT NOT NULL, preference TEXT NOT NULL,
             stratum TEXT, probability REAL, UNIQUE (judge, baseline, candidate, rater));"
    ))
    .map_err(super::sql)
}
