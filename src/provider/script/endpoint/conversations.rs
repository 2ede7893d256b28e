//! Which trial a request belongs to when it does not say, and how often a call was tried.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::chat::{Message, TrialKey};
use crate::provider::script::view;

/// The conversations that began alike, and the attempts of calls that are to fail.
#[derive(Default)]
pub(super) struct Conversations {
    begun: Mutex<HashMap<u64, Begun>>,
    attempts: Mutex<HashMap<u64, u32>>,
}

/// Conversations with one model that began with the same message.
#[derive(Default)]
struct Begun {
    /// How many.
    count: u32,
    /// Those whose first call failed, so that it comes again.
    failing: Vec<u32>,
}

/// What a conversation without a trial is counted by.
#[derive(Clone, Copy)]
pub(super) struct Opening(u64);

impl Opening {
    /// The model and the first user message.
    pub fn of(model: &str, messages: &[Message]) -> Self {
        Self(hash((model, view::first_message(messages))))
    }
}

impl Conversations {
    /// The number of a conversation, from 0. Tool call ids carry it; a conversation without tool calls
    /// is taken for the latest that began so.
    pub fn number(&self, opening: Opening, messages: &[Message]) -> u32 {
        if let Some(number) = carried(messages) {
            return number;
        }
        let mut begun = lock(&self.begun);
        let begun = begun.entry(opening.0).or_default();
        if view::turns(messages) > 0 {
            return begun.count.saturating_sub(1);
        }
        begun.failing.pop().unwrap_or_else(|| {
            begun.count += 1;
            begun.count - 1
        })
    }

    /// Says that the first call of a conversation fails and will be tried again.
    pub fn begins_again(&self, opening: Opening, number: u32) {
        let mut begun = lock(&self.begun);
        begun.entry(opening.0).or_default().failing.push(number);
    }

    /// Whether a call that is to fail so many times fails this time; after that it starts anew.
    pub fn fails(&self, model: &str, trial: &TrialKey, turn: u64, times: u32) -> bool {
        let key = hash((model, &trial.task, trial.index, turn));
        let mut attempts = lock(&self.attempts);
        let count = attempts.entry(key).or_default();
        if *count < times {
            *count += 1;
            return true;
        }
        attempts.remove(&key);
        false
    }
}

/// The number in the ids of the latest tool calls.
fn carried(messages: &[Message]) -> Option<u32> {
    let calls = messages.iter().rev().find_map(|m| match m {
        Message::Assistant { calls, .. } => calls.first(),
        _ => None,
    });
    calls?.id.split('_').nth(1)?.parse().ok()
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Counters stay true whatever happened to the thread that held them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::chat::ToolCall;

    fn said(text: &str) -> Vec<Message> {
        vec![Message::User(text.to_owned())]
    }

    #[test]
    fn conversations_that_begin_alike_are_counted_and_found_again() {
        let all = Conversations::default();
        let mut first = said("hello");
        let opening = Opening::of("m", &first);
        assert_eq!(all.number(opening, &first), 0);
        assert_eq!(all.number(opening, &first), 1);
        assert_eq!(all.number(Opening::of("n", &first), &first), 0);
        let call = ToolCall {
            id: "call_0_0_0".to_owned(),
            name: "t".to_owned(),
            arguments: "{}".to_owned(),
        };
        first.push(Message::Assistant {
            text: None,
            calls: vec![call],
            opaque: vec![],
        });
        assert_eq!(all.number(opening, &first), 0, "by the id of its call");
    }

    #[test]
    fn a_first_call_that_failed_does_not_begin_another_conversation() {
        let all = Conversations::default();
        let first = said("hello");
        let opening = Opening::of("m", &first);
        let number = all.number(opening, &first);
        all.begins_again(opening, number);
        assert_eq!(all.number(opening, &first), number);
        assert_eq!(all.number(opening, &first), number + 1);
    }

    #[test]
    fn a_call_fails_so_many_times_and_then_no_more() {
        let all = Conversations::default();
        let trial = TrialKey {
            task: "t".to_owned(),
            index: 0,
            id: String::new(),
            seed: 0,
        };
        let tries: Vec<bool> = (0..4).map(|_| all.fails("m", &trial, 0, 2)).collect();
        assert_eq!(tries, [true, true, false, true]);
    }
}
