//! Traces: the ordered observable events of a trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::Notice;

/// The evidence of one trial.
///
/// Invariants: `events` stand in the order of their sequence, which is strictly increasing and
/// starts at 0 for everything an importer makes. Arguments of private tools and hidden reasoning are
/// not in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// What kind of source it came from.
    pub source: TraceSource,
    /// The events in order.
    pub events: Vec<Event>,
    /// Whether questions and calls have known positions relative to each other (the small form has
    /// none).
    pub order_known: bool,
    /// Small form only: whether the user was asked at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<bool>,
    /// Small form only: index of the call before which the user was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_before: Option<u64>,
    /// State document before the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_state: Option<Value>,
    /// State document after the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_state: Option<Value>,
    /// A result that the source recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalResult>,
    /// Why the evidence is incomplete; `None` if it is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<String>,
    /// Warnings, for example `order_unknown` or `unchained`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
}

impl Trace {
    /// Everything but the events.
    pub fn head(&self) -> Trace {
        Trace {
            source: self.source,
            events: vec![],
            order_known: self.order_known,
            asked: self.asked,
            asked_before: self.asked_before,
            initial_state: self.initial_state.clone(),
            final_state: self.final_state.clone(),
            external: self.external.clone(),
            truncated: self.truncated.clone(),
            notices: self.notices.clone(),
        }
    }
}

/// What kind of source a trace came from; decides what its silence means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceSource {
    /// Assize's own events: effects, faults and approvals are recorded when they happen, so that
    /// none recorded means none happened.
    Native,
    /// The small form: calls only; results, effects and faults are not recorded.
    Small,
    /// A chat log: calls and results; effects are inferred from results, faults are not recorded.
    Chat,
}

/// A result that the source of a trace recorded, kept as such.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExternalResult {
    /// Value in [0, 1]; 1 is success.
    pub value: f64,
    /// Who says so, for example `tau-bench reward`.
    pub provenance: String,
}

/// One observable event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// UTC time, RFC 3339, for correlation with other systems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Receipt of a committed effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_receipt: Option<String>,
    /// Key that identifies one intended effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Arguments, result, text, final payload; absent for private tools and where only a cut preview
    /// was recorded. A null is a payload, not an absence.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_value"
    )]
    pub payload: Option<Value>,
    /// Version of the policy under which an effect was allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<String>,
    /// Tokens and cost of a model call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Private calls: sequence of the earlier call with the same name and canonical arguments, since
    /// the arguments themselves are dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u64>,
}

/// Keeps an explicit `null` as a value, where serde would read it as absent.
pub(crate) fn some_value<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl Event {
    /// An event with nothing but its position and kind.
    pub fn new(sequence: u64, kind: EventKind) -> Self {
        Self {
            sequence,
            kind,
            capability: None,
            call_id: None,
            parent: None,
            elapsed_ms: None,
            time: None,
            effect_receipt: None,
            idempotency_key: None,
            payload: None,
            policy_version: None,
            usage: None,
            repeats: None,
        }
    }
}

/// Kinds of events.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The trial begins; its payload may hold `{"state": …}`, the initial state document.
    TrialStart,
    /// The user said something; payload: text.
    UserMessage,
    /// The model was called.
    ModelCall,
    /// The model answered: one turn of the model; payload: its visible text, if any.
    ModelResult,
    /// A declared decision with its declared alternatives; never hidden reasoning.
    Decision,
    /// A tool was called; payload: arguments.
    ToolCall,
    /// A tool answered; payload: result.
    ToolResult,
    /// A tool answered with an error, or not at all; payload: error.
    ToolError,
    /// The agent asked the user and waited for the answer; payload: text.
    Question,
    /// The agent asked for an approval; `capability` names what for, absent means for anything next.
    ApprovalRequest,
    /// The approval was granted or not; payload: `{"granted": true|false}`.
    ApprovalResult,
    /// An injected fault fired; payload: `{"id": …, "kind": …}`.
    Fault,
    /// A change in the world was committed; payload: arguments or description.
    Effect,
    /// The policy in force; `policy_version` names it.
    Policy,
    /// The final payload.
    Final,
    /// The trial ended; its payload may hold `{"state": …, "status": …}`.
    TrialEnd,
}

impl EventKind {
    /// Its name, as it stands in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::TrialStart => "trial_start",
            Self::UserMessage => "user_message",
            Self::ModelCall => "model_call",
            Self::ModelResult => "model_result",
            Self::Decision => "decision",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::ToolError => "tool_error",
            Self::Question => "question",
            Self::ApprovalRequest => "approval_request",
            Self::ApprovalResult => "approval_result",
            Self::Fault => "fault",
            Self::Effect => "effect",
            Self::Policy => "policy",
            Self::Final => "final",
            Self::TrialEnd => "trial_end",
        }
    }
}

/// Tokens, cost and time of a model call; what the source lacks is absent, never zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens read from the provider's prompt cache, part of `input_tokens`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Cost in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named_as_they_are_read() {
        use EventKind::*;
        for kind in [
            TrialStart,
            UserMessage,
            ModelCall,
            ModelResult,
            Decision,
            ToolCall,
            ToolResult,
            ToolError,
            Question,
            ApprovalRequest,
            ApprovalResult,
            Fault,
            Effect,
            Policy,
            Final,
            TrialEnd,
        ] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
