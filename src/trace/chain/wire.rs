//! One event as it stands in a line.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::base::Digest;
use crate::model::trace::{Event, EventKind, Usage, some_value};

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
