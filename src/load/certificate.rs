//! Certificates that were written before.

use std::path::Path;

use crate::base::{Error, Result};
use crate::load::text;
use crate::model::calibration::{CALIBRATION_FORMAT, Calibration};

/// Reads a certificate (`calibration.json`).
///
/// # Errors
///
/// If it can't be read, is no certificate (with the line), is of a newer format, of format 1, which
/// carried no digest of itself, or says something else than when it was written.
pub fn certificate(file: &Path) -> Result<Calibration> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: u32,
    }
    let text = text::read(file)?;
    let wrong = |e: serde_json::Error| {
        Error::input(format!("not a certificate of a judge: {e}"))
            .at(file, e.line() as u64)
            .hint("`assize calibrate` writes certificates")
    };
    let head: Head = serde_json::from_str(&text).map_err(wrong)?;
    if head.format > CALIBRATION_FORMAT {
        let message = format!(
            "the certificate has format {}; this version reads up to {CALIBRATION_FORMAT}",
            head.format
        );
        return Err(Error::input(message)
            .in_file(file)
            .hint("use the version that wrote it"));
    }
    if head.format < CALIBRATION_FORMAT {
        let message = format!(
            "the certificate has format {}, which carries no digest: nobody can tell whether it was edited",
            head.format
        );
        return Err(Error::input(message)
            .in_file(file)
            .hint("calibrate again: recorded verdicts and kept replies cost nothing"));
    }
    let certificate: Calibration = serde_json::from_str(&text).map_err(wrong)?;
    if !certificate.is_intact() {
        return Err(
            Error::input("the certificate was edited: it does not give its own digest")
                .in_file(file)
                .hint("take the file that `assize calibrate` wrote, or calibrate again"),
        );
    }
    Ok(certificate)
}
