//! OpenAI's chat completions, streamed: deltas are put together again.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::model::chat::{Completion, ToolCall};
use crate::model::trace::Usage;

use super::failure::{Code, Failed};
use super::lenient::Content;
use super::openai::{Answered, Tokens, given_or_made};
use super::{lenient, status};

#[derive(Deserialize)]
struct Chunk {
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    model: Option<String>,
    choices: Option<Vec<Choice>>,
    #[serde(default, deserialize_with = "lenient::usage")]
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u32,
    delta: Option<Delta>,
    /// Where a server writes a whole reply as one chunk.
    message: Option<Delta>,
    finish_reason: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Delta {
    role: Option<String>,
    #[serde(default, deserialize_with = "lenient::content")]
    content: Option<Content>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
    /// The one call of the protocol's first form.
    function_call: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<usize>,
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Default, Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

/// A reply that is being put together.
#[derive(Default)]
pub(super) struct Assembly {
    answered: Answered,
    calls: Vec<Growing>,
    /// Whether parts came that nobody knows.
    unread: bool,
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
        status::no_error(chunk.error)?;
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
        let choices = chunk.choices.into_iter().flatten();
        for choice in choices.filter(|choice| choice.index == 0) {
            self.grow(choice)?;
        }
        Ok(false)
    }

    fn grow(&mut self, choice: Choice) -> Result<(), Failed> {
        status::no_error(choice.error)?;
        // A message after pieces is the whole of them once more.
        let begun = self.answered.text.is_some() || !self.calls.is_empty();
        let message = choice.message.filter(|_| !begun);
        if let Some(delta) = choice.delta.or(message) {
            self.grow_by(delta)?;
        }
        let reason = choice.finish_reason.filter(|word| !word.is_empty());
        if reason.is_some() {
            self.answered.finish_reason = reason;
        }
        Ok(())
    }

    fn grow_by(&mut self, delta: Delta) -> Result<(), Failed> {
        self.answered.understood |= delta.role.is_some() || delta.content.is_some();
        if let Some(content) = delta.content {
            self.unread |= content.unread;
            append(&mut self.answered.text, content.text);
        }
        append(&mut self.answered.refusal, delta.refusal);
        let first_form = delta.function_call.map(|function| CallDelta {
            index: Some(0),
            id: None,
            function: Some(function),
        });
        let calls = delta.tool_calls.filter(|calls| !calls.is_empty());
        for call in calls.into_iter().flatten().chain(first_form) {
            self.grow_call(call)?;
        }
        Ok(())
    }

    fn grow_call(&mut self, delta: CallDelta) -> Result<(), Failed> {
        let function = delta.function.unwrap_or_default();
        let name = function.name.filter(|name| !name.is_empty());
        let at = self.place(delta.index, delta.id.as_ref(), name.as_ref());
        let call = &mut self.calls[at];
        call.id = call.id.take().or(delta.id);
        if let Some(name) = name {
            call.named(&name)?;
        }
        let arguments = function.arguments.as_deref();
        call.arguments.push_str(arguments.unwrap_or(""));
        Ok(())
    }

    /// Where a delta belongs: to the newest call of its index, or of all if it has none, unless it
    /// brings another id, or without an id a name after arguments that are complete; some servers give
    /// every call index 0, or none.
    fn place(&mut self, index: Option<usize>, id: Option<&String>, name: Option<&String>) -> usize {
        let newest = self
            .calls
            .iter()
            .rposition(|c| index.is_none() || c.index == index);
        let same = |c: &Growing| match (id, &c.id) {
            (Some(id), Some(known)) => id == known,
            _ => name.is_none() || !c.complete(),
        };
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
        self.answered.understood &= !self.unread;
        Ok(Completion {
            usage: self.usage,
            model: self.model,
            response_id: self.id,
            ..self.answered.completion()?
        })
    }
}

impl Growing {
    /// Takes a name, which may come in pieces, or again with every piece of the arguments.
    fn named(&mut self, name: &str) -> Result<(), Failed> {
        if self.name == name {
            return Ok(());
        }
        if !self.arguments.is_empty() && !self.name.is_empty() {
            let text = "a call of the stream changes its name";
            return Err(Failed::new(Code::MalformedReply, text));
        }
        self.name.push_str(name);
        Ok(())
    }

    /// Whether the arguments are a whole object, to which nothing can be added.
    fn complete(&self) -> bool {
        self.arguments.trim_start().starts_with('{')
            && serde_json::from_str::<IgnoredAny>(&self.arguments).is_ok()
    }

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
