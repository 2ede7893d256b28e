//! Payloads that passed through private tools.

use std::collections::{HashMap, HashSet};

use crate::base::digest::canonical;
use crate::model::trace::{Event, EventKind, Trace};
use crate::trace::calls::calls;
use crate::trace::import::ImportOptions;

/// Drops the payloads of all events of private tools. Of repeated private calls only the position of
/// the first one is kept: a digest of short arguments could be guessed back.
///
/// An event is a private tool's if it names one, or belongs to a call of one: by `parent`, by the
/// pairing of calls and results, or by call id, in this order, wherever the call stands. A result or
/// effect of which nobody can say to which tool it belongs is dropped if the trial has private calls.
pub(super) fn drop_payloads(trace: &mut Trace, options: &ImportOptions) {
    if options.private_tools.is_empty() {
        return;
    }
    note_repeats(&mut trace.events, options);
    let private = Tools::find(trace, options).private(trace);
    for event in &mut trace.events {
        if private.contains(&event.sequence) {
            event.payload = None;
        }
    }
}

fn note_repeats(events: &mut [Event], options: &ImportOptions) {
    let mut first: HashMap<String, u64> = HashMap::new();
    for event in events {
        let name = event.capability.as_deref().unwrap_or("");
        if let (EventKind::ToolCall, true, Some(arguments)) =
            (event.kind, options.is_private(name), &event.payload)
        {
            let key = format!("{name}\u{0}{}", canonical(arguments));
            let earlier = *first.entry(key).or_insert(event.sequence);
            event.repeats = (earlier != event.sequence).then_some(earlier);
        }
    }
}

/// To whom an event belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Private,
    Other,
}

/// The tools of a trace, as far as they are private or not.
struct Tools<'a> {
    options: &'a ImportOptions,
    /// Owner of every call and of every result that is paired with one.
    of_events: HashMap<u64, Owner>,
    /// Calls by their ids, in order.
    of_ids: HashMap<String, Vec<(u64, Owner)>>,
    any_private: bool,
}

impl<'a> Tools<'a> {
    fn find(trace: &Trace, options: &'a ImportOptions) -> Self {
        let mut tools = Self {
            options,
            of_events: HashMap::new(),
            of_ids: HashMap::new(),
            any_private: false,
        };
        for call in calls(trace) {
            let owner = tools.named(call.name);
            tools.any_private |= owner == Owner::Private;
            let events = call.events().into_iter();
            tools
                .of_events
                .extend(events.map(|sequence| (sequence, owner)));
            if let Some(id) = &call.event.call_id {
                let known = tools.of_ids.entry(id.clone()).or_default();
                known.push((call.event.sequence, owner));
            }
        }
        tools
    }

    fn named(&self, name: &str) -> Owner {
        match self.options.is_private(name) {
            true => Owner::Private,
            false => Owner::Other,
        }
    }

    /// Sequence numbers of the events whose payloads are private.
    fn private(&self, trace: &Trace) -> HashSet<u64> {
        let events = trace.events.iter();
        let private = events.filter(|event| self.owner(event) == Owner::Private);
        private.map(|event| event.sequence).collect()
    }

    fn owner(&self, event: &Event) -> Owner {
        let is_result = matches!(event.kind, EventKind::ToolResult | EventKind::ToolError);
        let belongs = is_result
            || matches!(
                event.kind,
                EventKind::ToolCall | EventKind::Effect | EventKind::ApprovalRequest
            );
        let named = event.capability.as_deref().map(|name| self.named(name));
        let of_parent = event.parent.and_then(|p| self.of_events.get(&p).copied());
        if named == Some(Owner::Private) || (is_result && of_parent == Some(Owner::Private)) {
            return Owner::Private;
        }
        if named.is_some() || !belongs {
            return Owner::Other;
        }
        let paired = || self.of_events.get(&event.sequence).copied();
        let known = of_parent.or_else(paired).or_else(|| self.by_id(event));
        match known {
            Some(owner) => owner,
            None if self.any_private && event.kind != EventKind::ToolCall => Owner::Private,
            None => Owner::Other,
        }
    }

    /// The owner of the nearest earlier call with the event's id, or else of the nearest later one.
    fn by_id(&self, event: &Event) -> Option<Owner> {
        let calls = self.of_ids.get(event.call_id.as_deref()?)?;
        let earlier = calls.partition_point(|(at, _)| *at < event.sequence);
        let nearest = calls[..earlier].last().or(calls.get(earlier));
        nearest.map(|(_, owner)| *owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::trace::TraceSource;
    use serde_json::{Value, json};

    /// Which payloads are left of events `[kind, capability, call id, parent]`.
    fn left(events: Value) -> Vec<bool> {
        let mut options = ImportOptions::new("", "");
        options.private_tools.insert("think".to_owned());
        let text = |v: &Value| v.as_str().map(str::to_owned);
        let events = events.as_array().unwrap().iter().enumerate();
        let events = events.map(|(i, e)| Event {
            capability: text(&e[1]),
            call_id: text(&e[2]),
            parent: e[3].as_u64(),
            payload: Some(json!("x")),
            ..Event::new(i as u64, serde_json::from_value(e[0].clone()).unwrap())
        });
        let mut trace = Trace {
            source: TraceSource::Native,
            events: events.collect(),
            order_known: true,
            asked: None,
            asked_before: None,
            initial_state: None,
            final_state: None,
            external: None,
            truncated: None,
            notices: vec![],
        };
        drop_payloads(&mut trace, &options);
        trace.events.iter().map(|e| e.payload.is_some()).collect()
    }

    #[test]
    fn everything_of_a_private_call_goes_wherever_it_stands() {
        let (call, result, effect) = ("tool_call", "tool_result", "effect");
        let think = json!([call, "think", "1", null]);
        for (event, stays) in [
            (json!([result, null, "1", null]), false),
            (json!([result, null, null, null]), false),
            (json!([result, null, "zz", null]), false),
            (json!(["tool_error", null, null, 0]), false),
            (json!([result, "look", null, 0]), false),
            (json!([result, "look", null, null]), true),
            (json!([result, "mcp__notes__think", null, null]), false),
            (json!([effect, null, "1", null]), false),
            (json!([effect, null, null, 0]), false),
            (json!([effect, "pay", "1", null]), true),
            (json!(["approval_request", "think", null, null]), false),
            (json!(["model_result", null, null, 0]), true),
            (json!(["fault", null, "1", null]), true),
        ] {
            assert_eq!(left(json!([think, event])), [false, stays], "{event}");
        }
        let early = json!([[result, null, "1", null], think, [result, null, "1", null]]);
        assert_eq!(left(early), [false, false, false]);
        let second = json!([think, [result, null, "1", null], [result, null, "1", null]]);
        assert_eq!(left(second), [false, false, false]);
    }

    #[test]
    fn recurring_ids_belong_to_the_nearest_call() {
        let events = json!([
            ["tool_call", "think", "1", null],
            ["tool_result", null, "1", null],
            ["tool_call", "look", "1", null],
            ["effect", null, "1", null],
            ["tool_result", null, "1", null]
        ]);
        assert_eq!(left(events), [false, false, true, true, true]);
        let none = json!([
            ["tool_call", "look", "1", null],
            ["tool_result", null, null, null],
            ["tool_result", null, null, null]
        ]);
        assert_eq!(left(none), [true, true, true]);
    }
}
