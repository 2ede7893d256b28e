//! Hidden reasoning within payloads.

use serde_json::Value;

use crate::trace::import::marks;

/// Fields in which providers return reasoning; nobody's payload has them by its own design.
const OF_PROVIDERS: [&str; 8] = [
    "reasoningcontent",
    "reasoningdetails",
    "reasoningtext",
    "thinkingblocks",
    "thinkingcontent",
    "redactedthinking",
    "encryptedreasoning",
    "thoughtsignature",
];
/// Fields that hold reasoning in what goes to or comes from a model.
const OF_MESSAGES: [&str; 13] = [
    "reasoning",
    "thinking",
    "thought",
    "thoughts",
    "thoughtprocess",
    "chainofthought",
    "cot",
    "scratchpad",
    "innermonologue",
    "internalmonologue",
    "hiddenreasoning",
    "encryptedcontent",
    "reasoningsummary",
];
/// Types of parts that are reasoning.
const PARTS: [&str; 8] = [
    "thinking",
    "reasoning",
    "redacted_thinking",
    "reasoning_content",
    "reasoning_text",
    "summary_text",
    "thought",
    "thoughts",
];

/// Whether a part of a message's content is reasoning, by its type or by its mark.
pub(crate) fn is_reasoning_part(part: &Value) -> bool {
    let kind = part.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| PARTS.contains(&kind)) || part.get("thought") == Some(&true.into())
}

/// Removes reasoning from a payload: fields and parts of what a `message` holds, providers' fields
/// anywhere, and marked reasoning from texts that were `said` by the model.
pub(super) fn remove(value: &mut Value, message: bool, said: bool) {
    match value {
        Value::String(text) if said => {
            if let Some(left) = marks::without_reasoning(text) {
                *text = left.trim().to_owned();
            }
        }
        Value::Array(items) => {
            items.retain(|item| !(message && is_reasoning_part(item)));
            items.iter_mut().for_each(|i| remove(i, message, said));
        }
        Value::Object(members) => {
            members.retain(|key, member| {
                let key = plain(key);
                let of_message = OF_MESSAGES.contains(&key.as_str()) || is_reasoning_part(member);
                let hidden = OF_PROVIDERS.contains(&key.as_str()) || (message && of_message);
                !hidden
            });
            let members = members.iter_mut();
            members.for_each(|(_, member)| remove(member, message, said));
        }
        _ => {}
    }
}

/// A key in lower case without what separates its words: `reasoningContent`, `Reasoning-Content` and
/// `reasoning_content` are one.
pub(super) fn plain(key: &str) -> String {
    let letters = key.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}
