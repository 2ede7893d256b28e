//! `assize calibrate`: a judge examined by recorded verdicts; no model is called.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Talk;
use crate::base::{Digest, Error, Result, Seed};
use crate::calibrate::{
    Examination, Joined, Measuring, OtherRule, SplitChoice, against, certify, join, panel,
};
use crate::load::{self, ColumnMap, LABEL_KEYS, LabelOptions, ScaleChoice, VERDICT_KEYS};
use crate::model::calibration::Calibration;
use crate::model::label::LabelSet;
use crate::model::verdict::{Verdict, VerdictSet};
use crate::report::calibration as report;
use crate::stats::Level;
use crate::store::{FileFolder, note_look};

/// How a judge is examined.
#[derive(Clone, Debug)]
pub struct CalibrateCommand {
    /// Labels of people.
    pub labels: PathBuf,
    /// Recorded verdicts.
    pub verdicts: PathBuf,
    /// Columns of the verdicts, as `KEY=COLUMN`.
    pub map: Vec<String>,
    /// Columns of the labels, as `KEY=COLUMN`.
    pub map_labels: Vec<String>,
    /// Only this judge; names the judge where the verdicts do not.
    pub judge: Option<String>,
    /// Judges that are examined as one.
    pub panel: Vec<String>,
    /// `KIND` or `KIND:LEVEL,LEVEL…`.
    pub scale: Option<String>,
    /// The least good level.
    pub positive: Option<String>,
    /// Which part of the labels.
    pub split: SplitChoice,
    /// Thresholds by name.
    pub thresholds: BTreeMap<String, f64>,
    /// Other rules for unusable verdicts.
    pub unparsable: Vec<OtherRule>,
    /// Another version: a file of verdicts, or a judge of the same file.
    pub against: Option<String>,
    /// The judge's prompt, whose examples must not be among the items.
    pub prompt: Option<PathBuf>,
    /// Price of people in the alternative annotator test.
    pub epsilon: f64,
    /// Level, replicates and seed.
    pub level: f64,
    /// Bootstrap replicates.
    pub replicates: u32,
    /// Root of all randomness.
    pub seed: u64,
    /// Folder for the certificates; default: `certificates` beside the labels.
    pub out: Option<PathBuf>,
}

/// What `calibrate` did: one certificate per judge.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// Certificates with the folders that hold them.
    pub certificates: Vec<(Calibration, PathBuf)>,
}

impl Calibrated {
    /// Whether every judge passed.
    pub fn passed(&self) -> bool {
        self.certificates.iter().all(|(c, _)| c.result.passed())
    }
}

/// Examines every judge of a file of verdicts, or the chosen one, and writes its certificate as
/// `calibration.json`, `calibration.md` and `calibration.csv`.
///
/// # Errors
///
/// If labels or verdicts are wrong (every problem at once), a chosen judge has no verdict, or files fail.
pub fn calibrate(command: &CalibrateCommand, talk: &mut Talk) -> Result<Calibrated> {
    let labels = read_labels(command)?;
    let verdicts = read_verdicts(command, &command.verdicts)?;
    let judges = chosen(command, &labels, &verdicts)?;
    let out = command
        .out
        .clone()
        .unwrap_or_else(|| beside(&command.labels));
    let alone = judges.len() == 1;
    let mut certificates = vec![];
    for (judge, own) in &judges {
        let folder = if alone {
            out.clone()
        } else {
            out.join(folder_name(judge))
        };
        let certificate = examine(command, &labels, judge, own, &verdicts)?;
        write(&certificate, &folder)?;
        talk(&format!("certificate of {judge} in {}", folder.display()));
        certificates.push((certificate, folder));
    }
    Ok(Calibrated { certificates })
}

pub(super) fn read_labels(command: &CalibrateCommand) -> Result<LabelSet> {
    let options = LabelOptions {
        map: ColumnMap::parse(&command.map_labels, &LABEL_KEYS, &["label."])?,
        scale: ScaleChoice::parse(command.scale.as_deref(), command.positive.as_deref())?,
        prompt: command.prompt.clone(),
    };
    load::labels(&command.labels, &options)
}

fn read_verdicts(command: &CalibrateCommand, file: &Path) -> Result<VerdictSet> {
    let map = ColumnMap::parse(&command.map, &VERDICT_KEYS, &["verdict."])?;
    load::verdicts(file, &map, command.judge.as_deref())
}

fn beside(labels: &Path) -> PathBuf {
    labels.with_file_name("certificates")
}

/// A judge's name as that of a folder; names that differ only in what a folder cannot hold get a digest.
fn folder_name(judge: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    let name: String = judge
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect();
    if name == judge && !name.starts_with('.') {
        return name;
    }
    format!(
        "{}-{}",
        name.trim_start_matches('.'),
        Digest::of_bytes(judge.as_bytes()).short()
    )
}

/// The judges to examine, each with its verdicts.
fn chosen(
    command: &CalibrateCommand,
    labels: &LabelSet,
    verdicts: &VerdictSet,
) -> Result<Vec<(String, Vec<Verdict>)>> {
    if !command.panel.is_empty() {
        let own = panel(&command.panel, &verdicts.verdicts, &labels.scale)?;
        let name = own.first().map(|v| v.judge.to_string()).unwrap_or_default();
        return Ok(vec![(name, own)]);
    }
    let names: BTreeSet<&str> = verdicts.verdicts.iter().map(|v| v.judge.as_str()).collect();
    let wanted: Vec<&str> = match &command.judge {
        Some(judge) if names.contains(judge.as_str()) => vec![judge.as_str()],
        Some(judge) => {
            let known: Vec<&str> = names.into_iter().collect();
            return Err(Error::input(format!("judge `{judge}` has no verdict"))
                .in_file(&command.verdicts)
                .hint(format!("judges in the file: {}", known.join(", "))));
        }
        None => names.into_iter().collect(),
    };
    Ok(wanted
        .into_iter()
        .map(|name| (name.to_owned(), of_judge(verdicts, name)))
        .collect())
}

fn of_judge(verdicts: &VerdictSet, judge: &str) -> Vec<Verdict> {
    verdicts
        .verdicts
        .iter()
        .filter(|v| v.judge.as_str() == judge)
        .cloned()
        .collect()
}

fn examine(
    command: &CalibrateCommand,
    labels: &LabelSet,
    judge: &str,
    verdicts: &[Verdict],
    all: &VerdictSet,
) -> Result<Calibration> {
    let joined = join(labels, verdicts, command.split)?;
    let digest = load::verdicts_digest(verdicts).to_string();
    let level = Level::new(command.level)?;
    let measuring = Measuring {
        level,
        replicates: command.replicates,
        seed: Seed(command.seed),
    };
    let exam = Examination {
        judge: judge.to_owned(),
        pin: pin(judge, verdicts)?,
        thresholds: command.thresholds.clone(),
        unparsable: command.unparsable.clone(),
        epsilon: command.epsilon,
        measuring,
    };
    let mut certificate = certify(labels, &joined, &digest, verdicts.len(), &exam)?;
    // Labels without a split certify too, so that each look at them counts as one at the test part.
    if joined.split != "dev" {
        let look = note_look(&command.labels, judge, &digest, labels.digest.as_str())?;
        (certificate.labels.look, certificate.labels.looks) = (Some(look.this), Some(look.all));
    }
    if let Some(other) = &command.against {
        let (name, old) = other_version(command, judge, other, all)?;
        let joined_old: Joined = join(labels, &old, command.split)?;
        let digest = load::verdicts_digest(&old);
        let found = against(&joined_old, &joined, &name, digest.as_str(), measuring)?;
        certificate.against = Some(found);
    }
    Ok(certificate)
}

/// The one pin of a judge's verdicts.
fn pin(judge: &str, verdicts: &[Verdict]) -> Result<Option<String>> {
    let pins: BTreeSet<Option<&Digest>> = verdicts.iter().map(|v| v.pin.as_ref()).collect();
    if pins.len() > 1 {
        return Err(Error::input(format!(
            "the verdicts of `{judge}` carry {} different pins",
            pins.len()
        ))
        .hint("two definitions are two judges: name them apart"));
    }
    Ok(pins.into_iter().next().flatten().map(ToString::to_string))
}

/// The verdicts of the other version: a judge of the same file, or those of another file.
fn other_version(
    command: &CalibrateCommand,
    judge: &str,
    other: &str,
    all: &VerdictSet,
) -> Result<(String, Vec<Verdict>)> {
    let here = of_judge(all, other);
    if !here.is_empty() {
        return Ok((other.to_owned(), here));
    }
    let file = Path::new(other);
    let set = read_verdicts(command, file)?;
    let names: BTreeSet<&str> = set.verdicts.iter().map(|v| v.judge.as_str()).collect();
    let name = match names.len() {
        1 => names.into_iter().next().unwrap_or(judge),
        _ if names.contains(judge) => judge,
        _ => {
            let known: Vec<&str> = names.into_iter().collect();
            return Err(
                Error::input(format!("there is no judge `{judge}` in the other verdicts"))
                    .in_file(file)
                    .hint(format!(
                        "it holds {}; name one with `--judge`",
                        known.join(", ")
                    )),
            );
        }
    };
    Ok((
        format!(
            "{name} ({})",
            file.file_name().unwrap_or_default().to_string_lossy()
        ),
        of_judge(&set, name),
    ))
}

fn write(certificate: &Calibration, folder: &Path) -> Result<()> {
    let files = FileFolder::create(folder)?;
    files.write("calibration.json", |out| report::json(certificate, out))?;
    let page = report::render(certificate)?;
    files.write("calibration.md", |out| out.write_all(page.as_bytes()))?;
    files.write("calibration.csv", |out| report::csv(certificate, out))
}
