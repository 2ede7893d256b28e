//! A conversation as Anthropic's messages want it: instructions apart, user and assistant in turns,
//! the answers of all tools of a turn first in the user message that follows it.

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::model::chat::{Message, ToolCall};

/// One message.
#[derive(Serialize)]
pub(super) struct Turn<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Known<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Input<'a>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

enum Block<'a> {
    Known(Known<'a>),
    /// Goes back as it came.
    Opaque(&'a Value),
}

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(block) => block.serialize(out),
            Self::Opaque(value) => value.serialize(out),
        }
    }
}

/// Arguments of a call: the protocol takes objects only, so that others are wrapped into one.
enum Input<'a> {
    Object(&'a RawValue),
    Broken(&'a str),
}

impl<'a> Input<'a> {
    fn of(arguments: &'a str) -> Self {
        match serde_json::from_str::<&RawValue>(arguments) {
            Ok(raw) if raw.get().starts_with('{') => Self::Object(raw),
            _ => Self::Broken(arguments),
        }
    }
}

impl Serialize for Input<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Object(raw) => raw.serialize(out),
            Self::Broken(text) => out.collect_map([("invalid_json", text)]),
        }
    }
}

/// All instructions, in their order.
pub(super) fn system(messages: &[Message]) -> String {
    let mut joined = String::new();
    for message in messages {
        if let Message::System(text) = message {
            if !joined.is_empty() {
                joined.push_str("\n\n");
            }
            joined.push_str(text);
        }
    }
    joined
}

/// The messages in turns.
pub(super) fn turns(messages: &[Message]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn> = Vec::with_capacity(messages.len());
    for message in messages {
        let (role, blocks) = match message {
            Message::System(_) => continue,
            Message::User(said) => ("user", text(said).into_iter().collect()),
            Message::Assistant {
                text,
                calls,
                opaque,
            } => ("assistant", answered(text, calls, opaque)),
            Message::Tool {
                call_id,
                content,
                is_error,
                ..
            } => {
                let result = Known::ToolResult {
                    tool_use_id: call_id,
                    content,
                    is_error: *is_error,
                };
                ("user", vec![Block::Known(result)])
            }
        };
        add(&mut turns, role, blocks);
    }
    turns
}

/// Adds blocks to the last turn if it is of the same role.
fn add<'a>(turns: &mut Vec<Turn<'a>>, role: &'static str, blocks: Vec<Block<'a>>) {
    match turns.last_mut() {
        _ if blocks.is_empty() => {}
        Some(last) if last.role == role => last.content.extend(blocks),
        _ => turns.push(Turn {
            role,
            content: blocks,
        }),
    }
}

/// A block of text; the protocol accepts no empty one.
fn text(said: &str) -> Option<Block<'_>> {
    (!said.trim().is_empty()).then_some(Block::Known(Known::Text { text: said }))
}

fn answered<'a>(
    said: &'a Option<String>,
    calls: &'a [ToolCall],
    opaque: &'a [Value],
) -> Vec<Block<'a>> {
    let uses = calls.iter().map(|call| {
        Block::Known(Known::ToolUse {
            id: &call.id,
            name: &call.name,
            input: Input::of(&call.arguments),
        })
    });
    opaque
        .iter()
        .map(Block::Opaque)
        .chain(said.as_deref().and_then(text))
        .chain(uses)
        .collect()
}
