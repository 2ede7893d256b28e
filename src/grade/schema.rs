//! JSON Schemas, compiled once.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

use crate::base::digest::canonical;

/// A value is shown in a message only up to this many bytes; a longer message hides it.
const LONGEST_SHOWN: usize = 160;

/// A compiled JSON Schema.
///
/// Draft 2020-12 unless the schema's `$schema` names an older one. `format` annotates and does not
/// assert, as that draft says. A `$ref` that leaves the schema is refused, never fetched.
#[derive(Clone, Debug)]
pub(crate) struct Schema(Arc<Validator>);

impl Schema {
    /// Compiles a schema; the error says in words what is wrong with it.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        jsonschema::options()
            .offline()
            .build(schema)
            .map(|validator| Self(Arc::new(validator)))
            .map_err(|error| at(&error.instance_path().to_string(), error.to_string()))
    }

    /// What is wrong with a value, at most `limit` problems; empty if it is valid.
    pub(crate) fn problems(&self, value: &Value, limit: usize) -> Vec<String> {
        let mut problems: Vec<String> = vec![];
        for error in self.0.iter_errors(value).take(limit) {
            let mut text = error.to_string();
            if text.len() > LONGEST_SHOWN {
                text = error.masked().to_string();
            }
            let problem = at(&error.instance_path().to_string(), text);
            // A schema that refers to itself says the same thing more than once.
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        problems
    }
}

fn at(path: &str, text: String) -> String {
    if path.is_empty() {
        text
    } else {
        format!("{path}: {text}")
    }
}

/// Schemas by their canonical text, so that a schema that a suite gives to all its tasks is compiled
/// once.
#[derive(Default)]
pub(crate) struct SchemaCache(HashMap<String, Result<Schema, String>>);

impl SchemaCache {
    /// Compiles a schema or returns the one compiled before.
    pub(crate) fn get(&mut self, schema: &Value) -> Result<Schema, String> {
        self.0
            .entry(canonical(schema))
            .or_insert_with(|| Schema::compile(schema))
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_that_leave_the_schema_are_refused() {
        for target in ["http://127.0.0.1:9/x.json", "file:///etc/hostname"] {
            let error = Schema::compile(&json!({"$ref": target})).unwrap_err();
            assert!(error.contains(target), "{error}");
        }
        assert!(Schema::compile(&json!({"$ref": "#/$defs/none"})).is_err());
        assert!(Schema::compile(&json!({"type": "strin"})).is_err());
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = Schema::compile(&json!({"allOf": [{"$ref": "#"}], "type": "object"})).unwrap();
        assert!(schema.problems(&json!({}), 9).is_empty());
        assert_eq!(schema.problems(&json!(1), 9).len(), 1);
    }

    #[test]
    fn problems_name_the_place_and_hide_long_values() {
        let schema = json!({"properties": {"status": {"enum": ["ok"]}}});
        let schema = Schema::compile(&schema).unwrap();
        let short = schema.problems(&json!({"status": "done"}), 9);
        assert!(
            short[0].starts_with("/status: ") && short[0].contains("done"),
            "{short:?}"
        );
        let long = schema.problems(&json!({"status": "secret".repeat(99)}), 9);
        assert!(!long[0].contains("secret"), "{long:?}");
    }
}
