//! `assize judge RUN --judge FILE`: a pinned, blinded judge is asked about the trials of a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Talk;
use super::asking::{Asked, Pace, Tally, ask, ready, say};
use super::live::Keys;
use crate::base::{ArmId, Error, ItemId, JudgeId, Notice, Observation, Result, Seed};
use crate::judge::audit::{self, GuessTest, Guessed, Suspect, guess_test};
use crate::judge::canary::{self, CanaryResult, Rejudged};
use crate::judge::pairwise::{PositionEffect, both_orders};
use crate::judge::view::view;
use crate::judge::{Item, JudgeRequest, Session, Side};
use crate::load::{self, ColumnMap, LABEL_KEYS, LabelOptions, LabelledItem, ScaleChoice};
use crate::model::arm::Arm;
use crate::model::calibration::Calibration;
use crate::model::chat::{ChatRequest, TrialKey};
use crate::model::judge::Judge;
use crate::model::label::LabelSet;
use crate::model::plan::Plan;
use crate::model::suite::Suite;
use crate::model::verdict::{Order, Verdict};
use crate::stats::Level;
use crate::store::{CertificateInput, FileFolder, JudgeInput, Replies, RunStore, StoredTrial};

/// Trials that are read and judged at a time.
const BATCH: usize = 256;
/// Labelled items that are judged again in a run.
const CANARIES: usize = 20;
/// Trials of an arm of which the judge guesses whose they are.
const GUESSES: usize = 100;
/// Injection attempts that are listed.
const LISTED: usize = 50;

/// How a run is judged.
#[derive(Clone, Debug)]
pub struct LiveJudgeCommand {
    /// Run folder.
    pub run: PathBuf,
    /// The judge's file.
    pub judge: PathBuf,
    /// Its certificate.
    pub certificate: Option<PathBuf>,
    /// Labels of the set on which it was certified, with `items.jsonl` beside them; some are judged again.
    pub canary: Option<PathBuf>,
    /// Labels of trials of the run.
    pub labels: Option<PathBuf>,
    /// How fast, and for how much, it is asked.
    pub pace: Pace,
    /// Whether the judge may be a model under test.
    pub force_own: bool,
    /// Whether the judge is asked whom it judges.
    pub audit: bool,
}

/// What judging a run showed; kept as `judging/JUDGE.json` in the run folder.
#[derive(Clone, Debug, Serialize)]
pub struct LiveJudged {
    /// Judge, as `id@version`.
    pub judge: JudgeId,
    /// Its pin.
    pub pin: String,
    /// Verdicts that were stored.
    pub verdicts: u64,
    /// What asking cost and what went wrong.
    pub asking: Tally,
    /// Names and ids that were hidden, by arm and name.
    pub hidden: BTreeMap<String, BTreeMap<String, u64>>,
    /// Texts of agents that speak to the judge.
    pub injections: Vec<Spoken>,
    /// How many there were.
    pub injections_in_all: u64,
    /// Preferences of a pairwise judge.
    pub pairs: Option<Pairs>,
    /// The canary: whether the certificate holds for this run.
    pub canary: Option<CanaryResult>,
    /// The audit of blinding.
    pub audit: Option<GuessTest>,
    /// What a reader should know.
    pub notices: Vec<Notice>,
}

/// A text of an agent that speaks to the judge.
#[derive(Clone, Debug, Serialize)]
pub struct Spoken {
    /// The item that holds it.
    pub item: ItemId,
    /// Event.
    pub event: Option<u64>,
    /// What it does.
    pub kind: String,
    /// The blinded text around it.
    pub excerpt: String,
}

/// Preferences over pairs of trials; an answer that flips with the order is a tie.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pairs {
    /// Baseline: output A.
    pub a: String,
    /// Candidate: output B.
    pub b: String,
    /// Pairs that A won.
    pub a_wins: u64,
    /// Pairs that B won.
    pub b_wins: u64,
    /// Ties.
    pub ties: u64,
    /// Pairs without a usable verdict.
    pub unusable: u64,
    /// Ties because whichever came first won.
    pub first_won: u64,
    /// Ties because whichever came second won.
    pub second_won: u64,
}

impl Pairs {
    /// The preferences in a sentence; nothing is decided by them.
    fn notice(&self) -> Notice {
        let text = format!(
            "{} preferred in {} pairs, {} in {}, {} ties (of these {} went to whichever came first, {} to whichever came second), {} without a usable verdict; preferences are shown and decide nothing",
            self.a,
            self.a_wins,
            self.b,
            self.b_wins,
            self.ties,
            self.first_won,
            self.second_won,
            self.unusable
        );
        Notice::with("preferences", text)
    }
}

/// Judges the trials of a run.
///
/// # Errors
///
/// If the judge's file is wrong, it is a model under test, may not see the data, has no key, or files
/// fail.
pub fn judge(command: &LiveJudgeCommand, keys: &Keys, talk: &mut Talk) -> Result<LiveJudged> {
    let judge = load::judge(&command.judge)?;
    let mut store = RunStore::open(&command.run)?;
    let plan = store.plan();
    let suite = store.suite()?;
    let session = session(
        &judge,
        &super::arms_of_run(&store)?,
        plan.body.seed,
        command.force_own,
    )?;
    session.refuse_data(suite.spec.data)?;
    let examined = examined(command, &session)?;
    let asked = ready(&session, command.pace, keys)?;
    let folder = store.dir().join("judging");
    let mut replies = Replies::open(&folder.join("replies.jsonl"))?;
    let mut found = begun(&session);
    let mut work = Work {
        session: &session,
        asked: &asked,
        replies: &mut replies,
        found: &mut found,
    };
    let verdicts = match judge.is_pairwise() {
        true => work.pairs(&store, &plan, &suite)?,
        false => work.trials(&store, &suite)?,
    };
    if command.audit {
        work.audit(&store, &plan, &suite)?;
    }
    let certificate = work.certificate(command, examined.as_ref())?;
    work.say_injections();
    if judge.is_pairwise() {
        let pairs = preferences(&judge, &plan, &verdicts);
        found.notices.push(pairs.notice());
        found.pairs = Some(pairs);
        store.put_judge_notices(&judge.key(), &found.notices)?;
    } else {
        let own = session.verdicts(&verdicts);
        found.verdicts = put(
            &mut store,
            command,
            &own,
            certificate,
            (&judge, &found.notices),
        )?;
    }
    let name = format!("{}.json", judge.key());
    let text = serde_json::to_string_pretty(&found).map_err(|e| Error::io(e.to_string()))?;
    FileFolder::create(&folder)?.write(&name, |out| writeln!(out, "{text}"))?;
    talk(&said(&found, &folder.join(name)));
    Ok(found)
}

fn session(judge: &Judge, arms: &[Arm], seed: Seed, forced: bool) -> Result<Session> {
    match forced {
        true => Session::forced(judge, arms, seed),
        false => Session::new(judge, arms, seed),
    }
}

/// The certificate, before anybody is asked: it must be of this very judge.
fn examined(command: &LiveJudgeCommand, session: &Session) -> Result<Option<Calibration>> {
    let Some(file) = &command.certificate else {
        return Ok(None);
    };
    let certificate = load::certificate(file)?;
    let pin = session.pin().as_str();
    if certificate.pin.as_deref().is_some_and(|p| p != pin) {
        return Err(Error::input("the certificate is of another version of this judge: the pins differ")
            .in_file(file)
            .hint("any change of the judge's file makes another judge: certify it again with `assize calibrate`"));
    }
    Ok(Some(certificate))
}

fn begun(session: &Session) -> LiveJudged {
    LiveJudged {
        judge: session.judge().key(),
        pin: session.pin().to_string(),
        verdicts: 0,
        asking: Tally::default(),
        hidden: BTreeMap::new(),
        injections: vec![],
        injections_in_all: 0,
        pairs: None,
        canary: None,
        audit: None,
        notices: session.notices().to_vec(),
    }
}

/// A judge at work on a run.
struct Work<'a> {
    session: &'a Session,
    asked: &'a Asked,
    replies: &'a mut Replies,
    found: &'a mut LiveJudged,
}

impl Work<'_> {
    fn ask(&mut self, requests: &[JudgeRequest]) -> Result<Vec<Verdict>> {
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

    fn note(&mut self, request: &JudgeRequest) {
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

    fn trials(&mut self, store: &RunStore, suite: &Suite) -> Result<Vec<Verdict>> {
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
    fn pairs(&mut self, store: &RunStore, plan: &Plan, suite: &Suite) -> Result<Vec<Verdict>> {
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
    fn audit(&mut self, store: &RunStore, plan: &Plan, suite: &Suite) -> Result<()> {
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
        let mut questions = Vec::new();
        for arm in &plan.body.arms {
            for task in suite.tasks.iter().take(GUESSES) {
                let Some(stored) = store.trial(&arm.id, &task.id, 0)? else {
                    continue;
                };
                let Some(shown) = side(&stored) else { continue };
                let seen = view(parts, shown.trace, task);
                let blinded = self.session.blinder().blind(seen, &shown.trial.id);
                let id = shown.trial.id.as_str();
                let request = audit::request(&blinded.view, &suspects, plan.body.seed, id);
                questions.push((arm.id.clone(), request));
            }
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

    /// What becomes of the run's certificate: it holds while the model that answers is the pinned one and
    /// the canary shows no shift.
    fn certificate(
        &mut self,
        command: &LiveJudgeCommand,
        examined: Option<&Calibration>,
    ) -> Result<CertificateInput> {
        if self.found.asking.drift {
            self.say("model_drift", "a reply came from another model than the pinned one: no certificate holds for this run");
            return Ok(CertificateInput::Withdraw);
        }
        let (Some(file), Some(certificate)) = (&command.certificate, examined) else {
            return Ok(CertificateInput::Keep);
        };
        match &command.canary {
            None => {
                self.say(
                    "canary_missing",
                    "no labelled items were judged again, so nobody knows whether the judge still is the one that was examined: the certificate does not hold for this run; name its labels with `--canary`",
                );
                return Ok(CertificateInput::Withdraw);
            }
            Some(labels) => {
                self.same_labels(labels, certificate)?;
                let result = self.canary(labels, &file.with_file_name("verdicts.jsonl"))?;
                let notice = result.notice();
                let invalid = result.invalid.is_some();
                self.found.canary = Some(result);
                self.found.notices.extend(notice);
                if invalid {
                    return Ok(CertificateInput::Withdraw);
                }
            }
        }
        let text = serde_json::to_string(certificate).map_err(|e| Error::io(e.to_string()))?;
        Ok(CertificateInput::Set(text))
    }

    /// A canary of other labels than those behind the certificate says nothing about it.
    fn same_labels(&self, labels: &Path, certificate: &Calibration) -> Result<()> {
        let set = read_labels(labels, self.session.judge())?;
        if set.digest.as_str() == certificate.labels.digest {
            return Ok(());
        }
        Err(
            Error::input("these are not the labels on which the judge was certified")
                .in_file(labels)
                .hint("give `--canary` the labels of the certificate, unchanged"),
        )
    }

    fn say_injections(&mut self) {
        let texts = self.found.injections_in_all;
        if texts > 0 {
            let text = format!(
                "suspected injection: {texts} texts of agents speak to the judge; the file of the judge in `judging` lists them"
            );
            self.say("injection_suspected", &text);
        }
    }

    fn say(&mut self, code: &str, text: &str) {
        self.found.notices.push(Notice::with(code, text));
    }

    /// Judges some of the labelled items again.
    fn canary(&mut self, labels: &Path, then: &Path) -> Result<CanaryResult> {
        let judge = self.session.judge();
        let set = read_labels(labels, judge)?;
        let map = ColumnMap::parse(&[], &load::VERDICT_KEYS, &["verdict."])?;
        let before = load::verdicts(then, &map, None)?.verdicts;
        let code = |answer: &Observation<String>| {
            let level = answer.value()?;
            let at = judge.scale.levels.iter().position(|l| l == level)?;
            u32::try_from(at).ok()
        };
        let first = |v: &&Verdict| v.repeat == 0;
        let before: BTreeMap<ItemId, u32> = before
            .iter()
            .filter(first)
            .filter_map(|v| Some((v.item.clone(), code(&v.answer)?)))
            .collect();
        let truth: BTreeMap<ItemId, u32> = set
            .labels
            .iter()
            .filter(|l| before.contains_key(&l.item))
            .map(|l| (l.item.clone(), l.answer))
            .collect();
        let drawn = canary::draw(&truth, CANARIES, Seed(0));
        let items = load::items(&labels.with_file_name("items.jsonl"))?;
        let chosen: Vec<&LabelledItem> = items.iter().filter(|i| drawn.contains(&i.id)).collect();
        // What is judged again must not come out of what was kept.
        let mut fresh = Replies::default();
        let mut tally = Tally::default();
        let requests = of_items(self.session, &chosen)?;
        let verdicts = ask(self.session, self.asked, &requests, &mut fresh, &mut tally)?;
        let now = self.session.verdicts(&verdicts);
        let rejudged: Vec<Rejudged> = now
            .iter()
            .filter(first)
            .filter_map(|v| {
                Some(Rejudged {
                    label: *truth.get(&v.item)?,
                    then: *before.get(&v.item)?,
                    now: match code(&v.answer) {
                        Some(code) => Observation::Value(code),
                        None => {
                            Observation::Missing(v.answer.reason().unwrap_or("missing").to_owned())
                        }
                    },
                })
            })
            .collect();
        Ok(canary::examine(&judge.scale, &rejudged))
    }
}

/// Asks a judge about the items of a labelled set; the verdicts with what asking cost.
///
/// # Errors
///
/// If items and judge do not fit, or files fail.
pub fn judge_items(
    judge: &Judge,
    items: &Path,
    kept: &Path,
    pace: Pace,
    keys: &Keys,
) -> Result<(Vec<Verdict>, Tally)> {
    let session = Session::new(judge, &[], Seed(0))?;
    let asked = ready(&session, pace, keys)?;
    let items = load::items(items)?;
    let all: Vec<&LabelledItem> = items.iter().collect();
    let requests = of_items(&session, &all)?;
    let mut replies = Replies::open(kept)?;
    let mut tally = Tally::default();
    let verdicts = ask(&session, &asked, &requests, &mut replies, &mut tally)?;
    Ok((session.verdicts(&verdicts), tally))
}

fn of_items(session: &Session, items: &[&LabelledItem]) -> Result<Vec<JudgeRequest>> {
    let mut requests = Vec::new();
    for item in items {
        let outputs: Vec<&str> = item.outputs.iter().map(String::as_str).collect();
        requests.extend(session.item_requests(&Item {
            id: &item.id,
            input: item.input.as_deref(),
            outputs: &outputs,
            arm: item.arm.as_ref(),
            task: item.task.as_ref(),
            trial: item.trial,
        })?);
    }
    Ok(requests)
}

fn read_labels(labels: &Path, judge: &Judge) -> Result<LabelSet> {
    let options = LabelOptions {
        map: ColumnMap::parse(&[], &LABEL_KEYS, &["label."])?,
        scale: ScaleChoice {
            kind: Some(judge.scale.kind),
            levels: judge.scale.levels.clone(),
            positive: judge.scale.positive.clone(),
        },
        prompt: None,
    };
    load::labels(labels, &options)
}

fn side(stored: &StoredTrial) -> Option<Side<'_>> {
    let trace = stored.trace.as_ref()?;
    let trial = &stored.trial;
    trial.status.is_valid().then_some(Side { trial, trace })
}

fn compared(plan: &Plan) -> Result<[ArmId; 2]> {
    let decision = plan.body.analysis.decision.as_ref();
    let roles = decision.and_then(|d| d.baseline.clone().zip(d.candidate.clone()));
    roles.map(|(a, b)| [a, b]).ok_or_else(|| {
        Error::input(
            "a pairwise judge compares two arms, and the plan names no baseline and candidate",
        )
    })
}

fn chat(messages: &[crate::model::chat::Message]) -> ChatRequest {
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

fn preferences(judge: &Judge, plan: &Plan, verdicts: &[Verdict]) -> Pairs {
    let mut pairs = Pairs::default();
    if let Ok([a, b]) = compared(plan) {
        (pairs.a, pairs.b) = (a.to_string(), b.to_string());
    }
    for pair in both_orders(&judge.scale, verdicts) {
        let at = pair
            .verdict
            .answer
            .value()
            .and_then(|answer| judge.scale.levels.iter().position(|l| l == answer));
        match at {
            Some(0) => pairs.a_wins += 1,
            Some(1) => pairs.b_wins += 1,
            Some(_) => pairs.ties += 1,
            None => pairs.unusable += 1,
        }
        match pair.effect {
            Some(PositionEffect::First) => pairs.first_won += 1,
            Some(PositionEffect::Second) => pairs.second_won += 1,
            _ => {}
        }
    }
    pairs
}

fn put(
    store: &mut RunStore,
    command: &LiveJudgeCommand,
    verdicts: &[Verdict],
    certificate: CertificateInput,
    (judge, notices): (&Judge, &[Notice]),
) -> Result<u64> {
    let labels = match &command.labels {
        Some(file) => Some(read_labels(file, judge)?.labels),
        None => None,
    };
    let stored = store.put_judged(&JudgeInput {
        judge: &judge.key(),
        scale: &judge.scale,
        pin: Some(judge.pin.to_string()),
        certificate,
        verdicts: Some(verdicts),
        labels: labels.as_deref(),
        notices,
    })?;
    Ok(stored.verdicts)
}

fn said(found: &LiveJudged, file: &Path) -> String {
    let asking = &found.asking;
    let unusable: u64 = asking.unusable.values().sum();
    let mut text = format!(
        "{}: {} questions, {} kept from before, {} calls, {unusable} unusable answers, {} texts that speak to the judge; see {}",
        found.judge,
        asking.questions,
        asking.kept,
        asking.calls,
        found.injections_in_all,
        file.display()
    );
    for notice in &found.notices {
        text.push_str(&format!("\n{}: {}", notice.code, notice.detail));
    }
    text
}
