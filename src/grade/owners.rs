//! Which call each recorded effect belongs to, and which calls an injected fault left committed.

use std::collections::HashMap;

use serde_json::Value;

use crate::grade::evidence::Evidence;
use crate::model::suite::FaultKind;
use crate::model::trace::{Event, EventKind};
use crate::trace::calls::Call;

/// The events that show effects beside the calls' own results: effect events, and results with a
/// receipt that answer no call.
pub(crate) struct Owners<'a> {
    /// Per call, in the order of the trace.
    pub of_calls: Vec<Vec<&'a Event>>,
    /// Those that belong to no call.
    pub unowned: Vec<&'a Event>,
}

impl<'a> Owners<'a> {
    /// Finds the owner of every such event.
    pub(crate) fn find(evidence: &Evidence<'a>) -> Self {
        let calls = &evidence.calls;
        let by_sequence = by_sequence(calls);
        let mut found = Self {
            of_calls: vec![vec![]; calls.len()],
            unowned: vec![],
        };
        for event in &evidence.trace.events {
            let is_extra = event.effect_receipt.is_some()
                && matches!(event.kind, EventKind::ToolResult | EventKind::ToolError)
                && !by_sequence.contains_key(&event.sequence);
            if event.kind != EventKind::Effect && !is_extra {
                continue;
            }
            let by_parent = event.parent.and_then(|p| by_sequence.get(&p).copied());
            let owner = by_parent
                .or_else(|| found.reported_by(calls, event))
                .or_else(|| found.nearest(calls, event));
            match owner {
                Some(owner) => found.of_calls[owner].push(event),
                None => found.unowned.push(event),
            }
        }
        found
    }

    /// The call, known by its result only, that reports the same effect: its result may stand after
    /// the effect event, and one with the same receipt is preferred.
    fn reported_by(&self, calls: &[Call<'_>], event: &Event) -> Option<usize> {
        let begin = calls.partition_point(|c| c.event.sequence < event.sequence);
        let order = || (begin..calls.len()).chain((0..begin).rev());
        let fits = |&i: &usize| {
            let call = &calls[i];
            let same = match (&event.call_id, &call.event.call_id) {
                (Some(id), Some(known)) => id == known,
                _ => event.capability.as_deref() == Some(call.name),
            };
            same && call.is_shown_by_result() && self.of_calls[i].is_empty()
        };
        let receipt = |i: &usize| calls[*i].event.effect_receipt.as_ref();
        let sought = event.effect_receipt.as_ref();
        let exact = order().filter(fits).find(|i| receipt(i) == sought);
        exact.or_else(|| {
            let compatible = |i: &usize| receipt(i).is_none() || sought.is_none();
            order().filter(fits).find(compatible)
        })
    }

    /// Without a `parent` that names it or its result, an effect belongs to the nearest earlier call
    /// with its call id, or else to the nearest earlier call of its capability that has no effect
    /// event yet, or that is still open.
    fn nearest(&self, calls: &[Call<'_>], event: &Event) -> Option<usize> {
        let earlier = calls.partition_point(|c| c.event.sequence < event.sequence);
        let before = || {
            (0..earlier)
                .rev()
                .filter(|&i| !calls[i].is_shown_by_result())
        };
        let by_id = event.call_id.as_ref().and_then(|id| {
            let same = |i: &usize| calls[*i].event.call_id.as_ref() == Some(id);
            before().find(same)
        });
        by_id.or_else(|| {
            let name = event.capability.as_deref()?;
            let named = || before().filter(|&i| calls[i].name == name);
            let open = |i: &usize| calls[*i].result.is_none_or(|r| r.sequence > event.sequence);
            named()
                .find(|&i| self.of_calls[i].is_empty())
                .or_else(|| named().find(open))
        })
    }
}

fn by_sequence(calls: &[Call<'_>]) -> HashMap<u64, usize> {
    let events = |(i, call): (usize, &Call<'_>)| {
        let events = call.events().into_iter();
        events.map(|s| (s, i)).collect::<Vec<_>>()
    };
    calls.iter().enumerate().flat_map(events).collect()
}

/// Calls that were committed although their reply was lost, as the fault log says, each with the
/// sequence number of the fault.
///
/// A fault strikes the call that it names by `parent` or call id, or else the nearest earlier call of
/// its tool (of a writing tool, if it names none) that was open, or else the nearest earlier one.
pub(crate) fn committed_by_fault(evidence: &Evidence<'_>) -> HashMap<usize, u64> {
    let by_sequence = by_sequence(&evidence.calls);
    let faults = evidence.trace.events.iter();
    faults
        .filter(|e| e.kind == EventKind::Fault && is_lost_reply(evidence, e))
        .filter_map(|fault| {
            let by_parent = fault.parent.and_then(|p| by_sequence.get(&p).copied());
            let call = by_parent.or_else(|| struck(evidence, fault))?;
            Some((call, fault.sequence))
        })
        .collect()
}

fn struck(evidence: &Evidence<'_>, fault: &Event) -> Option<usize> {
    let calls = &evidence.calls;
    let earlier = calls.partition_point(|c| c.event.sequence < fault.sequence);
    let before = || (0..earlier).rev();
    if let Some(id) = &fault.call_id {
        return before().find(|&i| calls[i].event.call_id.as_ref() == Some(id));
    }
    let declared = || evidence.fault(text(fault, "id")?)?.tool.as_deref();
    let named = fault.capability.as_deref();
    let tool = named.or_else(|| text(fault, "tool")).or_else(declared);
    let fits = |&i: &usize| match tool {
        Some(tool) => calls[i].name == tool,
        None => evidence.suite.writes(calls[i].name),
    };
    let open = |i: &usize| calls[*i].result.is_none_or(|r| r.sequence > fault.sequence);
    let nearest_open = before().filter(fits).find(open);
    nearest_open.or_else(|| before().find(fits))
}

fn is_lost_reply(evidence: &Evidence<'_>, fault: &Event) -> bool {
    match text(fault, "kind") {
        Some(kind) => kind == "committed_reply_lost",
        None => text(fault, "id")
            .and_then(|id| evidence.fault(id))
            .is_some_and(|spec| spec.kind == FaultKind::CommittedReplyLost),
    }
}

/// A member of the fault's payload; a payload that is text is the fault's kind or id.
fn text<'a>(fault: &'a Event, key: &str) -> Option<&'a str> {
    match fault.payload.as_ref()? {
        Value::String(word) if key == "kind" && word == "committed_reply_lost" => Some(word),
        Value::String(word) if key == "id" => Some(word),
        payload => payload.get(key)?.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use crate::grade::testing::{graded, suite_with, trace, ungradable, value};
    use crate::model::grade::Cell;
    use crate::model::measure::Measure;
    use serde_json::{Value, json};

    fn duplicates(source: &str, events: &[Value]) -> Cell {
        let faults = json!([{"id": "f", "kind": "committed_reply_lost", "tool": "pay"},
            {"id": "other", "kind": "tool_error", "tool": "pay"}]);
        let trace = trace(source, json!(events));
        graded(&suite_with(json!({}), faults), &trace).cell(Measure::DuplicateEffects)
    }

    fn effect(receipt: &str) -> Value {
        json!({"kind": "effect", "capability": "pay", "effect_receipt": receipt})
    }

    fn result(receipt: &str) -> Value {
        json!({"kind": "ok", "capability": "pay", "effect_receipt": receipt})
    }

    fn call() -> Value {
        json!({"kind": "call", "capability": "pay", "call_id": "1", "payload": {"id": 1}})
    }

    #[test]
    fn results_alone_show_effects_by_their_receipts() {
        let (e, r, e2, r2) = (effect("r"), result("r"), effect("q"), result("q"));
        for (events, expected) in [
            (vec![&r], 0.0),
            (vec![&r, &r], 1.0),
            (vec![&r, &r2], 0.0),
            // The effect event and the result report one commit, in either order.
            (vec![&e, &r], 0.0),
            (vec![&r, &e], 0.0),
            (vec![&e, &e2, &r2, &r], 0.0),
            (vec![&r, &e2, &r2], 0.0),
            (vec![&e, &r, &e, &r], 1.0),
            (vec![&e, &e, &r], 1.0),
        ] {
            let events: Vec<Value> = events.into_iter().cloned().collect();
            assert_eq!(duplicates("native", &events), value(expected), "{events:?}");
        }
    }

    #[test]
    fn a_second_result_of_a_call_is_a_second_effect_only_with_another_receipt() {
        let result =
            |receipt: Value| json!({"kind": "ok", "call_id": "1", "effect_receipt": receipt});
        let lost = json!({"kind": "err", "call_id": "1"});
        let (r, q) = (result(json!("r")), result(json!("q")));
        for (events, expected) in [
            (vec![call(), r.clone(), r.clone()], 0.0),
            (vec![call(), r.clone(), q], 1.0),
            (vec![call(), lost, r], 0.0),
        ] {
            assert_eq!(duplicates("native", &events), value(expected), "{events:?}");
        }
    }

    #[test]
    fn a_lost_reply_is_evidence_of_a_commit() {
        let fault = |payload: Value| json!({"kind": "fault", "payload": payload});
        let kind = fault(json!({"kind": "committed_reply_lost"}));
        let id = fault(json!({"id": "f"}));
        let other = fault(json!({"id": "other"}));
        let (lost, ok) = (
            json!({"kind": "err", "call_id": "1"}),
            json!({"kind": "ok", "call_id": "1"}),
        );
        let (c, l, k) = (&call(), &lost, &ok);
        for (events, expected) in [
            (vec![c, &kind, l, c, k], value(1.0)),
            (vec![c, &id, l, c, k], value(1.0)),
            (vec![c, l, &kind, c, k], value(1.0)),
            (vec![c, &kind, l], value(0.0)),
            (vec![c, &other, l, c, k], value(0.0)),
            (vec![c, &kind, &effect("r"), l], value(0.0)),
        ] {
            let events: Vec<Value> = events.into_iter().cloned().collect();
            assert_eq!(duplicates("native", &events), expected, "{events:?}");
        }
    }

    #[test]
    fn a_call_without_a_name_may_have_written() {
        let unnamed = json!({"kind": "call", "call_id": "1"});
        let ok = json!({"kind": "ok", "call_id": "1"});
        let failed = json!({"kind": "err", "call_id": "1"});
        let reason = ungradable("tool_name_not_recorded");
        assert_eq!(duplicates("chat", &[unnamed.clone(), ok.clone()]), reason);
        let (c, k) = (call(), ok);
        let known = [unnamed.clone(), failed, c, k];
        assert_eq!(duplicates("chat", &known), value(0.0));
    }
}
