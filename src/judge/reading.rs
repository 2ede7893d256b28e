//! From replies to verdicts.

use super::request::JudgeRequest;
use super::session::Session;
use super::{panel, verdict};
use crate::base::{JudgeId, Observation};
use crate::model::judge::Judge;
use crate::model::verdict::{Order, Verdict, unusable};

/// A verdict, and what was wrong with the reply if it cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The verdict; its answer is missing with a code if the reply cannot be used.
    pub verdict: Verdict,
    /// What was wrong, for people; empty for a usable reply.
    pub detail: String,
}

impl Session {
    /// Reads a reply; of a pairwise judge, the slot that it prefers becomes the output.
    pub fn read(&self, request: &JudgeRequest, reply: &str) -> Reading {
        let Some(judge) = self.asked().get(request.member).copied() else {
            return self.missing(request, "no such member of the panel");
        };
        match verdict::read(judge, reply) {
            Err(unusable) => self.unusable(request, unusable.code, unusable.detail),
            Ok(answer) => {
                let level = match (request.order, answer.word) {
                    (Some(Order::BFirst), 0) => 1,
                    (Some(Order::BFirst), 1) => 0,
                    (_, word) => word,
                };
                let level = judge.scale.levels[level].clone();
                let mut reading = self.unusable(request, unusable::MISSING, "");
                reading.verdict.answer = Observation::Value(level);
                reading.verdict.score = answer.score;
                reading
            }
        }
    }

    /// The verdict of a request without a reply, for example because the provider failed.
    pub fn missing(&self, request: &JudgeRequest, why: &str) -> Reading {
        self.unusable(request, unusable::MISSING, why)
    }

    fn unusable(&self, request: &JudgeRequest, code: &str, why: impl Into<String>) -> Reading {
        let subject = request.subject.clone();
        Reading {
            detail: why.into(),
            verdict: Verdict {
                item: subject.item,
                judge: request.judge.clone(),
                pin: Some(request.pin.clone()),
                repeat: request.repeat,
                order: request.order,
                answer: Observation::Missing(code.to_owned()),
                score: None,
                arm: subject.arm,
                task: subject.task,
                trial: subject.trial,
                group: None,
                identity: None,
                line: 0,
            },
        }
    }

    /// The verdicts of this judge from those of the members that were asked: of a panel the majority, else
    /// the verdicts themselves.
    pub fn verdicts(&self, of_members: &[Verdict]) -> Vec<Verdict> {
        if self.judge.members.is_empty() {
            return of_members.to_vec();
        }
        let names: Vec<JudgeId> = self.judge.members.iter().map(Judge::key).collect();
        panel::majority(&self.judge, &names, of_members)
    }
}
