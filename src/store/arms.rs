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
    /// The file in it that defined them; absent if the command line did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    arms: Vec<Arm>,
}

impl RunStore {
    /// Keeps the definitions of the arms, the folder to which their paths are relative, and the file that
    /// defined them, if one did.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub fn remember_arms(&self, arms: &[Arm], dir: &Path, file: Option<&Path>) -> Result<()> {
        let remembered = Remembered {
            dir: dir.to_path_buf(),
            file: file.map(Path::to_path_buf),
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
        let remembered = self.remembered()?;
        Ok(remembered.map(|remembered| (remembered.arms, remembered.dir)))
    }

    /// The file that defined the arms; `None` if the command line did, or the run was imported.
    ///
    /// # Errors
    ///
    /// If what is kept cannot be read.
    pub fn arms_file(&self) -> Result<Option<PathBuf>> {
        Ok(self.remembered()?.and_then(|remembered| remembered.file))
    }

    fn remembered(&self) -> Result<Option<Remembered>> {
        let Some(text) = self.meta("arms")? else {
            return Ok(None);
        };
        serde_json::from_str(&text).map(Some).map_err(|e| {
            Error::refused(format!("the arms of the run cannot be read: {e}")).in_file(&self.dir)
        })
    }
}
