//! Which effects a trial committed, as far as its source shows.

use serde_json::Value;

use crate::base::digest::canonical;
use crate::grade::evidence::Evidence;
use crate::grade::finding::TOOL_NAME_NOT_RECORDED;
use crate::grade::owners::{Owners, committed_by_fault};
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
    /// Why there may be effects that nobody can name.
    pub unknown: Option<&'static str>,
}

impl Effects {
    /// The effects of a capability that no call of that name shows.
    pub(crate) fn beside<'e>(&'e self, calls: &'e [Call<'_>]) -> impl Iterator<Item = &'e Effect> {
        let named = |e: &Effect| e.call.is_some_and(|i| calls[i].name == e.capability);
        self.all.iter().filter(move |e| !named(e))
    }
}

/// Finds the effects of a trial.
///
/// A call and the effect event or receipt that belongs to it are one effect; an effect event, or a
/// result with a receipt, that belongs to no call is one by itself. A call whose reply was lost after
/// it was committed, as the fault log says, is one too. Beyond that: where the source records
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
    let lost = committed_by_fault(evidence);
    let mut found = Effects {
        all: owners.unowned.iter().map(|e| standalone(e)).collect(),
        inferred: false,
        unknown: None,
    };
    for (index, call) in evidence.calls.iter().enumerate() {
        let own = &owners.of_calls[index];
        let receipt = call.result.and_then(|r| r.effect_receipt.as_deref());
        let of_call = || of_call(evidence, index, call);
        if !own.is_empty() || receipt.is_some() {
            found.all.extend(recorded(of_call(), index, call, own));
        } else if let Some(&fault) = lost.get(&index) {
            found.all.push(with_fault(of_call(), fault));
        } else if records || call.outcome() == CallOutcome::Error {
            continue;
        } else if evidence.suite.writes(call.name) {
            found.inferred |= evidence.is_native();
            found.all.push(Effect {
                certain: call.outcome() == CallOutcome::Ok,
                ..of_call()
            });
        } else if call.name.is_empty() {
            found.unknown = Some(TOOL_NAME_NOT_RECORDED);
        }
    }
    found.all.sort_by_key(|e| e.at);
    found
}

/// The effects of a call that has effect events or a receipt: one, unless its events carry different
/// receipts or none, for then the one call committed more than once.
fn recorded(base: Effect, index: usize, call: &Call<'_>, own: &[&Event]) -> Vec<Effect> {
    let mut found = vec![base];
    let mut first: Option<&Event> = None;
    for event in own {
        let receipt = event.effect_receipt.as_ref();
        let known = receipt.and_then(|r| found.iter().position(|e| e.receipts.contains(r)));
        let reports = event.kind == EventKind::Effect || found[0].receipts.is_empty();
        match (first, known) {
            (None, _) if reports => {
                let base = found.remove(0);
                found.insert(0, with_event(base, event));
                first = Some(event);
            }
            (_, Some(at)) => found[at].events.push(event.sequence),
            (first, None) => found.push(another(&found[0], index, call, first, event)),
        }
    }
    found
}

/// A further effect of a call: the same one again, unless its event says otherwise.
fn another(
    base: &Effect,
    index: usize,
    call: &Call<'_>,
    first: Option<&Event>,
    event: &Event,
) -> Effect {
    let foreign = event.capability.as_deref().is_some_and(|c| c != call.name);
    let payload = |e: &Event| e.payload.clone().filter(|_| e.kind == EventKind::Effect);
    let differs = payload(event).is_some() && payload(event) != first.and_then(payload);
    if foreign || differs {
        return Effect {
            call: Some(index),
            ..standalone(event)
        };
    }
    let again = Effect {
        receipts: vec![],
        ..base.clone()
    };
    with_event(again, event)
}

fn with_fault(mut effect: Effect, fault: u64) -> Effect {
    effect.at = fault;
    effect.events.push(fault);
    effect.events.sort_unstable();
    effect
}

fn with_event(mut effect: Effect, event: &Event) -> Effect {
    effect.at = event.sequence;
    effect.events.push(event.sequence);
    effect.events.sort_unstable();
    effect.receipts.extend(event.effect_receipt.clone());
    effect.receipts.dedup();
    if let Some(capability) = &event.capability {
        effect.capability.clone_from(capability);
    }
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

/// An effect that belongs to no call. The payload of a result is no argument and identifies nothing.
fn standalone(event: &Event) -> Effect {
    let capability = event.capability.clone().unwrap_or_default();
    let identity = event
        .payload
        .as_ref()
        .filter(|_| event.kind == EventKind::Effect && !capability.is_empty())
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
