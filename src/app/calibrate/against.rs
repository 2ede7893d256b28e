//! The other version that `--against` names: verdicts, a judge of the same file, or a certificate.

use std::collections::BTreeSet;
use std::path::Path;

use super::{CalibrateCommand, of_judge, read_verdicts};
use crate::base::{Error, Result};
use crate::load;
use crate::model::calibration::Calibration;
use crate::model::verdict::{Verdict, VerdictSet};
use crate::store::{KnownLook, LookedAt};

/// Verdicts of another version of a judge.
pub(super) struct Other {
    /// Its name.
    pub name: String,
    /// Its verdicts.
    pub verdicts: Vec<Verdict>,
    /// What its certificate knows of looks at the same labels.
    pub known: Option<KnownLook>,
}

/// Reads the other version.
///
/// # Errors
///
/// If a file is wrong, does not hold the judge, or is a certificate whose verdicts are not at hand.
pub(super) fn other_version(
    command: &CalibrateCommand,
    judge: &str,
    other: &str,
    all: &VerdictSet,
) -> Result<Other> {
    let here = of_judge(all, other);
    if !here.is_empty() {
        return Ok(Other {
            name: other.to_owned(),
            verdicts: here,
            known: None,
        });
    }
    let file = Path::new(other);
    if file.extension().is_some_and(|e| e == "json") {
        return of_certificate(command, file, all);
    }
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
    Ok(Other {
        name: format!(
            "{name} ({})",
            file.file_name().unwrap_or_default().to_string_lossy()
        ),
        verdicts: of_judge(&set, name),
        known: None,
    })
}

/// The verdicts behind a certificate: in the same file of verdicts, or beside the certificate.
fn of_certificate(command: &CalibrateCommand, file: &Path, all: &VerdictSet) -> Result<Other> {
    let certificate = load::certificate(file)?;
    let judge = certificate.judge.as_str();
    let its_own = |verdicts: &Vec<Verdict>| {
        load::verdicts_digest(verdicts).as_str() == certificate.verdicts.digest
    };
    let known = Some(known_look(&certificate));
    let name = format!(
        "{judge} ({})",
        file.file_name().unwrap_or_default().to_string_lossy()
    );
    let beside = file.with_file_name("verdicts.jsonl");
    let mut found = Some(of_judge(all, judge)).filter(its_own);
    if found.is_none() && beside.exists() {
        let set = read_verdicts(command, &beside)?;
        found = Some(of_judge(&set, judge)).filter(its_own);
    }
    let Some(verdicts) = found else {
        return Err(Error::input(format!(
            "the verdicts of `{judge}` behind this certificate are not at hand"
        ))
        .in_file(file)
        .hint("a certificate holds counts: put its verdicts into the file of `--verdicts`, or give that file to `--against`"));
    };
    Ok(Other {
        name,
        verdicts,
        known,
    })
}

/// What a certificate knows of looks.
pub(super) fn known_look(certificate: &Calibration) -> KnownLook {
    KnownLook {
        look: LookedAt {
            judge: certificate.judge.clone(),
            verdicts: certificate.verdicts.digest.clone(),
            labels: certificate.labels.digest.clone(),
            truth: certificate.truth.clone(),
        },
        looks: certificate.labels.looks.unwrap_or(0),
    }
}
