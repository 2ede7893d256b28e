//! Bodies of requests, kept for tests.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::base::{Error, Result};

/// A file of bodies, one line of JSON each; headers, and so keys, are never in it.
pub(super) struct Recording {
    file: Mutex<File>,
    path: PathBuf,
}

impl Recording {
    /// Opens a recording to append to it.
    ///
    /// # Errors
    ///
    /// If the file can't be opened.
    pub fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let trouble = |e| Error::io(format!("cannot record requests: {e}")).in_file(path);
        Ok(Self {
            file: Mutex::new(file.map_err(trouble)?),
            path: path.to_path_buf(),
        })
    }

    /// Adds a body; one that is not JSON is kept as text.
    ///
    /// # Errors
    ///
    /// If it can't be written, in words.
    pub fn add(&self, body: &[u8]) -> Result<(), String> {
        let value = serde_json::from_slice(body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()));
        let trouble = |e: io::Error| format!("cannot record to {}: {e}", self.path.display());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(format!("{value}\n").as_bytes())
            .map_err(trouble)
    }
}
