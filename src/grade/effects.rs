//! Which effects a trial committed, as far as its source shows.

use std::collections::HashMap;

use serde_json::Value;

use crate::base::digest::canonical;
use crate::grade::evidence::Evidence;
use crate::model::trace::{Event, EventKind};
use crate::trace::calls::{Call, CallOutcome};

/// One change in the world.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    /// Tool or capability; empty if the source names none.
    pub capability: String,
    /// The events that show it, in order.
    pub events: Vec<u64>,
    /// Where in the order of events it was committed.
    pub at: u64,
    /// Its receipts; a call's own effect event and its result may name it differently.
    pub receipts: Vec<String>,
    /// The key that identifies the intended effect, within its capability.
    pub key: Option<String>,
    /// Capability and canonical arguments; `None` if nobody knows them.
    pub identity: Option<String>,
    /// Version of the policy under which it was allowed.
    pub policy_version: Option<String>,
    /// False where the source does not show whether the call had its effect.
    pub certain: bool,
    /// Whether it belongs to a call.
    pub call: Option<usize>,
}

/// The effects of a trial in the order in which they were committed.
pub(crate) struct Effects {
    /// The effects.
    pub all: Vec<Effect>,
    /// Whether a native trace records no effect at all although writing calls succeeded, so that
    /// their results were taken as effects.
    pub inferred: bool,
}

/// Finds the effects of a trial.
///
/// A call and the effect event or receipt that belongs to it are one effect. Where the source records
/// effects, a call without one had none; where it does not, the result of a writing call that is not
/// an error is an effect, an error is none, and a call without any recorded result may be one. A
/// native trace in which writing calls succeeded and no effect is recorded at all was made by a
/// recorder that does not record them, and is read like a chat log.
pub(crate) fn effects(evidence: &Evidence<'_>) -> Effects {
    let events = &evidence.trace.events;
    let records = evidence.is_native()
        && (events
            .iter()
            .any(|e| e.kind == EventKind::Effect || e.effect_receipt.is_some()));
    let owners = Owners::find(evidence);
    let mut all = vec![];
    let mut inferred = false;
    for (index, call) in evidence.calls.iter().enumerate() {
        let own = &owners.of_calls[index];
        let receipt = call.result.and_then(|r| r.effect_receipt.as_deref());
        if !own.is_empty() || receipt.is_some() {
            all.extend(recorded(evidence, index, call, own));
        } else if evidence.suite.writes(call.name)
            && !records
            && call.outcome() != CallOutcome::Error
        {
            inferred |= evidence.is_native();
            let mut effect = of_call(evidence, index, call);
            effect.certain = call.outcome() == CallOutcome::Ok;
            all.push(effect);
        }
    }
    all.extend(owners.unowned.iter().map(|e| standalone(e)));
    all.sort_by_key(|e| e.at);
    Effects { all, inferred }
}

/// The effects of a call that has effect events or a receipt: one, unless its events carry different
/// receipts or none, for then the one call committed more than once.
fn recorded(evidence: &Evidence<'_>, index: usize, call: &Call<'_>, own: &[&Event]) -> Vec<Effect> {
    let base = of_call(evidence, index, call);
    let Some((first, rest)) = own.split_first() else {
        return vec![base];
    };
    let mut found = vec![with_event(base.clone(), first)];
    for event in rest {
        let known = event
            .effect_receipt
            .as_ref()
            .and_then(|r| found.iter().position(|e: &Effect| e.receipts.contains(r)));
        match known {
            Some(at) => found[at].events.push(event.sequence),
            None => {
                let mut effect = with_event(
                    Effect {
                        receipts: vec![],
                        ..base.clone()
                    },
                    event,
                );
                if event.capability.as_deref().is_some_and(|c| c != call.name)
                    || (event.payload.is_some() && event.payload != first.payload)
                {
                    effect = standalone(event);
                    effect.call = Some(index);
                }
                found.push(effect);
            }
        }
    }
    found
}

fn with_event(mut effect: Effect, event: &Event) -> Effect {
    effect.at = event.sequence;
    effect.events.push(event.sequence);
    effect.events.sort_unstable();
    effect.receipts.extend(event.effect_receipt.clone());
    effect.receipts.dedup();
    if let Some(key) = &event.idempotency_key {
        effect.key = Some(scoped(&effect.capability, key));
    }
    if event.policy_version.is_some() {
        effect.policy_version.clone_from(&event.policy_version);
    }
    effect
}

/// The effect that a call has, without any effect event.
fn of_call(evidence: &Evidence<'_>, index: usize, call: &Call<'_>) -> Effect {
    let result = call.result;
    let from_events = [Some(call.event), result]
        .into_iter()
        .flatten()
        .find_map(|e| e.idempotency_key.clone());
    let key = from_events.or_else(|| declared_key(evidence, call));
    Effect {
        capability: call.name.to_owned(),
        events: call.events(),
        at: result.map_or(call.event.sequence, |r| r.sequence),
        receipts: result
            .and_then(|r| r.effect_receipt.clone())
            .into_iter()
            .collect(),
        key: key.map(|k| scoped(call.name, &k)),
        identity: Some(evidence.identities[index].clone()),
        policy_version: result
            .and_then(|r| r.policy_version.clone())
            .or_else(|| call.event.policy_version.clone()),
        certain: true,
        call: Some(index),
    }
}

/// The argument that the suite declares as the tool's idempotency key.
fn declared_key(evidence: &Evidence<'_>, call: &Call<'_>) -> Option<String> {
    let tool = evidence.suite.spec.tools.get(call.name)?;
    let key = tool.idempotency_key.as_deref()?;
    let arguments = call.arguments?;
    let value = if key.starts_with('/') {
        arguments.pointer(key)
    } else {
        arguments.get(key)
    };
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(canonical(other)),
    }
}

/// Keys are chosen per capability, so the same key of two capabilities is not the same effect.
fn scoped(capability: &str, key: &str) -> String {
    format!("{capability}\u{0}{key}")
}

/// An effect event that belongs to no call.
fn standalone(event: &Event) -> Effect {
    let capability = event.capability.clone().unwrap_or_default();
    let identity = event
        .payload
        .as_ref()
        .filter(|_| !capability.is_empty())
        .map(|p| format!("{capability}\u{0}{}", canonical(p)));
    let effect = Effect {
        capability,
        events: vec![],
        at: event.sequence,
        receipts: vec![],
        key: None,
        identity,
        policy_version: None,
        certain: true,
        call: None,
    };
    with_event(effect, event)
}

/// Which call each effect event belongs to.
struct Owners<'a> {
    of_calls: Vec<Vec<&'a Event>>,
    unowned: Vec<&'a Event>,
}

impl<'a> Owners<'a> {
    fn find(evidence: &Evidence<'a>) -> Self {
        let calls = &evidence.calls;
        let by_sequence: HashMap<u64, usize> = calls
            .iter()
            .enumerate()
            .flat_map(|(i, call)| call.events().into_iter().map(move |s| (s, i)))
            .collect();
        let mut found = Self {
            of_calls: vec![vec![]; calls.len()],
            unowned: vec![],
        };
        for event in &evidence.trace.events {
            if event.kind != EventKind::Effect {
                continue;
            }
            let by_parent = event.parent.and_then(|p| by_sequence.get(&p).copied());
            match by_parent.or_else(|| found.nearest(calls, event)) {
                Some(owner) => found.of_calls[owner].push(event),
                None => found.unowned.push(event),
            }
        }
        found
    }

    /// Without a `parent` that names it or its result, an effect event belongs to the nearest earlier
    /// call with its call id, or else to the nearest earlier call of its capability that has no
    /// effect event yet, or that is still open.
    fn nearest(&self, calls: &[Call<'_>], event: &Event) -> Option<usize> {
        let earlier = calls.partition_point(|c| c.event.sequence < event.sequence);
        let by_id = event.call_id.as_ref().and_then(|id| {
            let same = |i: &usize| calls[*i].event.call_id.as_ref() == Some(id);
            (0..earlier).rev().find(same)
        });
        by_id.or_else(|| {
            let name = event.capability.as_deref()?;
            let named = || (0..earlier).rev().filter(|&i| calls[i].name == name);
            let open = |i: &usize| calls[*i].result.is_none_or(|r| r.sequence > event.sequence);
            named()
                .find(|&i| self.of_calls[i].is_empty())
                .or_else(|| named().find(open))
        })
    }
}
