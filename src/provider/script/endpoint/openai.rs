//! OpenAI's chat completions: requests in, replies out.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::wire::{self, WireRequest};
use crate::model::chat::{Completion, Finish, Message, ToolCall, ToolDef};
use crate::provider::script::ScriptedAnswer;

/// When every reply says it was made (2026-01-01): answers depend on no clock.
pub(super) const CREATED: u64 = 1_767_225_600;

#[derive(Deserialize)]
struct Request {
    model: String,
    messages: Vec<Said>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct Said {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
    #[serde(default)]
    tool_call_id: Option<String>,
}

#[derive(Deserialize)]
struct Call {
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: String,
}

/// Reads a request.
///
/// # Errors
///
/// What is wrong with it, in words.
pub(super) fn read(body: &[u8]) -> Result<WireRequest, String> {
    let request: Request = serde_json::from_slice(body).map_err(|e| e.to_string())?;
    if request.messages.is_empty() {
        return Err("`messages` is empty".to_owned());
    }
    let mut messages = Vec::with_capacity(request.messages.len());
    for said in request.messages {
        messages.push(message(said, &messages)?);
    }
    wire::paired(&messages)?;
    let tools = request.tools.unwrap_or_default();
    let tools = tools.iter().map(tool).collect::<Result<_, _>>()?;
    Ok(WireRequest {
        model: request.model,
        chat: wire::request(messages, tools),
        stream: request.stream.unwrap_or(false),
        include_usage: request.stream_options.and_then(|o| o.include_usage) == Some(true),
    })
}

fn message(said: Said, before: &[Message]) -> Result<Message, String> {
    let text = wire::text(&said.content);
    match said.role.as_str() {
        "system" | "developer" => Ok(Message::System(text)),
        "user" => Ok(Message::User(text)),
        "assistant" => {
            let call = |call: Call| ToolCall {
                id: call.id,
                name: call.function.name,
                arguments: call.function.arguments,
            };
            Ok(Message::Assistant {
                text: (!said.content.is_null()).then_some(text),
                calls: said
                    .tool_calls
                    .unwrap_or_default()
                    .into_iter()
                    .map(call)
                    .collect(),
                opaque: vec![],
            })
        }
        "tool" => {
            let call_id = said
                .tool_call_id
                .ok_or("a tool message has no `tool_call_id`")?;
            Ok(Message::Tool {
                name: wire::tool_of(before, &call_id),
                call_id,
                content: text,
                is_error: false,
            })
        }
        other => Err(format!("`{other}` is no role")),
    }
}

fn tool(offered: &Value) -> Result<ToolDef, String> {
    if offered["type"] != "function" {
        return Err("only tools of type `function` are known".to_owned());
    }
    wire::tool(&offered["function"], "parameters")
}

#[derive(Serialize)]
struct Reply<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    usage: Value,
    system_fingerprint: Option<&'a str>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    message: Answer<'a>,
    logprobs: Option<Value>,
    finish_reason: &'a str,
}

#[derive(Serialize)]
struct Answer<'a> {
    role: &'static str,
    content: Option<&'a str>,
    refusal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<AnswerCall<'a>>,
}

#[derive(Serialize)]
struct AnswerCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: AnswerFunction<'a>,
}

#[derive(Serialize)]
struct AnswerFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// A whole reply.
pub(super) fn reply(answer: &ScriptedAnswer) -> Vec<u8> {
    let completion = &answer.completion;
    let refused = completion.finish == Finish::Refusal;
    let text = completion.text.as_deref();
    let message = Answer {
        role: "assistant",
        content: text.filter(|_| !refused),
        refusal: text.filter(|_| refused),
        reasoning_content: answer.reasoning.as_deref(),
        tool_calls: completion.calls.iter().map(answer_call).collect(),
    };
    let choice = Choice {
        index: 0,
        message,
        logprobs: None,
        finish_reason: finish(&completion.finish),
    };
    let reply = Reply {
        id: completion.response_id.as_deref().unwrap_or(""),
        object: "chat.completion",
        created: CREATED,
        model: completion.model.as_deref().unwrap_or(""),
        choices: [choice],
        usage: usage(completion),
        system_fingerprint: None,
    };
    serde_json::to_vec(&reply).unwrap_or_default()
}

fn answer_call(call: &ToolCall) -> AnswerCall<'_> {
    AnswerCall {
        id: &call.id,
        r#type: "function",
        function: AnswerFunction {
            name: &call.name,
            arguments: &call.arguments,
        },
    }
}

/// Why a reply ends, in the protocol's words; a refusal is told apart by its key.
pub(super) fn finish(finish: &Finish) -> &str {
    match finish {
        Finish::Stop | Finish::Refusal => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "length",
        Finish::Other(word) => word,
    }
}

/// Tokens in the protocol's words.
pub(super) fn usage(completion: &Completion) -> Value {
    let usage = &completion.usage;
    let (input, output) = (
        usage.input_tokens.unwrap_or(0),
        usage.output_tokens.unwrap_or(0),
    );
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens.unwrap_or(0)},
    })
}

/// An error.
pub(super) fn error(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        404 => ("invalid_request_error", Some("model_not_found")),
        429 => ("requests", Some("rate_limit_exceeded")),
        400..=499 => ("invalid_request_error", None),
        _ => ("server_error", None),
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

/// The models, as a list.
pub(super) fn models<'a>(names: impl Iterator<Item = &'a str>) -> Value {
    let model =
        |name| json!({"id": name, "object": "model", "created": CREATED, "owned_by": "script"});
    json!({"object": "list", "data": names.map(model).collect::<Vec<_>>()})
}
