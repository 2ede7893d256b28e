//! What is said between the tool loop, a model and the environment, whatever the provider's protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::model::trace::Usage;

/// A tool as it is offered to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDef {
    /// Name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments: an object.
    pub parameters: Value,
}

/// A call that a model asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Pairs the call with its result; unique within a reply.
    pub id: String,
    /// Tool.
    pub name: String,
    /// Arguments as the model wrote them: JSON text, if the model kept to its protocol.
    pub arguments: String,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Instructions.
    System(String),
    /// What the user says.
    User(String),
    /// What the model said and asked for.
    Assistant {
        /// Visible text.
        text: Option<String>,
        /// Tool calls.
        calls: Vec<ToolCall>,
        /// Blocks that the provider wants back unread (signed reasoning); kept in memory only.
        opaque: Vec<Value>,
    },
    /// What a tool answered.
    Tool {
        /// The call that it answers.
        call_id: String,
        /// Tool.
        name: String,
        /// The answer: text, or JSON as text.
        content: String,
        /// Whether it is an error.
        is_error: bool,
    },
}

/// What a model is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatRequest {
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The tools on offer.
    pub tools: Vec<ToolDef>,
    /// Which trial asks; for headers that an arm declares, and for scripted models.
    pub trial: TrialKey,
    /// Number of this model call within its trial, from 1.
    pub turn: u32,
    /// Where waiting is counted that is no part of the trial's time.
    pub waits: Waits,
}

/// Time in which nobody worked: an arm waited for its own budget, or before a retry. It is no part of
/// a trial's time, and no limit counts it.
#[derive(Clone, Debug, Default)]
pub struct Waits(Arc<AtomicU64>);

impl Waits {
    /// Counts so many milliseconds more.
    pub fn add(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }

    /// All milliseconds so far.
    pub fn ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A request is the same however long it waited.
impl PartialEq for Waits {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Names one trial to whoever answers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialKey {
    /// Task.
    pub task: String,
    /// Index from 0.
    pub index: u32,
    /// Id of the trial.
    pub id: String,
    /// The trial's own seed.
    pub seed: u64,
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// Visible text.
    pub text: Option<String>,
    /// Tool calls.
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub finish: Finish,
    /// Tokens; what the provider does not say is absent.
    pub usage: Usage,
    /// The model that the reply names.
    pub model: Option<String>,
    /// The id that the provider gave the reply.
    pub response_id: Option<String>,
    /// A header that says a cache answered, as `name: value`.
    pub cache_hit: Option<String>,
    /// Blocks that the provider wants back unread; kept in memory only.
    pub opaque: Vec<Value>,
    /// HTTP attempts that it took: 1 if nothing was retried.
    pub attempts: u32,
    /// Time of the call in milliseconds as a scripted model declares it; `None` where the clock tells.
    pub declared_ms: Option<u64>,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It had said what it wanted to say.
    Stop,
    /// It waits for its tool calls.
    ToolCalls,
    /// Its own limit of output tokens.
    Length,
    /// It refused, or a filter stopped it.
    Refusal,
    /// Something that the protocol does not name.
    Other(String),
}

/// A model call that came to nothing, after retries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFailure {
    /// What happened, as a snake_case code such as `rate_limited`, `server_error`, `timeout`,
    /// `not_json`, `stream_cut`, `unauthorized`, `unreachable`, `wrong_model`.
    pub code: String,
    /// In the provider's words, without secrets.
    pub detail: String,
    /// HTTP attempts.
    pub attempts: u32,
    /// Whether an injected fault was among the reasons.
    pub injected: bool,
}
