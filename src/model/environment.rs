//! The environment of a live trial: initial state, tools, a user who answers, shared resources.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::trace::some_value;

/// Name of the built-in tool by which an agent asks for approval.
pub const APPROVAL_TOOL: &str = "request_approval";

/// What live trials of a suite run in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentSpec {
    /// Instructions that every agent gets as system message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// State document at the start of every trial; a task's own `state` is merged over it (RFC 7396).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_value"
    )]
    pub state: Option<Value>,
    /// Folder, relative to the suite, of which every trial gets its own copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixture: Option<String>,
    /// Command that makes the fixture ready, run in the copy; anything but exit code 0 is
    /// infrastructure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<CommandSpec>,
    /// What trials share; each is leased to one trial at a time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, ResourceSpec>,
    /// How the user answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<DialogueSpec>,
    /// Which approvals are granted; the first that fits decides, and without one the answer is no.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ApprovalSpec>,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandSpec {
    /// Program and arguments; nothing is passed to a shell. A program with a `/` is relative to the
    /// suite folder.
    pub run: Vec<String>,
    /// Longest time in seconds. Default: 30.
    #[serde(default = "thirty")]
    pub timeout_s: f64,
    /// Variables added to its environment, which is otherwise that of a bare shell: no keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// Something that trials share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceSpec {
    /// File or folder, relative to the suite, that holds it; watched for changes by others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether it is leased to one trial at a time. Default: yes. Without a lease, two trials that
    /// both wrote it are both infrastructure errors.
    #[serde(default = "yes")]
    pub lease: bool,
}

/// How the user answers what the agent says or asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DialogueSpec {
    /// Replies in order; the first unused one that fits is given.
    #[serde(default)]
    pub replies: Vec<ReplySpec>,
    /// What the user says when no reply fits, at most 20 times; absent: the agent's text is its final
    /// answer. A text that is a JSON object is always the final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
}

/// One reply of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplySpec {
    /// Regular expression that the agent's text must match, in any case. Absent: any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// What the user says.
    pub say: String,
    /// How often it can be given. Default: 1.
    #[serde(default = "one")]
    pub times: u32,
}

/// Whether requests for approval are granted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalSpec {
    /// Tool for which approval is asked. Absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// Expression over `args` (as in simulated tools) that must hold. Absent: any arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Whether it is granted.
    pub grant: bool,
    /// What is said with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A tool whose behaviour the suite declares.
///
/// Every text in it is a template (minijinja) over `args`, `state` (the state document before the
/// call), `call` (number of this call of the tool, from 1) and `trial` (index from 0); a text that is
/// one expression in double braces keeps the type of its value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimulatedTool {
    /// Tried in order before the keys below; the first whose `when` holds answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<SimulatedCase>,
    /// The answer.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_value"
    )]
    pub result: Option<Value>,
    /// Changes of the state document (RFC 6902), all or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patch: Vec<Value>,
    /// Receipt of the committed effect. Default for writing tools: tool name, `:`, number of the effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    /// Whether a change is committed. Default: if the tool writes, or a receipt is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<bool>,
    /// The call is answered with this error and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl SimulatedTool {
    /// The tool's own keys as the case that always holds, after all others.
    pub fn otherwise(&self) -> SimulatedCase {
        SimulatedCase {
            when: String::new(),
            result: self.result.clone(),
            patch: self.patch.clone(),
            receipt: self.receipt.clone(),
            commits: self.commits,
            error: self.error.clone(),
        }
    }
}

/// How a simulated tool answers under a condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimulatedCase {
    /// Expression over the same names as the templates.
    pub when: String,
    /// The answer.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_value"
    )]
    pub result: Option<Value>,
    /// Changes of the state document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patch: Vec<Value>,
    /// Receipt of the committed effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    /// Whether a change is committed. Default: if the tool writes, or a receipt is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<bool>,
    /// The call is answered with this error and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A check of the fixture at the end of a trial: a command run in the trial's copy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckSpec {
    /// Name of the check.
    pub id: String,
    /// Program and arguments.
    pub run: Vec<String>,
    /// Longest time in seconds. Default: 60.
    #[serde(default = "sixty")]
    pub timeout_s: f64,
    /// Variables added to its environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How it answers. Default: by its exit code.
    #[serde(default)]
    pub answer: CheckAnswer,
}

/// How a check answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckAnswer {
    /// 0 passes, 1 to 125 fail; 126, 127, a signal or no end are the grader's.
    #[default]
    ExitCode,
    /// The last line of its output is `{"pass": true|false}`, with an optional `detail`; anything else
    /// is the grader's.
    Json,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Name of the check.
    pub id: String,
    /// Whether it passed.
    pub pass: bool,
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What it said, cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

fn thirty() -> f64 {
    30.0
}

fn sixty() -> f64 {
    60.0
}
