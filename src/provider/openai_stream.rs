//! OpenAI's chat completions, streamed: deltas are put together again.

use serde::Deserialize;
use serde_json::Value;

use crate::model::chat::{Completion, ToolCall};
use crate::model::trace::Usage;

use super::failure::{Code, Failed};
use super::openai::{Answered, Tokens, given_or_made};
use super::{lenient, status};

#[derive(Deserialize)]
struct Chunk {
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    model: Option<String>,
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u32,
    #[serde(default)]
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Delta {
    #[serde(default, deserialize_with = "lenient::text")]
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<usize>,
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

/// A reply that is being put together.
#[derive(Default)]
pub(super) struct Assembly {
    answered: Answered,
    calls: Vec<Growing>,
    usage: Usage,
    model: Option<String>,
    id: Option<String>,
}

/// A call of which pieces have come.
struct Growing {
    index: Option<usize>,
    id: Option<String>,
    name: String,
    arguments: String,
}

impl Assembly {
    /// Takes one event; true if it was the last.
    ///
    /// # Errors
    ///
    /// If it is not of the protocol, or is an error.
    pub fn take(&mut self, data: &[u8]) -> Result<bool, Failed> {
        if data == b"[DONE]" {
            return Ok(true);
        }
        let chunk: Chunk =
            serde_json::from_slice(data).map_err(|e| Failed::unreadable(data, &e))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(status::of_error(&error));
        }
        let text = |old: &mut Option<String>, new: Option<String>| {
            if old.is_none() {
                *old = new.filter(|text| !text.is_empty());
            }
        };
        text(&mut self.model, chunk.model);
        text(&mut self.id, chunk.id);
        if let Some(tokens) = chunk.usage {
            self.usage = tokens.usage();
        }
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            self.grow(choice);
        }
        Ok(false)
    }

    fn grow(&mut self, choice: Choice) {
        append(&mut self.answered.text, choice.delta.content);
        append(&mut self.answered.refusal, choice.delta.refusal);
        for delta in choice.delta.tool_calls.into_iter().flatten() {
            self.grow_call(delta);
        }
        if choice.finish_reason.is_some() {
            self.answered.finish_reason = choice.finish_reason;
        }
    }

    fn grow_call(&mut self, delta: CallDelta) {
        let id = delta.id.filter(|id| !id.is_empty());
        let at = self.place(delta.index, id.as_ref());
        let call = &mut self.calls[at];
        call.id = call.id.take().or(id);
        if let Some(function) = delta.function {
            call.name.push_str(function.name.as_deref().unwrap_or(""));
            call.arguments
                .push_str(function.arguments.as_deref().unwrap_or(""));
        }
    }

    /// Where a delta belongs: to the newest call of its index, or of all if it has none, unless it
    /// brings another id; some servers give every call index 0, or none.
    fn place(&mut self, index: Option<usize>, id: Option<&String>) -> usize {
        let newest = self
            .calls
            .iter()
            .rposition(|c| index.is_none() || c.index == index);
        let same = |c: &Growing| id.is_none() || c.id.is_none() || c.id.as_ref() == id;
        if let Some(at) = newest.filter(|at| same(&self.calls[*at])) {
            return at;
        }
        self.calls.push(Growing {
            index,
            id: None,
            name: String::new(),
            arguments: String::new(),
        });
        self.calls.len() - 1
    }

    /// The whole reply.
    ///
    /// # Errors
    ///
    /// `stream_cut` if the stream ended before the model said that it had finished.
    pub fn finish(mut self) -> Result<Completion, Failed> {
        if self.answered.finish_reason.is_none() {
            let text = "the stream ended before the model had finished";
            return Err(Failed::new(Code::StreamCut, text));
        }
        let calls = self.calls.into_iter().enumerate();
        self.answered.calls = calls.map(|(i, call)| call.whole(i)).collect();
        Ok(Completion {
            usage: self.usage,
            model: self.model,
            response_id: self.id,
            ..self.answered.completion()
        })
    }
}

impl Growing {
    fn whole(self, index: usize) -> ToolCall {
        ToolCall {
            id: given_or_made(self.id, index),
            name: self.name,
            arguments: self.arguments,
        }
    }
}

fn append(old: &mut Option<String>, new: Option<String>) {
    match (old.as_mut(), new) {
        (Some(old), Some(new)) => old.push_str(&new),
        (None, new) => *old = new,
        (Some(_), None) => {}
    }
}
