//! `assize validate` and `assize schema`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::recorded::{ReadOptions, read_trials};
use crate::base::{Error, Result};
use crate::load::recorded::traces_in;
use crate::load::{self, Validation};

/// Lists every problem of suites, arms, tasks and traces.
pub fn validate(paths: &[PathBuf]) -> Validation {
    load::validate(paths, &trace_problems)
}

/// The JSON Schema of a file format.
///
/// # Errors
///
/// If there is no format with this name.
pub fn schema(name: &str) -> Result<Value> {
    load::schema(name).ok_or_else(|| {
        Error::input(format!("no schema `{name}`"))
            .hint(format!("there are {}", load::SCHEMAS.join(", ")))
    })
}

/// The first problem of a file or folder of traces: what follows a broken record cannot be trusted.
fn trace_problems(path: &Path) -> Vec<Error> {
    let files = match traces_in(path) {
        Ok(files) => files,
        Err(error) => return vec![error],
    };
    let options = ReadOptions::new(None, false);
    let read = |file: &PathBuf| read_trials(file, &options, &mut |_| Ok(())).err();
    files.iter().filter_map(read).collect()
}
