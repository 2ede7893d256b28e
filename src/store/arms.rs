//! The arms of a run, kept so that it can go on without its arms file; keys are never part of them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::RunStore;
use super::open::put_meta;
use crate::base::{Error, Result};
use crate::model::arm::Arm;

#[derive(Serialize, Deserialize)]
struct Remembered {
    /// Folder to which the paths of arms are relative.
    dir: PathBuf,
    arms: Vec<Arm>,
}

impl RunStore {
    /// Keeps the definitions of the arms, and the folder to which their paths are relative.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn remember_arms(&self, arms: &[Arm], dir: &Path) -> Result<()> {
        let remembered = Remembered {
            dir: dir.to_path_buf(),
            arms: arms.to_vec(),
        };
        let text = serde_json::to_string(&remembered).map_err(|e| Error::io(e.to_string()))?;
        put_meta(&self.db, "arms", &text)
    }

    /// The arms as they were kept; `None` for a run that was imported.
    ///
    /// # Errors
    ///
    /// If what is kept cannot be read.
    pub fn remembered_arms(&self) -> Result<Option<(Vec<Arm>, PathBuf)>> {
        let Some(text) = self.meta("arms")? else {
            return Ok(None);
        };
        let remembered: Remembered = serde_json::from_str(&text).map_err(|e| {
            Error::refused(format!("the arms of the run cannot be read: {e}")).in_file(&self.dir)
        })?;
        Ok(Some((remembered.arms, remembered.dir)))
    }
}
