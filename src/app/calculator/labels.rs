//! Reading ratings: gaps, numbers and categories of any JSON kind.

use std::collections::HashMap;

use serde_json::Value;

use super::fields::{Fields, Problem};

/// Categories of any kind, numbered from 0 in order of appearance.
#[derive(Default)]
pub(super) struct Categories {
    codes: HashMap<String, u32>,
    names: Vec<Value>,
}

impl Categories {
    /// Number of categories.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The code of a category, or `None` for null.
    pub(super) fn code(&mut self, value: &Value, at: &str) -> Result<Option<u32>, Problem> {
        let key = match value {
            Value::Null => return Ok(None),
            // 1 and 1.0 are one category.
            Value::Number(number) => number.as_f64().map(|v| format!("number {v}")),
            Value::String(_) | Value::Bool(_) => Some(value.to_string()),
            _ => None,
        };
        let key = key.ok_or_else(|| Problem::new(at, "a category is a number, a word or null"))?;
        let next = self.names.len() as u32;
        let code = *self.codes.entry(key).or_insert(next);
        if code == next {
            self.names.push(value.clone());
        }
        Ok(Some(code))
    }

    /// The category of a code.
    pub(super) fn name(&self, code: u32) -> Value {
        self.names.get(code as usize).cloned().unwrap_or_default()
    }
}

/// A list of lists.
pub(super) fn rows<'a>(input: &Fields<'a>, name: &str) -> Result<Vec<&'a [Value]>, Problem> {
    let each = input.list(name)?.iter().enumerate();
    each.map(|(i, row)| {
        let row = row.as_array().map(Vec::as_slice);
        row.ok_or_else(|| input.problem(&format!("{name}[{i}]"), "not a list"))
    })
    .collect()
}

/// A list of lists of categories, with gaps.
pub(super) fn category_rows(
    input: &Fields,
    name: &str,
    categories: &mut Categories,
) -> Result<Vec<Vec<Option<u32>>>, Problem> {
    let read = |row: &[Value]| row.iter().map(|v| categories.code(v, name)).collect();
    rows(input, name)?.into_iter().map(read).collect()
}

/// A list of lists of numbers, with gaps.
pub(super) fn gappy_rows(input: &Fields, name: &str) -> Result<Vec<Vec<Option<f64>>>, Problem> {
    let read = |value: &Value| match value {
        Value::Null => Ok(None),
        other => match other.as_f64() {
            Some(number) => Ok(Some(number)),
            None => Err(input.problem(name, format!("`{other}` is not a number"))),
        },
    };
    let each = rows(input, name)?.into_iter();
    each.map(|row| row.iter().map(read).collect()).collect()
}

/// Exchanges rows and columns.
///
/// # Errors
///
/// If the rows differ in length.
pub(super) fn transposed<T: Copy>(
    rows: &[Vec<T>],
    input: &Fields,
    name: &str,
) -> Result<Vec<Vec<T>>, Problem> {
    let width = rows.first().map_or(0, Vec::len);
    if let Some(i) = rows.iter().position(|row| row.len() != width) {
        let message = format!("row {i} has {} values, not {width}", rows[i].len());
        return Err(input.problem(name, message));
    }
    Ok((0..width)
        .map(|c| rows.iter().map(|row| row[c]).collect())
        .collect())
}

/// A table of counts.
pub(super) fn counts(input: &Fields, name: &str) -> Result<Vec<Vec<u32>>, Problem> {
    let whole = |&v: &f64| {
        let fits = v >= 0.0 && v.fract() == 0.0 && v <= f64::from(u32::MAX);
        if fits {
            Ok(v as u32)
        } else {
            Err(input.problem(name, format!("{v} is not a count")))
        }
    };
    let table = input.table(name)?;
    table
        .iter()
        .map(|row| row.iter().map(whole).collect())
        .collect()
}

/// A parameter that can only have one value.
pub(super) fn fixed(params: &Fields, name: &str, value: f64) -> Result<(), Problem> {
    match params.optional_number(name)? {
        Some(given) if given != value => {
            Err(params.problem(name, format!("{given} is not {value}, which is fixed")))
        }
        _ => Ok(()),
    }
}
