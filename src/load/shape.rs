//! Whether a file has the shape that its schema describes: keys, types, names from closed lists.
//!
//! The schema is the emitted one (`assize schema`), so that an editor and `validate` agree, and
//! every misfit at every depth is found at once.

use jsonschema::Validator;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::base::{Error, Result};
use crate::load::document::{Document, steps};
use crate::load::misfit::{self, Misfit};

/// A schema, ready to check documents with.
pub(crate) struct Shape {
    schema: Value,
    validator: Validator,
}

/// What a check left: the part of a document that fits, and what did not.
pub(crate) struct Checked {
    /// The value without what does not fit, so that later checks can go on with the rest.
    pub value: Value,
    /// The misfits.
    pub problems: Vec<Error>,
}

impl Shape {
    /// Compiles a schema that we emit ourselves.
    pub fn new(schema: Value) -> Result<Self> {
        let validator = jsonschema::validator_for(&schema)
            .map_err(|e| Error::io(format!("our own schema does not compile: {e}")))?;
        Ok(Self { schema, validator })
    }

    /// Finds everything in a document that does not fit.
    pub fn check(&self, document: &Document) -> Checked {
        let mut value = document.value();
        let mut problems = document.defects();
        let misfits = self.misfits(&value);
        // A number that is none stands as null in the value, and has been reported for what it is.
        let told = |m: &&Misfit| !document.is_not_finite(&m.pointer);
        problems.extend(misfits.iter().filter(told).map(|m| {
            let problem = document.problem(&m.pointer, &m.message);
            match &m.hint {
                Some(hint) => problem.hint(hint),
                None => problem,
            }
        }));
        self.prune(&mut value, misfits);
        Checked { value, problems }
    }

    fn misfits(&self, value: &Value) -> Vec<Misfit> {
        let mut found = vec![];
        for error in self.validator.iter_errors(value) {
            misfit::explain(&error, &self.schema, &mut found);
        }
        misfit::drop_echoes(&mut found);
        found
    }

    /// Removes what does not fit, level by level: without a required key its object goes too.
    fn prune(&self, value: &mut Value, mut misfits: Vec<Misfit>) {
        while !misfits.is_empty() {
            let before = value.clone();
            for misfit in &misfits {
                remove(value, &misfit.pointer);
            }
            if *value == before {
                return;
            }
            misfits = self.misfits(value);
        }
    }
}

impl Checked {
    /// The part that fits, as the type that the schema was made from.
    ///
    /// A required key that is missing at the top is filled in by `fill`, so that the rest can still
    /// be checked; its absence is among the problems.
    pub fn typed<T: DeserializeOwned>(
        &mut self,
        document: &Document,
        fill: &[(&str, Value)],
    ) -> Option<T> {
        let map = self.value.as_object_mut()?;
        for (key, value) in fill {
            map.entry(*key).or_insert_with(|| value.clone());
        }
        // JSON Schema calls 3.0 an integer, serde does not.
        let typed = T::deserialize(&self.value).or_else(|_| T::deserialize(whole(&self.value)));
        match typed {
            Ok(typed) => Some(typed),
            Err(_) if !self.problems.is_empty() => None,
            Err(error) => {
                self.problems.push(document.problem("", error.to_string()));
                None
            }
        }
    }
}

/// Removes what a pointer names. An element of a list takes its list along: without it the others
/// would stand at other places than in the file.
fn remove(value: &mut Value, pointer: &str) {
    let mut pointer = pointer;
    while let Some((parent, last)) = pointer.rsplit_once('/') {
        let key = steps(&format!("/{last}")).next().unwrap_or_default();
        match value.pointer_mut(parent) {
            Some(Value::Object(map)) => {
                map.remove(&key);
                return;
            }
            Some(_) => pointer = parent,
            None => return,
        }
    }
}

fn whole(value: &Value) -> Value {
    match value {
        Value::Number(n) => match n.as_f64() {
            // Beyond 2^53 a double no longer says which integer was meant.
            Some(f) if f.fract() == 0.0 && f.abs() <= 9_007_199_254_740_992.0 => {
                Value::from(f as i64)
            }
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(whole).collect(),
        Value::Object(map) => {
            let whole = map.iter().map(|(k, v)| (k.clone(), whole(v)));
            Value::Object(whole.collect())
        }
        other => other.clone(),
    }
}
