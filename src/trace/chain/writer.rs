//! Writing the events of a trial as chained lines.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::{WireEvent, link};
use crate::base::Digest;
use crate::base::digest::canonical;
use crate::model::trace::{Event, EventKind, Trace, TraceSource};
use crate::model::trial::TrialStatus;

/// Longest payload that is its own preview, in bytes of its canonical form.
const PREVIEW: usize = 200;

/// What identifies the trial of a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainIds {
    /// Run.
    pub run_id: Option<String>,
    /// Trial.
    pub trial_id: Option<String>,
    /// Task.
    pub task: Option<String>,
    /// Arm.
    pub arm: Option<String>,
    /// Trial index from 0.
    pub trial: Option<u32>,
}

/// Writes the events of one trial as chained lines.
///
/// # Examples
///
/// ```
/// use assize::model::trace::{Event, EventKind};
/// use assize::trace::chain::{ChainIds, ChainWriter};
/// let ids = ChainIds { task: Some("refund".into()), ..ChainIds::default() };
/// let mut bytes = Vec::new();
/// let mut writer = ChainWriter::new(&mut bytes, ids);
/// writer.write(&Event::new(0, EventKind::TrialStart)).unwrap();
/// writer.write(&Event::new(1, EventKind::TrialEnd)).unwrap();
/// assert_eq!(String::from_utf8(bytes).unwrap().lines().count(), 2);
/// ```
pub struct ChainWriter<W: Write> {
    out: W,
    ids: ChainIds,
    previous: String,
}

impl<W: Write> ChainWriter<W> {
    /// Begins a chain.
    pub fn new(out: W, ids: ChainIds) -> Self {
        Self {
            out,
            ids,
            previous: String::new(),
        }
    }

    /// Writes one event as a line; the caller flushes.
    ///
    /// # Errors
    ///
    /// Those of the underlying writer.
    pub fn write(&mut self, event: &Event) -> io::Result<()> {
        let mut wire = self.wire(event);
        let unhashed = serde_json::to_value(&wire)?;
        let object = unhashed.as_object().ok_or(io::ErrorKind::InvalidData)?;
        let hash = link(&self.previous, object);
        self.previous = hash.as_str().to_owned();
        wire.hash = Some(hash);
        serde_json::to_writer(&mut self.out, &wire)?;
        self.out.write_all(b"\n")
    }

    fn wire(&self, event: &Event) -> WireEvent {
        let ids = self.ids.clone();
        WireEvent {
            run_id: ids.run_id,
            trial_id: ids.trial_id,
            task: ids.task,
            arm: ids.arm,
            trial: ids.trial,
            sequence: event.sequence,
            kind: event.kind,
            capability: event.capability.clone(),
            call_id: event.call_id.clone(),
            parent: event.parent,
            elapsed_ms: event.elapsed_ms,
            time: event.time.clone(),
            effect_receipt: event.effect_receipt.clone(),
            idempotency_key: event.idempotency_key.clone(),
            payload_preview: event.payload.as_ref().map(preview),
            payload: event.payload.clone(),
            payload_digest: event.payload.as_ref().map(Digest::of_json),
            policy_version: event.policy_version.clone(),
            usage: event.usage.clone(),
            repeats: event.repeats,
            hash: None,
        }
    }
}

/// A payload as a person reads it in a log: itself if it is short, else the beginning of its text.
fn preview(payload: &Value) -> Value {
    let text = canonical(payload);
    if text.len() <= PREVIEW {
        return payload.clone();
    }
    Value::String(text.chars().take(PREVIEW / 2).chain(['…']).collect())
}

/// Writes a whole trial: its events, with states, status, external result and source in the
/// payloads of `trial_start` and `trial_end`, from which the reader takes them again.
///
/// # Errors
///
/// Those of the underlying writer.
pub fn write_trial(
    out: impl Write,
    ids: ChainIds,
    trace: &Trace,
    status: &TrialStatus,
) -> io::Result<()> {
    let mut writer = ChainWriter::new(out, ids);
    for event in &trace.events {
        match event.kind {
            EventKind::TrialStart => writer.write(&with(event, start_facts(trace)))?,
            EventKind::TrialEnd => writer.write(&with(event, end_facts(trace, status)))?,
            _ => writer.write(event)?,
        }
    }
    Ok(())
}

fn start_facts(trace: &Trace) -> Vec<(&'static str, Option<Value>)> {
    let source = (trace.source != TraceSource::Native).then(|| json!(trace.source));
    vec![
        ("state", trace.initial_state.clone()),
        ("source", source),
        ("asked", trace.asked.map(Value::from)),
        ("asked_before", trace.asked_before.map(Value::from)),
    ]
}

fn end_facts(trace: &Trace, status: &TrialStatus) -> Vec<(&'static str, Option<Value>)> {
    vec![
        ("state", trace.final_state.clone()),
        ("status", Some(json!(status))),
        ("external", trace.external.as_ref().map(|e| json!(e))),
    ]
}

fn with(event: &Event, facts: Vec<(&'static str, Option<Value>)>) -> Event {
    let mut event = event.clone();
    let mut payload = match event.payload.take() {
        Some(Value::Object(payload)) => payload,
        _ => Map::new(),
    };
    for (key, value) in facts {
        if let Some(value) = value {
            payload.insert(key.to_owned(), value);
        }
    }
    event.payload = (!payload.is_empty()).then_some(Value::Object(payload));
    event
}
