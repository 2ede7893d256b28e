//! Verdicts: what a judge said about an item, parsed, or why that cannot be used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::{ArmId, Digest, ItemId, JudgeId, Observation, TaskId};
use crate::model::label::TrialKey;

/// In which order a pairwise judge saw the two outputs. The answer names the output and not the slot.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The output called A came first.
    AFirst,
    /// The output called B came first.
    BFirst,
}

impl Order {
    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::AFirst => "a_first",
            Self::BFirst => "b_first",
        }
    }

    /// The order with this name; also `ab` and `ba`, `original` and `swapped`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "a_first" | "ab" | "original" => Some(Self::AFirst),
            "b_first" | "ba" | "swapped" => Some(Self::BFirst),
            _ => None,
        }
    }
}

/// What the judge knew or was about, for identity effects.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Identity {
    /// The item is by a model of the judge's own family.
    Own,
    /// The item is by a model of another family.
    Other,
    /// The same item was judged with its author hidden.
    Blinded,
    /// The same item was judged with its author named.
    Revealed,
}

impl Identity {
    /// The identity with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "own" => Some(Self::Own),
            "other" => Some(Self::Other),
            "blinded" => Some(Self::Blinded),
            "revealed" => Some(Self::Revealed),
            _ => None,
        }
    }

    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Other => "other",
            Self::Blinded => "blinded",
            Self::Revealed => "revealed",
        }
    }
}

/// Why an answer of a judge cannot be used; it is never a pass and never a failure.
pub mod unusable {
    /// Nothing came.
    pub const MISSING: &str = "missing";
    /// It could not be read.
    pub const UNPARSABLE: &str = "unparsable";
    /// It was read, and is no answer of the scale.
    pub const OUT_OF_SCALE: &str = "out_of_scale";
    /// A panel without a majority.
    pub const PANEL_TIE: &str = "panel_tie";
}

/// One answer of one judge to one item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What was judged.
    pub item: ItemId,
    /// Who judged.
    pub judge: JudgeId,
    /// Pin of the judge: the digest of its whole definition; `None` for recorded verdicts without one.
    pub pin: Option<Digest>,
    /// Repeat of the same question, from 0.
    pub repeat: u32,
    /// The order of the outputs, for pairwise judges.
    pub order: Option<Order>,
    /// The answer as the text of a level, or why there is none: a code of [`unusable`].
    pub answer: Observation<String>,
    /// A score beside the answer, in the judge's own unit.
    pub score: Option<f64>,
    /// Arm that produced the item.
    pub arm: Option<ArmId>,
    /// Task that the item belongs to.
    pub task: Option<TaskId>,
    /// Trial number, where the item is a trial of a run.
    pub trial: Option<u32>,
    /// Reporting group.
    pub group: Option<String>,
    /// What the judge knew of the author, where that was varied.
    pub identity: Option<Identity>,
    /// Line in its file, counted from 1; 0 for a verdict that was not read from a file.
    #[serde(default)]
    pub line: u64,
}

impl Verdict {
    /// The trial that was judged, where arm, task and trial are given.
    pub fn trial_key(&self) -> Option<TrialKey> {
        Some(TrialKey {
            arm: self.arm.clone()?,
            task: self.task.clone()?,
            index: self.trial?,
        })
    }
}

/// All verdicts of one file or run.
#[derive(Clone, Debug, PartialEq)]
pub struct VerdictSet {
    /// Verdicts in the order of the file.
    pub verdicts: Vec<Verdict>,
    /// Digest of what the verdicts say.
    pub digest: Digest,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_have_the_names_of_other_tools() {
        assert_eq!(Order::from_name("swapped"), Some(Order::BFirst));
        assert_eq!(Order::from_name(Order::AFirst.name()), Some(Order::AFirst));
        assert_eq!(Order::from_name("first"), None);
    }
}
