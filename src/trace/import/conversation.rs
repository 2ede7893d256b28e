//! One chat message of any dialect, read into a turn.

use serde_json::{Map, Value};

use crate::model::trace::Usage;
use crate::trace::import::builder::Arguments;
use crate::trace::import::{marks, scalar, text};

/// What a message does in the conversation.
pub(crate) enum Turn {
    /// The user said something.
    User {
        text: Option<String>,
        time: Option<String>,
    },
    /// The model answered.
    Agent(Box<Agent>),
    /// A tool answered.
    Result {
        id: Option<String>,
        name: Option<String>,
        payload: Option<Value>,
        error: Option<bool>,
        time: Option<String>,
    },
    /// Nothing that the trace keeps: instructions, and what the user's own tools did.
    Nothing,
}

/// An answer of the model.
pub(crate) struct Agent {
    /// Visible text.
    pub text: Option<String>,
    /// Whether the text is a refusal that the provider flagged.
    pub refusal: bool,
    /// Calls in the order in which they were asked for.
    pub calls: Vec<RawCall>,
    /// Tokens and cost.
    pub usage: Option<Usage>,
    /// When.
    pub time: Option<String>,
}

impl Agent {
    /// Whether it neither says nor calls anything.
    pub fn is_silent(&self) -> bool {
        self.text.is_none() && self.calls.is_empty()
    }
}

/// A call as the model asked for it.
pub(crate) struct RawCall {
    /// Its id.
    pub id: Option<String>,
    /// Its tool.
    pub name: Option<String>,
    /// Its arguments.
    pub arguments: Arguments,
}

/// Reads one message.
///
/// # Errors
///
/// A sentence that says what is wrong with it.
pub(crate) fn turn(message: &Value) -> Result<Turn, String> {
    let message = message.as_object().ok_or("a message is not an object")?;
    let role = message.get("role").and_then(Value::as_str);
    match role.ok_or("a message has no `role`")? {
        "system" | "developer" => Ok(Turn::Nothing),
        "user" => Ok(Turn::User {
            text: content(message)?.filter(|text| !text.trim().is_empty()),
            time: time(message),
        }),
        "assistant" => agent(message).map(|agent| Turn::Agent(Box::new(agent))),
        "tool" | "function" => result(message),
        other => {
            let shown: String = other.chars().take(40).collect();
            Err(format!(
                "unknown role `{shown}`: known are system, developer, user, assistant, tool, function"
            ))
        }
    }
}

fn content(message: &Map<String, Value>) -> Result<Option<String>, String> {
    text::content_text(message.get("content"))
}

fn agent(message: &Map<String, Value>) -> Result<Agent, String> {
    let refusal = message.get("refusal").and_then(Value::as_str).unwrap_or("");
    let said = content(message)?.and_then(|text| marks::visible(&text));
    let refused = said.is_none() && !refusal.is_empty();
    Ok(Agent {
        text: said.or_else(|| marks::visible(refusal)),
        refusal: refused,
        calls: calls(message)?,
        usage: scalar::usage(message),
        time: time(message),
    })
}

fn calls(message: &Map<String, Value>) -> Result<Vec<RawCall>, String> {
    let listed = match message.get("tool_calls") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(calls)) => calls,
        Some(_) => return Err("`tool_calls` is not a list".to_owned()),
    };
    let mut found = Vec::new();
    for call in listed {
        // In tau2 logs a call of the user's own tools names the user as its requestor.
        if call.get("requestor").and_then(Value::as_str) != Some("user") {
            found.push(call_of(call)?);
        }
    }
    if let (true, Some(legacy)) = (listed.is_empty(), message.get("function_call"))
        && !legacy.is_null()
    {
        found.push(call_of(legacy)?);
    }
    Ok(found)
}

/// Reads a call of any form: nested under `function` or `custom`, or flat.
fn call_of(call: &Value) -> Result<RawCall, String> {
    let outer = call.as_object().ok_or("a tool call is not an object")?;
    let inner = ["function", "custom"]
        .iter()
        .find_map(|key| outer.get(*key).and_then(Value::as_object))
        .unwrap_or(outer);
    let arguments = scalar::present(inner, &["arguments", "args", "input"]);
    Ok(RawCall {
        id: id(outer, &["id"])?,
        name: name(inner),
        arguments: match inner.contains_key("input") {
            true => Arguments::Read(arguments.cloned().unwrap_or(Value::Null)),
            false => read_arguments(arguments),
        },
    })
}

/// The first of these keys that holds an id: text, or a number as some clients count their calls.
///
/// # Errors
///
/// A sentence if it holds anything else: to pair by position instead would give results to calls at
/// random.
fn id(map: &Map<String, Value>, keys: &[&str]) -> Result<Option<String>, String> {
    for key in keys {
        match map.get(*key) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if text.is_empty() => {}
            Some(Value::String(text)) => return Ok(Some(text.clone())),
            Some(Value::Number(number)) => return Ok(Some(number.to_string())),
            Some(other) => return Err(format!("`{key}` is not an id: {}", scalar::kind_of(other))),
        }
    }
    Ok(None)
}

/// The name of a tool, without the namespace that a model's own format puts before it.
fn name(map: &Map<String, Value>) -> Option<String> {
    let name = map.get("name").and_then(Value::as_str)?.trim();
    let name = name.strip_prefix("functions.").unwrap_or(name);
    (!name.is_empty()).then(|| name.to_owned())
}

/// Arguments come as JSON text or as an object; no text at all means none, and so does a null.
fn read_arguments(arguments: Option<&Value>) -> Arguments {
    let none = || Arguments::Read(Value::Object(Map::new()));
    match arguments {
        None => none(),
        Some(Value::String(text)) if text.trim().is_empty() => none(),
        Some(Value::String(text)) => match text::parsed(text) {
            Ok(Value::Null) => none(),
            Ok(value) => Arguments::Read(value),
            Err(_) => Arguments::Malformed(text.clone()),
        },
        Some(value) => Arguments::Read(value.clone()),
    }
}

fn result(message: &Map<String, Value>) -> Result<Turn, String> {
    if message.get("requestor").and_then(Value::as_str) == Some("user") {
        return Ok(Turn::Nothing);
    }
    let flags = ["is_error", "isError", "error"];
    let flag = flags.iter().find_map(|key| message.get(*key)?.as_bool());
    let status = match message.get("status").and_then(Value::as_str) {
        Some("error") => Some(true),
        _ => None,
    };
    let payload = match message.get("content") {
        Some(object @ Value::Object(_)) => Some(object.clone()),
        _ => content(message)?.map(Value::String),
    };
    Ok(Turn::Result {
        // tau2 puts the call's id under `id`.
        id: id(message, &["tool_call_id", "id"])?,
        name: name(message),
        payload,
        error: flag.or(status),
        time: time(message),
    })
}

/// The time of a message, if it is RFC 3339 with a zone; a local time correlates with nothing.
fn time(message: &Map<String, Value>) -> Option<String> {
    let text = message.get("timestamp").and_then(Value::as_str)?;
    let (_, clock) = text.split_once('T')?;
    (clock.ends_with('Z') || clock.contains(['+', '-'])).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn agent_of(message: Value) -> Result<Agent, String> {
        match turn(&message)? {
            Turn::Agent(agent) => Ok(*agent),
            _ => Err("no answer".to_owned()),
        }
    }

    #[test]
    fn ids_are_texts_or_numbers_and_names_lose_the_models_own_namespace() {
        let call = |id: Value, name: Value| {
            agent_of(json!({"role": "assistant", "content": null,
                "tool_calls": [{"id": id, "function": {"name": name, "arguments": "{}"}}]}))
        };
        for (id, name, read) in [
            (
                json!(5),
                json!("functions.think"),
                (Some("5"), Some("think")),
            ),
            (json!("5"), json!("think"), (Some("5"), Some("think"))),
            (json!(null), json!(null), (None, None)),
            (json!(""), json!(" "), (None, None)),
        ] {
            let agent = call(id, name).unwrap();
            let found = &agent.calls[0];
            assert_eq!((found.id.as_deref(), found.name.as_deref()), read);
        }
        let error = call(json!({"a": 1}), json!("f")).err().unwrap();
        assert_eq!(error, "`id` is not an id: an object");
        let answer = json!({"role": "tool", "tool_call_id": 5, "content": "ok"});
        let Ok(Turn::Result { id, .. }) = turn(&answer) else {
            panic!("no result");
        };
        assert_eq!(id.as_deref(), Some("5"));
    }
}
