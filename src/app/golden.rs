//! `assize golden freeze` and `assize golden check`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::recorded::{ReadOptions, read_trials};
use super::suite_of_run;
use crate::base::{ArmId, Error, Result, TaskId};
use crate::grade::Grader;
use crate::grade::golden::{GoldenResult, check, draft_contract};
use crate::load;
use crate::load::recorded::traces_in;
use crate::model::grade::Finding;
use crate::model::suite::Suite;
use crate::model::trial::{RecordedTrial, TrialStatus};
use crate::store::{FileFolder, RunStore, Source, StoredTrial};
use crate::trace::chain::{ChainIds, write_trial};

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
        /// Tasks that have a golden trace already, which stands.
        kept: Vec<String>,
        /// Tasks of which no trial breaks no rule.
        missing: Vec<String>,
        /// Files that hold a drafted contract, for a person to look at.
        drafts: Vec<PathBuf>,
    },
    /// The results of a check, one per trace and per task without a trace.
    Checked(Vec<CheckedTrace>),
}

/// What a check found about one trace.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedTrace {
    /// The file that holds it; `None` if there is none.
    pub file: Option<PathBuf>,
    /// What was found.
    pub result: GoldenResult,
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
    let candidates = match traces {
        Some(traces) => read(&suite, traces)?,
        None if golden.is_empty() => {
            return Err(Error::input("there are no golden traces to check")
                .in_file(golden_folder)
                .hint(
                    "freeze some with `assize golden freeze RUN`, or name a folder with `--traces`",
                ));
        }
        None => golden.clone(),
    };
    let (files, trials): (Vec<PathBuf>, Vec<RecordedTrial>) = candidates.into_iter().unzip();
    let golden: Vec<RecordedTrial> = golden.into_iter().map(|(_, trial)| trial).collect();
    let results = check(&grader, &golden, &trials);
    Ok(Golden::Checked(with_files(results, &files, &trials)))
}

/// Results come by task, and within a task in the order of its traces.
fn with_files(
    results: Vec<GoldenResult>,
    files: &[PathBuf],
    trials: &[RecordedTrial],
) -> Vec<CheckedTrace> {
    let mut waiting: BTreeMap<&TaskId, VecDeque<&PathBuf>> = BTreeMap::new();
    for (file, trial) in files.iter().zip(trials) {
        waiting.entry(&trial.task).or_default().push_back(file);
    }
    let mut found = Vec::new();
    for result in results {
        let file = waiting
            .get_mut(&result.task)
            .and_then(VecDeque::pop_front)
            .cloned();
        found.push(CheckedTrace { file, result });
    }
    found
}

/// Reads traces one file after the other, so that each can be named.
fn read(suite: &Suite, folder: &Path) -> Result<Vec<(PathBuf, RecordedTrial)>> {
    let mut found = Vec::new();
    let options = ReadOptions::new(Some(suite), true);
    for file in traces_in(folder)? {
        read_trials(&file, &options, &mut |trial| {
            found.push((file.clone(), trial));
            Ok(())
        })?;
    }
    Ok(found)
}

/// Freezes for every task the first trial of an arm that breaks no rule.
fn freeze(run: &Path, named: Option<&Path>, arm: Option<&ArmId>) -> Result<Golden> {
    let store = RunStore::open(run)?;
    let suite = suite_of_run(&store, named)?;
    let folder = suite_folder(&store, named)?;
    let arm = arm_to_freeze(&store, arm)?;
    let grader = Grader::new(&suite)?;
    let mut chosen: BTreeMap<TaskId, StoredTrial> = BTreeMap::new();
    let mut after = 0;
    loop {
        let batch = store.trials_after(after, 256)?;
        let Some(last) = batch.last() else { break };
        after = last.row;
        for trial in batch
            .into_iter()
            .filter(|t| t.trial.arm == arm && is_good(&grader, t))
        {
            chosen.entry(trial.trial.task.clone()).or_insert(trial);
        }
    }
    if chosen.is_empty() {
        return Err(Error::refused(format!(
            "no trial of arm `{arm}` breaks no rule, so there is nothing to freeze"
        ))
        .in_file(run));
    }
    let golden_folder = folder.join("golden");
    let held: BTreeSet<TaskId> = match golden_folder.exists() {
        true => read(&suite, &golden_folder)
            .unwrap_or_default()
            .into_iter()
            .map(|(_, t)| t.task)
            .collect(),
        false => BTreeSet::new(),
    };
    let names = |wanted: &dyn Fn(&TaskId) -> bool| -> Vec<String> {
        suite
            .tasks
            .iter()
            .map(|t| &t.id)
            .filter(|id| wanted(id))
            .map(ToString::to_string)
            .collect()
    };
    let kept = names(&|id| held.contains(id));
    let missing = names(&|id| !held.contains(id) && !chosen.contains_key(id));
    chosen.retain(|task, _| !held.contains(task));
    let golden = FileFolder::create(&golden_folder)?;
    let drafts_folder = folder.join("drafts");
    let mut drafted = Vec::new();
    for (task, stored) in &chosen {
        let Some(trace) = &stored.trace else { continue };
        let ids = ChainIds {
            task: Some(task.to_string()),
            ..ChainIds::default()
        };
        let name = file_name(task);
        golden.write(&format!("{name}.jsonl"), |out| {
            write_trial(out, ids, trace, &stored.trial.status)
        })?;
        if suite
            .task(task)
            .is_some_and(|t| t.expect == suite.spec.expect)
        {
            let draft = serde_json::json!({"id": task, "expect": draft_contract(&suite, trace)});
            let text =
                serde_json::to_string_pretty(&draft).map_err(|e| Error::io(e.to_string()))?;
            let file = format!("{name}.json");
            FileFolder::create(&drafts_folder)?.write(&file, |out| writeln!(out, "{text}"))?;
            drafted.push(drafts_folder.join(file));
        }
    }
    let tasks = chosen.keys().map(ToString::to_string).collect();
    Ok(Golden::Frozen {
        folder: folder.join("golden"),
        tasks,
        kept,
        missing,
        drafts: drafted,
    })
}

fn suite_folder(store: &RunStore, named: Option<&Path>) -> Result<PathBuf> {
    match (named, &store.plan_file().source) {
        (Some(folder), _) => Ok(folder.to_path_buf()),
        (None, Source::Folder(folder)) if folder.exists() => Ok(folder.clone()),
        _ => Err(Error::input("the suite folder of this run is not here")
            .in_file(store.dir())
            .hint("name it with `--suite`")),
    }
}

fn arm_to_freeze(store: &RunStore, arm: Option<&ArmId>) -> Result<ArmId> {
    let plan = store.plan();
    let baseline = plan
        .body
        .analysis
        .decision
        .as_ref()
        .and_then(|d| d.baseline.clone());
    let wanted = arm
        .cloned()
        .or(baseline)
        .or_else(|| plan.body.arms.first().map(|a| a.id.clone()));
    let known = wanted.filter(|id| plan.arm(id).is_some());
    known.ok_or_else(|| {
        let names: Vec<String> = plan
            .body
            .arms
            .iter()
            .map(|a| format!("`{}`", a.id))
            .collect();
        Error::input("no such arm in the run").hint(format!("the run holds {}", names.join(", ")))
    })
}

/// Whether a trial is whole and breaks no rule that could be checked.
fn is_good(grader: &Grader, stored: &StoredTrial) -> bool {
    let trial = &stored.trial;
    let Some(rules) = grader.task(&trial.task) else {
        return false;
    };
    let found = rules.grade(&trial.status, &trial.recorded, stored.trace.as_ref());
    let fine = |finding: &Finding| match finding {
        Finding::Fail => false,
        Finding::Value(value) => *value >= 1.0,
        Finding::Pass | Finding::NotApplicable(_) | Finding::Ungradable(_) => true,
    };
    trial.status == TrialStatus::Completed
        && stored.trace.is_some()
        && found.grades.iter().all(|g| fine(&g.finding))
}

/// A task id as a file name; ids cannot hold path separators, which `load` refuses.
fn file_name(task: &TaskId) -> String {
    task.as_str().replace(['/', '\\'], "_")
}
