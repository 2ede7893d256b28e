//! Anthropic's messages, streamed: blocks are put together again.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::model::chat::{Completion, ToolCall};

use super::anthropic::{Answered, Tokens};
use super::failure::{Code, Failed};
use super::{lenient, status};

/// The fields of all events that are read.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    index: Option<usize>,
    message: Option<Start>,
    content_block: Option<Map<String, Value>>,
    delta: Option<Delta>,
    #[serde(default, deserialize_with = "lenient::usage")]
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Start {
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    model: Option<String>,
    #[serde(default, deserialize_with = "lenient::usage")]
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Delta {
    text: Option<String>,
    partial_json: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    stop_reason: Option<String>,
}

/// A reply that is being put together.
#[derive(Default)]
pub(super) struct Assembly {
    blocks: Vec<Growing>,
    tokens: Tokens,
    model: Option<String>,
    id: Option<String>,
    stop_reason: Option<String>,
    stopped: bool,
}

/// A block as it began, with the arguments that have come since.
struct Growing {
    index: Option<usize>,
    block: Map<String, Value>,
    input: String,
}

impl Assembly {
    /// Takes one event; true if it was the last.
    ///
    /// # Errors
    ///
    /// If it is not of the protocol, or is an error.
    pub fn take(&mut self, data: &[u8]) -> Result<bool, Failed> {
        let event: Event =
            serde_json::from_slice(data).map_err(|e| Failed::unreadable(data, &e))?;
        if event.kind == "error" {
            return Err(status::of_error(&event.error.unwrap_or_default()));
        }
        status::no_error(event.error)?;
        match event.kind.as_str() {
            "message_start" => self.start(event.message),
            "content_block_start" => self.begin(event.index, event.content_block),
            "content_block_delta" => self.grow(event.index, event.delta)?,
            "message_delta" => self.update(event.delta, event.usage),
            "message_stop" => self.stopped = true,
            // `ping`, `content_block_stop`, and what later versions add.
            _ => {}
        }
        Ok(self.stopped)
    }

    fn start(&mut self, message: Option<Start>) {
        if let Some(start) = message {
            self.id = start.id;
            self.model = start.model;
            self.tokens = start.usage.unwrap_or_default();
        }
    }

    fn begin(&mut self, index: Option<usize>, block: Option<Map<String, Value>>) {
        self.blocks.push(Growing {
            index,
            block: block.unwrap_or_default(),
            input: String::new(),
        });
    }

    fn grow(&mut self, index: Option<usize>, delta: Option<Delta>) -> Result<(), Failed> {
        let block = self.blocks.iter_mut().rfind(|block| block.index == index);
        let (Some(growing), Some(delta)) = (block, delta) else {
            let text = "a piece of a block that never began";
            return Err(Failed::new(Code::MalformedReply, text));
        };
        growing
            .input
            .push_str(delta.partial_json.as_deref().unwrap_or(""));
        growing.append("text", delta.text);
        growing.append("thinking", delta.thinking);
        growing.append("signature", delta.signature);
        Ok(())
    }

    fn update(&mut self, delta: Option<Delta>, usage: Option<Tokens>) {
        if let Some(reason) = delta.and_then(|delta| delta.stop_reason) {
            self.stop_reason = Some(reason);
        }
        self.tokens = self.tokens.updated(usage.unwrap_or_default());
    }

    /// The whole reply.
    ///
    /// # Errors
    ///
    /// `stream_cut` if the stream ended before the model said that it had finished.
    pub fn finish(self) -> Result<Completion, Failed> {
        if !self.stopped {
            let text = "the stream ended before the model had finished";
            return Err(Failed::new(Code::StreamCut, text));
        }
        let mut answered = Answered::default();
        for block in self.blocks {
            block.join(&mut answered);
        }
        Ok(Completion {
            usage: self.tokens.usage(),
            model: self.model,
            response_id: self.id,
            ..answered.completion(self.stop_reason.as_deref())?
        })
    }
}

impl Growing {
    fn append(&mut self, key: &str, more: Option<String>) {
        let Some(more) = more else { return };
        match self.block.get_mut(key) {
            Some(Value::String(text)) => text.push_str(&more),
            _ => {
                self.block.insert(key.to_owned(), Value::String(more));
            }
        }
    }

    fn join(mut self, answered: &mut Answered) {
        let kind = self.text("type");
        match kind.as_str() {
            "text" => {
                let text = self.text("text");
                answered.text.get_or_insert_default().push_str(&text);
            }
            "tool_use" => {
                let call = self.call();
                answered.calls.push(call);
            }
            "thinking" | "redacted_thinking" => {
                self.block.insert("type".to_owned(), Value::String(kind));
                answered.opaque.push(Value::Object(self.block));
            }
            _ => answered.unread = true,
        }
    }

    /// The text of a field, taken out.
    fn text(&mut self, key: &str) -> String {
        match self.block.remove(key) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        }
    }

    /// A call; its arguments are in the first event if no piece of them came later.
    fn call(&mut self) -> ToolCall {
        let whole = self.block.get("input").map(Value::to_string);
        let arguments = match self.input.is_empty() {
            true => whole.unwrap_or_else(|| "{}".to_owned()),
            false => std::mem::take(&mut self.input),
        };
        ToolCall {
            id: self.text("id"),
            name: self.text("name"),
            arguments,
        }
    }
}
