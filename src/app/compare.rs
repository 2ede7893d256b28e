//! `assize compare`: decide from what is stored.

use std::path::{Path, PathBuf};

use super::{Decided, Talk, report, suite_of_run};
use crate::base::{Error, Result};
use crate::plan::PlanOptions;
use crate::store::RunStore;

/// What to compare.
#[derive(Clone, Debug)]
pub struct CompareCommand {
    /// Run folder.
    pub run: PathBuf,
    /// Second run folder, if the candidate is stored there.
    pub run2: Option<PathBuf>,
    /// Folder for the report of two runs.
    pub out: Option<PathBuf>,
    /// Arms, margins and schedule in place of the locked ones; what deviates is said to be unlocked.
    pub roles: PlanOptions,
}

/// Compares two arms of one run, or of two runs, and writes the report.
///
/// # Errors
///
/// If a run or arm is absent, the suite was edited since, or the arms have no task in common.
pub fn compare(command: &CompareCommand, talk: &mut Talk) -> Result<Decided> {
    let first = RunStore::open(&command.run)?;
    suite_of_run(&first, None)?;
    let Some(run2) = &command.run2 else {
        let folder = command
            .out
            .clone()
            .unwrap_or_else(|| command.run.join("report"));
        let done = report::write(vec![&first], &command.roles, folder, talk)?;
        ungraded(&done, &command.run, talk);
        return decided(done);
    };
    let second = RunStore::open(run2)?;
    suite_of_run(&second, None)?;
    let folder = command.out.clone().unwrap_or_else(|| {
        command
            .run
            .join(format!("report-{}", second.plan_file().run))
    });
    decided(report::write(
        vec![&first, &second],
        &command.roles,
        folder,
        talk,
    )?)
}

/// Trials that were stored before a run was killed, and that nobody graded since, are not measured.
fn ungraded(done: &Decided, run: &Path, talk: &mut Talk) {
    let report = &done.report;
    let live = |name: &str| {
        report
            .arms
            .iter()
            .any(|arm| arm.name == name && !arm.recorded)
    };
    let mut estimates = report.estimates.iter();
    if estimates.any(|e| e.reason.as_deref() == Some("not_graded") && live(e.arm.as_str())) {
        talk(&format!(
            "note: trials of this run are stored and not graded, so that they are not measured; go on with `assize run --resume {0}`, or grade what is there: `assize grade {0}`, then compare again",
            run.display()
        ));
    }
}

/// A comparison without two arms is a mistake of the command, not a result.
fn decided(done: Decided) -> Result<Decided> {
    if done.compared {
        return Ok(done);
    }
    let arms: Vec<String> = done
        .report
        .arms
        .iter()
        .map(|a| format!("`{}`", a.name))
        .collect();
    Err(Error::input("nothing was compared").hint(format!(
        "name both arms with `--baseline` and `--candidate`; there are {}",
        arms.join(", ")
    )))
}
