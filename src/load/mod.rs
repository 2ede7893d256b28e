//! Files that users write, turned into the model; every problem names file, line and nearest key.
//!
//! A file becomes a tree that knows its lines (`document`), the tree is checked against the emitted
//! schema (`shape`), what fits becomes a typed value, and the typed value is checked for sense
//! (`check`). Every step goes on after a problem, so that a user sees all of them at once.

// Level 3: this is where files that users write are opened.
#![allow(clippy::disallowed_methods)]

mod arms;
mod certificate;
mod check;
mod columns;
mod document;
mod examples;
mod files;
mod items;
mod json;
mod judge;
mod label_sets;
mod labelled;
mod labels;
mod misfit;
pub(crate) mod nearest;
mod pair_key;
mod place;
pub mod recorded;
mod scale;
mod schema;
mod script;
mod shape;
mod sheet;
mod spelling;
mod suite;
mod tasks;
mod text;
mod thresholds;
mod validate;
mod verdicts;
mod yaml;

use std::path::Path;

pub use arms::{ContentDigest, arms, is_variable, prices, url_problem, validate_arms};
pub use certificate::certificate;
pub use files::files_digest;
pub use judge::{judge, validate_judge};
pub use labelled::{LabelledItem, items};
pub use labels::{LABEL_KEYS, LabelOptions, labels};
pub use pair_key::{PairPlace, pair_key};
pub use scale::ScaleChoice;
pub use schema::{NAMES as SCHEMAS, schema};
pub use script::{script, validate_script};
pub use sheet::ColumnMap;
pub use spelling::nfc;
pub use suite::{LoadedSuite, suite, validate_suite};
pub use thresholds::threshold_problems;
pub use validate::{CheckTraces, Validation, validate};
pub use verdicts::{VERDICT_KEYS, digest as verdicts_digest, verdicts};

use crate::base::Error;

/// The path as it is from anywhere, so that a run finds its suite from another folder too.
pub fn absolute(path: &Path) -> std::path::PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Reads one JSON file.
///
/// # Errors
///
/// If the file can't be read, is empty, is not UTF-8, or is not JSON; with the line.
pub fn json_value(file: &Path) -> crate::base::Result<serde_json::Value> {
    let text = text::read(file)?;
    serde_json::from_str(&text)
        .map_err(|e| Error::input(format!("not JSON: {e}")).at(file, e.line() as u64))
}

/// Reads JSON from standard input.
///
/// # Errors
///
/// If it is not JSON; with the line.
pub fn json_from_stdin() -> crate::base::Result<serde_json::Value> {
    serde_json::from_reader(std::io::stdin().lock())
        .map_err(|e| Error::input(format!("not JSON: {e}")).at("standard input", e.line() as u64))
}

/// Several problems of one file or folder as one error; a single one stays itself.
///
/// # Panics
///
/// If there are none.
fn combined(place: &Path, mut problems: Vec<Error>) -> Error {
    if problems.len() == 1 {
        return problems.remove(0);
    }
    let message = format!("{} problems", problems.len());
    Error::many(message, problems).in_file(place)
}
