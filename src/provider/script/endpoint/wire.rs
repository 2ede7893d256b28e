//! What both protocols share: requests as they are read, pieces of streams, pairing of tool calls.

use serde_json::Value;

use crate::model::chat::{ChatRequest, Message, ToolDef, TrialKey};

/// A request of either protocol.
pub(super) struct WireRequest {
    pub model: String,
    pub chat: ChatRequest,
    pub stream: bool,
    /// Whether a stream ends with its usage (OpenAI); the other protocol always says it.
    pub include_usage: bool,
}

/// A request whose trial is not known yet.
pub(super) fn request(messages: Vec<Message>, tools: Vec<ToolDef>) -> ChatRequest {
    let trial = TrialKey {
        task: String::new(),
        index: 0,
        id: String::new(),
        seed: 0,
    };
    let turn = crate::provider::script::view::turns(&messages) as u32 + 1;
    ChatRequest {
        messages,
        tools,
        trial,
        turn,
        waits: Default::default(),
    }
}

/// A tool as both protocols name its parts.
pub(super) fn tool(definition: &Value, parameters: &str) -> Result<ToolDef, String> {
    let name = definition["name"].as_str().ok_or("a tool has no name")?;
    Ok(ToolDef {
        name: name.to_owned(),
        description: definition["description"].as_str().unwrap_or("").to_owned(),
        parameters: definition[parameters].clone(),
    })
}

/// The text of a content: a text itself, or the text parts of a list.
pub(super) fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|p| p["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Checks that every tool call is answered next, and that nothing else is, as both providers do.
///
/// # Errors
///
/// Which id is at fault, in words.
pub(super) fn paired(messages: &[Message]) -> Result<(), String> {
    let mut open: Vec<&str> = vec![];
    for message in messages {
        match message {
            Message::Tool { call_id, .. } => match open.iter().position(|id| id == call_id) {
                Some(i) => drop(open.swap_remove(i)),
                None => return Err(format!("no preceding tool call has the id `{call_id}`")),
            },
            _ if !open.is_empty() => break,
            Message::Assistant { calls, .. } => open.extend(calls.iter().map(|c| c.id.as_str())),
            Message::System(_) | Message::User(_) => {}
        }
    }
    match open.first() {
        Some(id) => Err(format!("the tool call `{id}` has no result")),
        None => Ok(()),
    }
}

/// The tool of an earlier call.
pub(super) fn tool_of(messages: &[Message], call_id: &str) -> String {
    let calls = messages.iter().rev().flat_map(|m| match m {
        Message::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    let mut named = calls.filter(|c| c.id == call_id).map(|c| c.name.clone());
    named.next().unwrap_or_default()
}

/// A text in pieces, as streams send it: at most about 64, none of a few letters only.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let size = (text.len() / 64).max(16);
    let mut pieces = vec![];
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = size.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::chat::ToolCall;

    #[test]
    fn pieces_make_up_the_text_again() {
        for text in ["", "short", &"ü".repeat(1001), &"a".repeat(100_000)] {
            assert_eq!(pieces(text).concat(), text);
            assert!(pieces(text).len() <= 130);
        }
    }

    #[test]
    fn calls_and_results_must_pair() {
        let call = |id: &str| ToolCall {
            id: id.to_owned(),
            name: "t".to_owned(),
            arguments: "{}".to_owned(),
        };
        let asked = Message::Assistant {
            text: None,
            calls: vec![call("a"), call("b")],
            opaque: vec![],
        };
        let result = |id: &str| Message::Tool {
            call_id: id.to_owned(),
            name: "t".to_owned(),
            content: String::new(),
            is_error: false,
        };
        let (a, b) = (result("a"), result("b"));
        assert!(paired(&[asked.clone(), b.clone(), a.clone()]).is_ok());
        assert!(paired(&[asked.clone(), a.clone()]).is_err());
        assert!(paired(&[asked, a.clone(), Message::User("x".into()), b]).is_err());
        assert!(paired(&[a]).is_err());
    }
}
