//! A task's contract with its schemas compiled and its rules checked for sense.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::Error;
use crate::grade::schema::{Schema, SchemaCache};
use crate::model::expect::{ArgRule, StateAssertion};
use crate::model::suite::{Suite, Task};

/// Fewest hexadecimal digits of a hash that still tell values apart.
const SHORTEST_HASH: usize = 12;

/// The compiled schemas of one task's contract.
#[derive(Default)]
pub(crate) struct Schemas {
    /// Of the final payload.
    pub final_schema: Option<Schema>,
    /// Of each state assertion, in order.
    pub state: Vec<Option<Schema>>,
    /// Of the arguments of tools.
    pub args: BTreeMap<String, Schema>,
    /// That bound the arguments of tools.
    pub scope: BTreeMap<String, Schema>,
}

/// Compiles the schemas of a task; every rule that cannot be applied is an error, so that none is
/// ever skipped in silence.
pub(crate) fn compile(
    suite: &Suite,
    task: &Task,
    cache: &mut SchemaCache,
    errors: &mut Vec<Error>,
) -> Schemas {
    let mut check = Check {
        task,
        cache,
        errors,
    };
    let expect = &task.expect;
    let schemas = Schemas {
        final_schema: expect
            .final_schema
            .as_ref()
            .and_then(|s| check.schema("final_schema", s)),
        state: expect
            .final_state
            .iter()
            .map(|a| check.assertion(a))
            .collect(),
        args: expect
            .args
            .iter()
            .filter_map(|(tool, rule)| Some((tool.clone(), check.arg_rule(tool, rule)?)))
            .collect(),
        scope: expect
            .arg_scope
            .iter()
            .filter_map(|(tool, s)| {
                let schema = check.schema(&format!("arg_scope.{tool}"), s)?;
                Some((tool.clone(), schema))
            })
            .collect(),
    };
    for change in expect.state_changes.iter().flatten() {
        check.pointer("state_changes", &change.path);
    }
    if expect.must_ask_before_write == Some(true) && !suite.spec.tools.values().any(|t| t.writes) {
        check.error(
            "must_ask_before_write needs a suite that declares which tools write",
            "add `tools: {NAME: {writes: true}}` to the suite",
        );
    }
    schemas
}

struct Check<'a> {
    task: &'a Task,
    cache: &'a mut SchemaCache,
    errors: &'a mut Vec<Error>,
}

impl Check<'_> {
    fn error(&mut self, what: &str, hint: &str) {
        let message = format!("task `{}`: {what}", self.task.id);
        self.errors.push(Error::input(message).hint(hint));
    }

    fn schema(&mut self, key: &str, schema: &Value) -> Option<Schema> {
        match self.cache.get(schema) {
            Ok(compiled) => Some(compiled),
            Err(why) => {
                self.error(
                    &format!("{key} is not a usable JSON Schema: {why}"),
                    "references must stay inside the schema (`#/$defs/…`); others are not fetched",
                );
                None
            }
        }
    }

    fn pointer(&mut self, key: &str, pointer: &str) {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            self.error(
                &format!("{key}: `{pointer}` is not a JSON Pointer"),
                "begin it with `/`",
            );
        }
    }

    fn assertion(&mut self, assertion: &StateAssertion) -> Option<Schema> {
        self.pointer("final_state", &assertion.pointer);
        let tests = [
            assertion.equals.is_some(),
            assertion.exists.is_some(),
            assertion.schema.is_some(),
        ];
        if tests.into_iter().filter(|t| *t).count() != 1 {
            let what = format!("final_state `{}` needs exactly one test", assertion.pointer);
            self.error(&what, "give one of `equals`, `exists`, `schema`");
        }
        let schema = assertion.schema.as_ref()?;
        self.schema("final_state.schema", schema)
    }

    fn arg_rule(&mut self, tool: &str, rule: &ArgRule) -> Option<Schema> {
        if rule.schema.is_none()
            && rule.exact.is_none()
            && rule.subset.is_none()
            && rule.hash.is_none()
        {
            self.error(
                &format!("args.{tool} checks nothing"),
                "give one of `schema`, `exact`, `subset`, `hash`",
            );
        }
        if let Some(hash) = &rule.hash {
            let digits = hash.bytes().all(|b| b.is_ascii_hexdigit());
            if !digits || !(SHORTEST_HASH..=64).contains(&hash.len()) {
                self.error(
                    &format!("args.{tool}.hash is not 12 to 64 hexadecimal digits"),
                    "it is the blake3 of the canonical arguments, or its first digits",
                );
            }
        }
        let schema = rule.schema.as_ref()?;
        self.schema(&format!("args.{tool}.schema"), schema)
    }
}
