//! `assize judge RUN --judge FILE`: a pinned, blinded judge is asked about the trials of a run.

mod asked;
mod certificate;
mod earlier;
mod found;
mod items;
mod work;

use std::path::PathBuf;

pub use found::{LiveJudged, Pairs, Spoken};
pub use items::{Kept, judge_items};

use super::Talk;
use super::asking::{Pace, ready};
use super::judge::{Given as Replacing, labels_of_run, say_certificate, say_replaced};
use super::live::Keys;
use super::pairs::RunPairs;
use crate::base::{Error, Notice, Result, Seed};
use crate::judge::Session;
use crate::load;
use crate::model::arm::Arm;
use crate::model::calibration::Calibration;
use crate::model::judge::Judge;
use crate::model::label::{Label, LabelSet};
use crate::model::preference::PairLabel;
use crate::model::verdict::Verdict;
use crate::store::{CertificateInput, FileFolder, JudgeInput, PairsInput, Replies, RunStore};
use certificate::label_options;
use found::{begun, preferences, said};
use work::Work;
pub(super) use work::compared;

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
    let labels = labels(command, &store, &judge, talk)?;
    let given = command.certificate.as_deref().zip(examined.as_ref());
    let pin = Some(session.pin().as_str());
    say_certificate(&store, &judge.key(), given, pin, talk)?;
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
    let held = store.certificate_of(&judge.key())?.is_some();
    let certificate = work.certificate(command, examined.as_ref(), held)?;
    work.void_if_changed()?;
    work.say_injections();
    work.say_unverified();
    let before = store
        .asked()?
        .into_iter()
        .find(|(name, _)| *name == judge.key());
    let stays = certificate == CertificateInput::Keep;
    let kept = asked::asked(&session, &found, &certificate, before.map(|(_, kept)| kept));
    found.notices.extend(asked::lost(&found));
    let replacing = match (&labels.trials, &labels.pairs) {
        (Some(set), _) => Replacing::Trials(&set.labels),
        (None, Some(pairs)) => Replacing::Pairs(pairs),
        (None, None) => Replacing::None,
    };
    say_replaced(&store, &judge.key(), pin, replacing, talk)?;
    if judge.is_pairwise() {
        let own = session.verdicts(&verdicts);
        let (pairs, stored) = put_pairs(
            &mut store,
            labels.pairs.as_deref(),
            &own,
            certificate,
            (&judge, &found.notices),
        )?;
        (found.pairs, found.verdicts) = (Some(pairs), stored);
    } else {
        let own = session.verdicts(&verdicts);
        found.verdicts = put(
            &mut store,
            (&own, labels.trials.as_ref().map(|set| &set.labels[..])),
            certificate,
            (&judge, &found.notices),
        )?;
    }
    store.put_asked(&judge.key(), Some(&kept))?;
    let name = format!("{}.json", judge.key());
    let folder = FileFolder::create(&folder)?;
    let page = serde_json::to_value(&found).map_err(|e| Error::io(e.to_string()))?;
    let (page, earlier) = earlier::with(page, folder.read(&name).as_deref(), stays);
    let text = serde_json::to_string_pretty(&page).map_err(|e| Error::io(e.to_string()))?;
    folder.write(&name, |out| writeln!(out, "{text}"))?;
    talk(&said(&found, &folder.path().join(&name)));
    if !earlier.is_empty() {
        talk(&format!(
            "{name}: {} stay those of an earlier call",
            earlier.join(", ")
        ));
    }
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

/// Labels of the run, read before anybody is asked: a sheet that nobody filled costs nothing.
#[derive(Default)]
struct Given {
    trials: Option<LabelSet>,
    pairs: Option<Vec<PairLabel>>,
}

fn labels(
    command: &LiveJudgeCommand,
    store: &RunStore,
    judge: &Judge,
    talk: &mut Talk,
) -> Result<Given> {
    let Some(file) = &command.labels else {
        return Ok(Given::default());
    };
    Ok(match judge.is_pairwise() {
        true => Given {
            pairs: Some(RunPairs::of(store)?.labels(file, &[], &judge.scale, talk)?),
            trials: None,
        },
        false => Given {
            trials: Some(labels_of_run(file, &label_options(judge)?, talk)?),
            pairs: None,
        },
    })
}

/// Stores what was said of pairs, and counts it.
fn put_pairs(
    store: &mut RunStore,
    labels: Option<&[PairLabel]>,
    verdicts: &[Verdict],
    certificate: CertificateInput,
    (judge, notices): (&Judge, &[Notice]),
) -> Result<(Pairs, u64)> {
    let answers = RunPairs::of(store)?.answers(&judge.scale, verdicts)?;
    let stored = store.put_pairs(&PairsInput {
        judge: &judge.key(),
        scale: &judge.scale,
        pin: Some(judge.pin.as_str()),
        certificate,
        answers: &answers,
        labels,
        notices,
    })?;
    Ok((preferences(&store.plan(), &answers), stored.verdicts))
}

fn put(
    store: &mut RunStore,
    (verdicts, labels): (&[Verdict], Option<&[Label]>),
    certificate: CertificateInput,
    (judge, notices): (&Judge, &[Notice]),
) -> Result<u64> {
    let stored = store.put_judged(&JudgeInput {
        judge: &judge.key(),
        scale: &judge.scale,
        pin: Some(judge.pin.to_string()),
        certificate,
        verdicts: Some(verdicts),
        labels,
        notices,
    })?;
    Ok(stored.verdicts)
}
