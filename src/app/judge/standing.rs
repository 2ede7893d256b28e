//! What is said at once of the certificate behind a judge's verdicts.

use std::path::Path;

use crate::app::Talk;
use crate::base::{JudgeId, Result};
use crate::model::calibration::Calibration;
use crate::store::RunStore;

/// Says whether a certificate that was given will let quality decide, or which one is in force where none
/// was given. `pin` is that of the verdicts, as far as it is known.
///
/// # Errors
///
/// If the store is damaged.
pub(in crate::app) fn say_certificate(
    store: &RunStore,
    judge: &JudgeId,
    given: Option<(&Path, &Calibration)>,
    pin: Option<&str>,
    talk: &mut Talk,
) -> Result<()> {
    if let Some((file, certificate)) = given {
        let name = format!("certificate {} of `{judge}`", file.display());
        talk(&said(&name, certificate, pin));
        return Ok(());
    }
    match store.certificate_of(judge)? {
        Some((certificate, digest)) => {
            let name = format!(
                "no certificate was given: the one that the run holds of `{judge}` ({}) stays in force; it",
                digest.short()
            );
            talk(&said(&name, &certificate, pin));
        }
        None => talk(&format!(
            "`{judge}` has no certificate: its quality is `uncalibrated` and decides nothing"
        )),
    }
    Ok(())
}

/// What a certificate says, and what follows for quality.
fn said(name: &str, certificate: &Calibration, pin: Option<&str>) -> String {
    let behind = format!(
        "{} items of `{}`, part {}",
        certificate.verdicts.items, certificate.labels.name, certificate.labels.split
    );
    let follows = "quality will be `uncalibrated` and decide nothing";
    if certificate.pin.as_deref() != pin {
        return format!("{name} is of another version of the judge (pins differ): {follows}");
    }
    if certificate.result.passed() {
        return format!("{name} passed ({behind})");
    }
    let reasons: Vec<String> = certificate
        .result
        .reasons
        .iter()
        .map(|reason| format!("{}: {}", reason.code, reason.detail))
        .collect();
    format!(
        "{name} was refused ({behind}; {}): {follows}",
        reasons.join("; ")
    )
}
