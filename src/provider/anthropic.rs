//! Anthropic's messages: what is sent, and the reply in one piece.
//!
//! Source: Anthropic, *API reference: Messages* (2025), version `2023-06-01`. Blocks of type
//! `thinking` and `redacted_thinking` are kept unread, to be sent back as the protocol demands.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::model::chat::{ChatRequest, Completion, ToolCall, ToolDef};
use crate::model::trace::Usage;

use super::anthropic_messages::{Turn, system, turns};
use super::failure::{Code, Failed};
use super::{ending, lenient, status};

/// Keys of a request that are not the arm's to set.
pub(super) const RESERVED: [&str; 5] = ["model", "messages", "tools", "stream", "system"];

/// Longest answer in tokens where the arm does not say; the protocol demands a number.
const MAX_TOKENS: u64 = 4096;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    system: String,
    messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(flatten)]
    params: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct ToolOut<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

impl<'a> ToolOut<'a> {
    fn of(tool: &'a ToolDef) -> Self {
        Self {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.parameters,
        }
    }
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
        max_tokens: (!params.contains_key("max_tokens")).then_some(MAX_TOKENS),
        system: system(&request.messages),
        messages: turns(&request.messages),
        tools: request.tools.iter().map(ToolOut::of).collect(),
        stream: stream.then_some(true),
        params,
    })
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    model: Option<String>,
    #[serde(borrow)]
    content: Option<Vec<&'a RawValue>>,
    stop_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient::usage")]
    usage: Option<Tokens>,
    error: Option<Value>,
}

/// Token counts; of a stream's later events only those that are there count.
#[derive(Clone, Copy, Default, Deserialize)]
pub(super) struct Tokens {
    #[serde(default, deserialize_with = "lenient::count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    output_tokens: Option<u64>,
}

impl Tokens {
    /// Cached tokens are not part of Anthropic's `input_tokens`, but are of ours.
    pub fn usage(self) -> Usage {
        let cached = [
            self.cache_creation_input_tokens,
            self.cache_read_input_tokens,
        ];
        let cached: u64 = cached.into_iter().flatten().sum();
        Usage {
            input_tokens: self.input_tokens.map(|read| read.saturating_add(cached)),
            output_tokens: self.output_tokens,
            cached_tokens: self.cache_read_input_tokens,
            cost_usd: None,
        }
    }

    /// What a later event of a stream says goes before what an earlier one said.
    pub fn updated(self, later: Self) -> Self {
        let later_or = |later: Option<u64>, earlier: Option<u64>| later.or(earlier);
        Self {
            input_tokens: later_or(later.input_tokens, self.input_tokens),
            cache_creation_input_tokens: later_or(
                later.cache_creation_input_tokens,
                self.cache_creation_input_tokens,
            ),
            cache_read_input_tokens: later_or(
                later.cache_read_input_tokens,
                self.cache_read_input_tokens,
            ),
            output_tokens: later_or(later.output_tokens, self.output_tokens),
        }
    }
}

/// What a reply holds, whether it came in one piece or in many.
#[derive(Default)]
pub(super) struct Answered {
    pub text: Option<String>,
    pub calls: Vec<ToolCall>,
    pub opaque: Vec<Value>,
    /// Whether blocks came that nobody knows.
    pub unread: bool,
}

impl Answered {
    /// The reply, without what is not in its blocks.
    ///
    /// # Errors
    ///
    /// If it says that the provider broke, or is empty for a reason that is not the model's.
    pub fn completion(mut self, stop_reason: Option<&str>) -> Result<Completion, Failed> {
        lenient::tell_apart(&mut self.calls);
        let has_calls = !self.calls.is_empty();
        let finish = ending::finish(stop_reason, has_calls)?;
        let text = self.text.filter(|text| !text.is_empty());
        if !has_calls && text.as_ref().is_none_or(|text| text.trim().is_empty()) {
            ending::check_empty(&finish, !self.unread)?;
        }
        Ok(Completion {
            finish,
            text,
            calls: self.calls,
            usage: Usage::default(),
            model: None,
            response_id: None,
            cache_hit: None,
            opaque: self.opaque,
            attempts: 1,
            declared_ms: None,
        })
    }
}

/// Reads a reply in one piece.
///
/// # Errors
///
/// If it is not of the protocol, or is an error under status 200.
pub(super) fn parse(body: &[u8]) -> Result<Completion, Failed> {
    let unreadable = |error| Failed::unreadable(body, &error);
    let reply: Reply = serde_json::from_slice(body).map_err(unreadable)?;
    status::no_error(reply.error)?;
    let Some(blocks) = reply.content else {
        return Err(Failed::new(
            Code::MalformedReply,
            "the reply has no content",
        ));
    };
    let mut answered = Answered::default();
    for block in blocks {
        answered.take(block.get()).map_err(unreadable)?;
    }
    Ok(Completion {
        usage: reply.usage.unwrap_or_default().usage(),
        model: reply.model,
        response_id: reply.id,
        ..answered.completion(reply.stop_reason.as_deref())?
    })
}

/// The fields of all blocks that are read.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

impl Answered {
    fn take(&mut self, raw: &str) -> serde_json::Result<()> {
        let block: Block = serde_json::from_str(raw)?;
        match (block.kind.as_str(), block.text, block.id, block.name) {
            ("text", Some(text), ..) => self.text.get_or_insert_default().push_str(&text),
            ("tool_use", _, Some(id), Some(name)) => self.calls.push(ToolCall {
                id,
                name,
                arguments: block.input.map_or("{}", RawValue::get).to_owned(),
            }),
            ("thinking" | "redacted_thinking", ..) => self.opaque.push(serde_json::from_str(raw)?),
            ("tool_use", ..) => return Err(serde::de::Error::custom("a call without id or name")),
            // Blocks of tools that the provider runs itself are not asked for.
            _ => self.unread = true,
        }
        Ok(())
    }
}
