//! `assize stats`: the calculator.

use std::path::Path;

use serde_json::Value;

use super::calculator;
use crate::base::{Error, Result};
use crate::load;

/// Computes every case of a file: a JSON array of `{id, method, params, input}`.
///
/// # Errors
///
/// If the file is not such an array. A single case that cannot be computed has its error in its own
/// answer.
pub fn stats(file: &Path) -> Result<Value> {
    let Value::Array(cases) = load::json_value(file)? else {
        return Err(
            Error::input("expected a JSON array of {id, method, params, input}").in_file(file),
        );
    };
    Ok(Value::Array(
        cases.iter().map(calculator::calculate).collect(),
    ))
}
