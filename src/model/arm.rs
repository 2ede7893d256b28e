//! Arms: the systems under test.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::{ArmId, Digest};
use crate::model::suite::DataClass;

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
    /// Digest of name, definition and, for a recorded arm, the recorded bytes.
    pub digest: Digest,
}

impl Arm {
    /// Builds an arm and takes the digest; `recorded` is the digest of a recorded arm's files.
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
        }
    }

    /// Trials per task that the arm declares for itself.
    pub fn trials(&self) -> Option<u32> {
        match &self.spec {
            ArmSpec::Recorded(arm) => arm.trials,
        }
    }
}

fn format_one() -> u32 {
    1
}

fn synthetic_only() -> Vec<DataClass> {
    vec![DataClass::Synthetic]
}
