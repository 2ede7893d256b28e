//! Checking the links of a chain.

use serde_json::{Map, Value};

use super::link;
use crate::base::Digest;

/// Checks the links of one trial, event by event in the order of their sequence.
#[derive(Debug, Default)]
pub struct ChainCheck {
    previous: String,
    next: u64,
    chained: u64,
    fault: Option<&'static str>,
    ended: bool,
}

impl ChainCheck {
    /// Takes the next event: the object of its line as it was read.
    pub fn next(&mut self, event: &Map<String, Value>) {
        let sequence = event.get("sequence").and_then(Value::as_u64);
        if sequence != Some(self.next) {
            self.fault.get_or_insert("sequence_gap");
        }
        if let Some(hash) = event.get("hash").and_then(Value::as_str) {
            if link(&self.previous, event).as_str() != hash {
                self.fault.get_or_insert("broken_chain");
            }
            self.chained += 1;
            self.previous = hash.to_owned();
        }
        let (payload, digest) = (event.get("payload"), event.get("payload_digest"));
        if let (Some(payload), Some(digest)) = (payload, digest.and_then(Value::as_str))
            && Digest::of_json(payload).as_str() != digest
        {
            self.fault.get_or_insert("broken_chain");
        }
        self.ended = event.get("kind").and_then(Value::as_str) == Some("trial_end");
        self.next = sequence.unwrap_or(self.next).saturating_add(1);
        if self.chained != 0 && !event.contains_key("hash") {
            self.fault.get_or_insert("broken_chain");
        }
    }

    /// Why the trace is incomplete: `sequence_gap`, `broken_chain` or `no_trial_end`; `None` if it
    /// is whole.
    pub fn truncated(&self) -> Option<&'static str> {
        self.fault.or((!self.ended).then_some("no_trial_end"))
    }

    /// Whether no event carries a hash.
    pub fn is_unchained(&self) -> bool {
        self.chained == 0
    }
}
