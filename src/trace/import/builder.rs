//! Builds the events of one trial: numbers them, pairs results with calls, drops private payloads.

use std::collections::HashMap;

use serde_json::Value;

use crate::base::Notice;
use crate::base::digest::canonical;
use crate::model::trace::{Event, EventKind, Trace, TraceSource};
use crate::trace::import::{ImportOptions, scalar, text};

/// Arguments of a call as the source gave them.
pub(crate) enum Arguments {
    /// They are JSON.
    Read(Value),
    /// They are not; this is the text.
    Malformed(String),
}

/// A call that has no result yet.
struct Open {
    sequence: u64,
    id: Option<String>,
    name: Option<String>,
    turn: u64,
}

/// Builds the events of one trial.
pub(crate) struct Builder<'a> {
    options: &'a ImportOptions,
    events: Vec<Event>,
    open: Vec<Open>,
    /// First private call with these arguments, by name and canonical arguments.
    private: HashMap<String, u64>,
    turn: u64,
    notices: Vec<Notice>,
}

impl<'a> Builder<'a> {
    /// Begins with `trial_start`.
    pub fn new(options: &'a ImportOptions) -> Self {
        let mut builder = Self {
            options,
            events: vec![],
            open: vec![],
            private: HashMap::new(),
            turn: 0,
            notices: vec![],
        };
        builder.push(EventKind::TrialStart);
        builder
    }

    /// Appends an event.
    pub fn push(&mut self, kind: EventKind) -> &mut Event {
        let at = self.events.len();
        self.events.push(Event::new(at as u64, kind));
        &mut self.events[at]
    }

    /// Begins a turn of the model; calls made in one turn are parallel.
    pub fn turn(&mut self) {
        self.turn += 1;
    }

    /// Adds a warning, once per code.
    pub fn notice(&mut self, code: &str, detail: impl Into<String>) {
        if !self.notices.iter().any(|n| n.code == code) {
            self.notices.push(Notice::with(code, detail));
        }
    }

    /// Appends a call.
    pub fn call(&mut self, id: Option<String>, name: Option<String>, arguments: Arguments) {
        let sequence = self.events.len() as u64;
        let private = self.is_private(name.as_deref());
        let repeats = match private {
            true => self.repeated(name.as_deref(), &arguments, sequence),
            false => None,
        };
        let event = self.push(EventKind::ToolCall);
        event.call_id.clone_from(&id);
        event.capability.clone_from(&name);
        event.repeats = repeats;
        if let (false, Arguments::Read(value)) = (private, arguments) {
            event.payload = Some(value);
        }
        let turn = self.turn;
        self.open.push(Open {
            sequence,
            id,
            name,
            turn,
        });
    }

    /// The first private call with the same arguments, or else notes this one as the first.
    ///
    /// Only the position leaves this builder: a digest of short arguments could be guessed back.
    fn repeated(&mut self, name: Option<&str>, arguments: &Arguments, now: u64) -> Option<u64> {
        let arguments = match arguments {
            Arguments::Read(value) => canonical(value),
            Arguments::Malformed(text) => text.clone(),
        };
        let key = format!("{}\u{0}{arguments}", name.unwrap_or(""));
        let first = *self.private.entry(key).or_insert(now);
        (first != now).then_some(first)
    }

    /// Appends a result, paired with the nearest earlier unanswered call of its id.
    ///
    /// Without an id it goes to the nearest turn with an unanswered call of that tool, and there to
    /// the first, since such results stand in the order of the calls.
    pub fn result(
        &mut self,
        id: Option<String>,
        name: Option<String>,
        payload: Option<Value>,
        error: Option<bool>,
    ) -> &mut Event {
        let call = self.answer(id.as_deref(), name.as_deref());
        if call.is_none() {
            let known = "a tool result belongs to no unanswered call of the trial";
            self.notice("orphan_result", known);
        }
        let (parent, called) = match call {
            Some(call) => (Some(call.sequence), call.name),
            None => (None, None),
        };
        let private = self.is_private(name.as_deref()) || self.is_private(called.as_deref());
        let failed = error.unwrap_or_else(|| self.says_error(payload.as_ref()));
        let event = self.push(match failed {
            true => EventKind::ToolError,
            false => EventKind::ToolResult,
        });
        event.call_id = id;
        event.capability = called.or(name);
        event.parent = parent;
        event.payload = payload.filter(|_| !private).map(structured);
        event
    }

    fn answer(&mut self, id: Option<&str>, name: Option<&str>) -> Option<Open> {
        let fits = |call: &Open| match id {
            Some(id) => call.id.as_deref() == Some(id),
            None => name.is_none() || call.name.as_deref() == name,
        };
        let nearest = self.open.iter().rposition(fits)?;
        let turn = self.open[nearest].turn;
        let first = |call: &Open| call.turn == turn && fits(call);
        let chosen = match id {
            Some(_) => nearest,
            None => self.open.iter().position(first)?,
        };
        Some(self.open.remove(chosen))
    }

    fn says_error(&self, payload: Option<&Value>) -> bool {
        let says = |text: &str| {
            let prefixes = &self.options.error_prefixes;
            prefixes
                .iter()
                .any(|p| text.trim_start().starts_with(p.as_str()))
        };
        match payload {
            Some(Value::String(text)) => {
                says(text) || text::structured(text).is_some_and(|value| flags_error(&value))
            }
            Some(value) => flags_error(value),
            None => false,
        }
    }

    /// Whether a call of the last turn has no result.
    pub fn is_pending(&self) -> bool {
        self.open.iter().any(|call| call.turn == self.turn)
    }

    fn is_private(&self, name: Option<&str>) -> bool {
        name.is_some_and(|name| self.options.is_private(name))
    }

    /// Ends with `trial_end`. The trial began when its first message was sent, if that is recorded.
    pub fn finish(mut self, source: TraceSource) -> Trace {
        if let [start, first, ..] = &mut self.events[..] {
            start.time.clone_from(&first.time);
        }
        self.push(EventKind::TrialEnd);
        Trace {
            source,
            events: self.events,
            order_known: true,
            asked: None,
            asked_before: None,
            initial_state: None,
            final_state: None,
            external: None,
            truncated: None,
            notices: self.notices,
        }
    }
}

/// Whether a JSON result says by itself that it is an error: MCP's `isError`, or an `error` member
/// that holds something.
fn flags_error(value: &Value) -> bool {
    let is_set = |key: &str| value.get(key) == Some(&Value::Bool(true));
    let error = value.get("error").is_some_and(|error| {
        let tells = matches!(error, Value::String(_) | Value::Object(_));
        tells && !scalar::is_nothing(error)
    });
    error || is_set("error") || is_set("isError") || is_set("is_error")
}

/// A result that is the text of a JSON object or list becomes that object or list.
fn structured(payload: Value) -> Value {
    let parsed = payload.as_str().and_then(text::structured);
    parsed.unwrap_or(payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn options() -> ImportOptions {
        let mut options = ImportOptions::new("f", "t");
        options.private_tools.insert("think".to_owned());
        options
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn results_pair_by_id_then_by_turn_and_name() {
        let options = options();
        let mut b = Builder::new(&options);
        b.turn();
        b.call(some("1"), some("a"), Arguments::Read(json!({})));
        b.call(None, some("b"), Arguments::Read(json!({})));
        b.call(None, some("b"), Arguments::Read(json!({})));
        assert!(b.is_pending());
        assert_eq!(b.result(None, some("b"), None, None).parent, Some(2));
        assert_eq!(b.result(None, some("b"), None, None).parent, Some(3));
        assert_eq!(b.result(some("1"), None, None, None).parent, Some(1));
        assert!(!b.is_pending());
        assert_eq!(b.result(some("1"), None, None, None).parent, None);
        assert_eq!(b.finish(TraceSource::Chat).notices[0].code, "orphan_result");
    }

    #[test]
    fn private_calls_leave_only_their_repetition() {
        let options = options();
        let mut b = Builder::new(&options);
        for thought in [
            json!({"thought": "x", "n": 1.0}),
            json!({"n": 1, "thought": "x"}),
        ] {
            b.call(some("i"), some("think"), Arguments::Read(thought));
            b.result(some("i"), None, Some(json!("echo x")), None);
        }
        let events = b.finish(TraceSource::Chat).events;
        assert_eq!(events[3].repeats, Some(1));
        assert!(events.iter().all(|e| e.payload.is_none()));
    }

    #[test]
    fn errors_by_prefix_by_flag_and_by_json() {
        let options = options();
        let mut b = Builder::new(&options);
        let mut kind = |payload: Value, flag| b.result(None, None, Some(payload), flag).kind;
        use EventKind::{ToolError, ToolResult};
        assert_eq!(kind(json!("Error: no"), None), ToolError);
        assert_eq!(kind(json!("Error rate: 3 %"), None), ToolResult);
        assert_eq!(kind(json!("fine"), Some(true)), ToolError);
        assert_eq!(
            kind(json!("Error: but flagged fine"), Some(false)),
            ToolResult
        );
        assert_eq!(kind(json!("{\"error\": \"declined\"}"), None), ToolError);
        assert_eq!(kind(json!({"error": null, "id": 1}), None), ToolResult);
    }
}
