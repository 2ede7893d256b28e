//! A judge at work on the trials of a run.

use super::found::{LiveJudged, Spoken};
use crate::app::asking::{Asked, ask, say};
use crate::base::{ArmId, Error, Notice, Result};
use crate::judge::audit::{self, Guessed, Suspect, guess_test};
use crate::judge::canary;
use crate::judge::view::view;
use crate::judge::{JudgeRequest, Session, Side};
use crate::model::chat::{ChatRequest, TrialKey};
use crate::model::plan::Plan;
use crate::model::suite::Suite;
use crate::model::verdict::{Order, Verdict};
use crate::stats::Level;
use crate::store::{Replies, RunStore, StoredTrial};

/// Trials that are read and judged at a time.
const BATCH: usize = 256;
/// Trials of an arm of which the judge guesses whose they are.
const GUESSES: usize = 100;
/// Injection attempts that are listed.
const LISTED: usize = 50;

/// A judge at work on a run.
pub(super) struct Work<'a> {
    pub(super) session: &'a Session,
    pub(super) asked: &'a Asked,
    pub(super) replies: &'a mut Replies,
    pub(super) found: &'a mut LiveJudged,
}

impl Work<'_> {
    pub(super) fn ask(&mut self, requests: &[JudgeRequest]) -> Result<Vec<Verdict>> {
        // Repeats and the other order show the same.
        let first = |r: &&JudgeRequest| r.repeat() == 0 && r.order() != Some(Order::BFirst);
        for request in requests.iter().filter(first) {
            self.note(request);
        }
        ask(
            self.session,
            self.asked,
            requests,
            self.replies,
            &mut self.found.asking,
        )
    }

    pub(super) fn note(&mut self, request: &JudgeRequest) {
        for hidden in request.hidden() {
            let arm = hidden.arm.as_ref().map_or("", ArmId::as_str).to_owned();
            let names = self.found.hidden.entry(arm).or_default();
            for edit in &hidden.edits {
                let name = edit.name.clone().unwrap_or_else(|| "(id)".to_owned());
                *names.entry(name).or_default() += 1;
            }
        }
        for injection in request.injections() {
            self.found.injections_in_all += 1;
            if self.found.injections.len() < LISTED {
                self.found.injections.push(Spoken {
                    item: request.item().clone(),
                    event: injection.event,
                    kind: injection.kind.name().to_owned(),
                    excerpt: injection.excerpt.clone(),
                });
            }
        }
    }

    pub(super) fn trials(&mut self, store: &RunStore, suite: &Suite) -> Result<Vec<Verdict>> {
        let mut verdicts = Vec::new();
        // Imported trials are stored arm by arm; the order of asking must not say whose turn it is.
        let mut rows = store.rows()?;
        let seed = store.plan().body.seed.child("judge/order");
        seed.stream().shuffle(&mut rows);
        for batch in rows.chunks(BATCH) {
            let mut requests = Vec::new();
            for row in batch {
                let stored = store.trials_after(row - 1, 1)?.pop();
                let Some(stored) = stored.filter(|s| s.trial.status.is_valid()) else {
                    continue;
                };
                if let (Some(trace), Some(task)) = (&stored.trace, suite.task(&stored.trial.task)) {
                    requests.extend(self.session.requests(&stored.trial, trace, task)?);
                }
            }
            verdicts.extend(self.ask(&requests)?);
        }
        Ok(verdicts)
    }

    /// Trials of the two compared arms with the same number are pairs.
    pub(super) fn pairs(
        &mut self,
        store: &RunStore,
        plan: &Plan,
        suite: &Suite,
    ) -> Result<Vec<Verdict>> {
        let [a, b] = compared(plan)?;
        let mut verdicts = Vec::new();
        for task in &suite.tasks {
            let trials = plan.body.arms.iter().map(|arm| arm.trials).max();
            let mut requests = Vec::new();
            for index in 0..trials.unwrap_or(0) {
                let of = |arm: &ArmId| store.trial(arm, &task.id, index);
                let (Some(first), Some(second)) = (of(&a)?, of(&b)?) else {
                    continue;
                };
                if let (Some(first), Some(second)) = (side(&first), side(&second)) {
                    requests.extend(self.session.pair_requests(first, second, task)?);
                }
            }
            verdicts.extend(self.ask(&requests)?);
        }
        Ok(verdicts)
    }

    /// Lets the judge guess whose trial it sees: one trial per task and arm.
    pub(super) fn audit(&mut self, store: &RunStore, plan: &Plan, suite: &Suite) -> Result<()> {
        let suspects: Vec<Suspect> = plan
            .body
            .arms
            .iter()
            .map(|arm| Suspect {
                arm: arm.id.clone(),
                model: arm.model.clone(),
            })
            .collect();
        let parts = &self.session.asked()[0].spec.view;
        let mut shown = Vec::new();
        for arm in &plan.body.arms {
            for task in suite.tasks.iter().take(GUESSES) {
                shown.push((arm.id.clone(), task));
            }
        }
        // Arm by arm, the order of asking would say what the judge is to guess.
        let order = plan.body.seed.child("judge/audit");
        order.stream().shuffle(&mut shown);
        let mut questions = Vec::new();
        for (arm, task) in shown {
            let Some(stored) = store.trial(&arm, &task.id, 0)? else {
                continue;
            };
            let Some(side) = side(&stored) else { continue };
            let seen = view(parts, side.trace, task);
            let blinded = self.session.blinder().blind(seen, &side.trial.id);
            let id = side.trial.id.as_str();
            let request = audit::request(&blinded.view, &suspects, plan.body.seed, id);
            questions.push((arm, request));
        }
        let chats: Vec<ChatRequest> = questions.iter().map(|(_, q)| chat(&q.messages)).collect();
        let replies = say(self.asked, &chats)?;
        let guesses: Vec<Guessed> = questions
            .iter()
            .zip(replies)
            .filter_map(|((arm, question), reply)| {
                let guess = audit::read(question, &reply?).value()?.clone();
                Some(Guessed {
                    arm: arm.clone(),
                    guess,
                })
            })
            .collect();
        let test = guess_test(&guesses, Level::new(0.95)?);
        self.found.notices.extend(test.notice());
        self.found.audit = Some(test);
        Ok(())
    }

    pub(super) fn say_injections(&mut self) {
        let texts = self.found.injections_in_all;
        if texts > 0 {
            let text = format!(
                "suspected injection: {texts} texts of agents speak to the judge; the file of the judge in `judging` lists them"
            );
            self.say("injection_suspected", &text);
        }
    }

    /// What a judge answered in this execution is asked again if another model answered, or if the canary
    /// says that it is not the judge that was examined: else the next execution would take it for its own.
    pub(super) fn void_if_changed(&mut self) -> Result<()> {
        let canary = self.found.canary.as_ref();
        let shifted = canary.is_some_and(|c| c.invalid.as_deref() == Some(canary::SHIFT));
        let why = match (self.found.asking.drift, shifted) {
            (true, _) => "model_drift",
            (false, true) => canary::SHIFT,
            (false, false) => return Ok(()),
        };
        self.replies.void(why)?;
        let text = "what it answered in this execution is not kept: the next one asks again";
        self.say("answers_void", text);
        Ok(())
    }

    /// A reply that names no model may be anybody's.
    pub(super) fn say_unverified(&mut self) {
        if let Some(text) = self.found.asking.unverified() {
            self.say("model_unverified", &text);
        }
    }

    pub(super) fn say(&mut self, code: &str, text: &str) {
        self.found.notices.push(Notice::with(code, text));
    }
}

pub(super) fn side(stored: &StoredTrial) -> Option<Side<'_>> {
    let trace = stored.trace.as_ref()?;
    let trial = &stored.trial;
    trial.status.is_valid().then_some(Side { trial, trace })
}

pub(in crate::app) fn compared(plan: &Plan) -> Result<[ArmId; 2]> {
    let decision = plan.body.analysis.decision.as_ref();
    let roles = decision.and_then(|d| d.baseline.clone().zip(d.candidate.clone()));
    roles.map(|(a, b)| [a, b]).ok_or_else(|| {
        Error::input(
            "a pairwise judge compares two arms, and the plan names no baseline and candidate",
        )
    })
}

pub(super) fn chat(messages: &[crate::model::chat::Message]) -> ChatRequest {
    ChatRequest {
        messages: messages.to_vec(),
        tools: vec![],
        trial: TrialKey {
            task: "audit".to_owned(),
            index: 0,
            id: "audit".to_owned(),
            seed: 0,
        },
        turn: 1,
        waits: Default::default(),
    }
}
