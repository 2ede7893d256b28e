//! `assize judge RUN`: recorded verdicts, labels and a certificate become part of a run.

mod labelling;
mod replaced;
mod sheet;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Talk;
use super::pairs::RunPairs;
use crate::base::{Error, JudgeId, Notice, Result};
use crate::load::{self, ColumnMap, LABEL_KEYS, LabelOptions, ScaleChoice, VERDICT_KEYS};
use crate::model::calibration::Calibration;
use crate::model::label::{Label, Scale, ScaleKind};
use crate::model::verdict::{Verdict, unusable};
use crate::store::{CertificateInput, JudgeInput, PairsInput, PutJudged, RunStore};
pub(super) use labelling::Labelling;
pub(super) use replaced::{Given, say_replaced};
pub(super) use sheet::{filled, labels_of_run, nothing_labelled};
pub(super) use standing::say_certificate;

/// What is put into a run.
#[derive(Clone, Debug, Default)]
pub struct JudgeCommand {
    /// Run folder.
    pub run: PathBuf,
    /// Recorded verdicts on trials of the run.
    pub verdicts: PathBuf,
    /// Columns of the verdicts.
    pub map: Vec<String>,
    /// Only this judge; names the judge where the verdicts do not.
    pub judge: Option<String>,
    /// The judge's certificate.
    pub certificate: Option<PathBuf>,
    /// Labels of trials of the run.
    pub labels: Option<PathBuf>,
    /// Columns of the labels.
    pub map_labels: Vec<String>,
    /// `KIND` or `KIND:LEVEL,LEVEL…`; default: the certificate's, else from the answers.
    pub scale: Option<String>,
    /// The least good level.
    pub positive: Option<String>,
}

/// What was put into a run, by judge.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// Judge.
    pub judge: String,
    /// Verdicts stored.
    pub verdicts: u64,
    /// Labels stored.
    pub labels: u64,
    /// Whether a certificate stands behind it: `passed`, `refused`, `expired` (of another version of the
    /// judge), or null without one.
    pub certificate: Option<String>,
}

/// Puts recorded verdicts into a run; what was there of the same judge is replaced.
///
/// # Errors
///
/// If verdicts or labels are wrong or of no trial of this run, the certificate is of another judge, or
/// files fail; then nothing is stored of that judge.
pub fn judge(command: &JudgeCommand, talk: &mut Talk) -> Result<Vec<Judged>> {
    let map = ColumnMap::parse(&command.map, &VERDICT_KEYS, &["verdict."])?;
    let verdicts = load::verdicts(&command.verdicts, &map, command.judge.as_deref())?.verdicts;
    let certificate = command
        .certificate
        .as_deref()
        .map(load::certificate)
        .transpose()?;
    let choice = scale_choice(command, certificate.as_ref())?;
    let names = names(command, &verdicts, certificate.as_ref())?;
    if choice.kind == Some(ScaleKind::Pairwise) {
        return on_pairs(
            command,
            &names,
            &verdicts,
            &choice,
            certificate.as_ref(),
            talk,
        );
    }
    let words = verdicts
        .iter()
        .filter_map(|v| v.answer.value())
        .map(String::as_str);
    let (labels, scale) = match &command.labels {
        Some(file) => {
            let map = ColumnMap::parse(&command.map_labels, &LABEL_KEYS, &["label."])?;
            let options = LabelOptions {
                map,
                scale: choice,
                prompt: None,
            };
            let set = labels_of_run(file, &options, talk)?;
            (Some(set.labels), set.scale)
        }
        None => (None, choice.settle(words)?),
    };
    if let Some(certificate) = &certificate {
        same_scale(command, &scale, &certificate.scale)?;
    }
    let mut store = RunStore::open(&command.run)?;
    let mut done = vec![];
    for name in names {
        let own = of_judge(&verdicts, &name);
        done.push(put(
            &mut store,
            command,
            &name,
            &own,
            &scale,
            labels.as_deref(),
            certificate.as_ref(),
            talk,
        )?);
    }
    Ok(done)
}

/// Recorded verdicts on pairs of trials.
fn on_pairs(
    command: &JudgeCommand,
    names: &[String],
    verdicts: &[Verdict],
    choice: &ScaleChoice,
    certificate: Option<&Calibration>,
    talk: &mut Talk,
) -> Result<Vec<Judged>> {
    let words = verdicts.iter().filter_map(|v| v.answer.value());
    let scale = choice.settle(words.map(String::as_str))?;
    if let Some(certificate) = certificate {
        same_scale(command, &scale, &certificate.scale)?;
    }
    let mut store = RunStore::open(&command.run)?;
    let pairs = RunPairs::of(&store)?;
    let labels = match &command.labels {
        Some(file) => Some(pairs.labels(file, &command.map_labels, &scale, talk)?),
        None => None,
    };
    let mut done = vec![];
    for name in names {
        let own: Vec<Verdict> = of_judge(verdicts, name);
        let answers = pairs
            .answers(&scale, &own)
            .map_err(|error| error.in_file(&command.verdicts))?;
        let (judge, pin) = (JudgeId::new(name.as_str()), one_pin(command, name, &own)?);
        let given = command.certificate.as_deref().zip(certificate);
        say_certificate(&store, &judge, given, pin.as_deref(), talk)?;
        let replacing = labels.as_deref().map_or(Given::None, Given::Pairs);
        say_replaced(&store, &judge, pin.as_deref(), replacing, talk)?;
        let stored = store.put_pairs(&PairsInput {
            judge: &judge,
            scale: &scale,
            pin: pin.as_deref(),
            certificate: certificate_input(certificate)?,
            answers: &answers,
            labels: labels.as_deref(),
            notices: &[],
        })?;
        done.push(judged(name, stored, certificate, pin.as_deref()));
    }
    Ok(done)
}

fn of_judge(verdicts: &[Verdict], name: &str) -> Vec<Verdict> {
    let own = verdicts.iter().filter(|v| v.judge.as_str() == name);
    own.cloned().collect()
}

fn judged(
    name: &str,
    stored: PutJudged,
    certificate: Option<&Calibration>,
    pin: Option<&str>,
) -> Judged {
    let standing = |c: &Calibration| match c.pin.as_deref() == pin {
        true => c.result.result.clone(),
        false => "expired".to_owned(),
    };
    Judged {
        judge: name.to_owned(),
        verdicts: stored.verdicts,
        labels: stored.labels,
        certificate: certificate.map(standing),
    }
}

fn certificate_input(certificate: Option<&Calibration>) -> Result<CertificateInput> {
    let text = certificate
        .map(serde_json::to_string)
        .transpose()
        .map_err(|e| Error::io(e.to_string()))?;
    Ok(text.map_or(CertificateInput::Keep, CertificateInput::Set))
}

/// The pin that all verdicts of a judge carry.
fn one_pin(command: &JudgeCommand, name: &str, verdicts: &[Verdict]) -> Result<Option<String>> {
    let pins: BTreeSet<Option<String>> = verdicts
        .iter()
        .map(|v| v.pin.as_ref().map(ToString::to_string))
        .collect();
    if pins.len() > 1 {
        return Err(Error::input(format!(
            "the verdicts of `{name}` carry {} different pins",
            pins.len()
        ))
        .in_file(&command.verdicts)
        .hint("two definitions are two judges: name them apart"));
    }
    Ok(pins.into_iter().next().flatten())
}

fn scale_choice(command: &JudgeCommand, certificate: Option<&Calibration>) -> Result<ScaleChoice> {
    let declared = ScaleChoice::parse(command.scale.as_deref(), command.positive.as_deref())?;
    Ok(match certificate {
        Some(c) if command.scale.is_none() => ScaleChoice {
            kind: Some(c.scale.kind),
            levels: c.scale.levels.clone(),
            positive: declared.positive.or_else(|| c.scale.positive.clone()),
        },
        _ => declared,
    })
}

/// A certificate says nothing of another scale, and nothing of another good level.
fn same_scale(command: &JudgeCommand, found: &Scale, certified: &Scale) -> Result<()> {
    if found == certified {
        return Ok(());
    }
    let place = command.certificate.as_deref().unwrap_or(Path::new(""));
    let levels = |scale: &Scale| {
        let good = scale.positive.as_deref().unwrap_or("none");
        format!("{} (good: {good})", scale.levels.join(", "))
    };
    let problem = format!(
        "the certificate is of another scale: {}, and the verdicts are {}",
        levels(certified),
        levels(found)
    );
    Err(Error::input(problem)
        .in_file(place)
        .hint("leave out `--scale` and `--positive`, or certify the judge on this scale"))
}

/// The judges whose verdicts are stored.
fn names(
    command: &JudgeCommand,
    verdicts: &[Verdict],
    certificate: Option<&Calibration>,
) -> Result<Vec<String>> {
    let found: BTreeSet<&str> = verdicts.iter().map(|v| v.judge.as_str()).collect();
    let chosen: Vec<String> = match &command.judge {
        Some(judge) => vec![judge.clone()],
        None => found.iter().map(|n| (*n).to_owned()).collect(),
    };
    if let Some(missing) = chosen.iter().find(|n| !found.contains(n.as_str())) {
        return Err(
            Error::input(format!("judge `{missing}` has no verdict")).in_file(&command.verdicts)
        );
    }
    if let Some(c) = certificate.filter(|c| chosen.iter().any(|n| *n != c.judge)) {
        let message = format!("the certificate is of judge `{}`", c.judge);
        let place = command.certificate.as_deref().unwrap_or(Path::new(""));
        return Err(Error::input(message)
            .in_file(place)
            .hint("name the judge with `--judge`, or give its own certificate"));
    }
    Ok(chosen)
}

#[allow(clippy::too_many_arguments)] // One call; a struct would only rename the arguments.
fn put(
    store: &mut RunStore,
    command: &JudgeCommand,
    name: &str,
    verdicts: &[Verdict],
    scale: &Scale,
    labels: Option<&[Label]>,
    certificate: Option<&Calibration>,
    talk: &mut Talk,
) -> Result<Judged> {
    let judge = JudgeId::new(name);
    let pin = one_pin(command, name, verdicts)?;
    let given = command.certificate.as_deref().zip(certificate);
    say_certificate(store, &judge, given, pin.as_deref(), talk)?;
    let replacing = labels.map_or(Given::None, Given::Trials);
    say_replaced(store, &judge, pin.as_deref(), replacing, talk)?;
    let lost = lost(verdicts, scale);
    let notices: Vec<Notice> = lost.into_iter().collect();
    notices
        .iter()
        .for_each(|n| talk(&format!("{name}: {}", n.detail)));
    let stored = store.put_judged(&JudgeInput {
        judge: &judge,
        scale,
        pin: pin.clone(),
        certificate: certificate_input(certificate)?,
        verdicts: Some(verdicts),
        labels,
        notices: &notices,
    })?;
    store.put_asked(&judge, None)?;
    Ok(judged(name, stored, certificate, pin.as_deref()))
}

/// How many recorded verdicts cannot be used, and why.
fn lost(verdicts: &[Verdict], scale: &Scale) -> Option<Notice> {
    let mut causes: BTreeMap<String, u64> = BTreeMap::new();
    for reason in verdicts.iter().filter_map(|v| why_unusable(v, scale)) {
        *causes.entry(reason.to_owned()).or_default() += 1;
    }
    let detail = lost_in_words(&causes, verdicts.len() as u64)?;
    Some(Notice::with("verdicts_lost", detail))
}

/// Why a recorded verdict cannot be used; `None` where it can.
pub(super) fn why_unusable<'a>(verdict: &'a Verdict, scale: &Scale) -> Option<&'a str> {
    let off = |word: &&String| scale.code(word).is_none();
    let foreign = verdict.answer.value().filter(off);
    let reason = verdict.answer.reason();
    reason.or_else(|| foreign.map(|_| unusable::OUT_OF_SCALE))
}

/// How many of some answers of a judge cannot be used, by cause; `None` where all can.
pub(super) fn lost_in_words(causes: &BTreeMap<String, u64>, answers: u64) -> Option<String> {
    let lost: u64 = causes.values().sum();
    let causes: Vec<String> = causes.iter().map(|(why, n)| format!("{n} {why}")).collect();
    (lost > 0).then(|| {
        format!(
            "{lost} of {answers} answers of the judge cannot be used ({}); they are infrastructure of the judge, never a pass and never a failure",
            causes.join(", ")
        )
    })
}
