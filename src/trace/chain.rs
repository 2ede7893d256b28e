//! Native events: one JSON object a line, chained with blake3.
//!
//! The chain of a trial: hash = blake3(hash of the event before ‖ canonical form of the event
//! without its `hash`), both as text, the first event after nothing. The canonical form is that of
//! [`canonical`]. Hashed is what stands in the line, so that a chain can be checked by a reader that
//! knows fewer keys than the writer did.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::base::Digest;
use crate::base::digest::canonical;
use crate::model::trace::{Event, EventKind, Trace, TraceSource, Usage, some_value};
use crate::model::trial::TrialStatus;

/// Keys of an event line, in the order of writing.
pub const KEYS: [&str; 21] = [
    "run_id",
    "trial_id",
    "task",
    "arm",
    "trial",
    "sequence",
    "kind",
    "capability",
    "call_id",
    "parent",
    "elapsed_ms",
    "time",
    "effect_receipt",
    "idempotency_key",
    "payload_preview",
    "payload",
    "payload_digest",
    "policy_version",
    "usage",
    "repeats",
    "hash",
];

/// Names of the event kinds, as written.
pub const KINDS: [&str; 16] = [
    "trial_start",
    "user_message",
    "model_call",
    "model_result",
    "decision",
    "tool_call",
    "tool_result",
    "tool_error",
    "question",
    "approval_request",
    "approval_result",
    "fault",
    "effect",
    "policy",
    "final",
    "trial_end",
];

/// Longest payload that is its own preview, in bytes of its canonical form.
const PREVIEW: usize = 200;

/// One event as it stands in a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireEvent {
    /// Run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial_id: Option<String>,
    /// Task, in files that hold several trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Arm, in files that hold several arms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Trial index from 0 within arm and task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    /// Position in the trial, from 0; assigned once and stable.
    pub sequence: u64,
    /// What happened.
    pub kind: EventKind,
    /// Tool or capability concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// Pairs a call with its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Sequence of the event that caused this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// Monotonic milliseconds since the start of the trial.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "milliseconds"
    )]
    #[schemars(with = "Option<f64>")]
    pub elapsed_ms: Option<u64>,
    /// UTC time, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Receipt of a committed effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_receipt: Option<String>,
    /// Key that identifies one intended effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Beginning of the payload, or all of it if it is short.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_value"
    )]
    pub payload_preview: Option<Value>,
    /// Arguments, result, text, final payload.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_value"
    )]
    pub payload: Option<Value>,
    /// blake3 of the canonical payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_digest: Option<Digest>,
    /// Version of the policy under which an effect was allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<String>,
    /// Tokens and cost of a model call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Private calls: sequence of the earlier call with the same name and arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u64>,
    /// blake3 of the previous event's hash and this event without its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Digest>,
}

/// Monotonic clocks of other recorders give fractions of milliseconds.
fn milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<f64>::deserialize(deserializer)? else {
        return Ok(None);
    };
    if !(0.0..=9.0e15).contains(&number) {
        return Err(serde::de::Error::custom(
            "`elapsed_ms` is not a time from 0",
        ));
    }
    Ok(Some(number.round() as u64))
}

impl WireEvent {
    /// Whether the payload is lost: only a part of it was recorded, as preview.
    pub fn is_cut(&self) -> bool {
        match (&self.payload, &self.payload_preview, &self.payload_digest) {
            (None, Some(preview), Some(digest)) => Digest::of_json(preview) != *digest,
            (None, Some(preview), None) => is_beginning(preview),
            _ => false,
        }
    }

    /// The event without what belongs to the file. Its payload is the full one, else the preview if
    /// that is all of it. A null is a payload only at the end: elsewhere it says that there is none.
    pub fn into_event(self) -> Event {
        let preview = match self.is_cut() {
            true => None,
            false => self.payload_preview,
        };
        let is_value = |p: &Value| !p.is_null() || self.kind == EventKind::Final;
        Event {
            sequence: self.sequence,
            kind: self.kind,
            capability: self.capability,
            call_id: self.call_id,
            parent: self.parent,
            elapsed_ms: self.elapsed_ms,
            time: self.time,
            effect_receipt: self.effect_receipt,
            idempotency_key: self.idempotency_key,
            payload: self.payload.or(preview).filter(is_value),
            policy_version: self.policy_version,
            usage: self.usage,
            repeats: self.repeats,
        }
    }
}

/// Whether a preview shows by itself that it is only the beginning of a payload: an ellipsis at the
/// end of a text in it, or the beginning of a JSON text that does not end.
fn is_beginning(preview: &Value) -> bool {
    match preview {
        Value::String(text) => {
            let text = text.trim();
            let is_json = || serde_json::from_str::<Value>(text).is_ok();
            text.ends_with('…')
                || text.ends_with("...")
                || (text.starts_with(['{', '[']) && !is_json())
        }
        Value::Array(items) => items.iter().any(is_elided),
        Value::Object(members) => members.values().any(is_elided),
        _ => false,
    }
}

fn is_elided(value: &Value) -> bool {
    match value {
        Value::String(text) => text.ends_with('…'),
        other => is_beginning(other),
    }
}

/// The hash of an event line: of the hash before it and of the object without its `hash`.
pub fn link(previous: &str, event: &Map<String, Value>) -> Digest {
    let mut event = event.clone();
    event.remove("hash");
    let text = format!("{previous}{}", canonical(&Value::Object(event)));
    Digest::of_bytes(text.as_bytes())
}

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

/// Checks the links of one trial, event by event in the order of their sequence.
#[derive(Debug, Default)]
pub struct ChainCheck {
    previous: String,
    next: u64,
    chained: u64,
    fault: Option<&'static str>,
    ended: bool,
}

impl ChainCheck {
    /// Takes the next event: the object of its line as it was read.
    pub fn next(&mut self, event: &Map<String, Value>) {
        let sequence = event.get("sequence").and_then(Value::as_u64);
        if sequence != Some(self.next) {
            self.fault.get_or_insert("sequence_gap");
        }
        if let Some(hash) = event.get("hash").and_then(Value::as_str) {
            if link(&self.previous, event).as_str() != hash {
                self.fault.get_or_insert("broken_chain");
            }
            self.chained += 1;
            self.previous = hash.to_owned();
        }
        let (payload, digest) = (event.get("payload"), event.get("payload_digest"));
        if let (Some(payload), Some(digest)) = (payload, digest.and_then(Value::as_str))
            && Digest::of_json(payload).as_str() != digest
        {
            self.fault.get_or_insert("broken_chain");
        }
        self.ended = event.get("kind").and_then(Value::as_str) == Some("trial_end");
        self.next = sequence.unwrap_or(self.next).saturating_add(1);
        if self.chained != 0 && !event.contains_key("hash") {
            self.fault.get_or_insert("broken_chain");
        }
    }

    /// Why the trace is incomplete: `sequence_gap`, `broken_chain` or `no_trial_end`; `None` if it
    /// is whole.
    pub fn truncated(&self) -> Option<&'static str> {
        self.fault.or((!self.ended).then_some("no_trial_end"))
    }

    /// Whether no event carries a hash.
    pub fn is_unchained(&self) -> bool {
        self.chained == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<Map<String, Value>> {
        let mut bytes = vec![];
        let mut writer = ChainWriter::new(&mut bytes, ChainIds::default());
        for (i, kind) in [EventKind::TrialStart, EventKind::Final, EventKind::TrialEnd]
            .into_iter()
            .enumerate()
        {
            let mut event = Event::new(i as u64, kind);
            event.payload = Some(json!({"n": 1.0, "text": "é".repeat(300)}));
            writer.write(&event).unwrap();
        }
        let text = String::from_utf8(bytes).unwrap();
        text.lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect()
    }

    fn check(lines: &[Map<String, Value>]) -> Option<&'static str> {
        let mut check = ChainCheck::default();
        lines.iter().for_each(|line| check.next(line));
        check.truncated()
    }

    #[test]
    fn a_whole_chain_holds_and_every_damage_shows() {
        let whole = lines();
        assert_eq!(check(&whole), None);
        assert_eq!(check(&whole[..2]), Some("no_trial_end"));
        assert_eq!(
            check(&[whole[0].clone(), whole[2].clone()]),
            Some("sequence_gap")
        );
        assert_eq!(check(&whole[1..]), Some("sequence_gap"));
        let mut edited = whole.clone();
        edited[1].insert("capability".into(), json!("x"));
        assert_eq!(check(&edited), Some("broken_chain"));
        let mut unhashed = whole.clone();
        unhashed[1].remove("hash");
        assert_eq!(check(&unhashed), Some("broken_chain"));
        let mut first_unhashed = whole;
        first_unhashed[0].remove("hash");
        assert_eq!(check(&first_unhashed), Some("broken_chain"));
    }

    #[test]
    fn hashes_are_of_the_canonical_form() {
        // A second writer that formats numbers and orders keys differently makes the same chain.
        let a = json!({"sequence": 0, "kind": "final", "payload": 1.0});
        let b: Value =
            serde_json::from_str("{\"payload\":1,\"kind\":\"final\",\"sequence\":0.0}").unwrap();
        let object = |v: &Value| v.as_object().unwrap().clone();
        assert_eq!(link("", &object(&a)), link("", &object(&b)));
        assert_ne!(link("", &object(&a)), link("x", &object(&a)));
        let expected = blake3::hash(b"{\"kind\":\"final\",\"payload\":1,\"sequence\":0}");
        assert_eq!(link("", &object(&a)).as_str(), expected.to_hex().as_str());
    }

    #[test]
    fn long_payloads_keep_a_preview_beside_them() {
        let line = &lines()[0];
        assert!(line["payload_preview"].as_str().unwrap().ends_with('…'));
        assert_eq!(line["payload"]["n"], json!(1.0));
        let digest = Digest::of_json(&line["payload"]);
        assert_eq!(line["payload_digest"], json!(digest));
    }

    #[test]
    fn a_preview_is_the_payload_only_if_it_is_all_of_it() {
        let read = |mut line: Value| {
            line["sequence"] = json!(0);
            line["kind"] = json!("final");
            let wire: WireEvent = serde_json::from_value(line).unwrap();
            (wire.is_cut(), wire.into_event().payload)
        };
        let whole = json!({"status": "created"});
        let digest = Digest::of_json(&whole);
        for (line, payload) in [
            (json!({"payload_preview": whole}), Some(whole.clone())),
            (
                json!({"payload_preview": whole, "payload_digest": digest}),
                Some(whole.clone()),
            ),
            (
                json!({"payload_preview": "{\"status\"…", "payload": whole}),
                Some(whole.clone()),
            ),
            (json!({"payload_preview": "Done"}), Some(json!("Done"))),
            (json!({"payload_preview": null}), Some(Value::Null)),
            (json!({"payload": null}), Some(Value::Null)),
            (json!({}), None),
        ] {
            assert_eq!(read(line.clone()), (false, payload), "{line}");
        }
        for preview in [
            json!("{\"status\": \"cre…"),
            json!("{\"status\": \"cre"),
            json!("The order was..."),
            json!({"rows": ["a", "b…"]}),
        ] {
            assert_eq!(read(json!({"payload_preview": preview})), (true, None));
        }
        let other = json!({"payload_preview": {"status": "c"}, "payload_digest": digest});
        assert_eq!(read(other), (true, None));
    }

    #[test]
    fn the_lists_of_keys_and_kinds_are_complete() {
        let full = lines().remove(1);
        assert!(full.keys().all(|key| KEYS.contains(&key.as_str())));
        for kind in KINDS {
            let read: Result<EventKind, _> = serde_json::from_value(json!(kind));
            assert!(read.is_ok(), "{kind}");
        }
        assert_eq!(KINDS.len(), EventKind::TrialEnd as usize + 1);
    }
}
