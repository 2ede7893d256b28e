//! What templates and conditions of a suite see.

use minijinja::context;
use minijinja::value::Serde;
use serde_json::Value;

/// What templates see.
pub(super) struct Scope<'a> {
    /// Arguments of the call.
    pub args: &'a Value,
    /// The state document before the call.
    pub state: Option<&'a Value>,
    /// Number of this call of the tool, from 1.
    pub call: u32,
    /// Index of the trial, from 0.
    pub trial: u32,
}

impl Scope<'_> {
    /// The names as the template engine wants them; made once per call.
    pub fn names(&self) -> minijinja::Value {
        context! {
            args => minijinja::Value::from(Serde(self.args)),
            state => minijinja::Value::from(Serde(self.state)),
            call => self.call,
            trial => self.trial,
        }
    }
}
