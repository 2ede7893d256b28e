//! Pairs every tool call of a trace with its result.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::base::digest::canonical;
use crate::model::trace::{Event, EventKind, Trace};

/// A tool call with its result.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The call event; the result, if only that was recorded.
    pub event: &'a Event,
    /// Tool name; empty if the source gave none.
    pub name: &'a str,
    /// Arguments; `None` for private tools, and where the source did not record them.
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

    /// Whether only its result was recorded, so that nobody knows its arguments.
    pub fn is_shown_by_result(&self) -> bool {
        self.result
            .is_some_and(|r| r.sequence == self.event.sequence)
    }

    /// The event sequence numbers of the call and, if recorded, its result.
    pub fn events(&self) -> Vec<u64> {
        let mut events = vec![self.event.sequence];
        let result = self.result.map(|r| r.sequence);
        events.extend(result.filter(|r| *r != self.event.sequence));
        events
    }
}

/// The tool calls of a trace in order, each with its result.
///
/// A result belongs to the call named by its `parent`, or else to the nearest earlier unanswered
/// call with its call id (ids recur in real logs), or else, without an id, to the nearest earlier
/// unanswered call of the same tool. A result of a tool of which the trace records no call at all
/// stands for the call itself: some recorders write results only.
pub fn calls(trace: &Trace) -> Vec<Call<'_>> {
    let called: HashSet<&str> = trace
        .events
        .iter()
        .filter(|e| e.kind == EventKind::ToolCall)
        .filter_map(|e| e.capability.as_deref())
        .collect();
    let mut found: Vec<Call<'_>> = Vec::new();
    let mut by_sequence: HashMap<u64, usize> = HashMap::new();
    for event in &trace.events {
        match event.kind {
            EventKind::ToolCall => {
                by_sequence.insert(event.sequence, found.len());
                found.push(call_of(event));
            }
            EventKind::ToolResult | EventKind::ToolError => {
                let by_parent = event.parent.and_then(|p| by_sequence.get(&p).copied());
                match by_parent.or_else(|| nearest_unanswered(&found, event)) {
                    Some(at) => answer(&mut found[at], event),
                    None if is_only_evidence(event, &called) => found.push(Call {
                        arguments: None,
                        result: Some(event),
                        ..call_of(event)
                    }),
                    None => {}
                }
            }
            _ => {}
        }
    }
    found
}

fn call_of(event: &Event) -> Call<'_> {
    Call {
        event,
        name: event.capability.as_deref().unwrap_or(""),
        arguments: event.payload.as_ref(),
        result: None,
    }
}

/// Gives a call its result, unless it has one; a call without a name takes that of its result.
fn answer<'a>(call: &mut Call<'a>, result: &'a Event) {
    if call.result.is_none() {
        call.result = Some(result);
        if call.name.is_empty() {
            call.name = result.capability.as_deref().unwrap_or("");
        }
    }
}

fn is_only_evidence(result: &Event, called: &HashSet<&str>) -> bool {
    let name = result.capability.as_deref().unwrap_or("");
    !name.is_empty() && !called.contains(name)
}

fn nearest_unanswered(found: &[Call<'_>], result: &Event) -> Option<usize> {
    found.iter().rposition(|call| {
        call.result.is_none()
            && match (&result.call_id, result.capability.as_deref()) {
                (Some(id), _) => call.event.call_id.as_ref() == Some(id),
                (None, Some(name)) => call.name.is_empty() || call.name == name,
                (None, None) => true,
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

    #[test]
    fn a_result_alone_shows_its_call_unless_the_trace_records_calls_of_that_tool() {
        use EventKind::{ToolCall, ToolResult};
        let trace = trace(vec![
            (ToolResult, "pay", None),
            (ToolCall, "look", None),
            (ToolResult, "look", None),
            (ToolResult, "look", None),
            (ToolCall, "", Some("1")),
            (ToolResult, "find", Some("1")),
            (ToolResult, "pay", None),
        ]);
        let calls = calls(&trace);
        let names: Vec<_> = calls.iter().map(|c| (c.name, c.events())).collect();
        let expected = [
            ("pay", vec![0]),
            ("look", vec![1, 2]),
            ("find", vec![4, 5]),
            ("pay", vec![6]),
        ];
        assert_eq!(names, expected);
        assert!(calls[0].is_shown_by_result() && calls[0].arguments.is_none());
        assert!(!calls[1].is_shown_by_result());
    }
}
