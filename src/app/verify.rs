//! `assize verify`: re-derive every digest of a run, and every grade.

use std::path::Path;

use super::grade;
use crate::base::Result;
use crate::store::{RunStore, Verification};

/// Re-derives every digest of a run from what is stored, grades again, and compares the report with
/// the digests that were taken when it was written.
///
/// # Errors
///
/// If there is no run, or it cannot be read at all.
pub fn verify(run: &Path) -> Result<Verification> {
    let mut store = RunStore::open(run)?;
    let mut found = store.verify()?;
    let suite = store.suite()?;
    let again = store.differing_grades(|writer| grade::grade_into(writer, &suite).map(|_| ()));
    let differing = again.unwrap_or_else(|error| {
        let why = error.message();
        found
            .mismatches
            .push(format!("the stored suite cannot grade: {why}"));
        vec![]
    });
    let grades = |trial: String| format!("{trial}: its grades are not what its evidence gives");
    found.mismatches.extend(differing.into_iter().map(grades));
    let changed = |name| format!("report/{name} was changed after it was written");
    found
        .mismatches
        .extend(store.changed_report_files()?.into_iter().map(changed));
    Ok(found)
}
