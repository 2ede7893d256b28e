//! What a judge may see of a trial, before names are hidden.

use serde_json::Value;

use super::blind::without_runtime_keys;
use crate::base::digest::canonical;
use crate::model::judge::ViewPart;
use crate::model::suite::Task;
use crate::model::trace::{Event, EventKind, Trace};

/// What is shown of a trial: no arm, no time, no usage, no ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// What the agent was given; `None` where the judge may not see it.
    pub task: Option<String>,
    /// What happened, in order.
    pub parts: Vec<Part>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Sequence of its event; `None` for a state document.
    pub event: Option<u64>,
    /// What it is, in plain words, for example `assistant` or `result of get_order`.
    pub what: String,
    /// What was said or written.
    pub text: String,
    /// Whether the agent wrote it, and not the user or a tool.
    pub by_agent: bool,
}

/// Takes what a judge may see out of a trial.
pub fn view(parts: &[ViewPart], trace: &Trace, task: &Task) -> View {
    let sees = |part| parts.contains(&part);
    let mut shown = vec![];
    let state = |what: &str, state: &Option<Value>| {
        state.as_ref().map(|value| Part {
            event: None,
            what: what.to_owned(),
            text: text_of(value),
            by_agent: false,
        })
    };
    if sees(ViewPart::InitialState) {
        shown.extend(state("state before", &trace.initial_state));
    }
    shown.extend(
        trace
            .events
            .iter()
            .filter_map(|event| of_event(event, &sees)),
    );
    // A question, and a last word, is also what the model said in its turn: once is enough.
    shown.dedup_by(|later, earlier| {
        later.by_agent && earlier.by_agent && later.text == earlier.text
    });
    if sees(ViewPart::FinalState) {
        shown.extend(state("state after", &trace.final_state));
    }
    View {
        task: sees(ViewPart::Task).then(|| given(task)),
        parts: shown,
    }
}

/// What a judge may see of an item of a label set.
pub fn of_item(parts: &[ViewPart], input: Option<&str>, output: &str) -> View {
    let sees_task = parts.contains(&ViewPart::Task);
    View {
        task: input.filter(|_| sees_task).map(str::to_owned),
        parts: vec![Part {
            event: None,
            what: "answer".to_owned(),
            text: output.to_owned(),
            by_agent: true,
        }],
    }
}

/// The task as a person reads it: the user's words alone where there is nothing else.
fn given(task: &Task) -> String {
    match (
        task.input.len(),
        task.input.get("user").and_then(Value::as_str),
    ) {
        (1, Some(user)) => user.to_owned(),
        _ => text_of(&Value::Object(task.input.clone())),
    }
}

fn of_event(event: &Event, sees: &dyn Fn(ViewPart) -> bool) -> Option<Part> {
    let tool = || {
        event
            .capability
            .clone()
            .unwrap_or_else(|| "a tool".to_owned())
    };
    let (part, what, by_agent) = match event.kind {
        EventKind::UserMessage => (ViewPart::Messages, "user".to_owned(), false),
        EventKind::ModelResult => (ViewPart::Messages, "assistant".to_owned(), true),
        EventKind::Question => (
            ViewPart::Messages,
            "assistant asks the user".to_owned(),
            true,
        ),
        EventKind::Decision => (ViewPart::Messages, "assistant decides".to_owned(), true),
        EventKind::ToolCall => (ViewPart::ToolCalls, format!("call of {}", tool()), true),
        EventKind::ToolResult => (
            ViewPart::ToolResults,
            format!("result of {}", tool()),
            false,
        ),
        EventKind::ToolError => (ViewPart::ToolResults, format!("error of {}", tool()), false),
        EventKind::ApprovalRequest => (ViewPart::Approvals, "approval asked".to_owned(), true),
        EventKind::ApprovalResult => (ViewPart::Approvals, "approval answer".to_owned(), false),
        EventKind::Effect => (ViewPart::Effects, format!("effect of {}", tool()), false),
        EventKind::Final => (ViewPart::Final, "final answer".to_owned(), true),
        EventKind::TrialStart
        | EventKind::ModelCall
        | EventKind::Fault
        | EventKind::Policy
        | EventKind::TrialEnd => return None,
    };
    if !sees(part) {
        return None;
    }
    let text = event.payload.as_ref().map(text_of).unwrap_or_default();
    // A turn of the model that only called tools says nothing.
    (!text.is_empty() || event.kind != EventKind::ModelResult).then_some(Part {
        event: Some(event.sequence),
        what,
        text,
        by_agent,
    })
}

/// A payload as text: words as they are, everything else as canonical JSON without what a runtime adds.
fn text_of(payload: &Value) -> String {
    match payload {
        Value::String(text) => text.clone(),
        other => canonical(&without_runtime_keys(other)),
    }
}
