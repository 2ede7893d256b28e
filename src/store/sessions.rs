//! The times at which a run was executed; they stand in `plan.json`, so that reports hold no clock.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::RunStore;
use super::files::write_atomically;
use super::open::put_meta;
use super::read::parse;
use crate::base::{Error, Result};
use crate::model::report::PreflightRow;

/// Key of the arms that did not answer.
const UNANSWERED: &str = "unanswered";

/// One execution of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// UTC time at which it began, RFC 3339.
    pub started: String,
    /// UTC time at which it ended; absent while it goes on, and for ever if the process was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// What stopped it before the schedule was run through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
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
            stopped: None,
        });
        put_meta(&self.db, UNANSWERED, "[]")?;
        self.show_plan()
    }

    /// Notes in `plan.json` that the execution that began last has ended, and what stopped it if it did
    /// not come to the end of its schedule.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn end_session(&mut self, stopped: Option<&str>) -> Result<()> {
        if let Some(session) = self.plan.sessions.last_mut() {
            session.ended = Some(now());
            session.stopped = stopped.map(str::to_owned);
        }
        self.show_plan()
    }

    /// What stopped the execution that began last, where it was stopped and could still say so.
    pub fn stopped_by(&self) -> Option<&str> {
        self.plan.sessions.last()?.stopped.as_deref()
    }

    /// Remembers the arms that did not answer before anything was run, until an execution begins.
    ///
    /// # Errors
    ///
    /// If the database cannot be written.
    pub fn put_unanswered(&self, arms: &[PreflightRow]) -> Result<()> {
        let text = serde_json::to_string(arms).map_err(|e| Error::io(e.to_string()))?;
        put_meta(&self.db, UNANSWERED, &text)
    }

    /// The arms that did not answer when the run was to begin or to go on, if it has not gone on since.
    ///
    /// # Errors
    ///
    /// If the database cannot be read, or is damaged.
    pub fn unanswered(&self) -> Result<Vec<PreflightRow>> {
        match self.meta(UNANSWERED)? {
            Some(text) => parse(&text, "the arms that did not answer"),
            None => Ok(vec![]),
        }
    }

    fn show_plan(&self) -> Result<()> {
        write_atomically(&self.dir.join("plan.json"), |out| self.plan.write(out))
    }
}
