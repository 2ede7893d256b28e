//! Scripts: models whose behaviour is known, as written by users.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A script file: models by name.
///
/// Every text that a model says, every argument and every tool name is a template (minijinja) over
/// `task`, `trial` (from 0), `turn` (from 0), `model`, `user` (the first user message), `vars` (of the
/// task), `found` (named groups of `find`), `last` (the last message: `role`, `text`, `name`, `args`,
/// `result` as parsed JSON, `is_error`), `called` (every tool call so far, with the same keys) and
/// `tools` (names on offer); a text that is one expression in double braces keeps the type of its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptSpec {
    /// Format of this file. Default: 1.
    #[serde(default = "one")]
    pub format: u32,
    /// Root of all chance in the script. Default: 7.
    #[serde(default = "seven")]
    pub seed: u64,
    /// Regular expression over the first user message; its named groups are `found` in templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub find: Option<String>,
    /// How tasks are recognised, and what templates may know of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<String, TaskMark>,
    /// The models by name.
    pub models: BTreeMap<String, ModelScript>,
}

/// What a script knows of a task, whichever model is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskMark {
    /// Regular expression over the first user message, for requests that do not name their task. The
    /// first task in the order of names that fits is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Values for templates.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub vars: Map<String, Value>,
}

/// How one model behaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelScript {
    /// Name that replies echo. Default: the name that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens of every reply that does not say its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ScriptUsage>,
    /// Delay in milliseconds of every reply that does not say its own. Default: 0.
    #[serde(default)]
    pub delay_ms: u64,
    /// What it does in every task that says nothing else.
    pub default: Behaviour,
    /// What it does in single tasks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<String, TaskScript>,
}

/// What a model does in one task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskScript {
    /// Rates of the alternatives in this task, in their order, so that tasks differ in difficulty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<Vec<f64>>,
    /// In all trials of the task. Default: the model's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behaviour: Option<Behaviour>,
    /// In single trials, by index from 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trials: BTreeMap<String, Behaviour>,
}

/// What a model does in a trial: one of the keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Behaviour {
    /// Its turns: the nth answers a conversation with n − 1 assistant messages. After the last one
    /// it is given again if it calls no tools; otherwise the model says nothing more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
    /// One of these, drawn for every trial from the seed of the script, model, task and trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<Alternative>,
    /// Behaviour that has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// A judge with known error rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeScript>,
}

/// One of several behaviours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    /// Name, for readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Share of trials, in [0, 1]; the rates of all alternatives add up to 1.
    pub rate: f64,
    /// Its turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
    /// Behaviour that has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
}

/// Behaviour that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Says `done` at once.
    Steady,
    /// Calls the first tool on offer without arguments, again and again.
    Looping,
    /// Refuses.
    Refusing,
    /// Never answers.
    Hanging,
    /// Says a million letters.
    Flooding,
    /// Says nothing: an empty reply.
    Silent,
    /// Answers 503 to everything.
    Down,
}

/// One turn of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Turn {
    /// Cases only: expression over the names of templates that must hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Tried in order; the first whose `when` holds replaces the whole turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Turn>,
    /// Text that is said: a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// Tool calls; several are parallel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub call: Vec<CallSpec>,
    /// How many turns in a row this is. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// Whether it is repeated without end.
    #[serde(skip_serializing_if = "is_false")]
    pub forever: bool,
    /// Tokens. Default: the model's, or a quarter of the letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<ScriptUsage>,
    /// Delay in milliseconds. Default: the model's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Whether the text is a refusal.
    #[serde(skip_serializing_if = "is_false")]
    pub refuse: bool,
    /// Whether the reply says that its limit of output tokens cut it.
    #[serde(skip_serializing_if = "is_false")]
    pub out_of_tokens: bool,
    /// Hidden reasoning, which clients must not store: a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Model that the reply names. Default: the model's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Id of the reply. Default: over HTTP, one that no other reply has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Headers of the reply.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// What goes wrong instead of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorSpec>,
}

/// A tool call of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallSpec {
    /// Tool: a template.
    pub name: String,
    /// Arguments; every text in them is a template. Default: none.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// Sent instead of the arguments, as it is: text that is not JSON, say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed_arguments: Option<String>,
}

/// Tokens of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptUsage {
    /// Tokens read, those from the cache included.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    pub output_tokens: u64,
    /// Tokens read from the prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
}

/// What goes wrong with a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ErrorSpec {
    /// Kind. Default: `status`.
    pub kind: ScriptErrorKind,
    /// HTTP status. Default: 500 for the kind `status`, 200 for the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How many attempts of the call fail before it succeeds. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Seconds that a `Retry-After` header asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// Whether that header holds a date instead of seconds.
    #[serde(skip_serializing_if = "is_false")]
    pub retry_after_date: bool,
    /// What the error says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Kinds of errors of a scripted call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScriptErrorKind {
    /// An error status, in the protocol's own shape.
    #[default]
    Status,
    /// A page of HTML instead of JSON.
    Html,
    /// JSON that breaks off, with a correct length.
    Malformed,
    /// The connection closes in the middle of the reply.
    Cut,
    /// No answer, ever; the connection stays open.
    Hang,
    /// The connection is reset before the answer.
    Reset,
}

/// A judge with known error rates.
///
/// The truth is hidden in the prompt, where `label_in` finds it. The answer is drawn from the seed of
/// the script and the whole prompt, so that the same prompt is always judged alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeScript {
    /// Regular expression over all messages with the named group `truth`; the first match counts, of
    /// a pair the first two.
    pub label_in: String,
    /// Value of the group that means that the truth is positive. Default: `pass`. Of a pair, two
    /// numbers are compared as such.
    #[serde(default = "pass")]
    pub positive: String,
    /// Probability to pass what is truly positive; of a pair, to choose the truly better one.
    pub sensitivity: f64,
    /// Probability to fail what is truly negative. Default: the sensitivity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specificity: Option<f64>,
    /// What it says to pass: a template. Default: `pass`.
    #[serde(default = "pass")]
    pub pass: String,
    /// What it says to fail: a template. Default: `fail`.
    #[serde(default = "fail")]
    pub fail: String,
    /// Whether two answers are compared. Default: no.
    #[serde(default)]
    pub pairwise: bool,
    /// Pairs: probability to choose the first one whatever it is. Default: 0.
    #[serde(default)]
    pub position_bias: f64,
    /// Pairs: what it says to choose the first one. Default: `A`.
    #[serde(default = "first")]
    pub first: String,
    /// Pairs: what it says to choose the second one. Default: `B`.
    #[serde(default = "second")]
    pub second: String,
}

fn one() -> u32 {
    1
}

fn seven() -> u64 {
    7
}

fn pass() -> String {
    "pass".to_owned()
}

fn fail() -> String {
    "fail".to_owned()
}

fn first() -> String {
    "A".to_owned()
}

fn second() -> String {
    "B".to_owned()
}

fn is_false(flag: &bool) -> bool {
    !flag
}
