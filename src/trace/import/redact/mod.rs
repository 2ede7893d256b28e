//! The one place where every imported trial loses what must not be stored: what passed through
//! private tools, hidden reasoning, and keys.
//!
//! Importers drop what they recognise in their own format; this pass stands between all of them and
//! the sink, and does not trust them.

mod private;
mod reasoning;
mod secrets;

use serde_json::Value;

use crate::base::Result;
use crate::model::trace::EventKind;
use crate::model::trial::RecordedTrial;
use crate::trace::import::{ImportOptions, Sink, marks};

pub(crate) use reasoning::is_reasoning_part;

/// A sink that passes trials on without what must not be stored.
pub(crate) fn before<'a>(
    options: &'a ImportOptions,
    sink: &'a mut Sink<'_>,
) -> impl FnMut(RecordedTrial) -> Result<()> + 'a {
    |mut trial| {
        redact(&mut trial, options);
        sink(trial)
    }
}

fn redact(trial: &mut RecordedTrial, options: &ImportOptions) {
    let Some(trace) = &mut trial.trace else {
        return;
    };
    private::drop_payloads(trace, options);
    for event in &mut trace.events {
        let payload = event.payload.take();
        event.payload = payload.and_then(|payload| redacted(event.kind, payload));
    }
    let states = trace.initial_state.iter_mut().chain(&mut trace.final_state);
    states.for_each(|state| secrets::remove(state, secrets::Within::Payload));
}

/// A payload without reasoning and keys; `None` if it was nothing but reasoning.
fn redacted(kind: EventKind, payload: Value) -> Option<Value> {
    let mut payload = match (is_by_model(kind), payload) {
        (true, Value::String(said)) => Value::String(marks::visible(&said).unwrap_or_default()),
        (_, other) => other,
    };
    let message = is_message(kind);
    if message && is_reasoning_part(&payload) {
        return None;
    }
    reasoning::remove(&mut payload, message, is_by_model(kind));
    let within = match message {
        true => secrets::Within::Exchange,
        false => secrets::Within::Payload,
    };
    secrets::remove(&mut payload, within);
    Some(payload)
}

/// Whether its text was written by the model, for somebody to read.
fn is_by_model(kind: EventKind) -> bool {
    is_message(kind) || kind == EventKind::Final
}

/// Whether it holds what went to or came from the model, rather than what the agent made of it: a
/// final payload or an argument may well have a field named `reasoning` that somebody asked for.
fn is_message(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::ModelCall | EventKind::ModelResult | EventKind::Decision | EventKind::Question
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECRET: &str = "SECRETXYZZY";

    #[test]
    fn what_the_model_thought_goes_and_what_it_gave_stays() {
        use EventKind::*;
        for (kind, payload, left) in [
            (
                ModelResult,
                json!({"content": "<think>SECRETXYZZY</think>hi", "n": 1}),
                json!({"content": "hi", "n": 1}),
            ),
            (
                ModelResult,
                json!({"message": {"reasoning_content": SECRET, "content": "hi"}}),
                json!({"message": {"content": "hi"}}),
            ),
            (
                ModelResult,
                json!({"content": [{"type": "thinking", "thinking": SECRET}, {"type": "text", "text": "hi"},
                    {"thought": true, "text": SECRET}]}),
                json!({"content": [{"type": "text", "text": "hi"}]}),
            ),
            (
                Decision,
                json!({"choice": "a", "meta": {"reasoning": SECRET, "chainOfThought": SECRET}}),
                json!({"choice": "a", "meta": {}}),
            ),
            (
                Question,
                json!("[THINK]SECRETXYZZY[/THINK] Which?"),
                json!("Which?"),
            ),
            (
                Final,
                json!({"reasoning": "two items", "answer": "<think>SECRETXYZZY</think>2", "thinking_blocks": [SECRET]}),
                json!({"reasoning": "two items", "answer": "2"}),
            ),
            (
                ToolCall,
                json!({"thought": "a", "text": "<think> is a tag"}),
                json!({"thought": "a", "text": "<think> is a tag"}),
            ),
            (
                ModelResult,
                json!({"usage": {"reasoning_tokens": 3}}),
                json!({"usage": {"reasoning_tokens": 3}}),
            ),
        ] {
            assert_eq!(redacted(kind, payload.clone()), Some(left), "{payload}");
        }
        let part = json!({"type": "reasoning", "summary": [SECRET]});
        assert_eq!(redacted(ModelResult, part), None);
    }

    #[test]
    fn keys_go_from_every_payload() {
        use EventKind::*;
        let header =
            json!({"authorization": "[removed]", "x-api-key": "[removed]", "accept": "json"});
        for (kind, payload, left) in [
            (
                ModelCall,
                json!({"headers": {"authorization": "Bearer SECRETXYZZY", "x-api-key": SECRET, "accept": "json"}}),
                json!({"headers": header}),
            ),
            (
                ToolResult,
                json!({"request": {"Headers": {"X-Auth-Token": SECRET, "Cookie": SECRET}}}),
                json!({"request": {"Headers": {"X-Auth-Token": "[removed]", "Cookie": "[removed]"}}}),
            ),
            (
                ModelCall,
                json!({"headers": [["Authorization", SECRET], {"name": "api-key", "value": SECRET}]}),
                json!({"headers": [["Authorization", "[removed]"], {"name": "api-key", "value": "[removed]"}]}),
            ),
            (
                ToolCall,
                json!({"apiKey": SECRET, "openai_api_key": SECRET}),
                json!({"apiKey": "[removed]", "openai_api_key": "[removed]"}),
            ),
            (
                ToolCall,
                json!({"authorization": "Basic U0VDUkVUWFlaWlk="}),
                json!({"authorization": "[removed]"}),
            ),
            // An authorization of a card is no header.
            (
                ToolCall,
                json!({"authorization": "auth_77", "token": "t"}),
                json!({"authorization": "auth_77", "token": "t"}),
            ),
            (
                ToolCall,
                json!(
                    "curl -H 'Authorization: Bearer SECRETXYZZY' -H \"x-api-key: sk-abcdef0123456789abcdef\""
                ),
                json!("curl -H 'Authorization: [removed]' -H \"x-api-key: [removed]\""),
            ),
            (
                UserMessage,
                json!("my key is sk-proj-abcdef0123456789abcdef, ok?"),
                json!("my key is [removed], ok?"),
            ),
            (
                UserMessage,
                json!("a task-force, a sk-ateboard and bearer bonds"),
                json!("a task-force, a sk-ateboard and bearer bonds"),
            ),
        ] {
            assert_eq!(redacted(kind, payload.clone()), Some(left), "{payload}");
        }
    }
}
