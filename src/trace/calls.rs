//! Pairs every tool call of a trace with its result.

use std::collections::HashMap;

use serde_json::Value;

use crate::base::digest::canonical;
use crate::model::trace::{Event, EventKind, Trace};

/// A tool call with its result.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The call event.
    pub event: &'a Event,
    /// Tool name; empty if the source gave none.
    pub name: &'a str,
    /// Arguments; `None` for private tools.
    pub arguments: Option<&'a Value>,
    /// The result or error event, if one was recorded.
    pub result: Option<&'a Event>,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// A result came back.
    Ok,
    /// An error came back.
    Error,
    /// No result was recorded.
    Unrecorded,
}

impl Call<'_> {
    /// What became of the call.
    pub fn outcome(&self) -> CallOutcome {
        match self.result.map(|r| r.kind) {
            None => CallOutcome::Unrecorded,
            Some(EventKind::ToolError) => CallOutcome::Error,
            Some(_) => CallOutcome::Ok,
        }
    }

    /// Name and canonical arguments, by which two calls are the same; `None` for private calls,
    /// whose repetition the importer records in [`Event::repeats`].
    pub fn key(&self) -> Option<String> {
        self.arguments
            .map(|a| format!("{}\u{0}{}", self.name, canonical(a)))
    }

    /// The event sequence numbers of the call and, if recorded, its result.
    pub fn events(&self) -> Vec<u64> {
        [Some(self.event), self.result]
            .into_iter()
            .flatten()
            .map(|e| e.sequence)
            .collect()
    }
}

/// The tool calls of a trace in order, each with its result.
///
/// A result belongs to the call named by its `parent`, or else to the nearest earlier unanswered
/// call with its call id (ids recur in real logs), or else, without an id, to the nearest earlier
/// unanswered call of the same tool.
pub fn calls(trace: &Trace) -> Vec<Call<'_>> {
    let mut found: Vec<Call<'_>> = Vec::new();
    let mut by_sequence: HashMap<u64, usize> = HashMap::new();
    for event in &trace.events {
        match event.kind {
            EventKind::ToolCall => {
                by_sequence.insert(event.sequence, found.len());
                let name = event.capability.as_deref().unwrap_or("");
                found.push(Call {
                    event,
                    name,
                    arguments: event.payload.as_ref(),
                    result: None,
                });
            }
            EventKind::ToolResult | EventKind::ToolError => {
                let by_parent = event.parent.and_then(|p| by_sequence.get(&p).copied());
                let target = by_parent.or_else(|| nearest_unanswered(&found, event));
                if let Some(call) = target.map(|i| &mut found[i])
                    && call.result.is_none()
                {
                    call.result = Some(event);
                }
            }
            _ => {}
        }
    }
    found
}

fn nearest_unanswered(found: &[Call<'_>], result: &Event) -> Option<usize> {
    found.iter().rposition(|call| {
        call.result.is_none()
            && match &result.call_id {
                Some(id) => call.event.call_id.as_ref() == Some(id),
                None => result
                    .capability
                    .as_deref()
                    .is_none_or(|name| name == call.name),
            }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::trace::TraceSource;

    fn trace(events: Vec<(EventKind, &str, Option<&str>)>) -> Trace {
        let events = events
            .into_iter()
            .enumerate()
            .map(|(i, (kind, name, id))| Event {
                capability: Some(name.to_owned()),
                call_id: id.map(str::to_owned),
                ..Event::new(i as u64, kind)
            })
            .collect();
        Trace {
            source: TraceSource::Chat,
            events,
            order_known: true,
            asked: None,
            asked_before: None,
            initial_state: None,
            final_state: None,
            external: None,
            truncated: None,
            notices: vec![],
        }
    }

    #[test]
    fn parallel_calls_pair_by_id_and_recurring_ids_by_nearness() {
        use EventKind::{ToolCall, ToolError, ToolResult};
        let trace = trace(vec![
            (ToolCall, "a", Some("1")),
            (ToolCall, "b", Some("2")),
            (ToolResult, "b", Some("2")),
            (ToolResult, "a", Some("1")),
            (ToolCall, "c", Some("1")),
            (ToolError, "c", Some("1")),
            (ToolCall, "d", Some("1")),
        ]);
        let calls = calls(&trace);
        let results: Vec<_> = calls.iter().map(|c| c.result.map(|r| r.sequence)).collect();
        assert_eq!(results, [Some(3), Some(2), Some(5), None]);
        assert_eq!(calls[2].outcome(), CallOutcome::Error);
        assert_eq!(calls[3].outcome(), CallOutcome::Unrecorded);
    }
}
