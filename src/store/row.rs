//! One trial as rows of the database, with the digests that cover them.

use rusqlite::{Connection, OptionalExtension, params};

use super::ledger::Ledger;
use super::sql;
use crate::base::digest::{Members, canonical};
use crate::base::{Digest, Error, Result};
use crate::model::trace::{Event, Trace};
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
        let values = params![row, event.sequence as i64, event.kind.name(), body, hash];
        insert.execute(values).map_err(sql)?;
    }
    Ok(())
}

/// A trial as it is stored: texts, the chain of its events, and a digest over all of it.
pub(super) struct Hashed {
    pub body: String,
    pub head: Option<String>,
    /// Body and chained hash of each event.
    pub events: Vec<(String, String)>,
    pub digest: String,
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::io(format!("a trial cannot be written: {error}"))
}

/// The canonical text of an event. Events are most of what is stored, so they are written as they
/// are, without a copy as a JSON value.
fn event_text(event: &Event) -> Result<String> {
    let Event {
        sequence,
        kind,
        capability,
        call_id,
        parent,
        elapsed_ms,
        time,
        effect_receipt,
        idempotency_key,
        payload,
        policy_version,
        usage,
        repeats,
    } = event;
    let usage = usage.as_ref().map(serde_json::to_value);
    let usage = usage.transpose().map_err(unwritable)?;
    let mut members = Members::new();
    members.text("call_id", call_id.as_deref());
    members.text("capability", capability.as_deref());
    members.text("effect_receipt", effect_receipt.as_deref());
    members.number("elapsed_ms", *elapsed_ms);
    members.text("idempotency_key", idempotency_key.as_deref());
    members.text("kind", Some(kind.name()));
    members.number("parent", *parent);
    members.value("payload", payload.as_ref());
    members.text("policy_version", policy_version.as_deref());
    members.number("repeats", *repeats);
    members.number("sequence", Some(*sequence));
    members.text("time", time.as_deref());
    members.value("usage", usage.as_ref());
    Ok(members.end())
}

impl Hashed {
    pub(super) fn new(trial: &Trial, trace: Option<&Trace>) -> Result<Self> {
        let body = canonical(&serde_json::to_value(trial).map_err(unwritable)?);
        let mut events = Vec::new();
        let mut previous = String::new();
        for event in trace.iter().flat_map(|t| &t.events) {
            let text = event_text(event)?;
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
    let mut hasher = blake3::Hasher::new();
    hasher.update(previous.as_bytes());
    hasher.update(text.as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// The digest of a stored trial: its body, the head of its trace, and the last hash of its chain.
pub(super) fn trial_digest(body: &str, head: Option<&str>, last_hash: &str) -> String {
    Digest::of_parts(&[body, head.unwrap_or(""), last_hash])
        .as_str()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::trace::{EventKind, Usage};

    #[test]
    fn an_event_is_written_in_the_canonical_form_of_its_json() {
        let text = |text: &str| Some(text.to_owned());
        let full = Event {
            sequence: 7,
            kind: EventKind::ToolResult,
            capability: text("refund \"x\""),
            call_id: text("c\n1"),
            parent: Some(u64::MAX),
            elapsed_ms: Some(0),
            time: text("2026-01-01T00:00:00Z"),
            effect_receipt: text("é"),
            idempotency_key: text(""),
            payload: Some(json!({"b": [1.5, null], "a": {"\u{fb33}": 1, "\u{1f600}": -0.0}})),
            policy_version: text("v"),
            usage: Some(Usage {
                input_tokens: Some(3),
                cost_usd: Some(1e-7),
                ..Usage::default()
            }),
            repeats: Some(1 << 53),
        };
        for event in [full, Event::new(0, EventKind::TrialStart)] {
            let value = serde_json::to_value(&event).unwrap();
            assert_eq!(event_text(&event).unwrap(), canonical(&value));
        }
    }

    #[test]
    fn the_chain_covers_what_was_before_and_what_is_there() {
        assert_eq!(chained("ab", "c"), Digest::of_bytes(b"abc").as_str());
    }
}
