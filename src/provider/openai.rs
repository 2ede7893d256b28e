//! OpenAI's chat completions: what is sent, and the reply in one piece.
//!
//! Source: OpenAI, *API reference: Chat completions* (2025), and what compatible servers make of it.
//! `reasoning` and `reasoning_content` are not among the fields that are read.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::model::chat::{ChatRequest, Completion, Finish, ToolCall};
use crate::model::trace::Usage;

use super::failure::{Code, Failed};
use super::openai_messages::{Messages, Tools};
use super::{lenient, status};

/// Keys of a request that are not the arm's to set.
pub(super) const RESERVED: [&str; 6] = [
    "model",
    "messages",
    "tools",
    "stream",
    "stream_options",
    "n",
];

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Messages<'a>,
    #[serde(skip_serializing_if = "Tools::none")]
    tools: Tools<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    params: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// The body of a request.
pub(super) fn encode(
    model: &str,
    params: &Map<String, Value>,
    stream: bool,
    request: &ChatRequest,
) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Body {
        model,
        messages: Messages(&request.messages),
        tools: Tools(&request.tools),
        stream: stream.then_some(true),
        stream_options: stream.then_some(StreamOptions {
            include_usage: true,
        }),
        params,
    })
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    model: Option<String>,
    #[serde(borrow, default)]
    choices: Vec<Choice<'a>>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Answer<'a>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(default, deserialize_with = "lenient::text")]
    content: Option<String>,
    refusal: Option<String>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<CallIn<'a>>>,
}

#[derive(Deserialize)]
struct CallIn<'a> {
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    #[serde(borrow)]
    function: FunctionIn<'a>,
}

#[derive(Deserialize)]
struct FunctionIn<'a> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Clone, Copy, Deserialize)]
pub(super) struct Tokens {
    #[serde(default, deserialize_with = "lenient::count")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
}

#[derive(Clone, Copy, Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "lenient::count")]
    cached_tokens: Option<u64>,
}

impl Tokens {
    pub fn usage(self) -> Usage {
        Usage {
            input_tokens: self.prompt_tokens,
            output_tokens: self.completion_tokens,
            cached_tokens: self.prompt_tokens_details.and_then(|d| d.cached_tokens),
            cost_usd: None,
        }
    }
}

/// Reads a reply in one piece.
///
/// # Errors
///
/// If it is not of the protocol, or is an error under status 200.
pub(super) fn parse(body: &[u8]) -> Result<Completion, Failed> {
    let reply: Reply = serde_json::from_slice(body).map_err(|e| Failed::unreadable(body, &e))?;
    if let Some(error) = reply.error.filter(|error| !error.is_null()) {
        return Err(status::of_error(&error));
    }
    let Some(choice) = reply.choices.into_iter().next() else {
        return Err(Failed::new(
            Code::MalformedReply,
            "the reply has no choices",
        ));
    };
    let calls = choice.message.tool_calls.unwrap_or_default();
    let answered = Answered {
        text: choice.message.content,
        refusal: choice.message.refusal,
        calls: calls
            .into_iter()
            .enumerate()
            .map(|(i, call)| call.read(i))
            .collect(),
        finish_reason: choice.finish_reason,
    };
    let mut completion = answered.completion();
    completion.usage = reply.usage.map(Tokens::usage).unwrap_or_default();
    completion.model = reply.model;
    completion.response_id = reply.id;
    Ok(completion)
}

impl CallIn<'_> {
    fn read(self, index: usize) -> ToolCall {
        ToolCall {
            id: given_or_made(self.id, index),
            name: self.function.name,
            arguments: lenient::arguments(self.function.arguments),
        }
    }
}

/// The id of a call; some servers give none.
pub(super) fn given_or_made(id: Option<String>, index: usize) -> String {
    id.filter(|id| !id.is_empty())
        .unwrap_or_else(|| format!("call_{index}"))
}

/// What a choice holds, whether it came in one piece or in many.
#[derive(Default)]
pub(super) struct Answered {
    pub text: Option<String>,
    pub refusal: Option<String>,
    pub calls: Vec<ToolCall>,
    pub finish_reason: Option<String>,
}

impl Answered {
    pub fn completion(mut self) -> Completion {
        lenient::tell_apart(&mut self.calls);
        let refusal = self.refusal.filter(|text| !text.is_empty());
        let finish = finish(
            self.finish_reason,
            refusal.is_some(),
            !self.calls.is_empty(),
        );
        Completion {
            text: self.text.filter(|text| !text.is_empty()).or(refusal),
            calls: self.calls,
            finish,
            usage: Usage::default(),
            model: None,
            response_id: None,
            cache_hit: None,
            opaque: Vec::new(),
            attempts: 1,
            declared_ms: None,
        }
    }
}

fn finish(reason: Option<String>, refused: bool, has_calls: bool) -> Finish {
    match reason.as_deref() {
        _ if refused => Finish::Refusal,
        Some("content_filter") => Finish::Refusal,
        Some("length") => Finish::Length,
        // Some servers say `stop` beside calls, some nothing.
        Some("stop" | "tool_calls" | "function_call") | None if has_calls => Finish::ToolCalls,
        Some("stop") => Finish::Stop,
        Some(other) => Finish::Other(other.to_owned()),
        None => Finish::Other("none".to_owned()),
    }
}
