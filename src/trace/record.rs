//! Recording the events of a trial while it runs.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::base::digest::canonical;
use crate::model::suite::Suite;
use crate::model::trace::{Event, EventKind, Trace, TraceSource};

/// Takes down events in the order in which they happen, and keeps private arguments out.
pub struct Recorder {
    events: Vec<Event>,
    private: Vec<String>,
    /// Sequence of the first private call with these arguments, by tool and canonical arguments.
    private_calls: HashMap<String, u64>,
}

impl Recorder {
    /// Begins a trial of a suite; `state` is its initial state document.
    pub fn begin(suite: &Suite, state: Option<&Value>) -> Self {
        let mut recorder = Self {
            events: Vec::new(),
            private: suite.spec.private_tools.clone(),
            private_calls: HashMap::new(),
        };
        let start = recorder.push(EventKind::TrialStart, 0);
        start.payload = state.map(|state| json!({ "state": state }));
        recorder
    }

    /// Takes down an event at so many milliseconds since the start; the caller fills in the rest.
    pub fn push(&mut self, kind: EventKind, elapsed_ms: u64) -> &mut Event {
        let mut event = Event::new(self.events.len() as u64, kind);
        event.elapsed_ms = Some(elapsed_ms);
        self.events.push(event);
        let last = self.events.len() - 1;
        &mut self.events[last]
    }

    /// Takes down a tool call and returns its sequence. Of a private tool only the call is kept, and
    /// which earlier call it repeats.
    pub fn tool_call(&mut self, tool: &str, call_id: &str, arguments: Value, ms: u64) -> u64 {
        let sequence = self.events.len() as u64;
        let private = self.is_private(tool);
        let repeats = match private {
            true => {
                let key = format!("{tool} {}", canonical(&arguments));
                let first = *self.private_calls.entry(key).or_insert(sequence);
                (first != sequence).then_some(first)
            }
            false => None,
        };
        let event = self.push(EventKind::ToolCall, ms);
        event.capability = Some(tool.to_owned());
        event.call_id = Some(call_id.to_owned());
        event.payload = (!private).then_some(arguments);
        event.repeats = repeats;
        sequence
    }

    /// Whether a tool's arguments, and what it answers, are private reasoning.
    pub fn is_private(&self, tool: &str) -> bool {
        let names = |known: &String| crate::model::suite::names_tool(tool, known);
        self.private.iter().any(names)
    }

    /// The events so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Ends the trial: `end` is the payload of its last event, whose `state` is the final state.
    pub fn finish(mut self, end: Value, ms: u64) -> Trace {
        self.push(EventKind::TrialEnd, ms).payload = Some(end);
        let initial_state = self.events.first_mut().and_then(taken_state);
        let final_state = self.events.last_mut().and_then(taken_state);
        Trace {
            source: TraceSource::Native,
            events: self.events,
            order_known: true,
            asked: None,
            asked_before: None,
            initial_state,
            final_state,
            external: None,
            truncated: None,
            notices: vec![],
        }
    }
}

/// Takes the state document out of an event, as it stands beside the events of a trace.
fn taken_state(event: &mut Event) -> Option<Value> {
    let members = event.payload.as_mut()?.as_object_mut()?;
    let state = members.remove("state");
    if members.is_empty() {
        event.payload = None;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(private: &[&str]) -> Suite {
        let spec = json!({"id": "s", "version": "1", "private_tools": private});
        Suite::new(serde_json::from_value(spec).unwrap(), vec![])
    }

    #[test]
    fn private_arguments_are_dropped_and_their_repetition_is_kept() {
        let mut recorder = Recorder::begin(&suite(&["notes"]), None);
        let first = recorder.tool_call("notes", "a", json!({"x": 1, "y": 2}), 1);
        recorder.tool_call("notes", "b", json!({"y": 2, "x": 1}), 2);
        recorder.tool_call("notes", "c", json!({"x": 2}), 3);
        recorder.tool_call("lookup", "d", json!({"x": 2}), 4);
        let events = recorder.finish(json!({}), 5).events;
        let repeats: Vec<_> = events.iter().map(|e| e.repeats).collect();
        assert_eq!(repeats, [None, None, Some(first), None, None, None]);
        let kept: Vec<_> = events.iter().map(|e| e.payload.clone()).collect();
        assert_eq!(kept[1..4], [None, None, None]);
        assert_eq!(kept[4], Some(json!({"x": 2})));
    }

    #[test]
    fn states_stand_beside_the_events() {
        let recorder = Recorder::begin(&suite(&[]), Some(&json!({"n": 1})));
        let trace = recorder.finish(json!({"state": {"n": 2}, "status": "completed"}), 9);
        assert_eq!(trace.initial_state, Some(json!({"n": 1})));
        assert_eq!(trace.final_state, Some(json!({"n": 2})));
        assert_eq!(trace.events[0].payload, None);
        assert_eq!(
            trace.events[1].payload,
            Some(json!({"status": "completed"}))
        );
    }
}
