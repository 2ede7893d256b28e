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
use super::lenient::Content;
use super::openai_messages::{Messages, Tools};
use super::{ending, lenient, status};

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
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(default, deserialize_with = "lenient::usage")]
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Option<Answer<'a>>,
    finish_reason: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(default, deserialize_with = "lenient::content")]
    content: Option<Content>,
    refusal: Option<String>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<CallIn<'a>>>,
    /// The one call of the protocol's first form, which had no ids.
    #[serde(borrow, default)]
    function_call: Option<FunctionIn<'a>>,
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
    status::no_error(reply.error)?;
    let Some(choice) = reply.choices.into_iter().flatten().next() else {
        return Err(Failed::new(
            Code::MalformedReply,
            "the reply has no choices",
        ));
    };
    let mut completion = choice.read()?.completion()?;
    completion.usage = reply.usage.map(Tokens::usage).unwrap_or_default();
    completion.model = reply.model;
    completion.response_id = reply.id;
    Ok(completion)
}

impl Choice<'_> {
    fn read(self) -> Result<Answered, Failed> {
        status::no_error(self.error)?;
        let Some(message) = self.message else {
            return Err(Failed::new(
                Code::MalformedReply,
                "the reply has no message",
            ));
        };
        let first_form = message
            .function_call
            .map(|function| CallIn { id: None, function });
        let calls = message.tool_calls.filter(|calls| !calls.is_empty());
        let calls = calls.unwrap_or_else(|| first_form.into_iter().collect());
        Ok(Answered {
            understood: message.content.as_ref().is_some_and(|c| !c.unread),
            text: message.content.and_then(|content| content.text),
            refusal: message.refusal,
            calls: calls
                .into_iter()
                .enumerate()
                .map(|(i, call)| call.read(i))
                .collect(),
            finish_reason: self.finish_reason,
        })
    }
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
    /// Whether the content is there and all of it was read.
    pub understood: bool,
}

impl Answered {
    /// The reply, without what is not the choice's.
    ///
    /// # Errors
    ///
    /// If the choice says that the provider broke, or is empty for a reason that is not the model's.
    pub fn completion(mut self) -> Result<Completion, Failed> {
        lenient::tell_apart(&mut self.calls);
        let refusal = self.refusal.filter(|text| !text.is_empty());
        let has_calls = !self.calls.is_empty();
        // Some servers write an empty word for none.
        let reason = self.finish_reason.filter(|word| !word.is_empty());
        let finish = match ending::finish(reason.as_deref(), has_calls)? {
            _ if refusal.is_some() => Finish::Refusal,
            finish => finish,
        };
        let text = self.text.filter(|text| !text.is_empty()).or(refusal);
        if !has_calls && text.as_ref().is_none_or(|text| text.trim().is_empty()) {
            ending::check_empty(&finish, self.understood)?;
        }
        Ok(Completion {
            text,
            calls: self.calls,
            finish,
            usage: Usage::default(),
            model: None,
            response_id: None,
            cache_hit: None,
            opaque: Vec::new(),
            attempts: 1,
            declared_ms: None,
        })
    }
}
