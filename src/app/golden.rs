//! `assize golden freeze` and `assize golden check`.

use std::path::{Path, PathBuf};

use super::suite_of_run;
use crate::base::{ArmId, Error, Result};
use crate::store::RunStore;

/// What to do with golden traces.
#[derive(Clone, Debug)]
pub enum GoldenCommand {
    /// Store one trace per task as golden.
    Freeze {
        /// Run folder.
        run: PathBuf,
        /// Suite folder; default: the one the run was planned from.
        suite: Option<PathBuf>,
        /// Arm; default: the baseline.
        arm: Option<ArmId>,
    },
    /// Check traces against the contracts.
    Check {
        /// Suite folder.
        suite: PathBuf,
        /// Folder of traces; default: `SUITE/golden`.
        traces: Option<PathBuf>,
    },
}
