//! `assize run`: the main job.

use std::path::{Path, PathBuf};

use super::{Decided, Talk, grade, recorded, report};
use crate::base::Result;
use crate::load;
use crate::plan::{self, PlanOptions};
use crate::store::{RunStore, Source};

/// What to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Suite folder.
    pub suite: PathBuf,
    /// Arms file; default: `SUITE/arms.yaml`.
    pub arms: Option<PathBuf>,
    /// Run folder; default: `runs/` and the run id.
    pub out: Option<PathBuf>,
    /// What is locked in the plan beside suite and arms.
    pub plan: PlanOptions,
    /// Whether malformed tool arguments in recorded traces are the agent's failure.
    pub malformed_is_agent: bool,
}

/// Plans, imports, grades, compares and reports.
///
/// Running the same command again finds the trials stored and only grades and reports again.
///
/// # Errors
///
/// If suite, arms or traces are invalid, the folder holds another plan, or files fail.
pub fn run(options: &RunOptions, talk: &mut Talk) -> Result<Decided> {
    let suite = load::suite(&options.suite)?.suite;
    let arms_file = options
        .arms
        .clone()
        .unwrap_or_else(|| options.suite.join("arms.yaml"));
    let arms = load::arms(&arms_file, &load::recorded::content_digest)?;
    let plan = plan::lock(&suite, &arms, &options.plan)?;
    let folder = options
        .out
        .clone()
        .unwrap_or_else(|| Path::new("runs").join(plan.run.as_str()));
    let source = Source::Folder(load::absolute(&options.suite));
    let store = RunStore::create(&folder, &plan, &suite, source)?;
    talk(&format!("run {} in {}", plan.run, folder.display()));
    let root = arms_file.parent().unwrap_or(Path::new(""));
    let malformed = options.malformed_is_agent;
    let (mut store, ()) =
        store.filled(|store| recorded::record(store, &suite, &arms, root, malformed, talk))?;
    let graded = grade::grade_all(&mut store, &suite)?;
    talk(&format!("graded {graded} trials"));
    report::write(
        vec![&store],
        &PlanOptions::default(),
        folder.join("report"),
        talk,
    )
}
