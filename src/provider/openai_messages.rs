//! A conversation and tools as OpenAI's chat completions want them, written without copying.

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::model::chat::{Message, ToolCall, ToolDef};

/// The conversation.
pub(super) struct Messages<'a>(pub &'a [Message]);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.0.iter().map(Said::of))
    }
}

#[derive(Serialize)]
struct Said<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Calls::none")]
    tool_calls: Calls<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

impl<'a> Said<'a> {
    fn of(message: &'a Message) -> Self {
        let text = |role, content| Self {
            role,
            content,
            tool_calls: Calls(&[]),
            tool_call_id: None,
        };
        match message {
            Message::System(content) => text("system", Some(content)),
            Message::User(content) => text("user", Some(content)),
            // Null is allowed beside calls only.
            Message::Assistant {
                text: said, calls, ..
            } => Self {
                tool_calls: Calls(calls),
                ..text(
                    "assistant",
                    said.as_deref().or(calls.is_empty().then_some("")),
                )
            },
            Message::Tool {
                call_id, content, ..
            } => Self {
                tool_call_id: Some(call_id),
                ..text("tool", Some(content))
            },
        }
    }
}

struct Calls<'a>(&'a [ToolCall]);

impl Calls<'_> {
    fn none(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Calls<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.0.iter().map(|call| CallOut {
            id: &call.id,
            kind: "function",
            function: FunctionOut {
                name: &call.name,
                arguments: &call.arguments,
            },
        }))
    }
}

#[derive(Serialize)]
struct CallOut<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: FunctionOut<'a>,
}

#[derive(Serialize)]
struct FunctionOut<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// The tools on offer.
pub(super) struct Tools<'a>(pub &'a [ToolDef]);

impl Tools<'_> {
    pub fn none(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.0.iter().map(|tool| ToolOut {
            kind: "function",
            function: Declared {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.parameters,
            },
        }))
    }
}

#[derive(Serialize)]
struct ToolOut<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Declared<'a>,
}

#[derive(Serialize)]
struct Declared<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}
