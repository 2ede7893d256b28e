//! The golden-trace contract, read exactly as teams write it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::environment::CheckSpec;

/// What a trial of a task must, may and must not do.
///
/// A suite may declare one for all its tasks; a task's own keys win over it, key by key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Expected tool names in order; compared under `path_mode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_names: Option<Vec<String>>,
    /// Several legal sequences of tool names; one must match under `path_mode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_paths: Option<Vec<Vec<String>>>,
    /// Expected calls with their arguments; compared under `path_mode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<ExpectedCall>>,
    /// How the actual path relates to the expected one. Default: `exact`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_mode: Option<PathMode>,
    /// Argument keys that every call of a tool must carry.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub required_arg_keys: BTreeMap<String, Vec<String>>,
    /// Argument rules per tool; every call of the tool is checked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, ArgRule>,
    /// The most calls of a tool that a trial may make.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub max_calls: BTreeMap<String, u32>,
    /// Tools that must never be called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden_tools: Vec<String>,
    /// Whether the user must be asked before the first call of a writing tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_ask_before_write: Option<bool>,
    /// Tools whose effect needs a granted approval first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approval_required: Vec<String>,
    /// JSON Schema per tool that bounds the arguments the agent is entitled to use.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arg_scope: BTreeMap<String, Value>,
    /// Policy version that every effect must carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<String>,
    /// JSON Schema of the final payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_schema: Option<Value>,
    /// Assertions on the state document at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub final_state: Vec<StateAssertion>,
    /// Expected differences between the initial and the final state document (RFC 6902 operations
    /// `add`, `remove`, `replace`); nothing else may have changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_changes: Option<Vec<StateChange>>,
    /// Whether a result recorded by the source (a benchmark's reward) must be present. A recorded
    /// result counts toward the outcome whenever there is one; without one, `true` makes the
    /// outcome ungradable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_result: Option<bool>,
    /// Commands run in the trial's fixture at its end, such as the fixture's own tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckSpec>,
}

/// One expected call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedCall {
    /// Tool name.
    pub name: String,
    /// Expected arguments; absent means that any arguments will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<serde_json::Map<String, Value>>,
    /// Compare only these argument keys; absent means all of them, and no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare_args: Option<Vec<String>>,
}

/// How the actual path relates to the expected one: always read as "actual … expected".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathMode {
    /// The actual path equals the expected one.
    #[default]
    Exact,
    /// The actual path contains the expected one in its order, other calls between allowed.
    InOrder,
    /// The actual path is a reordering of the expected one: the same calls, each as often.
    AnyOrder,
    /// The actual calls are a sub-multiset of the expected ones.
    Subset,
    /// The actual calls are a super-multiset of the expected ones.
    Superset,
}

/// Rules for the arguments of every call of one tool; all that are given must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArgRule {
    /// JSON Schema of the whole argument object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The arguments equal this object (canonical JSON), keys in `ignore` left out on both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<Value>,
    /// The arguments contain this object: its keys with these values, nested objects alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subset: Option<Value>,
    /// Top-level keys, or JSON Pointers, left out of `exact` and `hash`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// blake3 of the canonical arguments: 64 hexadecimal digits, or at least the first 12.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// One assertion on the final state document; exactly one of the tests is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateAssertion {
    /// JSON Pointer (RFC 6901) into the state document.
    pub pointer: String,
    /// The value there equals this one (canonical JSON).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_value"
    )]
    pub equals: Option<Value>,
    /// Whether there is a value at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// JSON Schema of the value there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

/// One expected difference, written as in RFC 6902.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateChange {
    /// What happened at the path.
    pub op: ChangeOp,
    /// JSON Pointer.
    pub path: String,
    /// The value there afterwards; absent means that any value will do.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_value"
    )]
    pub value: Option<Value>,
}

/// Kinds of difference between two state documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeOp {
    /// A value that was not there.
    Add,
    /// A value that is gone.
    Remove,
    /// Another value in its place.
    Replace,
}

/// Keeps an explicit `null` as a value to compare with, where serde would read it as absent.
fn some_value<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl Expect {
    /// This contract with another's keys in place of its own wherever the other declares them.
    pub fn overridden_by(&self, own: &Expect) -> Expect {
        fn list<T: Clone>(base: &[T], own: &[T]) -> Vec<T> {
            if own.is_empty() {
                base.to_vec()
            } else {
                own.to_vec()
            }
        }
        fn map<V: Clone>(
            base: &BTreeMap<String, V>,
            own: &BTreeMap<String, V>,
        ) -> BTreeMap<String, V> {
            let mut all = base.clone();
            all.extend(own.iter().map(|(k, v)| (k.clone(), v.clone())));
            all
        }
        let path_is_own =
            own.tool_names.is_some() || own.allowed_paths.is_some() || own.calls.is_some();
        let path = if path_is_own { own } else { self };
        Expect {
            tool_names: path.tool_names.clone(),
            allowed_paths: path.allowed_paths.clone(),
            calls: path.calls.clone(),
            path_mode: own.path_mode.or(self.path_mode),
            required_arg_keys: map(&self.required_arg_keys, &own.required_arg_keys),
            args: map(&self.args, &own.args),
            max_calls: map(&self.max_calls, &own.max_calls),
            forbidden_tools: list(&self.forbidden_tools, &own.forbidden_tools),
            must_ask_before_write: own.must_ask_before_write.or(self.must_ask_before_write),
            approval_required: list(&self.approval_required, &own.approval_required),
            arg_scope: map(&self.arg_scope, &own.arg_scope),
            policy_version: own
                .policy_version
                .clone()
                .or_else(|| self.policy_version.clone()),
            final_schema: own
                .final_schema
                .clone()
                .or_else(|| self.final_schema.clone()),
            final_state: list(&self.final_state, &own.final_state),
            state_changes: own
                .state_changes
                .clone()
                .or_else(|| self.state_changes.clone()),
            external_result: own.external_result.or(self.external_result),
            checks: list(&self.checks, &own.checks),
        }
    }
}
