//! A judge at work on the trials of some arms: trials in, requests out; replies in, verdicts out.

use super::blind::{Blinder, Blinding, code};
use super::fence::fence;
use super::injection::injections;
use super::prompt::{self, Output, Shown};
use super::request::{HiddenIn, JudgeRequest, Subject};
use super::view::view;
use super::{cache, own, panel, verdict};
use crate::base::{Digest, Error, ItemId, JudgeId, Notice, Observation, Result, Seed};
use crate::model::arm::{Arm, ArmSpec};
use crate::model::judge::{Judge, JudgeEndpoint};
use crate::model::label::TrialKey;
use crate::model::suite::{DataClass, Task};
use crate::model::trace::Trace;
use crate::model::trial::Trial;
use crate::model::verdict::{Order, Verdict, unusable};

/// A trial with its evidence.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The trial.
    pub trial: &'a Trial,
    /// Its trace.
    pub trace: &'a Trace,
}

/// A verdict, and what was wrong with the reply if it cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The verdict; its answer is missing with a code if the reply cannot be used.
    pub verdict: Verdict,
    /// What was wrong, for people; empty for a usable reply.
    pub detail: String,
}

/// A judge that knows which names to hide.
#[derive(Clone, Debug)]
pub struct Session {
    judge: Judge,
    blinder: Blinder,
    seed: Seed,
    notices: Vec<Notice>,
}

impl Session {
    /// Readies a judge for the trials of these arms.
    ///
    /// # Errors
    ///
    /// If an arm's name is too short to be hidden, or the judge would judge its own model.
    pub fn new(judge: &Judge, arms: &[Arm], seed: Seed) -> Result<Self> {
        own::refuse(judge, arms)?;
        Self::forced(judge, arms, seed)
    }

    /// Like [`Self::new`], but a judge may judge its own model; the notice `judges_own_model` says so.
    ///
    /// # Errors
    ///
    /// If an arm's name is too short to be hidden.
    pub fn forced(judge: &Judge, arms: &[Arm], seed: Seed) -> Result<Self> {
        let blinder = Blinder::new(judge, arms)?;
        let own = own::judged_by_itself(judge, arms);
        let mut notices: Vec<Notice> = own
            .iter()
            .map(|text| Notice::with("judges_own_model", text))
            .collect();
        for member in members(judge) {
            notices.extend(names_in_prompt(member, arms, &blinder));
        }
        let judge = judge.clone();
        let seed = seed.child("judge");
        Ok(Self {
            judge,
            blinder,
            seed,
            notices,
        })
    }

    /// What a reader should know: `judges_own_model`, `prompt_names_arm`.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The judge.
    pub fn judge(&self) -> &Judge {
        &self.judge
    }

    /// The step that hides names, for evidence that people see.
    pub fn blinder(&self) -> &Blinder {
        &self.blinder
    }

    /// The judges that are asked: the members of a panel, or the judge alone; in the order of
    /// [`JudgeRequest::member`].
    pub fn asked(&self) -> Vec<&Judge> {
        members(&self.judge)
    }

    /// The endpoint that a request goes to.
    pub fn endpoint(&self, request: &JudgeRequest) -> Option<&JudgeEndpoint> {
        self.asked().get(request.member)?.spec.endpoint.as_ref()
    }

    /// Refuses data that the judge, or a member of its panel, does not accept.
    ///
    /// # Errors
    ///
    /// If one of them does not.
    pub fn refuse_data(&self, data: DataClass) -> Result<()> {
        for judge in self.asked() {
            if !judge.spec.accepts.contains(&data) {
                let word = serde_json::to_value(data).unwrap_or_default();
                let word = word.as_str().unwrap_or_default();
                let message = format!("judge `{}` does not accept {word} data", judge.key());
                return Err(Error::refused(message).hint(
                    "take another judge, or add the class to its `accepts` if that is allowed",
                ));
            }
        }
        Ok(())
    }

    /// What is asked about one trial: every member, every repeat.
    ///
    /// # Errors
    ///
    /// If the judge compares two outputs, or a template fails on this trial.
    pub fn requests(&self, trial: &Trial, trace: &Trace, task: &Task) -> Result<Vec<JudgeRequest>> {
        if self.judge.is_pairwise() {
            let message = format!(
                "judge `{}` compares two outputs and was given one",
                self.judge.key()
            );
            return Err(Error::input(message));
        }
        let key = key_of(trial);
        let subject = Subject {
            item: key.item(),
            arm: Some(key.arm),
            task: key.task,
            trial: Some(trial.index),
        };
        let mut requests = vec![];
        for (member, judge) in self.asked().into_iter().enumerate() {
            let seen = [self.see(judge, Side { trial, trace }, task)];
            for repeat in 0..judge.spec.repeats {
                let asked = Asked {
                    judge,
                    member,
                    repeat,
                    order: None,
                };
                requests.push(self.request(&asked, &subject, &seen)?);
            }
        }
        Ok(requests)
    }

    /// What is asked about two trials of one task: every member, every repeat, both orders, in an order
    /// of asking that the seed decides.
    ///
    /// # Errors
    ///
    /// If the judge does not compare outputs, or a template fails on these trials.
    pub fn pair_requests(&self, a: Side, b: Side, task: &Task) -> Result<Vec<JudgeRequest>> {
        if !self.judge.is_pairwise() {
            let message = format!(
                "judge `{}` judges one output and was given two",
                self.judge.key()
            );
            return Err(Error::input(message));
        }
        let subject = Subject {
            item: ItemId::new(format!("{}|{}", key_of(a.trial), key_of(b.trial))),
            arm: None,
            task: task.id.clone(),
            trial: None,
        };
        let mut requests = vec![];
        for (member, judge) in self.asked().into_iter().enumerate() {
            let seen = [self.see(judge, a, task), self.see(judge, b, task)];
            for repeat in 0..judge.spec.repeats {
                for order in self.orders(&subject.item, member, repeat) {
                    let asked = Asked {
                        judge,
                        member,
                        repeat,
                        order: Some(order),
                    };
                    requests.push(self.request(&asked, &subject, &seen)?);
                }
            }
        }
        Ok(requests)
    }

    /// Both orders; which is asked first is drawn.
    fn orders(&self, item: &ItemId, member: usize, repeat: u32) -> [Order; 2] {
        let seed = self.seed.child(&format!("order/{item}/{member}/{repeat}"));
        match seed.stream().below(2) {
            0 => [Order::AFirst, Order::BFirst],
            _ => [Order::BFirst, Order::AFirst],
        }
    }

    fn see(&self, judge: &Judge, side: Side, task: &Task) -> Seen {
        let blinding = self
            .blinder
            .blind(view(&judge.spec.view, side.trace, task), &side.trial.id);
        Seen {
            code: code(&judge.pin, &side.trial.id, self.seed.0),
            key: key_of(side.trial),
            blinding,
        }
    }

    /// The request for outputs A and B in the order that is asked for.
    fn request(&self, asked: &Asked, subject: &Subject, seen: &[Seen]) -> Result<JudgeRequest> {
        let Asked {
            judge,
            member,
            repeat,
            order,
        } = *asked;
        let mut slots: Vec<&Seen> = seen.iter().collect();
        if order == Some(Order::BFirst) {
            slots.reverse();
        }
        let views: Vec<_> = slots.iter().map(|s| &s.blinding.view).collect();
        let number = repeat.to_string();
        let seed = self.seed.0.to_string();
        let name = order.map_or("", Order::name);
        let parts = [
            judge.pin.as_str(),
            subject.item.as_str(),
            &number,
            name,
            &seed,
        ];
        let fence = fence(&parts, &views);
        let outputs = slots.iter().map(|s| Output {
            view: &s.blinding.view,
            code: &s.code,
        });
        let shown = Shown {
            outputs: outputs.collect(),
            fence: &fence,
        };
        let words = judge.words();
        let found = views
            .iter()
            .flat_map(|v| injections(v, &judge.spec.output.answer, &words));
        let codes: Vec<&str> = slots.iter().map(|s| s.code.as_str()).collect();
        Ok(JudgeRequest {
            judge: judge.key(),
            pin: judge.pin.clone(),
            member,
            repeat,
            order,
            subject: subject.clone(),
            code: codes.join("-"),
            messages: prompt::messages(judge, &shown)?,
            cache_key: cache::key(&judge.pin, &views, repeat, order),
            hidden: seen
                .iter()
                .map(|s| HiddenIn {
                    arm: s.key.arm.clone(),
                    edits: s.blinding.edits.clone(),
                })
                .collect(),
            injections: found.collect(),
            seed: self.seed.nth(subject.item.as_str(), u64::from(repeat)),
        })
    }

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
                task: Some(subject.task),
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

    /// The pin of the judge, that of the panel for a panel.
    pub fn pin(&self) -> &Digest {
        &self.judge.pin
    }
}

/// What is asked of whom.
struct Asked<'a> {
    judge: &'a Judge,
    member: usize,
    repeat: u32,
    order: Option<Order>,
}

/// A blinded trial.
struct Seen {
    code: String,
    key: TrialKey,
    blinding: Blinding,
}

fn key_of(trial: &Trial) -> TrialKey {
    TrialKey {
        arm: trial.arm.clone(),
        task: trial.task.clone(),
        index: trial.index,
    }
}

fn members(judge: &Judge) -> Vec<&Judge> {
    match judge.members.as_slice() {
        [] => vec![judge],
        members => members.iter().collect(),
    }
}

/// The prompt is the same for all arms, so that a name in it gives nothing away; it is said all the same.
fn names_in_prompt(judge: &Judge, arms: &[Arm], blinder: &Blinder) -> Option<Notice> {
    let system = judge.spec.prompt.as_ref().and_then(|p| p.system.as_deref());
    let text = [
        judge.texts.rubric.as_str(),
        &judge.texts.template,
        system.unwrap_or(""),
    ]
    .join("\n");
    let hosts = |arm: &Arm| match &arm.spec {
        ArmSpec::Chat(chat) => Some(chat.base_url.to_lowercase()),
        _ => None,
    };
    let of_arm = |name: &String| {
        let name = name.to_lowercase();
        arms.iter().any(|arm| {
            let model = arm.model().unwrap_or_default().to_lowercase();
            let host = hosts(arm).unwrap_or_default();
            arm.id.as_str().to_lowercase() == name || model.contains(&name) || host.contains(&name)
        })
    };
    let found: Vec<String> = blinder.names_in(&text).into_iter().filter(of_arm).collect();
    (!found.is_empty()).then(|| {
        let detail = format!("the prompt of `{}` says {}", judge.key(), found.join(", "));
        Notice::with("prompt_names_arm", detail)
    })
}
