//! The times at which a run was executed; they stand in `plan.json`, so that reports hold no clock.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::RunStore;
use super::files::write_atomically;
use crate::base::Result;

/// One execution of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// UTC time at which it began, RFC 3339.
    pub started: String,
    /// UTC time at which it ended; absent while it goes on, and for ever if the process was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

impl RunStore {
    /// Notes in `plan.json` that an execution begins.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn begin_session(&mut self) -> Result<()> {
        self.plan.sessions.push(Session {
            started: now(),
            ended: None,
        });
        self.show_plan()
    }

    /// Notes in `plan.json` that the execution that began last has ended.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn end_session(&mut self) -> Result<()> {
        if let Some(session) = self.plan.sessions.last_mut() {
            session.ended = Some(now());
        }
        self.show_plan()
    }

    fn show_plan(&self) -> Result<()> {
        write_atomically(&self.dir.join("plan.json"), |out| self.plan.write(out))
    }
}
