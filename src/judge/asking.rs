//! From trials, and from labelled items, to requests.

use super::blind::{Blinding, code};
use super::cache;
use super::fence::fence;
use super::injection::{Injection, injections};
use super::prompt::{self, Output, Shown};
use super::request::{HiddenIn, JudgeRequest, Subject};
use super::session::Session;
use super::view::{View, of_item, view};
use crate::base::{ArmId, Error, ItemId, Result, TaskId, TrialId};
use crate::model::judge::Judge;
use crate::model::label::TrialKey;
use crate::model::suite::Task;
use crate::model::trace::Trace;
use crate::model::trial::Trial;
use crate::model::verdict::Order;

/// A trial with its evidence.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The trial.
    pub trial: &'a Trial,
    /// Its trace.
    pub trace: &'a Trace,
}

/// An item of a label set, as its raters saw it.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The item.
    pub id: &'a ItemId,
    /// What was asked, where the label set says it.
    pub input: Option<&'a str>,
    /// What was answered: one text, or for a pairwise judge two.
    pub outputs: &'a [&'a str],
    /// Arm that produced the item.
    pub arm: Option<&'a ArmId>,
    /// Task that the item belongs to.
    pub task: Option<&'a TaskId>,
    /// Trial number, where the item is a trial of a run.
    pub trial: Option<u32>,
}

/// One output that is to be judged.
struct Candidate<'a> {
    /// What it is known by here, and what its code is made from.
    id: TrialId,
    /// Whose it is.
    arm: Option<ArmId>,
    /// What a judge may see of it.
    view: Box<dyn Fn(&Judge) -> View + 'a>,
}

/// An output as one judge sees it.
struct Seen {
    id: TrialId,
    arm: Option<ArmId>,
    blinding: Blinding,
}

/// Who is asked, and how.
struct Asked<'a> {
    judge: &'a Judge,
    member: usize,
    repeat: u32,
    order: Option<Order>,
}

impl Session {
    /// What is asked about one trial: every member, every repeat.
    ///
    /// # Errors
    ///
    /// If the judge compares two outputs, or a template fails on this trial.
    pub fn requests(&self, trial: &Trial, trace: &Trace, task: &Task) -> Result<Vec<JudgeRequest>> {
        let key = key_of(trial);
        let subject = Subject {
            item: key.item(),
            arm: Some(key.arm),
            task: Some(key.task),
            trial: Some(trial.index),
        };
        self.ask(&subject, &[candidate(Side { trial, trace }, task)])
    }

    /// What is asked about two trials of one task: every member, every repeat, both orders, in an order
    /// of asking that the seed decides. The first trial is output A.
    ///
    /// # Errors
    ///
    /// If the judge does not compare outputs, or a template fails on these trials.
    pub fn pair_requests(&self, a: Side, b: Side, task: &Task) -> Result<Vec<JudgeRequest>> {
        let subject = Subject {
            item: ItemId::new(format!("{}|{}", key_of(a.trial), key_of(b.trial))),
            arm: None,
            task: Some(task.id.clone()),
            trial: None,
        };
        self.ask(&subject, &[candidate(a, task), candidate(b, task)])
    }

    /// What is asked about an item of a label set, one output or two; blinded as trials are.
    ///
    /// # Errors
    ///
    /// If the judge compares another number of outputs, or a template fails on this item.
    pub fn item_requests(&self, item: &Item) -> Result<Vec<JudgeRequest>> {
        let subject = Subject {
            item: item.id.clone(),
            arm: item.arm.cloned(),
            task: item.task.cloned(),
            trial: item.trial,
        };
        let outputs = item.outputs.iter().enumerate();
        let outputs: Vec<Candidate> = outputs
            .map(|(at, output)| Candidate {
                id: TrialId::new(format!("{}#{at}", item.id)),
                arm: item.arm.cloned(),
                view: Box::new(|judge| of_item(&judge.spec.view, item.input, output)),
            })
            .collect();
        self.ask(&subject, &outputs)
    }

    fn ask(&self, subject: &Subject, outputs: &[Candidate]) -> Result<Vec<JudgeRequest>> {
        let wanted = if self.judge.is_pairwise() { 2 } else { 1 };
        if outputs.len() != wanted {
            let (key, given) = (self.judge.key(), outputs.len());
            let message = format!("judge `{key}` judges {wanted} outputs at a time, not {given}");
            return Err(Error::input(message));
        }
        let mut requests = vec![];
        for (member, judge) in self.asked().into_iter().enumerate() {
            let seen: Vec<Seen> = outputs.iter().map(|o| self.see(judge, o)).collect();
            for repeat in 0..judge.spec.repeats {
                for order in self.orders(&subject.item, member, repeat) {
                    let asked = Asked {
                        judge,
                        member,
                        repeat,
                        order,
                    };
                    requests.push(self.request(&asked, subject, &seen)?);
                }
            }
        }
        Ok(requests)
    }

    /// No order for one output; both for two, and which is asked first is drawn.
    fn orders(&self, item: &ItemId, member: usize, repeat: u32) -> Vec<Option<Order>> {
        if !self.judge.is_pairwise() {
            return vec![None];
        }
        let seed = self.seed.child(&format!("order/{item}/{member}/{repeat}"));
        let mut orders = vec![Some(Order::AFirst), Some(Order::BFirst)];
        seed.stream().shuffle(&mut orders);
        orders
    }

    fn see(&self, judge: &Judge, output: &Candidate) -> Seen {
        Seen {
            id: output.id.clone(),
            arm: output.arm.clone(),
            blinding: self.blinder.blind((output.view)(judge), &output.id),
        }
    }

    /// The request for outputs A and B, in the order that is asked for.
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
        let request = format!("{repeat}/{}", order.map_or("", Order::name));
        let codes: Vec<String> = slots
            .iter()
            .map(|s| code(&judge.pin, &s.id, &request, self.seed.0))
            .collect();
        let salt = [
            judge.pin.as_str(),
            subject.item.as_str(),
            &repeat.to_string(),
            order.map_or("", Order::name),
            &self.seed.0.to_string(),
        ];
        let fence = fence(&salt, &views);
        let outputs = views.iter().zip(&codes);
        let shown = Shown {
            outputs: outputs.map(|(view, code)| Output { view, code }).collect(),
            fence: &fence,
        };
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
            hidden: seen.iter().map(hidden).collect(),
            injections: found(judge, seen),
            seed: self.seed.nth(subject.item.as_str(), u64::from(repeat)),
        })
    }
}

fn candidate<'a>(side: Side<'a>, task: &'a Task) -> Candidate<'a> {
    Candidate {
        id: side.trial.id.clone(),
        arm: Some(side.trial.arm.clone()),
        view: Box::new(move |judge| view(&judge.spec.view, side.trace, task)),
    }
}

fn hidden(seen: &Seen) -> HiddenIn {
    HiddenIn {
        arm: seen.arm.clone(),
        edits: seen.blinding.edits.clone(),
    }
}

/// What in the outputs speaks to the judge: those of A, then those of B.
fn found(judge: &Judge, seen: &[Seen]) -> Vec<Injection> {
    let words = judge.words();
    let outputs = seen.iter().enumerate();
    outputs
        .flat_map(|(output, seen)| {
            let found = injections(&seen.blinding.view, &judge.spec.output.answer, &words);
            found.into_iter().map(move |injection| Injection {
                output,
                ..injection
            })
        })
        .collect()
}

fn key_of(trial: &Trial) -> TrialKey {
    TrialKey {
        arm: trial.arm.clone(),
        task: trial.task.clone(),
        index: trial.index,
    }
}
