//! What is taken down about one call.

use serde_json::{Value, json};

use super::{Clock, ToolReply};
use crate::model::chat::ToolCall;
use crate::model::suite::FaultSpec;
use crate::model::trace::{Event, EventKind};
use crate::trace::record::Recorder;

/// The events of one call, each tied to the call's own.
pub(super) struct CallLog<'a> {
    recorder: &'a mut Recorder,
    clock: &'a Clock,
    call: &'a ToolCall,
    sequence: u64,
    private: bool,
}

/// A committed change, as it is taken down.
pub(super) struct Effect<'a> {
    pub arguments: &'a Value,
    pub receipt: &'a str,
    pub idempotency_key: Option<String>,
    pub policy_version: Option<String>,
}

impl<'a> CallLog<'a> {
    /// Takes down that a tool was called.
    pub fn begin(
        recorder: &'a mut Recorder,
        clock: &'a Clock,
        call: &'a ToolCall,
        arguments: Value,
    ) -> Self {
        let sequence = recorder.tool_call(&call.name, &call.id, arguments, clock.now_ms());
        Self {
            private: recorder.is_private(&call.name),
            recorder,
            clock,
            call,
            sequence,
        }
    }

    fn push(&mut self, kind: EventKind) -> &mut Event {
        let event = self.recorder.push(kind, self.clock.now_ms());
        event.capability = Some(self.call.name.clone());
        event.call_id = Some(self.call.id.clone());
        event.parent = Some(self.sequence);
        event
    }

    /// Takes down that a fault fired.
    pub fn fault(&mut self, fault: &FaultSpec) {
        let payload = json!({"id": fault.id, "kind": fault.kind});
        self.push(EventKind::Fault).payload = Some(payload);
    }

    /// Takes down a change that was committed.
    pub fn effect(&mut self, effect: Effect) {
        let payload = (!self.private).then(|| effect.arguments.clone());
        let event = self.push(EventKind::Effect);
        event.effect_receipt = Some(effect.receipt.to_owned());
        event.idempotency_key = effect.idempotency_key;
        event.policy_version = effect.policy_version;
        event.payload = payload;
    }

    /// Answers the call.
    pub fn result(mut self, content: Value, receipt: Option<String>) -> ToolReply {
        let reply = ToolReply {
            content: text(&content),
            is_error: false,
        };
        self.answer(EventKind::ToolResult, content, receipt);
        reply
    }

    /// Answers the call with an error.
    pub fn error(mut self, content: impl Into<Value>) -> ToolReply {
        let content = content.into();
        let reply = ToolReply {
            content: text(&content),
            is_error: true,
        };
        self.answer(EventKind::ToolError, content, None);
        reply
    }

    fn answer(&mut self, kind: EventKind, content: Value, receipt: Option<String>) {
        let private = self.private;
        let event = self.push(kind);
        event.effect_receipt = receipt;
        event.payload = (!private).then_some(content);
    }

    /// The clock of the trial.
    pub fn clock(&self) -> &'a Clock {
        self.clock
    }
}

/// A value as the model reads it.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
