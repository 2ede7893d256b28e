//! One trial as rows of the database, with the digests that cover them.

use rusqlite::{Connection, OptionalExtension, params};

use super::ledger::Ledger;
use super::sql;
use crate::base::digest::canonical;
use crate::base::{Digest, Error, Result};
use crate::model::trace::{EventKind, Trace};
use crate::model::trial::{Trial, TrialStatus};

/// Where a trial stands, by the database's keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub arm: i64,
    pub task: i64,
    pub index: u32,
}

/// What is stored at a place.
pub(super) struct StoredAt {
    pub row: i64,
    pub digest: String,
    /// Whether it says nothing about the agent, amendments considered.
    pub infra: bool,
}

impl Place {
    /// The trial that is stored at this place.
    pub(super) fn stored(self, db: &Connection) -> Result<Option<StoredAt>> {
        let select = "SELECT t.row, t.digest, coalesce(m.boundary, t.boundary) FROM trials t
                      LEFT JOIN amendments m ON m.trial = t.row
                      WHERE t.arm = ?1 AND t.task = ?2 AND t.idx = ?3";
        let stored = |row: &rusqlite::Row| {
            Ok(StoredAt {
                row: row.get(0)?,
                digest: row.get(1)?,
                infra: row.get::<_, Option<String>>(2)?.is_some(),
            })
        };
        db.prepare_cached(select)
            .and_then(|mut s| {
                s.query_row((self.arm, self.task, self.index), stored)
                    .optional()
            })
            .map_err(sql)
    }
}

/// Stores a trial of which nothing stands at this place.
pub(super) fn insert(
    db: &Connection,
    ledger: &mut Ledger,
    place: Place,
    trial: &Trial,
    trace: Option<&Trace>,
    hashed: &Hashed,
) -> Result<()> {
    let row = ledger.add(trial.id.as_str(), &hashed.digest);
    let code = match &trial.status {
        TrialStatus::Infra { code, .. } => Some(code.as_str()),
        _ => None,
    };
    let insert =
        "INSERT INTO trials (row, id, arm, task, idx, status, boundary, code, body, trace, digest)
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let values = params![
        row,
        trial.id.as_str(),
        place.arm,
        place.task,
        place.index,
        trial.status.to_string(),
        trial.status.boundary().map(|b| b.name()),
        code,
        hashed.body,
        hashed.head,
        hashed.digest
    ];
    db.prepare_cached(insert)
        .and_then(|mut s| s.execute(values))
        .map_err(sql)?;
    insert_events(db, row, trace, hashed)
}

fn insert_events(db: &Connection, row: i64, trace: Option<&Trace>, hashed: &Hashed) -> Result<()> {
    let insert =
        "INSERT INTO events (trial, sequence, kind, body, hash) VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut insert = db.prepare_cached(insert).map_err(sql)?;
    for (event, (body, hash)) in trace.iter().flat_map(|t| &t.events).zip(&hashed.events) {
        let values = params![
            row,
            event.sequence as i64,
            kind_name(event.kind),
            body,
            hash
        ];
        insert.execute(values).map_err(sql)?;
    }
    Ok(())
}

fn kind_name(kind: EventKind) -> String {
    serde_json::to_value(kind)
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
