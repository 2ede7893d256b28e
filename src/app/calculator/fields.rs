//! Reading a case's fields, with errors that say which field is wrong and why.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::base::Error;
use crate::stats::Level;

/// What is wrong with a case, and where.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Problem {
    pub(super) field: String,
    pub(super) message: String,
}

impl Problem {
    pub(super) fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::new("input", error.to_string())
    }
}

/// A JSON object that remembers which of its fields were read.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    map: Option<&'a Map<String, Value>>,
    path: String,
    read: RefCell<BTreeSet<String>>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(value: &'a Value, path: &str) -> Result<Self, Problem> {
        match value {
            Value::Object(map) => Ok(Self::of(Some(map), path)),
            other => Err(Problem::new(
                path,
                format!("{} is not an object", brief(other)),
            )),
        }
    }

    fn of(map: Option<&'a Map<String, Value>>, path: &str) -> Self {
        Self {
            map,
            path: path.to_owned(),
            read: RefCell::default(),
        }
    }

    fn path_to(&self, name: &str) -> String {
        if self.path == "case" {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    pub(super) fn problem(&self, name: &str, message: impl Into<String>) -> Problem {
        Problem::new(self.path_to(name), message)
    }

    /// The field, if it is there and not null.
    pub(super) fn find(&self, name: &str) -> Option<&'a Value> {
        self.read.borrow_mut().insert(name.to_owned());
        self.map?.get(name).filter(|value| !value.is_null())
    }

    fn get(&self, name: &str) -> Result<&'a Value, Problem> {
        self.find(name).ok_or_else(|| self.problem(name, "missing"))
    }

    /// A number, or one of the words "inf" and "-inf".
    pub(super) fn number(&self, name: &str) -> Result<f64, Problem> {
        to_number(self.get(name)?, &self.path_to(name))
    }

    pub(super) fn optional_number(&self, name: &str) -> Result<Option<f64>, Problem> {
        self.find(name)
            .map(|value| to_number(value, &self.path_to(name)))
            .transpose()
    }

    /// A whole number that is not negative.
    pub(super) fn count(&self, name: &str) -> Result<u64, Problem> {
        let value = self.number(name)?;
        if value >= 0.0 && value.fract() == 0.0 && value <= 9e15 {
            return Ok(value as u64);
        }
        Err(self.problem(name, format!("{value} is not a count")))
    }

    pub(super) fn count32(&self, name: &str) -> Result<u32, Problem> {
        let count = self.count(name)?;
        u32::try_from(count).map_err(|_| self.problem(name, format!("{count} is too many")))
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str, Problem> {
        let value = self.get(name)?;
        value
            .as_str()
            .ok_or_else(|| self.problem(name, format!("{} is not text", brief(value))))
    }

    pub(super) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, Problem> {
        self.find(name).map(|_| self.text(name)).transpose()
    }

    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool, Problem> {
        match self.find(name) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => {
                Err(self.problem(name, format!("{} is not true or false", brief(other))))
            }
        }
    }

    pub(super) fn list(&self, name: &str) -> Result<&'a [Value], Problem> {
        match self.get(name)? {
            Value::Array(items) => Ok(items),
            other => Err(self.problem(name, format!("{} is not a list", brief(other)))),
        }
    }

    pub(super) fn numbers(&self, name: &str) -> Result<Vec<f64>, Problem> {
        to_numbers(self.list(name)?, &self.path_to(name))
    }

    /// A list of lists of numbers.
    pub(super) fn table(&self, name: &str) -> Result<Vec<Vec<f64>>, Problem> {
        let path = self.path_to(name);
        let rows = self.list(name)?.iter().enumerate();
        rows.map(|(i, row)| {
            let at = format!("{path}[{i}]");
            let Value::Array(items) = row else {
                return Err(Problem::new(at, format!("{} is not a list", brief(row))));
            };
            to_numbers(items, &at)
        })
        .collect()
    }

    pub(super) fn object(&self, name: &str) -> Result<Fields<'a>, Problem> {
        Fields::new(self.get(name)?, &self.path_to(name))
    }

    /// The object, or an empty one.
    pub(super) fn optional_object(&self, name: &str) -> Result<Fields<'a>, Problem> {
        match self.find(name) {
            Some(value) => Fields::new(value, &self.path_to(name)),
            None => Ok(Self::of(None, &self.path_to(name))),
        }
    }

    pub(super) fn objects(&self, name: &str) -> Result<Vec<Fields<'a>>, Problem> {
        let path = self.path_to(name);
        let items = self.list(name)?.iter().enumerate();
        items
            .map(|(i, item)| Fields::new(item, &format!("{path}[{i}]")))
            .collect()
    }

    /// The two-sided level in `conf`, 0.95 if absent.
    pub(super) fn level(&self) -> Result<Level, Problem> {
        let conf = self.optional_number("conf")?.unwrap_or(0.95);
        Level::new(conf).map_err(|e| self.problem("conf", e.message()))
    }

    /// A word that must be one given value if it is there at all.
    pub(super) fn only(&self, name: &str, allowed: &str) -> Result<(), Problem> {
        match self.optional_text(name)? {
            Some(word) if word != allowed => {
                Err(self.problem(name, format!("`{word}` is not `{allowed}`")))
            }
            _ => Ok(()),
        }
    }

    /// # Errors
    ///
    /// If a field was given and never read.
    pub(super) fn all_read(&self) -> Result<(), Problem> {
        let read = self.read.borrow();
        let unread = self
            .map
            .and_then(|map| map.keys().find(|key| !read.contains(*key)));
        match unread {
            Some(key) => Err(self.problem(key, "this method has no such field")),
            None => Ok(()),
        }
    }
}

fn to_number(value: &Value, path: &str) -> Result<f64, Problem> {
    let found = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(word) if word == "inf" => Some(f64::INFINITY),
        Value::String(word) if word == "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    };
    found.ok_or_else(|| Problem::new(path, format!("{} is not a number", brief(value))))
}

fn to_numbers(items: &[Value], path: &str) -> Result<Vec<f64>, Problem> {
    let each = items.iter().enumerate();
    each.map(|(i, item)| to_number(item, &format!("{path}[{i}]")))
        .collect()
}

/// A value for an error message: short.
fn brief(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        other => {
            let text: String = other.to_string().chars().take(40).collect();
            format!("`{text}`")
        }
    }
}
