//! The events of a conversation in chat messages; shared by the formats that are made of them.

use serde_json::Value;

use crate::base::{Error, Result};
use crate::model::trace::{EventKind, Trace, TraceSource};
use crate::model::trial::{Boundary, TrialStatus};
use crate::trace::import::builder::{Arguments, Builder};
use crate::trace::import::conversation::{Agent, RawCall, Turn, turn};
use crate::trace::import::place::Place;
use crate::trace::import::{ImportOptions, MalformedArguments, text};

/// A conversation turned into events.
pub(crate) struct Read {
    /// The trace; not yet marked as truncated.
    pub trace: Trace,
    /// Whether a call of the model's last turn has no result.
    pub pending: bool,
    /// Whether a call has arguments that are not JSON.
    pub malformed: bool,
}

impl Read {
    /// How the trial ended: as the source says, or else as its end shows. Marks the trace.
    pub fn settle(&mut self, source: Option<TrialStatus>) -> TrialStatus {
        let status = match source {
            Some(status) if status != TrialStatus::Completed => status,
            _ if self.malformed => TrialStatus::AgentFailed {
                reason: "malformed_arguments".to_owned(),
            },
            Some(completed) => completed,
            None if self.pending => {
                let said =
                    "the last tool call has no result, and the source doesn't say why it ended";
                TrialStatus::infra(Boundary::Trace, "pending_call", said)
            }
            None => TrialStatus::Completed,
        };
        if let TrialStatus::Infra {
            boundary: Boundary::Trace,
            code,
            ..
        } = &status
        {
            self.trace.truncated = Some(code.clone());
        }
        status
    }
}

/// Reads the messages of one trial.
///
/// Every answer of the model is a `model_result`, followed by its tool calls. An answer without
/// calls that a user message follows is also a `question`: the agent spoke and waited. Two answers
/// are not questions: the last one, which is the `final` payload, and one before the user's first
/// word, which is a greeting.
pub(crate) fn conversation(
    messages: &[Value],
    place: &Place,
    options: &ImportOptions,
) -> Result<Read> {
    let turns = messages
        .iter()
        .flat_map(parts)
        .enumerate()
        .map(|(i, message)| turn(message).map_err(|why| wrong(place, options, i, &why)))
        .collect::<Result<Vec<_>>>()?;
    let mut writer = Writer {
        builder: Builder::new(options),
        place,
        options,
        before_user: true,
        malformed: false,
    };
    // Some loops end with an empty answer, which takes back nothing that was said before.
    let last = turns
        .iter()
        .rposition(|t| matches!(t, Turn::Agent(agent) if !agent.is_silent()));
    let waits = followed_by_user(&turns);
    for (i, turn) in turns.into_iter().enumerate() {
        match turn {
            Turn::Agent(agent) if Some(i) == last => writer.agent(*agent, i, EventKind::Final)?,
            Turn::Agent(agent) if waits[i] => writer.agent(*agent, i, EventKind::Question)?,
            Turn::Agent(agent) => writer.agent(*agent, i, EventKind::ModelResult)?,
            other => writer.other(other),
        }
    }
    Ok(Read {
        pending: writer.builder.is_pending(),
        malformed: writer.malformed,
        trace: writer.builder.finish(TraceSource::Chat),
    })
}

/// tau2 can hold several tool results in one message.
fn parts(message: &Value) -> &[Value] {
    match message.get("tool_messages").and_then(Value::as_array) {
        Some(messages) => messages,
        None => std::slice::from_ref(message),
    }
}

/// For every turn, whether the next one that counts is the user's.
fn followed_by_user(turns: &[Turn]) -> Vec<bool> {
    let mut user_next = false;
    let mut found: Vec<bool> = Vec::with_capacity(turns.len());
    for turn in turns.iter().rev() {
        found.push(user_next);
        match turn {
            Turn::Nothing | Turn::User { text: None, .. } => {}
            other => user_next = matches!(other, Turn::User { .. }),
        }
    }
    found.reverse();
    found
}

fn wrong(place: &Place, options: &ImportOptions, message: usize, why: &str) -> Error {
    place.error(options, format!("message {}: {why}", message + 1))
}

struct Writer<'a> {
    builder: Builder<'a>,
    place: &'a Place,
    options: &'a ImportOptions,
    /// Whether the user hasn't spoken yet.
    before_user: bool,
    malformed: bool,
}

impl Writer<'_> {
    /// Writes an answer; `role` is what a text without calls is beside a `model_result`.
    fn agent(&mut self, agent: Agent, message: usize, role: EventKind) -> Result<()> {
        self.builder.turn();
        let event = self.builder.push(EventKind::ModelResult);
        event.payload = agent.text.clone().map(Value::String);
        event.usage = agent.usage;
        event.time.clone_from(&agent.time);
        if agent.refusal {
            let said = "the provider flagged an answer as a refusal";
            self.builder.notice("refusal", said);
        }
        if let (true, Some(said)) = (agent.calls.is_empty(), agent.text) {
            self.said(role, said, agent.time);
        }
        for (i, call) in agent.calls.into_iter().enumerate() {
            self.call(call, message, i)?;
        }
        Ok(())
    }

    fn said(&mut self, role: EventKind, said: String, time: Option<String>) {
        let payload = match role {
            EventKind::Final => text::final_payload(&said),
            EventKind::Question if !self.before_user => Value::String(said),
            _ => return,
        };
        let event = self.builder.push(role);
        event.payload = Some(payload);
        event.time = time;
    }

    fn call(&mut self, call: RawCall, message: usize, number: usize) -> Result<()> {
        let name = call.name.as_deref();
        let private = name.is_some_and(|n| self.options.is_private(n));
        if let (Arguments::Malformed(text), false) = (&call.arguments, private) {
            if self.options.malformed_arguments == MalformedArguments::Error {
                return Err(self.not_json(name, text, message, number));
            }
            self.malformed = true;
        }
        if name.is_none() {
            let said = "a tool call names no tool";
            self.builder.notice("unnamed_call", said);
        }
        self.builder.call(call.id, call.name, call.arguments);
        Ok(())
    }

    fn not_json(&self, name: Option<&str>, text: &str, message: usize, number: usize) -> Error {
        let why = match serde_json::from_str::<Value>(text) {
            Err(error) => error.to_string(),
            Ok(_) => String::new(),
        };
        let what = format!(
            "the arguments of tool call {} (`{}`) are not JSON: {why}",
            number + 1,
            name.unwrap_or("")
        );
        wrong(self.place, self.options, message, &what).hint(
            "if the agent itself wrote them so, read with `--malformed-arguments agent`: \
             the trial is then the agent's failure",
        )
    }

    fn other(&mut self, turn: Turn) {
        match turn {
            Turn::User { text, time } => {
                self.before_user = false;
                if let Some(text) = text {
                    let event = self.builder.push(EventKind::UserMessage);
                    event.payload = Some(Value::String(text));
                    event.time = time;
                }
            }
            Turn::Result {
                id,
                name,
                payload,
                error,
                time,
            } => self.builder.result(id, name, payload, error).time = time,
            Turn::Agent(_) | Turn::Nothing => {}
        }
    }
}
