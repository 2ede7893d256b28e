//! What a rater sees of a trial.

use serde_json::{Value, json};

use crate::base::Result;
use crate::judge::blind::Blinder;
use crate::judge::view::{View, view};
use crate::model::judge::ViewPart;
use crate::model::label::TrialKey;
use crate::model::suite::Suite;
use crate::model::trace::{EventKind, Trace};
use crate::store::RunStore;

/// What is shown of a trial, so that a rater can check what the agent says: who said what, which tools were
/// called, and what they answered.
const SHOWN: [ViewPart; 5] = [
    ViewPart::Messages,
    ViewPart::ToolCalls,
    ViewPart::ToolResults,
    ViewPart::Approvals,
    ViewPart::Final,
];

/// What a rater sees of a trial, blinded.
pub(in crate::app) struct Rated {
    /// What the user asked.
    pub input: String,
    /// What the agent answered in the end, if it did.
    pub output: Option<String>,
    /// The transcript as `{who, text}` in order.
    pub transcript: Vec<Value>,
}

impl Rated {
    /// Reads a trial.
    ///
    /// # Errors
    ///
    /// If the store is damaged.
    pub fn of(
        store: &RunStore,
        suite: &Suite,
        trial: &TrialKey,
        blinder: &Blinder,
    ) -> Result<Self> {
        let stored = store.trial(&trial.arm, &trial.task, trial.index)?;
        let asked = suite.tasks.iter().find(|t| t.id == trial.task);
        let given = asked.and_then(|t| t.input.get("user")).map(text);
        let trace = stored.as_ref().and_then(|s| s.trace.as_ref());
        let said = |kind: &[EventKind]| trace.map(|t| texts(t, kind)).unwrap_or_default();
        let input = given.unwrap_or_else(|| said(&[EventKind::UserMessage]).join("\n"));
        let output = said(&[EventKind::Final])
            .pop()
            .or_else(|| said(&[EventKind::ModelResult]).pop());
        let seen = match (trace, asked) {
            (Some(trace), Some(asked)) => said_once(view(&SHOWN, trace, asked)),
            _ => View::default(),
        };
        let blinded = stored.as_ref().map(|s| blinder.blind(seen, &s.trial.id));
        let parts = blinded.iter().flat_map(|b| &b.view.get().parts);
        Ok(Self {
            input: blinder.scrub(&input).text,
            output: output.map(|o| blinder.scrub(&o).text),
            transcript: parts
                .map(|part| json!({"who": part.what, "text": part.text}))
                .collect(),
        })
    }
}

/// Leaves out what the agent says again in the same turn: a runtime records a question, or a last word, as
/// the model's text and once more as what it is, with calls in between or without.
fn said_once(mut seen: View) -> View {
    let mut turn: Vec<String> = vec![];
    seen.parts.retain(|part| {
        if part.what == "user" {
            turn.clear();
        }
        let is_call = part.what.starts_with("call of ");
        let again = part.by_agent && !is_call && turn.contains(&part.text);
        if part.by_agent && !is_call {
            turn.push(part.text.clone());
        }
        !again
    });
    seen
}

fn texts(trace: &Trace, kinds: &[EventKind]) -> Vec<String> {
    let events = trace.events.iter().filter(|e| kinds.contains(&e.kind));
    events
        .filter_map(|e| e.payload.as_ref())
        .map(text)
        .collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::view::Part;

    #[test]
    fn what_is_said_twice_in_one_turn_is_shown_once() {
        let part = |what: &str, text: &str| Part {
            event: None,
            what: what.to_owned(),
            text: text.to_owned(),
            by_agent: what != "user",
        };
        let parts = vec![
            part("assistant", "Shall I?"),
            part("call of ask", "Shall I?"),
            part("assistant asks the user", "Shall I?"),
            part("user", "Shall I?"),
            part("assistant", "Shall I?"),
        ];
        let shown = said_once(View { task: None, parts });
        let who: Vec<&str> = shown.parts.iter().map(|p| p.what.as_str()).collect();
        assert_eq!(who, ["assistant", "call of ask", "user", "assistant"]);
    }
}
