//! A reply of OpenAI's protocol as server-sent events.

use serde_json::{Value, json};

use super::openai::{CREATED, finish, usage};
use super::wire::pieces;
use crate::model::chat::Finish;
use crate::provider::script::ScriptedAnswer;

/// The events of a reply, the end mark included.
pub(super) fn frames(answer: &ScriptedAnswer, include_usage: bool) -> Vec<String> {
    let completion = &answer.completion;
    let chunk = |choices: Value, usage: Option<Value>| {
        let mut chunk = json!({
            "id": completion.response_id,
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": completion.model,
            "system_fingerprint": null,
            "choices": choices,
        });
        // With usage asked for, all chunks but the last say null.
        if include_usage {
            chunk["usage"] = usage.unwrap_or(Value::Null);
        }
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, reason: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason});
        chunk(json!([choice]), None)
    };
    let mut frames: Vec<String> = deltas(answer).into_iter().map(|d| delta(d, None)).collect();
    frames.push(delta(json!({}), Some(finish(&completion.finish))));
    if include_usage {
        frames.push(chunk(json!([]), Some(usage(completion))));
    }
    frames.push("data: [DONE]\n\n".to_owned());
    frames
}

/// What is added to the message, piece by piece.
fn deltas(answer: &ScriptedAnswer) -> Vec<Value> {
    let completion = &answer.completion;
    let content = completion.text.as_ref().map(|_| "");
    let mut deltas = vec![json!({"role": "assistant", "content": content, "refusal": null})];
    if let Some(reasoning) = &answer.reasoning {
        deltas.extend(
            pieces(reasoning)
                .iter()
                .map(|p| json!({"reasoning_content": p})),
        );
    }
    let key = match completion.finish {
        Finish::Refusal => "refusal",
        _ => "content",
    };
    let text = completion.text.as_deref().unwrap_or("");
    deltas.extend(pieces(text).iter().map(|p| json!({key: p})));
    for (i, call) in completion.calls.iter().enumerate() {
        let begun = json!({"name": call.name, "arguments": ""});
        let begun = json!({"index": i, "id": call.id, "type": "function", "function": begun});
        deltas.push(json!({"tool_calls": [begun]}));
        deltas.extend(
            pieces(&call.arguments)
                .iter()
                .map(|p| json!({"tool_calls": [{"index": i, "function": {"arguments": p}}]})),
        );
    }
    deltas
}
