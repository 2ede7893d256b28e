//! Suites and tasks: what is asked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::{Digest, SuiteId, TaskId};
use crate::model::analysis::{DecisionSpec, WeightsSpec};
use crate::model::environment::{
    ApprovalSpec, CommandSpec, DialogueSpec, EnvironmentSpec, SimulatedTool,
};
use crate::model::expect::Expect;

/// The newest suite format that this version reads.
pub const SUITE_FORMAT: u32 = 1;

/// A suite as written in `suite.yaml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteSpec {
    /// Format of this file. Default: 1.
    #[serde(default = "format_one")]
    pub format: u32,
    /// Name of the suite.
    pub id: SuiteId,
    /// Version of the suite; raise it when the product contract changes.
    pub version: String,
    /// What the suite is about, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whose data the tasks hold. Default: `synthetic`.
    #[serde(default)]
    pub data: DataClass,
    /// Trials per task and arm. Default: 1.
    #[serde(default = "one")]
    pub trials: u32,
    /// Task metadata keys by which results are also reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<String>,
    /// Task metadata key that names the source that tasks share; such tasks are not independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// How tasks are weighted. Default: `equal_task`.
    #[serde(default)]
    pub weights: WeightsSpec,
    /// The tools of the environment. If any are declared, contracts may name no others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, ToolSpec>,
    /// Tools whose arguments are private reasoning: calls are counted, arguments dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub private_tools: Vec<String>,
    /// How a tool result says that it is an error where the trace format has no flag for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_errors: Option<ToolErrors>,
    /// What live trials run in.
    #[serde(default, skip_serializing_if = "is_default")]
    pub environment: EnvironmentSpec,
    /// Limits per trial.
    #[serde(default)]
    pub limits: Limits,
    /// Contract for every task; a task's own keys win.
    #[serde(default)]
    pub expect: Expect,
    /// Faults injected in every task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultSpec>,
    /// Rules by which the comparison of two arms is decided; without it nothing is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionSpec>,
}

/// Whose data the tasks of a suite hold.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DataClass {
    /// Made up.
    #[default]
    Synthetic,
    /// The team's own.
    Internal,
    /// Customers'.
    Customer,
}

/// One tool of the environment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// Whether a call changes the world.
    #[serde(default)]
    pub writes: bool,
    /// Whether repeating a committed call changes nothing more.
    #[serde(default)]
    pub idempotent: bool,
    /// Argument that identifies one intended effect, as a key or JSON Pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// What it does, for the model of a live trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of its arguments, for the model; calls that break it get an error. Default: any object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// Its behaviour in live trials, declared here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedTool>,
    /// Its behaviour in live trials: a command that reads the call as JSON and answers in JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandSpec>,
    /// Shared resources that a call uses; a trial holds their leases from its start to its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
}

/// How a tool result says that it is an error where the trace format has no flag for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolErrors {
    /// A result text that begins with one of these is an error.
    pub prefixes: Vec<String>,
}

/// Limits of one trial; reaching one is the agent's failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Wall time in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_time_s: Option<f64>,
    /// Turns of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    /// Input and output tokens together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// A fault to inject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultSpec {
    /// Name of the fault, unique within its task.
    pub id: String,
    /// What goes wrong.
    pub kind: FaultKind,
    /// The tool it strikes; absent for provider faults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Which call it strikes, counted from 1: of its tool, or of the model for provider faults. Default: 1.
    #[serde(default = "one")]
    pub call: u32,
    /// How many calls (of a tool) or attempts (of a model call) in a row it strikes. Default: 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub times: u32,
    /// Slow tools: the delay in milliseconds. Default: 2000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
}

/// Kinds of injected faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The provider answers 429.
    Provider429,
    /// The provider answers 500.
    Provider500,
    /// The provider does not answer in time.
    ProviderTimeout,
    /// The provider answers with a body that is not of its protocol.
    ProviderMalformed,
    /// The provider's stream ends early.
    ProviderCut,
    /// The tool answers with an error.
    ToolError,
    /// The tool does not answer in time.
    ToolTimeout,
    /// The tool answers late.
    ToolSlow,
    /// The tool answers in a wrong shape.
    ToolWrongShape,
    /// The effect is committed, but the reply is lost.
    CommittedReplyLost,
}

/// A task as written in a task file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Name of the task, unique within its suite.
    pub id: TaskId,
    /// What the agent is given.
    #[serde(default)]
    pub input: Map<String, Value>,
    /// What it must, may and must not do.
    #[serde(default)]
    pub expect: Expect,
    /// Facts about the task: segments, cluster, provenance.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Faults injected in this task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultSpec>,
    /// Merged over the suite's state document (RFC 7396).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// Fixture folder in place of the suite's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixture: Option<String>,
    /// How the user answers, in place of the suite's dialogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<DialogueSpec>,
    /// Approvals, before the suite's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ApprovalSpec>,
    /// Further shared resources that a trial of this task leases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
}

impl Task {
    /// A task of which nothing is known but its name.
    pub fn bare(id: TaskId) -> Self {
        Self {
            id,
            input: Map::new(),
            expect: Expect::default(),
            metadata: Map::new(),
            faults: vec![],
            state: None,
            fixture: None,
            dialogue: None,
            approvals: vec![],
            resources: vec![],
        }
    }

    /// A metadata value as text; numbers and booleans in their JSON form.
    pub fn metadata_text(&self, key: &str) -> Option<String> {
        match self.metadata.get(key)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }
}

/// A validated suite with its tasks.
///
/// Invariants (kept by `load`): task ids are unique, every task's `expect` is already merged with
/// the suite's, tasks stand in the order of their ids as read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suite {
    /// The suite file.
    pub spec: SuiteSpec,
    /// Its tasks.
    pub tasks: Vec<Task>,
    /// Digest of the suite file's meaning and all tasks (not of white space or comments).
    pub digest: Digest,
}

impl Suite {
    /// Builds a suite from its parts and takes the digest.
    pub fn new(spec: SuiteSpec, tasks: Vec<Task>) -> Self {
        let value = serde_json::json!({"spec": spec, "tasks": tasks});
        Self {
            digest: Digest::of_json(&value),
            spec,
            tasks,
        }
    }

    /// Whether a tool is declared as writing.
    pub fn writes(&self, tool: &str) -> bool {
        self.spec.tools.get(tool).is_some_and(|t| t.writes)
    }

    /// Whether a tool's arguments are private reasoning.
    pub fn is_private(&self, tool: &str) -> bool {
        let mut private = self.spec.private_tools.iter();
        private.any(|known| names_tool(tool, known))
    }

    /// The task with this id.
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.iter().find(|t| &t.id == id)
    }
}

/// Whether a name in a log names a tool: in any case, and behind any namespace, as in
/// `functions.think` and `mcp__notes__think`.
///
/// # Examples
///
/// ```
/// use assize::model::suite::names_tool;
/// assert!(names_tool("functions.think", "think"));
/// assert!(!names_tool("rethink", "think"));
/// ```
pub fn names_tool(written: &str, tool: &str) -> bool {
    let (written, tool) = (written.to_ascii_lowercase(), tool.to_ascii_lowercase());
    match written.strip_suffix(&tool) {
        Some("") => true,
        Some(space) => space.ends_with(['.', '/', ':']) || space.ends_with("__"),
        None => false,
    }
}

fn format_one() -> u32 {
    1
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

fn is_default(environment: &EnvironmentSpec) -> bool {
    *environment == EnvironmentSpec::default()
}
