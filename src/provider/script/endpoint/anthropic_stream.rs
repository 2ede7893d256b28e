//! A reply of Anthropic's protocol as server-sent events.

use serde_json::{Value, json};

use super::anthropic::{blocks, empty, stop_reason, usage};
use super::wire::pieces;
use crate::provider::script::ScriptedAnswer;

/// The events of a reply.
pub(super) fn frames(answer: &ScriptedAnswer) -> Vec<String> {
    let completion = &answer.completion;
    let mut message = empty(completion);
    message["usage"] = usage(completion);
    // What will be written is not known at the start.
    message["usage"]["output_tokens"] = 1.into();
    let mut frames = vec![
        frame(json!({"type": "message_start", "message": message})),
        frame(json!({"type": "ping"})),
    ];
    for (i, block) in blocks(answer).iter().enumerate() {
        let raw = raw_arguments(answer, block);
        frames.extend(of_block(i, block, raw).into_iter().map(frame));
    }
    let delta = json!({"stop_reason": stop_reason(&completion.finish), "stop_sequence": null});
    let usage = json!({"output_tokens": completion.usage.output_tokens.unwrap_or(0)});
    frames.push(frame(
        json!({"type": "message_delta", "delta": delta, "usage": usage}),
    ));
    frames.push(frame(json!({"type": "message_stop"})));
    frames
}

fn frame(event: Value) -> String {
    format!(
        "event: {}\ndata: {event}\n\n",
        event["type"].as_str().unwrap_or("")
    )
}

/// The arguments of a call as the model wrote them; streams send them so, whole or not.
fn raw_arguments<'a>(answer: &'a ScriptedAnswer, block: &Value) -> &'a str {
    let calls = &answer.completion.calls;
    let call = calls
        .iter()
        .find(|c| block["id"] == super::anthropic::call_id(c));
    call.map_or("", |c| c.arguments.as_str())
}

fn of_block(index: usize, block: &Value, raw: &str) -> Vec<Value> {
    let delta = |kind: &str, key: &str, text: &str| {
        let delta = json!({"type": kind, key: text});
        json!({"type": "content_block_delta", "index": index, "delta": delta})
    };
    let mut start = block.clone();
    let mut deltas = vec![];
    let text = |key: &str| block[key].as_str().unwrap_or("");
    match text("type") {
        "text" => {
            start["text"] = "".into();
            let pieces = pieces(text("text"));
            deltas.extend(pieces.iter().map(|p| delta("text_delta", "text", p)));
        }
        "thinking" => {
            start["thinking"] = "".into();
            start["signature"] = "".into();
            let pieces = pieces(text("thinking"));
            deltas.extend(
                pieces
                    .iter()
                    .map(|p| delta("thinking_delta", "thinking", p)),
            );
            deltas.push(delta("signature_delta", "signature", text("signature")));
        }
        _ => {
            start["input"] = json!({});
            let pieces = pieces(raw);
            deltas.extend(
                pieces
                    .iter()
                    .map(|p| delta("input_json_delta", "partial_json", p)),
            );
        }
    }
    let begin = json!({"type": "content_block_start", "index": index, "content_block": start});
    let end = json!({"type": "content_block_stop", "index": index});
    [vec![begin], deltas, vec![end]].concat()
}
