//! `assize calibrate`: a judge examined by recorded verdicts; no model is called.

mod against;
mod checks;
mod foreign;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Talk;
use crate::base::{Digest, Error, Result, Seed};
use crate::calibrate::{
    Examination, Joined, Measuring, OtherRule, SplitChoice, TruthRule, certify, join, panel,
};
use crate::load::{self, ColumnMap, LABEL_KEYS, LabelOptions, ScaleChoice, VERDICT_KEYS};
use crate::model::calibration::Calibration;
use crate::model::label::LabelSet;
use crate::model::verdict::{Verdict, VerdictSet};
use crate::report::calibration as report;
use crate::stats::Level;
use crate::store::{FileFolder, KnownLook, LookedAt, Looks};
use against::{known_look, other_version};
pub(super) use checks::check;
use foreign::refuse_foreign;

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
    /// How several labels of an item become its truth.
    pub truth: TruthRule,
    /// Thresholds by name.
    pub thresholds: BTreeMap<String, f64>,
    /// Other rules for unusable verdicts.
    pub unparsable: Vec<OtherRule>,
    /// Another version: a file of verdicts, a judge of the same file, or a certificate.
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
/// Looks are noted when all judges were examined, so that a command that fails is none.
///
/// # Errors
///
/// If labels, verdicts or the command are wrong (every problem at once), a chosen judge has no verdict,
/// or files fail.
pub fn calibrate(command: &CalibrateCommand, talk: &mut Talk) -> Result<Calibrated> {
    let labels = read_labels(command)?;
    check(command, &labels)?;
    let verdicts = read_verdicts(command, &command.verdicts)?;
    let judges = chosen(command, &labels, &verdicts)?;
    let asked = examined_verdicts(command, &judges, &verdicts);
    refuse_foreign(command, &labels.scale, &asked, &command.verdicts)?;
    let mut looks = Looks::open(&command.labels)?;
    let out = command
        .out
        .clone()
        .unwrap_or_else(|| beside(&command.labels));
    let alone = judges.len() == 1;
    let mut examined = vec![];
    for (judge, own) in &judges {
        let folder = if alone {
            out.clone()
        } else {
            out.join(folder_name(judge))
        };
        let mut found = examine(command, &labels, judge, own, &verdicts)?;
        // A certificate that is written over knows what a ledger that was lost knew.
        let before = load::certificate(&folder.join("calibration.json")).ok();
        found.known.extend(before.as_ref().map(known_look));
        examined.push((found, folder));
    }
    count_looks(&mut looks, &mut examined)?;
    let mut certificates = vec![];
    for (found, folder) in examined {
        let mut certificate = found.certificate;
        certificate.seal();
        write(&certificate, &folder)?;
        let judge = &certificate.judge;
        talk(&format!("certificate of {judge} in {}", folder.display()));
        certificates.push((certificate, folder));
    }
    Ok(Calibrated { certificates })
}

/// A certificate before its looks are counted.
struct Examined {
    certificate: Calibration,
    /// Whether it shows anything of the test part.
    is_look: bool,
    /// Looks that other certificates know of.
    known: Vec<KnownLook>,
}

/// Notes what was looked at. Labels without a split certify too, so each look at them counts as one at
/// the test part; an attempt that gave no verdict showed nothing, and is no look.
fn count_looks(looks: &mut Looks, examined: &mut [(Examined, PathBuf)]) -> Result<()> {
    // Twice, so that each certificate knows all looks of its own command.
    for _ in 0..2 {
        for (found, _) in examined.iter_mut() {
            let certificate = &mut found.certificate;
            if certificate.labels.split == "dev" {
                continue;
            }
            let look = LookedAt {
                judge: certificate.judge.clone(),
                verdicts: certificate.verdicts.digest.clone(),
                labels: certificate.labels.digest.clone(),
                truth: certificate.truth.clone(),
            };
            let counted = looks.note(&look, &found.known, found.is_look)?;
            let info = &mut certificate.labels;
            (info.look, info.looks) = (counted.this, Some(counted.all));
        }
    }
    Ok(())
}

pub(super) fn read_labels(command: &CalibrateCommand) -> Result<LabelSet> {
    let options = LabelOptions {
        map: ColumnMap::parse(&command.map_labels, &LABEL_KEYS, &["label."])?,
        scale: ScaleChoice::parse(command.scale.as_deref(), command.positive.as_deref())?,
        prompt: command.prompt.clone(),
    };
    let set = load::labels(&command.labels, &options)?;
    match set.labels.is_empty() {
        true => Err(super::judge::nothing_labelled(&command.labels, set.blank)),
        false => Ok(set),
    }
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

/// The verdicts as the judges gave them: those of a panel's members, before their votes were counted.
fn examined_verdicts(
    command: &CalibrateCommand,
    judges: &[(String, Vec<Verdict>)],
    all: &VerdictSet,
) -> Vec<Verdict> {
    let members = command.panel.iter();
    let of_panel = members.flat_map(|member| of_judge(all, member));
    let alone = judges.iter().flat_map(|(_, own)| own.iter().cloned());
    of_panel.chain(alone).collect()
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
) -> Result<Examined> {
    let joined = join(labels, verdicts, command.split, &command.truth)?;
    let digest = load::verdicts_digest(verdicts).to_string();
    let level = Level::new(command.level)?;
    let measuring = Measuring::new(level, command.replicates, Seed(command.seed));
    let exam = Examination {
        judge: judge.to_owned(),
        pin: pin(judge, verdicts)?,
        thresholds: command.thresholds.clone(),
        unparsable: command.unparsable.clone(),
        epsilon: command.epsilon,
        measuring,
    };
    let mut certificate = certify(labels, &joined, &digest, verdicts.len(), &exam)?;
    let mut known = vec![];
    if let Some(other) = &command.against {
        let other = other_version(command, judge, other, all)?;
        refuse_foreign(command, &labels.scale, &other.verdicts, &command.verdicts)?;
        let old: Joined = join(labels, &other.verdicts, command.split, &command.truth)?;
        let digest = load::verdicts_digest(&other.verdicts);
        let over_raters = measuring.over_raters(joined.dominance.is_some());
        let found =
            crate::calibrate::against(&old, &joined, &other.name, digest.as_str(), over_raters)?;
        certificate.against = Some(found);
        known.extend(other.known);
    }
    Ok(Examined {
        certificate,
        is_look: joined.items.iter().any(|i| i.judge.is_ok()),
        known,
    })
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

fn write(certificate: &Calibration, folder: &Path) -> Result<()> {
    let files = FileFolder::create(folder)?;
    files.write("calibration.json", |out| report::json(certificate, out))?;
    let page = report::render(certificate)?;
    files.write("calibration.md", |out| out.write_all(page.as_bytes()))?;
    files.write("calibration.csv", |out| report::csv(certificate, out))
}
