//! One question to a judge's model.

use super::blind::Edit;
use super::injection::Injection;
use crate::base::{ArmId, Digest, ItemId, JudgeId, Seed, TaskId};
use crate::model::chat::{ChatRequest, Message, TrialKey};
use crate::model::verdict::Order;

/// What was judged, for the verdict; none of it is in the messages.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Subject {
    pub item: ItemId,
    pub arm: Option<ArmId>,
    pub task: Option<TaskId>,
    pub trial: Option<u32>,
}

/// What was hidden in one output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenIn {
    /// The arm; `None` for an item of a label set that does not say.
    pub arm: Option<ArmId>,
    /// What was hidden.
    pub edits: Vec<Edit>,
}

/// One question to a judge's model; made only by [`super::Session`], from blinded views.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeRequest {
    pub(super) judge: JudgeId,
    pub(super) pin: Digest,
    pub(super) member: usize,
    pub(super) repeat: u32,
    pub(super) order: Option<Order>,
    pub(super) subject: Subject,
    pub(super) code: String,
    pub(super) messages: Vec<Message>,
    pub(super) cache_key: Digest,
    pub(super) hidden: Vec<HiddenIn>,
    pub(super) injections: Vec<Injection>,
    pub(super) seed: Seed,
}

impl JudgeRequest {
    /// What the model is asked.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The same as a provider takes it: no tools, and no name of the trial but its code.
    pub fn chat(&self) -> ChatRequest {
        ChatRequest {
            messages: self.messages.clone(),
            tools: vec![],
            trial: TrialKey {
                task: "judge".to_owned(),
                index: self.repeat,
                id: self.code.clone(),
                seed: self.seed.0,
            },
            turn: 1,
            waits: Default::default(),
        }
    }

    /// Under which a reply is kept: pin, blinded content, repeat, order.
    pub fn cache_key(&self) -> &Digest {
        &self.cache_key
    }

    /// The judge, or the member of a panel, that is asked.
    pub fn judge(&self) -> &JudgeId {
        &self.judge
    }

    /// Its pin.
    pub fn pin(&self) -> &Digest {
        &self.pin
    }

    /// Its place among the panel's members; 0 for a judge alone.
    pub fn member(&self) -> usize {
        self.member
    }

    /// Repeat of the same question, from 0.
    pub fn repeat(&self) -> u32 {
        self.repeat
    }

    /// Order of the outputs, for pairwise judges.
    pub fn order(&self) -> Option<Order> {
        self.order
    }

    /// What was judged: `arm/task/trial`, or for a pair both trials.
    pub fn item(&self) -> &ItemId {
        &self.subject.item
    }

    /// What the outputs are called in the messages.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// What was hidden, per output: A, then B.
    pub fn hidden(&self) -> &[HiddenIn] {
        &self.hidden
    }

    /// What in the outputs seems to speak to the judge.
    pub fn injections(&self) -> &[Injection] {
        &self.injections
    }
}
