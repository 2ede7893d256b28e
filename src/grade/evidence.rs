//! The evidence of one trial as graders read it.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::grade::effects::{Effects, effects};
use crate::grade::finding::{ARGUMENTS_NOT_RECORDED, NO_TRACE, PRIVATE_ARGUMENTS};
use crate::model::suite::{FaultSpec, Suite, Task};
use crate::model::trace::{Trace, TraceSource};
use crate::trace::calls::{Call, calls};

/// A whole trace with its calls paired, and what the suite says about them.
pub(crate) struct Evidence<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// The task, where one is known.
    task: Option<&'a Task>,
    /// The trace.
    pub trace: &'a Trace,
    /// Calls in order; arguments of private tools are hidden even where an importer left them in.
    pub calls: Vec<Call<'a>>,
    /// What each call is the same as: equal texts are equal calls.
    pub identities: Vec<String>,
    effects: OnceCell<Effects>,
}

impl<'a> Evidence<'a> {
    /// Reads a trace; the error is the reason why there is no evidence.
    pub(crate) fn read(
        suite: &'a Suite,
        task: Option<&'a Task>,
        trace: Option<&'a Trace>,
    ) -> Result<Self, &'static str> {
        let trace = trace.ok_or(NO_TRACE)?;
        if trace.truncated.is_some() {
            return Err("truncated_trace");
        }
        let mut calls = calls(trace);
        let identities = identities(&calls);
        for call in &mut calls {
            if suite.is_private(call.name) {
                call.arguments = None;
            }
        }
        Ok(Self {
            suite,
            task,
            trace,
            calls,
            identities,
            effects: OnceCell::new(),
        })
    }

    /// The effects, found when they are first asked for.
    pub(crate) fn effects(&self) -> &Effects {
        self.effects.get_or_init(|| effects(self))
    }

    /// The declared fault with this id.
    pub(crate) fn fault(&self, id: &str) -> Option<&'a FaultSpec> {
        let of_task = self.task.into_iter().flat_map(|t| &t.faults);
        of_task.chain(&self.suite.spec.faults).find(|f| f.id == id)
    }

    /// The first call whose tool nobody knows.
    pub(crate) fn first_unnamed(&self) -> Option<u64> {
        let unnamed = self.calls.iter().find(|c| c.name.is_empty());
        unnamed.map(|c| c.event.sequence)
    }

    /// Sequence numbers of all calls.
    pub(crate) fn call_events(&self) -> Vec<u64> {
        self.calls.iter().map(|c| c.event.sequence).collect()
    }

    /// Why the arguments of a call cannot be looked at.
    pub(crate) fn unseen(&self, call: &Call<'_>) -> &'static str {
        if self.suite.is_private(call.name) {
            PRIVATE_ARGUMENTS
        } else {
            ARGUMENTS_NOT_RECORDED
        }
    }

    /// Whether the trace is Assize's own, in which nothing recorded means that nothing happened.
    pub(crate) fn is_native(&self) -> bool {
        self.trace.source == TraceSource::Native
    }
}

/// Equal calls get equal texts. A call whose arguments were dropped equals the call that it
/// `repeats`; without that it equals only itself, because nobody knows its arguments.
fn identities(calls: &[Call<'_>]) -> Vec<String> {
    let mut by_sequence: HashMap<u64, String> = HashMap::new();
    calls
        .iter()
        .map(|call| {
            let sequence = call.event.sequence;
            let repeated = call.event.repeats.and_then(|r| by_sequence.get(&r));
            let identity = call
                .key()
                .or_else(|| repeated.cloned())
                .unwrap_or_else(|| format!("{}\u{0}#{sequence}", call.name));
            by_sequence.insert(sequence, identity.clone());
            identity
        })
        .collect()
}
