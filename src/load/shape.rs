//! Whether a file has the shape that its schema describes: keys, types, names from closed lists.
//!
//! The schema is the emitted one (`assize schema`), so that an editor and `validate` agree, and
//! every misfit at every depth is found at once.

use jsonschema::error::ValidationErrorKind as Fault;
use jsonschema::{ValidationError, Validator};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::base::{Error, Result};
use crate::load::document::{Document, child, steps};
use crate::load::misfit::{
    Misfit, drop_echoes, expected_types, missing, name, options, out_of_range, within, wrong_name,
    wrong_type,
};
use crate::load::nearest;

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
        problems.extend(misfits.iter().map(|m| {
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
            self.explain(&error, &mut found);
        }
        drop_echoes(&mut found);
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

    fn explain(&self, error: &ValidationError, found: &mut Vec<Misfit>) {
        let pointer = error.instance_path().as_str();
        let instance = error.instance();
        match error.kind() {
            Fault::AdditionalProperties { unexpected } => {
                let known = self.known_keys(error);
                for key in unexpected {
                    let known = known.iter().map(String::as_str);
                    found.push(Misfit {
                        pointer: child(pointer, key),
                        message: format!("unknown key `{key}`{}", within(pointer)),
                        hint: Some(nearest::hint(key, known, "keys")),
                    });
                }
            }
            Fault::Required { property } => {
                let key = property.as_str().unwrap_or_default();
                found.push(missing(pointer, key));
            }
            Fault::Type { kind } => {
                found.push(wrong_type(pointer, &expected_types(kind), instance));
            }
            Fault::Constant { .. } | Fault::Enum { .. } => {
                found.push(wrong_name(pointer, &options(error), instance));
            }
            Fault::AnyOf { context } | Fault::OneOfNotValid { context } => {
                self.explain_branches(pointer, context, instance, found);
            }
            Fault::Minimum { limit } => {
                found.push(out_of_range(pointer, "at least", limit, instance))
            }
            Fault::Maximum { limit } => {
                found.push(out_of_range(pointer, "at most", limit, instance))
            }
            _ => found.push(Misfit {
                pointer: pointer.to_owned(),
                message: format!("{}: {error}", name(pointer)),
                hint: None,
            }),
        }
    }

    /// Of several possible shapes, explains the one that was meant: not another type altogether,
    /// and the one whose tag is there.
    fn explain_branches(
        &self,
        pointer: &str,
        branches: &[Vec<ValidationError>],
        instance: &Value,
        found: &mut Vec<Misfit>,
    ) {
        let of_type = |b: &&Vec<ValidationError>| !b.iter().any(|e| is_type_error_at(e, pointer));
        let possible: Vec<&Vec<ValidationError>> = branches.iter().filter(of_type).collect();
        if possible.is_empty() {
            let types: Vec<String> = branches
                .iter()
                .flatten()
                .filter_map(|e| match e.kind() {
                    Fault::Type { kind } => Some(expected_types(kind)),
                    _ => None,
                })
                .flatten()
                .collect();
            found.push(wrong_type(pointer, &types, instance));
            return;
        }
        let tag_of = |b: &Vec<ValidationError>| b.iter().find_map(|e| tag_error(e));
        if let Some(meant) = possible
            .iter()
            .filter(|b| tag_of(b).is_none())
            .min_by_key(|b| b.len())
        {
            meant.iter().for_each(|e| self.explain(e, found));
            return;
        }
        let names: Vec<String> = possible
            .iter()
            .flat_map(|b| b.iter())
            .flat_map(options)
            .collect();
        let (place, wrong) = tag_of(possible[0]).unwrap_or((pointer.to_owned(), instance.clone()));
        found.push(wrong_name(&place, &names, &wrong));
    }

    /// The keys that the schema knows beside an `additionalProperties` that failed.
    fn known_keys(&self, error: &ValidationError) -> Vec<String> {
        let path = error.schema_path().as_str();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.schema
            .pointer(&format!("{parent}/properties"))
            .and_then(Value::as_object)
            .map(|keys| keys.keys().cloned().collect())
            .unwrap_or_default()
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

fn is_type_error_at(error: &ValidationError, pointer: &str) -> bool {
    matches!(error.kind(), Fault::Type { .. }) && error.instance_path().as_str() == pointer
}

/// Where a tag stood and what it said, if the error is about a tag or a name from a closed list.
fn tag_error(error: &ValidationError) -> Option<(String, Value)> {
    let wrong = matches!(error.kind(), Fault::Constant { .. } | Fault::Enum { .. });
    wrong.then(|| {
        let place = error.instance_path().as_str().to_owned();
        (place, error.instance().clone().into_owned())
    })
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
