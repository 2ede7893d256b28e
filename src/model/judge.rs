//! Judges: model evaluators, defined in one file each and pinned by everything that it says.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::base::{Digest, JudgeId};
use crate::model::arm::{ChatArm, Price, Protocol, RateLimits, Timeouts};
use crate::model::label::{Scale, ScaleKind};
use crate::model::suite::DataClass;

/// The newest judge format that this version reads.
pub const JUDGE_FORMAT: u32 = 1;

/// A judge as written in `judges/NAME.yaml`.
///
/// It is either one model (`endpoint`, `prompt`, `rubric`) or a `panel` of other judges' files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeSpec {
    /// Format of this file. Default: 1.
    #[serde(default = "format_one")]
    pub format: u32,
    /// Name of the judge.
    pub id: JudgeId,
    /// Version of the judge; raise it when rubric, prompt or model change.
    pub version: String,
    /// What the judge is for, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The model that judges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<JudgeEndpoint>,
    /// What the model is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptSpec>,
    /// What counts as good, for the prompt: `{{ rubric }}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rubric: Option<String>,
    /// File with the rubric, beside this one, in place of `rubric`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rubric_file: Option<String>,
    /// The answers that count.
    pub scale: ScaleSpec,
    /// How the answer is written.
    #[serde(default, skip_serializing_if = "OutputSpec::is_default")]
    pub output: OutputSpec,
    /// How often the same question is asked. Default: 1.
    #[serde(default = "one")]
    pub repeats: u32,
    /// Files of the judges whose majority this judge is, relative to this file: an odd number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub panel: Vec<String>,
    /// What the judge may see. Default: the task and the final payload.
    #[serde(default = "task_and_final")]
    pub view: Vec<ViewPart>,
    /// Classes of data the judge may be given. Default: `synthetic` only.
    #[serde(default = "synthetic_only")]
    pub accepts: Vec<DataClass>,
    /// Names that are hidden from the judge beside those of vendors, model families and arms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scrub: Vec<String>,
    /// Worked examples for the prompt: `{{ examples }}`; no label may repeat one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<ExampleSpec>,
    /// What certification asks for, by the name of what must reach it; limits of intervals count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub thresholds: BTreeMap<String, f64>,
}

/// The model behind a judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeEndpoint {
    /// URL of the endpoint; what the protocol appends (`/chat/completions`, `/v1/messages`) is not
    /// part of it.
    pub base_url: String,
    /// Exact model id: with its date or version where the vendor has dated ones.
    pub model: String,
    /// Protocol of the endpoint. Default: `openai`.
    #[serde(default)]
    pub protocol: Protocol,
    /// Name of the environment variable that holds the key; never the key itself. Absent: no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Parameters sent with every call, as the provider names them (`temperature`, `max_tokens`, …).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// Most retries of one call. Default: 4.
    #[serde(default = "four")]
    pub max_retries: u32,
    /// Longest times.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// What the judge may ask of its endpoint.
    #[serde(default)]
    pub rate: RateLimits,
    /// Most calls at a time. Default: that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Price, to turn tokens into cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

impl JudgeEndpoint {
    /// The endpoint as the arm that a provider's client is made for; nothing is streamed.
    pub fn as_arm(&self, accepts: &[DataClass]) -> ChatArm {
        ChatArm {
            base_url: self.base_url.clone(),
            model: self.model.clone(),
            protocol: self.protocol,
            api_key_env: self.api_key_env.clone(),
            system: None,
            params: self.params.clone(),
            headers: BTreeMap::new(),
            stream: false,
            max_retries: self.max_retries,
            max_retry_wait_s: 60.0,
            timeouts: self.timeouts,
            rate: self.rate,
            concurrency: self.concurrency,
            price: self.price,
            accepts: accepts.to_vec(),
        }
    }
}

/// What a judge is asked: minijinja templates.
///
/// They see `rubric`, `task`, `evidence` (pairwise: `first` and `second`), `code` (pairwise:
/// `first_code`, `second_code`), `fence`, `levels`, `schema` and `examples`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptSpec {
    /// Template of the system message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Template of the user message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// File with the template of the user message, beside the judge's, in place of `template`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_file: Option<String>,
}

/// The answers that count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScaleSpec {
    /// How answers are read.
    pub kind: ScaleKind,
    /// All answers: binary the bad one first (default: fail, pass), ordinal from the worst to the best,
    /// pairwise the first output, the second, the tie (default: A, B, tie).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// The least level that counts as good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
}

impl ScaleSpec {
    /// The scale with what was not written filled in.
    ///
    /// # Errors
    ///
    /// If the levels do not make a scale of this kind, in words.
    pub fn complete(&self) -> Result<Scale, String> {
        let levels = match (self.kind, self.levels.is_empty()) {
            (ScaleKind::Binary, true) => Scale::binary().levels,
            (ScaleKind::Pairwise, true) => ["A", "B", "tie"].map(str::to_owned).to_vec(),
            _ => self.levels.clone(),
        };
        let distinct: BTreeSet<&str> = levels.iter().map(|l| l.trim()).collect();
        if distinct.len() < levels.len() || distinct.contains("") {
            return Err("the levels are not distinct words".to_owned());
        }
        let wanted = match self.kind {
            ScaleKind::Binary if levels.len() != 2 => "two levels, the bad one first",
            ScaleKind::Pairwise if levels.len() != 3 => "three levels: first output, second, tie",
            ScaleKind::Ordinal if levels.len() < 2 => "its levels, from the worst to the best",
            ScaleKind::Nominal if levels.len() < 2 => "two levels or more",
            _ => "",
        };
        if !wanted.is_empty() {
            return Err(format!(
                "the scale is {} and has {wanted}",
                self.kind.name()
            ));
        }
        let best = (self.kind == ScaleKind::Binary).then(|| levels.last().cloned());
        let positive = self.positive.clone().or(best.flatten());
        match &positive {
            Some(level) if !levels.contains(level) => {
                Err(format!("the good level `{level}` is not on the scale"))
            }
            Some(_) if self.kind == ScaleKind::Pairwise => {
                Err("a pairwise scale has no good level".to_owned())
            }
            _ => Ok(Scale {
                kind: self.kind,
                levels,
                positive,
            }),
        }
    }
}

/// How a judge writes its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputSpec {
    /// JSON Schema of the reply. Default: an object with `reason` and `answer` and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Key of the reply that holds the answer. Default: `answer`.
    #[serde(default = "answer_key")]
    pub answer: String,
    /// Key of the reply that holds a score beside the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<String>,
    /// Regular expression that finds the answer on a line of its own in a reply of free text, as the
    /// group `answer` or the first group; the last line that matches counts. Absent: only JSON is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict_line: Option<String>,
}

impl Default for OutputSpec {
    fn default() -> Self {
        Self {
            schema: None,
            answer: answer_key(),
            score: None,
            verdict_line: None,
        }
    }
}

impl OutputSpec {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What a judge may see of a trial.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ViewPart {
    /// What the agent was given.
    Task,
    /// What user and agent said to each other, questions included.
    Messages,
    /// Tools that were called, with their arguments.
    ToolCalls,
    /// What the tools answered, errors included.
    ToolResults,
    /// Approvals that were asked for, and the answers.
    Approvals,
    /// Changes in the world.
    Effects,
    /// The final payload.
    Final,
    /// The state document before the trial.
    InitialState,
    /// The state document after the trial.
    FinalState,
}

/// A worked example for the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExampleSpec {
    /// What was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What was answered; of a pair, both in one text.
    pub output: String,
    /// The right verdict: a level.
    pub answer: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Texts of a judge, from its own file or from those that it names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgeTexts {
    /// Template of the user message; empty for a panel.
    pub template: String,
    /// Rubric; empty for a panel.
    pub rubric: String,
}

/// A validated judge.
#[derive(Clone, Debug, PartialEq)]
pub struct Judge {
    /// Its definition.
    pub spec: JudgeSpec,
    /// Its texts.
    pub texts: JudgeTexts,
    /// Its scale, complete.
    pub scale: Scale,
    /// The judges of a panel; empty for one model.
    pub members: Vec<Judge>,
    /// Digest of everything above: any change changes it.
    pub pin: Digest,
}

impl Judge {
    /// Builds a judge and takes the pin.
    pub fn new(spec: JudgeSpec, texts: JudgeTexts, scale: Scale, members: Vec<Judge>) -> Self {
        let pins: Vec<&Digest> = members.iter().map(|m| &m.pin).collect();
        let parts = json!({"spec": spec, "template": texts.template, "rubric": texts.rubric,
            "scale": scale, "members": pins});
        Self {
            pin: Digest::of_json(&parts),
            spec,
            texts,
            scale,
            members,
        }
    }

    /// The name under which verdicts and certificates know it: `id@version`.
    pub fn key(&self) -> JudgeId {
        JudgeId::new(format!("{}@{}", self.spec.id, self.spec.version))
    }

    /// Whether it compares two outputs.
    pub fn is_pairwise(&self) -> bool {
        self.scale.kind == ScaleKind::Pairwise
    }

    /// The words of a reply in the order of the levels: those of the scale or, as a pairwise judge
    /// knows slots and not outputs, `first`, `second` and `tie`.
    pub fn words(&self) -> Vec<String> {
        if self.is_pairwise() {
            return SLOTS.map(str::to_owned).to_vec();
        }
        self.scale.levels.clone()
    }

    /// The JSON Schema of a reply.
    pub fn reply_schema(&self) -> Value {
        let answer = &self.spec.output.answer;
        self.spec.output.schema.clone().unwrap_or_else(|| {
            json!({"type": "object", "required": ["reason", answer], "additionalProperties": false,
                "properties": {"reason": {"type": "string"}, answer: {"enum": self.words()}}})
        })
    }

    /// The texts of the worked examples, own and of the members, to find labels that repeat them.
    pub fn example_texts(&self) -> Vec<&str> {
        let own = self.spec.examples.iter().map(|e| e.output.as_str());
        own.chain(self.members.iter().flat_map(Judge::example_texts))
            .collect()
    }
}

/// How a pairwise judge names what it prefers.
pub const SLOTS: [&str; 3] = ["first", "second", "tie"];

fn format_one() -> u32 {
    1
}

fn one() -> u32 {
    1
}

fn four() -> u32 {
    4
}

fn answer_key() -> String {
    "answer".to_owned()
}

fn task_and_final() -> Vec<ViewPart> {
    vec![ViewPart::Task, ViewPart::Final]
}

fn synthetic_only() -> Vec<DataClass> {
    vec![DataClass::Synthetic]
}

#[cfg(test)]
mod tests;
