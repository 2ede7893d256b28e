//! A suite folder: `suite.yaml` and its tasks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::base::{Error, Notice, Result};
use crate::load::check::tools::Tools;
use crate::load::check::{At, contract, decision, environment, metadata, reach, settings};
use crate::load::document::Document;
use crate::load::place::SUITE_FILES;
use crate::load::shape::Shape;
use crate::load::tasks::{self, ReadTask};
use crate::load::{combined, schema};
use crate::model::analysis::DecisionSpec;
use crate::model::suite::{SUITE_FORMAT, Suite, SuiteSpec, Task, ToolSpec};

/// A sound suite and where it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedSuite {
    /// The suite; its tasks' contracts and faults are merged with the suite's own.
    pub suite: Suite,
    /// Its folder.
    pub dir: PathBuf,
    /// Its suite file.
    pub file: PathBuf,
    /// What is worth knowing and no problem: `metadata_missing`, `cluster_crosses_segment`.
    pub notices: Vec<Notice>,
    /// Tasks that tell a live arm nothing: problems where one is run.
    pub unsaid: Vec<Error>,
}

/// Loads a suite folder.
///
/// The folder holds `suite.yaml` (or `.yml`, `.json`) and tasks in `tasks/*.{json,yaml,yml,jsonl}`
/// (one task or a list of tasks a file; `.jsonl`: one a line), in the order of their file names, then
/// in `tasks.jsonl`.
///
/// # Errors
///
/// All problems of suite file and tasks at once, each with file and line.
pub fn suite(dir: &Path) -> Result<LoadedSuite> {
    let checkup = check(dir);
    match checkup.suite {
        Some(suite) if checkup.problems.is_empty() => Ok(LoadedSuite {
            notices: metadata::notices(&suite),
            file: suite_file(dir)?,
            dir: dir.to_path_buf(),
            suite,
            unsaid: checkup.unsaid,
        }),
        _ => Err(combined(dir, checkup.problems)),
    }
}

impl LoadedSuite {
    /// Refuses tasks that would tell a live arm nothing.
    ///
    /// # Errors
    ///
    /// All of them at once, each with file and line.
    pub fn check_for_live_arms(&self) -> Result<()> {
        match self.unsaid.is_empty() {
            true => Ok(()),
            false => Err(combined(&self.dir, self.unsaid.clone())),
        }
    }
}

/// Loads a suite folder and lists all its problems; the suite is there only if there are none.
pub fn validate_suite(dir: &Path) -> (Option<Suite>, Vec<Error>) {
    let checkup = check(dir);
    (checkup.suite, checkup.problems)
}

/// What came of checking a suite folder.
pub(crate) struct Checkup {
    /// The suite, if nothing is wrong with it.
    pub suite: Option<Suite>,
    /// How many tasks were read.
    pub tasks: usize,
    /// Everything that is wrong.
    pub problems: Vec<Error>,
    /// Tasks that tell a live arm nothing: problems where one is run.
    pub unsaid: Vec<Error>,
    /// The suite file, as far as it could be read.
    spec: Option<(Document, SuiteSpec)>,
}

impl Checkup {
    /// The tools that the suite declares.
    pub fn tools(&self) -> Option<&BTreeMap<String, ToolSpec>> {
        self.spec.as_ref().map(|(_, spec)| &spec.tools)
    }

    /// Checks what tasks that stand by themselves declare for the environment of this suite.
    pub fn check_environment(&self, tasks: &[ReadTask], problems: &mut Vec<Error>) {
        let Some((suite, spec)) = &self.spec else {
            return;
        };
        for ReadTask { document, task } in tasks {
            let at = At::root(document);
            environment::task(task, spec, &suite.file, &at, problems);
        }
    }

    /// The decision rules, with the document that knows their lines.
    pub fn decision(&self) -> Option<(&Document, &DecisionSpec)> {
        let (document, spec) = self.spec.as_ref()?;
        Some((document, spec.decision.as_ref()?))
    }
}

/// Checks a suite folder, file by file and then together.
pub(crate) fn check(dir: &Path) -> Checkup {
    let mut problems = vec![];
    let spec = read_spec(dir, &mut problems);
    let before = problems.len();
    let tasks = tasks::read(dir, &mut problems);
    let count = tasks.len();
    let unsaid = tasks::unsaid(&tasks);
    let none_written = tasks.is_empty() && problems.len() == before;
    tasks::check(
        &tasks,
        spec.as_ref().map(|(_, s)| Tools(&s.tools)),
        &mut problems,
    );
    let suite = spec.as_ref().and_then(|(document, spec)| {
        let at = At::root(document);
        settings::check(spec, &at, &mut problems);
        environment::suite(spec, &document.file, &at, &mut problems);
        for read in &tasks {
            let at = At::root(&read.document);
            environment::task(&read.task, spec, &document.file, &at, &mut problems);
        }
        contract::check(
            &spec.expect,
            Tools(&spec.tools),
            &at.to("expect"),
            &mut problems,
        );
        if let Some(rules) = &spec.decision {
            decision::check(rules, &at.to("decision"), &mut problems);
        }
        if none_written {
            let problem = at.problem("the suite has no tasks");
            problems.push(problem.hint("put them into tasks/ or tasks.jsonl"));
        }
        together(spec, tasks, &at, &mut problems)
    });
    sort(&mut problems, dir);
    Checkup {
        suite: suite.filter(|_| problems.is_empty()),
        tasks: count,
        problems,
        unsaid,
        spec,
    }
}

/// Finds the suite file of a folder.
pub(crate) fn suite_file(dir: &Path) -> Result<PathBuf> {
    if !dir.is_dir() {
        return Err(Error::input("there is no such folder").in_file(dir));
    }
    let mut found = SUITE_FILES
        .iter()
        .map(|name| dir.join(name))
        .filter(|f| f.is_file());
    let Some(file) = found.next() else {
        return Err(Error::input("the folder holds no suite.yaml").in_file(dir));
    };
    match found.next() {
        None => Ok(file),
        Some(second) => {
            let name = second.file_name().unwrap_or_default().to_string_lossy();
            let message = format!("the suite has two files, this and {name}");
            Err(Error::input(message)
                .in_file(file)
                .hint("remove one of them"))
        }
    }
}

fn read_spec(dir: &Path, problems: &mut Vec<Error>) -> Option<(Document, SuiteSpec)> {
    let read = || {
        let document = Document::read(&suite_file(dir)?)?;
        newer_format(&document, SUITE_FORMAT)?;
        let schema = schema::schema("suite").unwrap_or_default();
        Ok((document, Shape::new(schema)?))
    };
    let (document, shape) = match read() {
        Ok(read) => read,
        Err(error) => {
            problems.push(error);
            return None;
        }
    };
    let mut checked = shape.check(&document);
    let fill = [("id", json!("unnamed")), ("version", json!("unknown"))];
    let spec = checked.typed::<SuiteSpec>(&document, &fill);
    problems.append(&mut checked.problems);
    Some((document, spec?))
}

/// Refuses a file of a newer version before anything in it is called a mistake.
pub(crate) fn newer_format(document: &Document, newest: u32) -> Result<()> {
    let format = document.value().get("format").and_then(|f| f.as_u64());
    match format {
        Some(format) if format > u64::from(newest) => {
            let message = format!(
                "written by a newer version of assize: format {format}, this version reads {newest}"
            );
            let problem = document.problem("/format", message);
            Err(problem.hint("update assize"))
        }
        Some(0) => Err(document.problem("/format", "`format` starts at 1")),
        _ => Ok(()),
    }
}

/// Merges tasks with their suite and checks what only shows together.
fn together(
    spec: &SuiteSpec,
    tasks: Vec<ReadTask>,
    at: &At,
    problems: &mut Vec<Error>,
) -> Option<Suite> {
    if tasks.is_empty() {
        return None;
    }
    let mut merged: Vec<Task> = vec![];
    let suite = at;
    for ReadTask { document, task } in tasks {
        let at = At::root(&document);
        let mut task = task;
        metadata::values(spec, &task, &at, problems);
        let both: Vec<_> = spec
            .faults
            .iter()
            .filter(|s| task.faults.iter().any(|t| t.id == s.id))
            .collect();
        for fault in both {
            let message = format!("fault `{}` is declared by the suite too", fault.id);
            problems.push(at.to("faults").problem(message));
        }
        task.faults = [spec.faults.as_slice(), &task.faults].concat();
        // What the suite expects of every task stands in its own file.
        let own = match task.expect.final_state.is_empty() {
            true => suite.to("expect"),
            false => at.to("expect"),
        };
        task.expect = spec.expect.overridden_by(&task.expect);
        let state = initial_state(spec, &task);
        let mut unreachable = vec![];
        reach::final_state(&task.expect, spec, state.as_ref(), &own, &mut unreachable);
        // The suite's own pointers are said once and not for every task.
        problems.extend(
            unreachable
                .into_iter()
                .filter(|new| !problems.contains(new))
                .collect::<Vec<_>>(),
        );
        contract::contradictions(&task.expect, &at.to("expect"), problems);
        merged.push(task);
    }
    metadata::check(spec, &merged, at, problems);
    Some(Suite::new(spec.clone(), merged))
}

/// The state document at the start of a task's trials.
fn initial_state(spec: &SuiteSpec, task: &Task) -> Option<Value> {
    let suite = spec.environment.state.as_ref();
    let Some(own) = &task.state else {
        return suite.cloned();
    };
    let mut state = suite.cloned().unwrap_or_default();
    json_patch::merge(&mut state, own);
    Some(state)
}

/// Problems in the order in which a person reads: the suite file first, then by file and line.
fn sort(problems: &mut [Error], dir: &Path) {
    let is_task = |e: &Error| {
        let file = e
            .file()
            .map(|f| f.strip_prefix(dir).unwrap_or(f).to_path_buf());
        file.is_some_and(|f| f.starts_with("tasks") || f.starts_with("tasks.jsonl"))
    };
    problems.sort_by_key(|e| (is_task(e), e.file().map(Path::to_path_buf), e.line()));
}
