//! Arms: the systems under test.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::{ArmId, Digest};
use crate::model::suite::DataClass;
use crate::model::trace::Usage;

/// `arms.yaml`: the arms by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmsSpec {
    /// Format of this file. Default: 1.
    #[serde(default = "format_one")]
    pub format: u32,
    /// The arms by name.
    pub arms: BTreeMap<ArmId, ArmSpec>,
}

/// One arm as written in `arms.yaml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "snake_case")]
pub enum ArmSpec {
    /// A file or folder of traces; `run` imports them instead of executing.
    Recorded(RecordedArm),
    /// A model behind an HTTP endpoint, with the built-in tool loop.
    Chat(ChatArm),
    /// A deterministic stand-in with the built-in tool loop, for demonstrations and tests.
    Scripted(ScriptedArm),
}

/// A model behind an HTTP endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatArm {
    /// URL of the endpoint; what the protocol appends (`/chat/completions`, `/v1/messages`) is not
    /// part of it.
    pub base_url: String,
    /// Model id, sent as it is.
    pub model: String,
    /// Protocol of the endpoint. Default: `openai`.
    #[serde(default)]
    pub protocol: Protocol,
    /// Name of the environment variable that holds the key; never the key itself. Absent: no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Instructions of this arm, after those of the suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Parameters sent with every call, as the provider names them (`temperature`, `max_tokens`, …).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// Headers sent with every call; `{task}`, `{trial}`, `{trial_id}` and `{seed}` are filled in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Whether replies are streamed. Default: no.
    #[serde(default)]
    pub stream: bool,
    /// Most retries of one call. Default: 4.
    #[serde(default = "four")]
    pub max_retries: u32,
    /// Longest wait before a retry in seconds, whatever `Retry-After` asks for. Default: 60.
    #[serde(default = "sixty")]
    pub max_retry_wait_s: f64,
    /// Longest times.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// What the arm may ask of its endpoint.
    #[serde(default)]
    pub rate: RateLimits,
    /// Most trials of this arm at a time. Default: that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Price, to turn tokens into cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Classes of data the arm may be given. Default: `synthetic` only.
    #[serde(default = "synthetic_only")]
    pub accepts: Vec<DataClass>,
}

/// Protocols of model endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// OpenAI's chat completions and everything compatible with it.
    #[default]
    Openai,
    /// Anthropic's messages.
    Anthropic,
}

/// Longest times of a call, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Until the connection stands. Default: 10.
    pub connect_s: f64,
    /// From sending until the first byte of the answer. Default: 120.
    pub first_byte_s: f64,
    /// Of one attempt as a whole. Default: 600.
    pub total_s: f64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect_s: 10.0,
            first_byte_s: 120.0,
            total_s: 600.0,
        }
    }
}

/// What an arm may ask of its endpoint in a minute, over all its trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RateLimits {
    /// Requests, retries included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Tokens, read and written together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
}

/// A deterministic stand-in for a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptedArm {
    /// Script file, relative to `arms.yaml`; `assize endpoint` serves the same files.
    pub script: String,
    /// Which model of the script.
    pub model: String,
    /// Most retries of one call that an injected fault strikes. Default: 4.
    #[serde(default = "four")]
    pub max_retries: u32,
    /// Price, to turn the script's tokens into cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Classes of data the arm may be given. Default: all, as nothing leaves the process.
    #[serde(default = "all_data")]
    pub accepts: Vec<DataClass>,
}

/// An arm whose trials were recorded elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedArm {
    /// File or folder of traces, relative to `arms.yaml`.
    pub path: String,
    /// Format of the traces. Default: found by looking at them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TraceFormat>,
    /// Model behind the arm, for the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Trials per task that were recorded. Default: the suite's `trials`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials: Option<u32>,
    /// Price, to turn recorded tokens into cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Classes of data the arm may be given. Default: `synthetic` only.
    #[serde(default = "synthetic_only")]
    pub accepts: Vec<DataClass>,
}

/// Price in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Per million tokens read.
    pub input_per_million: f64,
    /// Per million tokens written.
    pub output_per_million: f64,
}

impl Price {
    /// What some tokens cost, if both kinds of tokens are known.
    pub fn of(&self, usage: &Usage) -> Option<f64> {
        let (read, written) = usage.input_tokens.zip(usage.output_tokens)?;
        Some(self.of_tokens(read as f64, written as f64))
    }

    /// What so many tokens read and written cost.
    pub fn of_tokens(&self, read: f64, written: f64) -> f64 {
        (read * self.input_per_million + written * self.output_per_million) / 1e6
    }
}

/// Formats of recorded traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceFormat {
    /// Assize's own event JSONL.
    Native,
    /// The small form `{tools, asked_clarification, final}`.
    Small,
    /// OpenAI chat logs with `tool_calls`, one record per trial (tau-bench's form).
    OpenaiChat,
    /// tau2-bench result files.
    Tau2,
}

impl TraceFormat {
    /// All formats.
    pub const ALL: [TraceFormat; 4] = [Self::Native, Self::Small, Self::OpenaiChat, Self::Tau2];

    /// The kebab-case name used on the command line and in `arms.yaml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Small => "small",
            Self::OpenaiChat => "openai-chat",
            Self::Tau2 => "tau2",
        }
    }
}

/// A validated arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Its name.
    pub id: ArmId,
    /// Its definition.
    pub spec: ArmSpec,
    /// Digest of name, definition and the bytes of the files that it names.
    pub digest: Digest,
}

impl Arm {
    /// Builds an arm and takes the digest; `recorded` is the digest of the files that it names.
    pub fn new(id: ArmId, spec: ArmSpec, recorded: Option<&Digest>) -> Self {
        let parts = serde_json::json!({"id": id, "spec": spec, "recorded": recorded});
        Self {
            digest: Digest::of_json(&parts),
            id,
            spec,
        }
    }

    /// The model behind the arm, where it is declared.
    pub fn model(&self) -> Option<&str> {
        match &self.spec {
            ArmSpec::Recorded(arm) => arm.model.as_deref(),
            ArmSpec::Chat(arm) => Some(&arm.model),
            ArmSpec::Scripted(arm) => Some(&arm.model),
        }
    }

    /// Host and path of its endpoint: what may stand in a report, without user, query or fragment.
    pub fn endpoint(&self) -> Option<&str> {
        let ArmSpec::Chat(chat) = &self.spec else {
            return None;
        };
        let rest = chat.base_url.split_once("://")?.1;
        let plain = rest.split(['?', '#']).next()?;
        let host = plain.split('/').next()?;
        let user = host.rfind('@').map_or(0, |at| at + 1);
        Some(plain[user..].trim_end_matches('/'))
    }

    /// Trials per task that the arm declares for itself.
    pub fn trials(&self) -> Option<u32> {
        match &self.spec {
            ArmSpec::Recorded(arm) => arm.trials,
            ArmSpec::Chat(_) | ArmSpec::Scripted(_) => None,
        }
    }

    /// Whether its trials are run now, and not imported.
    pub fn is_live(&self) -> bool {
        self.spec.is_live()
    }

    /// What its tokens cost, where that is declared.
    pub fn price(&self) -> Option<Price> {
        match &self.spec {
            ArmSpec::Recorded(arm) => arm.price,
            ArmSpec::Chat(arm) => arm.price,
            ArmSpec::Scripted(arm) => arm.price,
        }
    }
}

impl ArmSpec {
    /// Whether its trials are run now, and not imported.
    pub fn is_live(&self) -> bool {
        !matches!(self, Self::Recorded(_))
    }

    /// The classes of data that it may be given.
    pub fn accepts(&self) -> &[DataClass] {
        match self {
            Self::Recorded(arm) => &arm.accepts,
            Self::Chat(arm) => &arm.accepts,
            Self::Scripted(arm) => &arm.accepts,
        }
    }

    /// The file or folder, relative to `arms.yaml`, on whose bytes the arm depends.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Recorded(arm) => Some(&arm.path),
            Self::Scripted(arm) => Some(&arm.script),
            Self::Chat(_) => None,
        }
    }
}

fn format_one() -> u32 {
    1
}

fn four() -> u32 {
    4
}

fn sixty() -> f64 {
    60.0
}

fn all_data() -> Vec<DataClass> {
    vec![
        DataClass::Synthetic,
        DataClass::Internal,
        DataClass::Customer,
    ]
}

fn synthetic_only() -> Vec<DataClass> {
    vec![DataClass::Synthetic]
}
