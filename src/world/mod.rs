//! The environment of one live trial: fixture, tools, a user who answers, faults, checks.
//!
//! A [`Stage`] is made once per run and compiles what a suite declares; a [`World`] is one trial's
//! own: a fresh copy of the fixture, the state document, the leases it holds, and how far its user has
//! got. Whatever happens to it, its processes are killed and its folder is removed when it is dropped.
//!
//! What the agent did wrong (arguments that break the schema, a tool that does not exist) is answered
//! to the agent; what broke around it is [`Broken`].

// Level 3: this is where fixtures are copied, commands run and time is read.
#![allow(clippy::disallowed_methods)]

mod approval;
mod call;
mod check;
mod clock;
mod command;
mod conflict;
mod dialogue;
mod fixture;
mod lease;
mod log;
mod process;
mod simulated;
mod stage;
mod survivors;
mod template;
mod trial;

pub use clock::Clock;
pub use conflict::{Conflicts, Pair, Written};
pub use stage::Stage;
pub use survivors::{Survivor, kill_left_in};
pub use trial::{Closed, World};

use crate::model::trial::{Boundary, TrialStatus};

/// What broke around the agent; the trial says nothing about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Where.
    pub boundary: Boundary,
    /// What, as a snake_case code.
    pub code: &'static str,
    /// In words.
    pub detail: String,
}

impl Broken {
    fn new(boundary: Boundary, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            boundary,
            code,
            detail: detail.into(),
        }
    }

    /// The status of the trial.
    pub fn status(&self) -> TrialStatus {
        TrialStatus::infra(self.boundary, self.code, self.detail.clone())
    }
}

/// What a tool answered, as the model gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolReply {
    /// Text, or JSON as text.
    pub content: String,
    /// Whether it is an error.
    pub is_error: bool,
}
