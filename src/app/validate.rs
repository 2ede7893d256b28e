//! `assize validate` and `assize schema`.

use std::path::PathBuf;

use serde_json::Value;

use crate::base::{Error, Result};
use crate::load::{self, Validation};

/// Lists every problem of suites, arms, tasks and traces.
pub fn validate(paths: &[PathBuf]) -> Validation {
    load::validate(paths, &load::recorded::problems)
}

/// The JSON Schema of a file format.
///
/// # Errors
///
/// If there is no format with this name.
pub fn schema(name: &str) -> Result<Value> {
    load::schema(name).ok_or_else(|| {
        Error::input(format!("no schema `{name}`")).hint(format!("there are {}", load::SCHEMAS.join(", ")))
    })
}
