//! A judge at work on the trials of some arms: trials in, requests out; replies in, verdicts out.

use super::blind::Blinder;
use super::own;
use super::request::JudgeRequest;
use crate::base::{Digest, Error, Notice, Result, Seed};
use crate::model::arm::Arm;
use crate::model::judge::{Judge, JudgeEndpoint};
use crate::model::suite::DataClass;

/// A judge that knows which names to hide.
#[derive(Clone, Debug)]
pub struct Session {
    pub(super) judge: Judge,
    pub(super) blinder: Blinder,
    pub(super) seed: Seed,
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
            notices.extend(names_in_prompt(member, &blinder));
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

    /// The pin of the judge, that of the panel for a panel.
    pub fn pin(&self) -> &Digest {
        &self.judge.pin
    }
}

fn members(judge: &Judge) -> Vec<&Judge> {
    match judge.members.as_slice() {
        [] => vec![judge],
        members => members.iter().collect(),
    }
}

/// The prompt is the same for all arms, so that a name in it gives nothing away; it is said all the same.
fn names_in_prompt(judge: &Judge, blinder: &Blinder) -> Option<Notice> {
    let system = judge.spec.prompt.as_ref().and_then(|p| p.system.as_deref());
    let texts = [&judge.texts.rubric, &judge.texts.template];
    let texts = texts.into_iter().map(String::as_str).chain(system);
    let mut found: Vec<String> = texts.flat_map(|text| blinder.arm_names_in(text)).collect();
    found.sort();
    found.dedup();
    (!found.is_empty()).then(|| {
        let detail = format!("the prompt of `{}` says {}", judge.key(), found.join(", "));
        Notice::with("prompt_names_arm", detail)
    })
}
