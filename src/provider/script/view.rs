//! What templates of a script see of a conversation.

use minijinja::Value as View;
use minijinja::value::Serde;
use serde::Serialize;
use serde_json::{Map, Value};

use super::compiled::Script;
use crate::model::chat::{ChatRequest, Message};

/// The names that templates know.
#[derive(Serialize)]
struct Names<'a> {
    task: &'a str,
    trial: u32,
    turn: u64,
    model: &'a str,
    user: &'a str,
    vars: View,
    found: Map<String, Value>,
    last: Option<Said>,
    called: Vec<Said>,
    tools: Vec<&'a str>,
}

/// A message, or a tool call with its answer.
#[derive(Clone, Default, Serialize)]
struct Said {
    role: &'static str,
    text: String,
    name: String,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    result: Value,
    is_error: bool,
}

/// The first thing that the user said; empty if nothing.
pub(super) fn first_message(messages: &[Message]) -> &str {
    let user = messages.iter().find_map(|m| match m {
        Message::User(text) => Some(text.as_str()),
        _ => None,
    });
    user.unwrap_or("")
}

/// How often the model has spoken.
pub(super) fn turns(messages: &[Message]) -> u64 {
    let by_model = |m: &&Message| matches!(m, Message::Assistant { .. });
    messages.iter().filter(by_model).count() as u64
}

/// What templates see of a request to a model.
pub(super) fn view(script: &Script, model: &str, request: &ChatRequest) -> View {
    let user = first_message(&request.messages);
    let task = request.trial.task.as_str();
    let called = called(&request.messages);
    View::from(Serde(Names {
        task,
        trial: request.trial.index,
        turn: turns(&request.messages),
        model,
        user,
        vars: script
            .tasks
            .get(task)
            .map(|m| m.vars.clone())
            .unwrap_or_default(),
        found: found(script, user),
        last: request.messages.last().map(|m| last(m, &called)),
        called: called.into_iter().map(|(_, said)| said).collect(),
        tools: request.tools.iter().map(|t| t.name.as_str()).collect(),
    }))
}

fn found(script: &Script, user: &str) -> Map<String, Value> {
    let Some((regex, matched)) = script
        .find
        .as_ref()
        .and_then(|r| Some((r, r.captures(user)?)))
    else {
        return Map::new();
    };
    let group = |name: &str| Some((name.to_owned(), matched.name(name)?.as_str().into()));
    regex.capture_names().flatten().filter_map(group).collect()
}

/// Every tool call with its answer; a result belongs to the latest call with its id.
fn called(messages: &[Message]) -> Vec<(String, Said)> {
    let mut called: Vec<(String, Said)> = vec![];
    for message in messages {
        match message {
            Message::Assistant { calls, .. } => called.extend(calls.iter().map(|call| {
                let said = Said {
                    role: "call",
                    name: call.name.clone(),
                    args: parsed(&call.arguments),
                    ..Default::default()
                };
                (call.id.clone(), said)
            })),
            Message::Tool { call_id, .. } => {
                if let Some((_, said)) = called.iter_mut().rev().find(|(id, _)| id == call_id) {
                    let answer = answer(message);
                    said.text = answer.text;
                    said.result = answer.result;
                    said.is_error = answer.is_error;
                }
            }
            Message::System(_) | Message::User(_) => {}
        }
    }
    called
}

fn last(message: &Message, called: &[(String, Said)]) -> Said {
    let plain = |role, text: &str| Said {
        role,
        text: text.to_owned(),
        ..Default::default()
    };
    match message {
        Message::System(text) => plain("system", text),
        Message::User(text) => plain("user", text),
        Message::Assistant { text, .. } => plain("assistant", text.as_deref().unwrap_or("")),
        Message::Tool { call_id, .. } => {
            let mut said = answer(message);
            if let Some((_, call)) = called.iter().rev().find(|(id, _)| id == call_id) {
                said.name.clone_from(&call.name);
                said.args = call.args.clone();
            }
            said
        }
    }
}

/// What a tool answered. Not every protocol marks errors: an `error` key, or a text that begins with
/// that word, is one too.
fn answer(message: &Message) -> Said {
    let Message::Tool {
        name,
        content,
        is_error,
        ..
    } = message
    else {
        return Said::default();
    };
    let result = parsed(content);
    let looks_so = match &result {
        Value::Object(map) => map.get("error").is_some_and(|e| !e.is_null() && e != false),
        Value::String(text) => text.trim_start().to_ascii_lowercase().starts_with("error"),
        _ => false,
    };
    Said {
        role: "tool",
        text: content.clone(),
        name: name.clone(),
        result,
        is_error: *is_error || looks_so,
        ..Default::default()
    }
}

/// JSON as what it says; anything else as text.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
