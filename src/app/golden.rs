//! `assize golden freeze` and `assize golden check`.

use std::path::{Path, PathBuf};

use super::recorded::{ReadOptions, read_trials};
use super::suite_of_run;
use crate::base::{ArmId, Error, Result};
use crate::grade::Grader;
use crate::grade::golden::{GoldenResult, check};
use crate::load;
use crate::model::suite::Suite;
use crate::model::trial::RecordedTrial;
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

/// What a golden command did.
#[derive(Clone, Debug)]
pub enum Golden {
    /// Traces that were frozen, and the drafts of contracts for tasks that have none.
    Frozen {
        /// Folder of the golden traces.
        folder: PathBuf,
        /// Tasks whose trace was frozen.
        tasks: Vec<String>,
        /// Files that hold a drafted contract, for a person to look at.
        drafts: Vec<PathBuf>,
    },
    /// The results of a check, one per trace and per task without a trace.
    Checked(Vec<GoldenResult>),
}

/// Freezes or checks golden traces.
///
/// # Errors
///
/// If suite, run or traces cannot be read.
pub fn golden(command: &GoldenCommand) -> Result<Golden> {
    match command {
        GoldenCommand::Check { suite, traces } => check_traces(suite, traces.as_deref()),
        GoldenCommand::Freeze { run, suite, arm } => freeze(run, suite.as_deref(), arm.as_ref()),
    }
}

fn check_traces(folder: &Path, traces: Option<&Path>) -> Result<Golden> {
    let suite = load::suite(folder)?.suite;
    let grader = Grader::new(&suite)?;
    let golden_folder = folder.join("golden");
    let golden = if golden_folder.exists() {
        read(&suite, &golden_folder)?
    } else {
        vec![]
    };
    let results = match traces {
        Some(traces) => check(&grader, &golden, &read(&suite, traces)?),
        None if golden.is_empty() => {
            return Err(Error::input("there are no golden traces to check")
                .in_file(golden_folder)
                .hint(
                    "freeze some with `assize golden freeze RUN`, or name a folder with `--traces`",
                ));
        }
        None => check(&grader, &golden, &golden),
    };
    Ok(Golden::Checked(results))
}

fn read(suite: &Suite, folder: &Path) -> Result<Vec<RecordedTrial>> {
    let mut found = Vec::new();
    let options = ReadOptions::new(Some(suite), true);
    read_trials(folder, &options, &mut |trial| {
        found.push(trial);
        Ok(())
    })?;
    Ok(found)
}

fn freeze(run: &Path, suite: Option<&Path>, arm: Option<&ArmId>) -> Result<Golden> {
    let _ = (suite_of_run(&RunStore::open(run)?, suite)?, arm);
    todo!()
}
