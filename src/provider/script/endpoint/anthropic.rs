//! Anthropic's messages: requests in, replies out.

use serde::Deserialize;
use serde_json::{Value, json};

use super::wire::{self, WireRequest};
use crate::model::chat::{Completion, Finish, Message, ToolCall};
use crate::provider::script::ScriptedAnswer;

#[derive(Deserialize)]
struct Request {
    model: String,
    #[serde(rename = "max_tokens")]
    _max_tokens: u64,
    messages: Vec<Said>,
    #[serde(default)]
    system: Value,
    #[serde(default)]
    tools: Vec<Value>,
    #[serde(default)]
    stream: bool,
}

#[derive(Deserialize)]
struct Said {
    role: String,
    content: Value,
}

/// Reads a request.
///
/// # Errors
///
/// What is wrong with it, in words.
pub(super) fn read(body: &[u8]) -> Result<WireRequest, String> {
    let request: Request = serde_json::from_slice(body).map_err(|e| e.to_string())?;
    if request.messages.is_empty() {
        return Err("messages: at least one message is required".to_owned());
    }
    let mut messages = vec![];
    let system = wire::text(&request.system);
    if !system.is_empty() {
        messages.push(Message::System(system));
    }
    for said in &request.messages {
        match said.role.as_str() {
            "user" => from_user(&said.content, &mut messages)?,
            "assistant" => messages.push(from_model(&said.content)?),
            other => return Err(format!("messages: `{other}` is no role")),
        }
    }
    wire::paired(&messages)?;
    let tools = request.tools.iter().map(|t| wire::tool(t, "input_schema"));
    Ok(WireRequest {
        model: request.model,
        chat: wire::request(messages, tools.collect::<Result<_, _>>()?),
        stream: request.stream,
        include_usage: true,
    })
}

/// Results of tools stand in messages of the user, before what the user says.
fn from_user(content: &Value, messages: &mut Vec<Message>) -> Result<(), String> {
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_result = |block: &&Value| block["type"] == "tool_result";
    let results = blocks.iter().filter(is_result);
    let found = results.clone().count();
    for block in results {
        let call_id = block["tool_use_id"].as_str();
        let call_id = call_id.ok_or("a tool_result has no `tool_use_id`")?;
        messages.push(Message::Tool {
            call_id: call_id.to_owned(),
            name: wire::tool_of(messages, call_id),
            content: wire::text(&block["content"]),
            is_error: block["is_error"] == true,
        });
    }
    let text = wire::text(content);
    if found == 0 || !text.is_empty() {
        messages.push(Message::User(text));
    }
    Ok(())
}

fn from_model(content: &Value) -> Result<Message, String> {
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut calls = vec![];
    for block in blocks.iter().filter(|b| b["type"] == "tool_use") {
        let part = |key: &str| {
            block[key]
                .as_str()
                .ok_or(format!("a tool_use has no `{key}`"))
        };
        calls.push(ToolCall {
            id: part("id")?.to_owned(),
            name: part("name")?.to_owned(),
            arguments: block["input"].to_string(),
        });
    }
    let text = wire::text(content);
    let opaque = blocks.iter().filter(|b| b["type"] == "thinking").cloned();
    Ok(Message::Assistant {
        text: (!text.is_empty()).then_some(text),
        calls,
        opaque: opaque.collect(),
    })
}

/// A whole reply.
pub(super) fn reply(answer: &ScriptedAnswer) -> Vec<u8> {
    let mut message = empty(&answer.completion);
    message["content"] = blocks(answer).into();
    message["stop_reason"] = stop_reason(&answer.completion.finish).into();
    message["usage"] = usage(&answer.completion);
    message.to_string().into_bytes()
}

/// A message without content, as streams begin.
pub(super) fn empty(completion: &Completion) -> Value {
    json!({
        "id": completion.response_id,
        "type": "message",
        "role": "assistant",
        "model": completion.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
    })
}

/// The blocks of a reply.
pub(super) fn blocks(answer: &ScriptedAnswer) -> Vec<Value> {
    let completion = &answer.completion;
    let mut blocks = completion.opaque.clone();
    if let Some(text) = completion.text.as_ref().filter(|t| !t.is_empty()) {
        blocks.push(json!({"type": "text", "text": text}));
    }
    blocks.extend(completion.calls.iter().map(|call| {
        // Here arguments are JSON and not text; what is no JSON is sent as a text, which no schema of
        // an object fits.
        let input = serde_json::from_str::<Value>(&call.arguments);
        let input = input.unwrap_or_else(|_| call.arguments.as_str().into());
        json!({"type": "tool_use", "id": call_id(call), "name": call.name, "input": input})
    }));
    blocks
}

/// The id of a call in this protocol's fashion.
pub(super) fn call_id(call: &ToolCall) -> String {
    match call.id.strip_prefix("call_") {
        Some(rest) => format!("toolu_{rest}"),
        None => call.id.clone(),
    }
}

/// Why a reply ends, in the protocol's words.
pub(super) fn stop_reason(finish: &Finish) -> &str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::ToolCalls => "tool_use",
        Finish::Length => "max_tokens",
        Finish::Refusal => "refusal",
        Finish::Other(word) => word,
    }
}

/// Tokens in the protocol's words: those from the cache are not among the input tokens.
pub(super) fn usage(completion: &Completion) -> Value {
    let usage = &completion.usage;
    let cached = usage.cached_tokens.unwrap_or(0);
    json!({
        "input_tokens": usage.input_tokens.unwrap_or(0).saturating_sub(cached),
        "output_tokens": usage.output_tokens.unwrap_or(0),
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
    })
}

/// An error.
pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

/// The models, as a list.
pub(super) fn models<'a>(names: impl Iterator<Item = &'a str>) -> Value {
    let model = |name: &str| {
        let created = "2026-01-01T00:00:00Z";
        json!({"type": "model", "id": name, "display_name": name, "created_at": created})
    };
    let data: Vec<Value> = names.map(model).collect();
    let id = |model: Option<&Value>| model.map(|m| m["id"].clone());
    let (first, last) = (id(data.first()), id(data.last()));
    json!({"data": data, "has_more": false, "first_id": first, "last_id": last})
}
